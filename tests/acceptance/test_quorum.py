"""Decisions that take several people, a typed code or nobody at all, and arguments that nobody is shown."""

import asyncio
import json

import pytest

from agent_adapter import Context
from tests.support.builders import an_action, review
from tests.support.people import Someone, buttons, words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK, U0MIRA]
rules:
  - name: large payments
    match:
      tool: pay
      args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}
    quorum: 2
  - name: deletions
    match: {tool: drop_*}
    risk: high
    modal_only: [sql]
  - name: scripts
    match: {tool: deploy}
    quorum: 2
  - name: hidden scripts
    match: {tool: restart}
    quorum: 2
    modal_only: [script]
  - name: logins
    match: {tool: connect}
    mask: [password]
    quorum: 2
"""
LARGE = {"to": "al", "amount": 5000}


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.mark.usefixtures("bot")
async def test_a_payment_over_1000_takes_two_people(client, dana, erik, slack):
    """Each is told what is missing, the card counts, and the agent hears who agreed."""
    reviewing = review(client, an_action("pay", LARGE), context=Context(requested_by="U0MIRA"))
    card = await dana.card("needs 2 of <@U0DANA>, <@U0ERIK>")
    mira = Someone(slack, "U0MIRA")

    await dana.press(card, "approve:0")
    await dana.notice("Your approval counts: 1 of 2. One more is needed.")
    counted = await dana.card("*1 of 2 approved*: <@U0DANA> · waiting for <@U0ERIK>\n")
    assert counted["ts"] == card["ts"]
    assert "approve:0" in buttons(counted)
    await dana.press(card, "approve:0")
    await dana.notice("Your approval counts already: 1 of 2.")
    await mira.press(card, "approve:0")
    await mira.notice("somebody else has to approve it")
    assert not reviewing.done()
    await erik.press(card, "approve:0")
    resume = await reviewing

    assert resume.decisions[0].type == "approve"
    assert resume.records[0].decided_by == "U0ERIK"
    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")
    await dana.card("\n<@U0DANA>, <@U0ERIK> <!date^")


@pytest.mark.usefixtures("bot")
async def test_a_person_who_approved_may_still_reject_and_one_rejection_ends_it(client, dana):
    """A vote can be changed while it is open."""
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await dana.card("*1 of 2 approved*")
    await dana.fill(await dana.opened(card, "reject:0"), reason="wrong account")
    resume = await reviewing

    assert (resume.decisions[0].type, resume.decisions[0].message) == ("reject", "wrong account")


@pytest.mark.usefixtures("bot")
async def test_changes_run_when_another_has_seen_them_and_agrees(client, dana, erik, slack):
    """The one who writes is told that it counts; the other sees what was asked and what would run."""
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await dana.fill(await dana.opened(card, "edit:0"), amount="4000")
    [said] = await slack.views("U0DANA")
    assert "Your change counts: 1 of 2." in words(said["blocks"])
    changed = await erik.card("<@U0DANA> changed this and agrees")

    view = await erik.opened(changed, "agree:0")
    assert "amount: 5000 → 4000" in words(view["blocks"])
    await slack.submit("U0ERIK", view["id"], {})
    resume = await reviewing

    assert resume.decisions[0].edited_action.args == {"to": "al", "amount": 4000}
    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")


@pytest.mark.usefixtures("bot")
async def test_approving_all_leaves_out_what_a_colleague_proposes_to_decide_otherwise(client, dana, erik):
    """The button, its question and the answer say so, also where the button was drawn before the proposal was made."""
    reviewing = review(client, *(an_action("note", {"n": n}) for n in range(2)), an_action("pay", LARGE))
    before = await dana.showing("approve_all:0")
    await dana.fill(await dana.opened(before, "edit:2"), amount="1500")
    card = await erik.card("<@U0DANA> changed this")
    [asks] = [e for b in card["blocks"] if b["block_id"] == "bulk" for e in b["elements"]][:1]
    assert asks["text"]["text"] == "Approve 1, 2…"
    assert asks["confirm"]["text"]["text"] == (
        "Calls 1, 2: note, 2 times, n 0 to 1.\nNot approved with them, because somebody proposes something else: 3."
    )

    # The stand-in sends what the button of an older drawing would: its name is the same.
    await erik.press(before, "approve_all:0")
    said = await erik.notice("Not approved: call 3.")
    assert "Somebody proposes something else there: decide it separately." in said
    left = await erik.card("1 of 3 open")
    assert "changed this and agrees" in words(left["blocks"])
    assert "1 of 2 approved*: <@U0ERIK>" not in words(left["blocks"])
    assert not reviewing.done()
    await erik.slack.submit("U0ERIK", (await erik.opened(left, "agree:2"))["id"], {})

    kinds = [decision.type for decision in (await reviewing).decisions]
    assert kinds == ["approve", "approve", "edit"]


@pytest.mark.usefixtures("bot")
async def test_approving_all_never_approves_what_its_question_left_out(client, dana, erik, mira, slack):
    """Erik takes his proposal back while Dana is asked about the two others: his one vote stays one."""
    reviewing = review(client, *(an_action("note", {"n": n}) for n in range(2)), an_action("pay", LARGE))
    await erik.fill(await erik.opened(await erik.card(), "edit:2"), amount="4000")
    card = await dana.card("Approve 1, 2")

    await slack.fault("chat.update", "error", error="internal_error", times=None)
    await erik.press_one(card, "approve:2")
    await dana.press(card, "approve_all:0")
    await slack.clear_faults()
    left = await mira.card("1 of 3 open")
    assert "*1 of 2 approved*: <@U0ERIK>" in words(left["blocks"])
    await mira.press(left, "approve:2")

    agreed = [record.agreed_by for record in (await reviewing).records]
    assert agreed == [(), (), ("U0ERIK", "U0MIRA")]


SCRIPT = "\n".join(f"line {number} of the script" for number in range(2_500)) + "\nrm -rf everything"
"""On three pages."""


async def turned(person, view):
    """Turn the pages of a reading to its end, and give what stood on all of them with the last one."""
    read = [words(view["blocks"])]
    while following := [name for name in buttons(view) if name.startswith("page:")]:
        number = int(following[-1].partition(":")[2])
        if number <= len(read):
            break
        await person.slack.click_view(person.user, view["id"], following[-1])
        view = await person.slack.wait_for_view(
            person.user, lambda found, said=f"Page {number} of": said in words(found["blocks"])
        )
        read.append(words(view["blocks"]))
    return "\n".join(read), view


async def leave(person):
    """Close every view."""
    while await person.slack.views(person.user):
        await person.close()


async def propose_another_host(dana):
    """Have Dana read the call to its end, and change its host there."""
    _, last = await turned(dana, await dana.opened(await dana.showing("read:0"), "read:0"))
    await dana.slack.click_view("U0DANA", last["id"], "edit:0")
    form = await dana.slack.wait_for_view("U0DANA", lambda view: view["callback_id"] == "edit")
    await dana.fill(form, host="db2")
    await leave(dana)


@pytest.mark.usefixtures("bot")
async def test_changes_of_a_long_call_run_when_another_has_read_all_of_it_as_it_would_run(
    client, dana, erik, slack
):
    """*Agree to the change…* opens the pages of the call with the changes, and the last of them agrees."""
    reviewing = review(client, an_action("deploy", {"host": "db1", "script": SCRIPT}))
    await propose_another_host(dana)
    changed = await erik.card("changed this and agrees")
    opens = next(
        e for b in changed["blocks"] for e in b.get("elements", ()) if e.get("action_id") == "read:0"
    )
    assert opens["text"]["text"] == "Open…"

    first = await erik.opened(changed, "agree:0")
    assert 'host: "db1" → "db2"' in words(first["blocks"])
    assert "finish:0" not in buttons(first)
    read, last = await turned(erik, first)
    assert "line 2499 of the script" in read
    assert "rm -rf everything" in read
    await erik.press_in(last, "finish:0")
    resume = await reviewing

    assert resume.decisions[0].edited_action.args == {"host": "db2", "script": SCRIPT}
    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")


@pytest.mark.usefixtures("bot")
async def test_whoever_was_not_shown_the_changed_call_to_its_end_cannot_agree_with_it(
    client, dana, erik, slack
):
    """Erik was shown the call as it was asked, and one page of it with the changes."""
    reviewing = review(client, an_action("deploy", {"host": "db1", "script": SCRIPT}))
    await propose_another_host(dana)
    changed = await erik.card("changed this and agrees")
    await turned(erik, await erik.opened(changed, "read:0"))
    await leave(erik)

    view = await erik.opened(changed, "agree:0")
    assert "finish:0" not in buttons(view)
    await slack.click_view("U0ERIK", view["id"], "page:2")
    await slack.wait_for_view("U0ERIK", lambda found: "Page 2 of" in words(found["blocks"]))
    assert not reviewing.done()
    await leave(erik)
    _, last = await turned(erik, await erik.opened(changed, "read:0"))
    assert "I have read it: Approve as asked" in words(last["blocks"])
    reviewing.cancel()


async def test_no_way_around_what_is_typed(bot, client, dana, slack):
    """The end of a reading asks for it as well; no other action is approved along with it."""
    reviewing = review(client, an_action("drop_table", {"sql": "drop table users"}), an_action("mail"))
    card = await dana.card("High risk")
    assert "drop table users" not in words(card["blocks"])
    assert buttons(card) == ["review:0"]
    page = await dana.opened(card, "review:0")
    assert {"reject:0", "respond:0", "read:0"} <= set(buttons(page))
    assert not {"approve:0", "confirm:0"} & set(buttons(page))
    await dana.press_in(page, "read:0")
    view = await dana.view("drop table users", depth=2)

    await dana.press_in(view, "confirm:0")
    form = await dana.view("drop table users", depth=3)
    answer = await slack.submit("U0DANA", form["id"], {"typed": "drop table users"})
    assert set(answer["errors"]) == {"typed"}
    await slack.submit("U0DANA", form["id"], {"typed": "drop_table"})
    await dana.press(await dana.card("1 of 2 open"), "approve:1")

    assert [decision.type for decision in (await reviewing).decisions] == ["approve", "approve"]


@pytest.mark.usefixtures("bot")
async def test_a_masked_argument_leaves_in_no_call_to_slack(client, dana, erik, slack):
    """On cards, in modals, in private words, in the text of notifications, before and after edits; the call runs with it."""
    secret = "hunter2-s3cr3t"
    action = an_action(
        "connect",
        {"host": "db1", "password": secret, "more": {"password": secret}},
        description=f"log in with {secret}",
    )
    context = Context(title=f"uses {secret}", requested_by="U0NOOR")
    reviewing = review(client, action, context=context)
    card = await dana.card("Masked: `password`")
    for button in ("reject:0", "respond:0"):
        view = await dana.opened(card, button)
        await slack.close_view("U0DANA", view["id"])
    await dana.fill(await dana.opened(card, "edit:0"), host="db2")
    while views := await slack.views("U0DANA"):
        await slack.close_view("U0DANA", views[-1]["id"])
    changed = await erik.card("changed this and agrees")
    await slack.submit("U0ERIK", (await erik.opened(changed, "agree:0"))["id"], {})
    resume = await reviewing
    await dana.card("resumed")

    assert resume.decisions[0].edited_action.args == {
        "host": "db2",
        "password": secret,
        "more": {"password": secret},
    }
    calls = await slack.calls()
    assert len([call for call in calls if call["method"].startswith(("chat.", "views."))]) >= 6
    assert secret not in json.dumps(calls, ensure_ascii=False)


# --- Everybody who agreed is judged again when it becomes final -----------------------------------------------------


@pytest.mark.usefixtures("bot")
async def test_a_vote_of_somebody_who_left_does_not_count_when_it_would_become_final(
    client, dana, erik, slack
):
    """Dana's account was deactivated after she had agreed: the card counts anew, and another person completes it."""
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await dana.card("*1 of 2 approved*: <@U0DANA>")

    await slack.person("U0DANA", deleted=True)
    await erik.press(card, "approve:0")

    said = await erik.notice("Your approval counts: 1 of 2.")
    assert "No longer counted, because they may not decide this now: <@U0DANA>" in said
    await erik.card("*1 of 2 approved*: <@U0ERIK>")
    assert not reviewing.done()
    await Someone(slack, "U0MIRA").press(card, "approve:0")
    assert (await reviewing).records[0].agreed_by == ("U0ERIK", "U0MIRA")


