"""Decisions that take several people, a typed code or nobody at all, and arguments that nobody is shown."""

import asyncio
import json
from textwrap import dedent

import pytest

from agent_adapter import Context, HITLRequest
from tests.conftest import until
from tests.support.builders import an_action
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
  - name: logins
    match: {tool: connect}
    mask: [password]
    quorum: 2
"""
LARGE = {"to": "al", "amount": 5000}


@pytest.fixture
def policy(tmp_path):
    """The policy file."""
    path = tmp_path / "policy.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
def dana(slack):
    return Someone(slack, "U0DANA")


@pytest.fixture
def erik(slack):
    return Someone(slack, "U0ERIK")


def review(client, *actions, **fields):
    requests, configs = zip(*actions, strict=True)
    batch = HITLRequest(action_requests=requests, review_configs=configs)
    return asyncio.create_task(client.review(batch, **fields))


@pytest.mark.usefixtures("bot")
async def test_a_payment_over_1000_takes_two_people(client, dana, erik, slack):
    """Each is told what is missing, the card counts, and the agent hears who agreed."""
    reviewing = review(client, an_action("pay", LARGE), context=Context(requested_by="U0MIRA"))
    card = await dana.card("*2 people* have to agree")
    mira = Someone(slack, "U0MIRA")

    await dana.press(card, "approve:0")
    assert "1 of 2 approved. 1 more person has to say the same" in await dana.told("Counted: action 1")
    counted = await dana.card("*1 of 2 approved*: <@U0DANA>")
    assert counted["ts"] == card["ts"]
    assert "approve:0" in buttons(counted)
    await dana.press(card, "approve:0")
    await dana.told("Counted once, as before: action 1, 1 of 2 approved")
    await mira.press(card, "approve:0")
    await mira.told("somebody else has to approve it")
    assert not reviewing.done()
    await erik.press(card, "approve:0")
    resume = await reviewing

    assert resume.decisions[0].type == "approve"
    assert resume.records[0].decided_by == "U0ERIK"
    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")
    await dana.card("*Approved* by <@U0DANA>, <@U0ERIK>")


@pytest.mark.usefixtures("bot")
async def test_a_small_payment_takes_one(client, dana):
    """The rule is about large ones."""
    reviewing = review(client, an_action("pay", {"amount": 5}))
    await dana.press(await dana.card(), "approve:0")

    assert (await reviewing).records[0].agreed_by == ()


@pytest.mark.usefixtures("bot")
async def test_whoever_approved_may_still_reject_and_one_rejection_ends_it(client, dana):
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
    [told] = await slack.views("U0DANA")
    assert "Counted: action 1, 1 of 2 approved with the same changes" in words(told["blocks"])
    changed = await erik.card("*1 of 2 approved with the same changes*: <@U0DANA>")

    view = await erik.opened(changed, "agree:0")
    assert "- 5000\n+ 4000" in words(view["blocks"])
    await slack.submit("U0ERIK", view["id"], {})
    resume = await reviewing

    assert resume.decisions[0].edited_action.args == {"to": "al", "amount": 4000}
    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")


@pytest.mark.usefixtures("bot")
async def test_changes_that_are_proposed_no_more_are_not_agreed_with(client, dana, erik, slack):
    """Dana changed her mind while Erik was reading."""
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await dana.fill(await dana.opened(card, "edit:0"), amount="4000")
    view = await erik.opened(await erik.card("with the same changes"), "agree:0")
    await dana.press(card, "approve:0")
    await dana.told("1 of 2 approved.")

    await slack.submit("U0ERIK", view["id"], {})

    [told] = await slack.views("U0ERIK")
    assert "is proposed no more" in words(told["blocks"])
    await erik.press(card, "approve:0")
    assert (await reviewing).decisions[0].type == "approve"


@pytest.mark.usefixtures("bot")
async def test_all_of_a_batch_is_counted_and_then_decided(client, dana, erik):
    """Bulk buttons vote, too."""
    reviewing = review(client, *(an_action("pay", {"amount": 1000 + n}) for n in range(2)))
    card = await dana.card()
    await dana.press(card, "approve_all:0")
    await dana.told("Counted: actions 1, 2, 1 of 2 approved")
    await erik.press(card, "approve_all:0")
    resume = await reviewing

    assert [record.agreed_by for record in resume.records] == [("U0DANA", "U0ERIK")] * 2


@pytest.mark.usefixtures("bot")
async def test_a_high_risk_is_approved_by_who_types_the_code_of_the_card(client, dana, slack):
    """A wrong code is told beside the field; other actions are not approved along with it."""
    reviewing = review(client, an_action("drop_table", {"table": "users"}), an_action("mail"))
    card = await dana.card("High risk")
    assert "approve:0" not in buttons(card)
    assert not {"approve_all:0", "reject_all:0"} & set(buttons(card))
    code = words(card["blocks"]).partition("types *")[2][:4]
    view = await dana.opened(card, "confirm:0")
    assert code not in words(view["blocks"])

    answer = await dana.fill(view, code="2222" if code != "2222" else "3333")
    assert answer["errors"] == {
        "code": "These are not the characters on the card of this action. Nothing was recorded."
    }
    assert not reviewing.done()
    await slack.submit("U0DANA", view["id"], {"code": f" {code.lower()} "})
    await dana.card("1 of 2 actions needs approval")
    await dana.press(card, "approve:1")
    resume = await reviewing

    assert [decision.type for decision in resume.decisions] == ["approve", "approve"]


async def test_no_way_around_the_code(bot, client, dana, slack):
    """An edit and the end of a reading ask for it as well."""
    reviewing = review(client, an_action("drop_table", {"sql": "drop table users"}))
    card = await dana.card("High risk")
    assert "drop table users" not in words(card["blocks"])
    assert set(buttons(card)) == {"reject:0", "respond:0", "read:0"}
    view = await dana.opened(card, "read:0")
    assert "drop table users" in words(view["blocks"])

    answer = await slack.submit("U0DANA", view["id"], {"code": "????"})
    assert set(answer["errors"]) == {"code"}
    state = next(iter(bot.store._remembered.values()))
    await slack.submit("U0DANA", view["id"], {"code": state.actions[0].code})

    assert (await reviewing).decisions[0].type == "approve"


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
    changed = await erik.card("with the same changes")
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


@pytest.mark.parametrize("objects", [False, True])
async def test_silence_approves_what_a_rule_of_low_risk_says(start_bot, client, dana, policy, objects):
    """The card says so from the beginning, and whoever objects in time is heard."""
    policy.write_text(
        dedent("""\
        default: {channel: C0APPROVALS, approvers: [U0DANA], time_limit: 3s}
        rules:
          - {match: {tool: note}, risk: low, on_timeout: approve}
        """)
    )
    await start_bot(policy=str(policy), approvers="", channel=None)
    reviewing = review(client, an_action("note"), an_action("mail"))
    card = await dana.card("then approved or rejected as each action says")
    assert words(card["blocks"]).count("*Approved at the deadline*") == 1
    if objects:
        await dana.fill(await dana.opened(card, "reject:0"), reason="no")
    resume = await reviewing

    assert [d.type for d in resume.decisions] == ["reject" if objects else "approve", "reject"]
    assert resume.records[0].decided_by == ("U0DANA" if objects else "expired")
    await dana.card("Rejected: nobody decided in time")
    if not objects:
        await dana.card("Approved: nobody decided in time")


async def test_an_open_card_keeps_its_quorum_when_the_file_changes(bot, client, dana, erik, policy):
    """What was asked of two is decided by two."""
    before = bot.policies.policy.version
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card("*2 people* have to agree")
    policy.write_text(RULES.replace("quorum: 2", "quorum: 1"))
    await until(lambda: bot.policies.policy.version != before)

    await dana.press(card, "approve:0")
    await dana.told("1 of 2 approved")
    await erik.press(card, "approve:0")

    assert len((await reviewing).records[0].agreed_by) == 2