@pytest.mark.usefixtures("bot")
async def test_nothing_is_final_while_slack_does_not_say_whether_the_others_still_may(
    client, dana, erik, slack
):
    """The person is told, their form stays open, and pressing again completes it."""
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await erik.press(card, "approve:0")
    await erik.fill(await erik.opened(card, "edit:0"), amount="4000")
    await erik.close()
    await dana.press(card, "approve:0")
    await dana.card("*1 of 2 approved as asked*: <@U0DANA>")
    # Who Erik is was asked a moment ago: only Dana is asked about again.
    await slack.fault("users.info", "error", error="fatal_error", times=None)
    await erik.press(card, "approve:0")
    await erik.notice(
        "did not say in time whether everybody who agreed may still decide this, so nothing is final"
    )
    await slack.clear_faults()
    await erik.press(card, "approve:0")
    resume = await reviewing

    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")


@pytest.mark.usefixtures("bot")
async def test_the_person_who_makes_it_final_is_checked_again(client, dana, erik, slack, monkeypatch):
    """Dana was looked up when she opened a form; her account is deactivated before she votes."""
    monkeypatch.setattr("bot.use_cases.who_may_decide.VOTER_FRESH_FOR", 0.2)
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await erik.press(card, "approve:0")
    await dana.card("*1 of 2 approved*: <@U0ERIK>")
    await dana.opened(card, "reject:0")
    await dana.close()

    await slack.person("U0DANA", deleted=True)
    await asyncio.sleep(0.3)
    await dana.press(card, "approve:0")

    # A button is acknowledged once what it does is stored.
    assert not reviewing.done()
    await Someone(slack, "U0MIRA").press(card, "approve:0")
    assert (await reviewing).records[0].agreed_by == ("U0ERIK", "U0MIRA")
