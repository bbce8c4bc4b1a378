"""Approved once for later calls: no wider than it was given, counted, shown, revoked."""

import asyncio

import pytest

from agent_adapter import Context, HITLRequest, Outcome
from tests.conftest import an_agent
from tests.support.builders import an_action
from tests.support.faults import asking
from tests.support.people import Someone, buttons, words

PAY = an_action("pay", {"amount": 5, "to": "ACME"})
RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  standing: {scope: agent, lasts: 8h, uses: 20}
rules:
  - name: look something up
    match: {tool: look_up}
    risk: low
    standing: {same: tool, scope: agent}
  - name: write for oneself
    match: {tool: write_note}
  - name: only Erik gives more than one
    match: {tool: send_*}
    standing: {approvers: [U0ERIK]}
"""


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
async def review(client):
    """Ask for a batch, in a run of its own unless told; what is not decided is given up at the end."""
    waiting = []

    def ask(*actions, by=client, run: str | None = None, pause: str = "p", **asking):
        requests, configs = zip(*(actions or (PAY,)), strict=True)
        batch = HITLRequest(action_requests=requests, review_configs=configs)
        pauses = [f"{pause}{number}" for number in range(len(requests))] if run else None

        async def answered():
            async with by.reviewing(by.interrupt(batch, run=run, pauses=pauses, **asking)) as resume:
                return resume

        waiting.append(asyncio.create_task(answered()))
        return waiting[-1]

    yield ask
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def give(person: Someone, *, saying: str = "rejected at", **chosen: str):
    """Approve the newest card's first action for later calls, too."""
    form = await person.opened(await person.card(saying), "sticky:0")
    await person.fill(form, **chosen)


PROPOSED = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK, U0MIRA]
rules:
  - name: large payments
    match: {tool: pay, args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}}
    quorum: 2
  - match: {tool: pay}
    standing: {scope: agent}
"""


async def test_later_calls_are_not_approved_while_somebody_proposes_something_else(
    start_bot, policy, review, dana, erik
):
    """Dana's form was open before the proposal was made; the card has no such button then, and says why."""
    policy.write_text(PROPOSED)
    await start_bot(policy=str(policy), approvers="", channel=None)
    answer = review()
    card = await dana.card("rejected at")
    form = await dana.opened(card, "sticky:0")
    await erik.fill(await erik.opened(card, "edit:0"), amount="9000")
    proposed = await dana.card("9000")
    assert "sticky:0" not in buttons(proposed)

    await dana.slack.submit("U0DANA", form["id"], {})

    [said] = await dana.slack.views("U0DANA")
    assert "Somebody proposes something else for call 1" in words(said["blocks"])
    await dana.close()
    await dana.press(proposed, "approve:0")
    [record] = (await answer).records
    assert (record.decided_by, record.sticky) == ("U0DANA", None)
    review()
    await dana.card("rejected at")


async def standing_message(slack, saying: str = "standing approval for later calls"):
    """Wait for the message in the thread that says what holds for later calls."""
    return await slack.wait_for_message(
        lambda m: m["user"] == "U0BOT" and m.get("thread_ts") not in {None, m["ts"]} and saying in m["text"]
    )


async def cards(slack):
    """Give the cards, without what stands in their threads."""
    return [
        m
        for m in await slack.messages("C0APPROVALS")
        if m["user"] == "U0BOT" and m.get("thread_ts") in {None, m["ts"]} and m.get("blocks")
    ]


async def is_asked(slack, reviewing, *, card: int):
    """Tell whether a call was asked about, and not run by what was approved before."""
    async with asyncio.timeout(30):
        while len(await cards(slack)) < card:
            assert not reviewing.done()
            await asyncio.sleep(0.02)
    return not reviewing.done()


async def test_the_same_call_runs_without_asking_until_it_is_used_up(bot, slack, review, dana, caplog):
    """The agent gets its answer, no card is posted, and the thread of the first card shows each use; the log, too."""
    caplog.set_level("INFO")
    first = review()
    await give(dana, Where="agent", How_many="2")
    given = (await first).records[0]
    assert (await standing_message(slack))["text"].startswith(
        "<@U0DANA> gave a standing approval for later calls of pay: with the same"
    )

    second = await review(context=Context(requested_by="U0NOOR"))
    third = await review()

    assert [resume.decisions[0].type for resume in (second, third)] == ["approve", "approve"]
    assert given.sticky is None
    assert third.records[0].sticky == f"{(await first).interrupt_id}:0"
    assert third.records[0].decided_by == "U0DANA"
    over = await standing_message(slack, "Used 2 of 2.")
    assert "it was used up" in over["text"]
    assert "for <@U0NOOR>" in words(over["blocks"])
    assert buttons(over) == []
    assert len(await cards(slack)) == 1
    used = [entry for entry in caplog.records if entry.message == "standing.used"]
    assert {entry.standing for entry in used} == {third.records[0].sticky}
    assert len(used) == 2
    assert await is_asked(slack, review(), card=2)


async def test_who_gave_it_is_called_about_the_calls_that_fail_once_an_hour(bot, slack, review, dana, client):
    """Each of these calls gets a card once it has failed, and only the first one mentions Dana."""
    first = review()
    await give(dana, saying="billing: pay", Where="agent")
    await first
    worked = await review()
    await client.report(worked.interrupt_id, 0, Outcome.done("paid"))
    said = []
    for number in range(2):
        failed = await review()
        await client.report(failed.interrupt_id, 0, Outcome.failed(f"error {number}"))
        said.append(
            await slack.wait_for_message(
                lambda m, number=number: (
                    m.get("thread_ts") not in {None, m["ts"]} and f"error {number}" in words(m.get("blocks"))
                )
            )
        )

    assert [m["text"].startswith("<@U0DANA> ❌ Failed: pay") for m in said] == [True, False]
    assert "<@U0DANA>" not in words(said[1]["blocks"])
    posted = await cards(slack)
    assert len(posted) == 3
    assert ["<@U0DANA>" in words(card["blocks"]) for card in posted[1:]] == [False, False]


async def test_a_call_that_somebody_refused_before_a_failover_lost_all_of_it_is_asked(
    bot, slack, review, dana, client
):
    """Its agent asks again, and meanwhile somebody has approved later calls like it."""
    first = review()
    await give(dana, Where="agent")
    await first
    await review(run="known", pause="other")
    lost = client.interrupt(asking(PAY), run="refused", pauses=["p0"])
    bot.store.refused.add(lost.id, 0, is_final=True)

    assert await is_asked(slack, review(run="refused"), card=2)


@pytest.mark.parametrize(
    "other",
    [
        an_action("pay", {"amount": 5, "to": "ACME "}),
        an_action("pay", {"to": "ACME", "amount": 5}),
        an_action("pay_", {"amount": 5, "to": "ACME"}),
        an_action("pay", {"amount": 5, "to": "ACME"}, allowed=["approve", "reject"]),
    ],
    ids=["a space", "another order", "another tool", "other decisions"],
)
async def test_a_call_that_is_nearly_the_same_is_asked(bot, slack, review, dana, other):
    """What was shown is what was approved is what runs."""
    first = review()
    await give(dana, Where="agent")
    await first

    assert await is_asked(slack, review(other), card=2)


async def test_what_one_agent_may_do_no_other_may(bot, slack, review, dana, redis_url):
    """An agent is known by its name."""
    first = review()
    await give(dana, Where="agent")
    await first
    async with an_agent(redis_url, "sales") as other:
        assert await is_asked(slack, review(by=other), card=2)


async def test_somebody_revokes_it_in_the_thread(bot, slack, review, dana, erik):
    """Whoever may approve such a call may; others are told that they may not."""
    first = review()
    await give(dana, Where="agent")
    await first
    noor = Someone(slack, "U0NOOR")
    await noor.press(await standing_message(slack), "revoke:0.0")
    assert "Only <@U0DANA> and people who may approve this" in await noor.notice("can revoke it")

    await erik.press(await standing_message(slack), "revoke:0.0")

    assert "revoked by <@U0ERIK>" in (await standing_message(slack, "Ended"))["text"]
    assert await is_asked(slack, review(), card=2)


async def test_a_revocation_that_is_not_stored_is_not_shown_as_accepted(bot, slack, review, dana, erik):
    """Where Slack neither says who Erik is nor takes a word for him, his click fails, and the next one revokes."""
    first = review()
    await give(dana, Where="agent")
    await first
    message = await standing_message(slack)
    for method in ("users.info", "chat.postEphemeral"):
        await slack.fault(method, "status", status=500, times=None)
    assert not (await erik.press(message, "revoke:0.0"))["ack"]["ok"]
    await slack.clear_faults()

    assert (await erik.press(message, "revoke:0.0"))["ack"]["ok"]
    assert "revoked by <@U0ERIK>" in (await standing_message(slack, "Ended"))["text"]


async def test_approvals_rules_lists_what_holds_and_revokes_it(bot, slack, review, dana, erik):
    """Each person sees what they may revoke, and nothing else."""
    first = review()
    await give(dana, Where="agent")
    await first
    noor = Someone(slack, "U0NOOR")
    await slack.command("U0NOOR", "C0APPROVALS", "/approvals", "rules")
    assert "There are no standing approvals that you can revoke" in words(
        (await slack.wait_for_view("U0NOOR"))["blocks"]
    )
    await slack.command("U0ERIK", "C0APPROVALS", "/approvals", " Rules ")
    view = await slack.wait_for_view("U0ERIK")
    assert "<@U0DANA> gave a standing approval for later calls of `pay`" in words(view["blocks"])
    assert "Given in <#C0APPROVALS>" in words(view["blocks"])

    await slack.click_view("U0ERIK", view["id"], "revoke:0.0")

    async with asyncio.timeout(30):
        while "There are no standing approvals that you can revoke" not in words(
            (await slack.wait_for_view("U0ERIK"))["blocks"]
        ):
            await asyncio.sleep(0.02)
    assert "revoked by <@U0ERIK>" in (await standing_message(slack, "Ended"))["text"]
    assert await is_asked(slack, review(), card=2)
    await slack.command("U0NOOR", "C0APPROVALS", "/approvals", "help")
    assert "/approvals rules" in await noor.notice("lists the standing approvals")


async def test_it_holds_only_while_its_giver_may_still_give_it(bot, slack, review, dana, policy):
    """Somebody who has left, or is no approver by the newest rules, approves nothing by what they once said."""
    first = review()
    await give(dana, Where="agent")
    await first
    policy.write_text(RULES.replace("[U0DANA, U0ERIK]", "[U0ERIK]", 1))
    version = bot.policies.policy.version
    bot.policies.look_now()
    async with asyncio.timeout(30):
        while bot.policies.policy.version == version:
            await asyncio.sleep(0.02)

    assert await is_asked(slack, review(), card=2)


async def test_nobody_approves_later_calls_of_their_own_agent(bot, slack, review, dana):
    """What Dana approved for others does not approve what an agent does for her."""
    first = review()
    await give(dana, Where="agent")
    await first

    assert await is_asked(slack, review(context=Context(requested_by="U0DANA")), card=2)


async def test_in_a_batch_only_what_was_approved_before_is_decided(bot, slack, review, dana, erik):
    """The rest is asked, on a card that says which is which; the agent gets one answer."""
    first = review()
    await give(dana, Where="agent")
    await first
    batch = review(an_action("pay", {"amount": 9}), PAY)
    card = await erik.card("1 of 2 open")

    assert "Approved* without asking, as <@U0DANA> said before" in words(card["blocks"])
    assert [name for name in buttons(card) if name.startswith("approve")] == ["approve:0"]
    await erik.press(card, "approve:0")
    resume = await batch
    assert [bool(record.sticky) for record in resume.records] == [False, True]


async def test_only_whom_the_policy_names_may_give_it(bot, slack, review, dana, erik):
    """Everybody who may approve may still approve the one call."""
    first = review(an_action("send_report"))
    await dana.press(await dana.card(), "sticky:0")
    assert "Only <@U0ERIK> may give a standing approval here." in await dana.notice(
        "give a standing approval"
    )
    await give(erik)
    assert (await first).records[0].decided_by == "U0ERIK"


async def test_many_bots_and_calls_at_once_never_use_it_more_often(start_bot, policy, slack, review, dana):
    """Three replicas admit twelve calls at the same moment: as many run as it was given for, the others are asked."""
    for _ in range(3):
        await start_bot(policy=str(policy), approvers="", channel=None)
    first = review()
    await give(dana, Where="agent", How_many="5")
    await first
    waiting = [review() for _ in range(12)]
    assert "Used 5 of 5." in (await standing_message(slack, "Ended"))["text"]
    async with asyncio.timeout(30):
        while len(await cards(slack)) < 1 + 7:
            await asyncio.sleep(0.05)

    assert sum(each.done() for each in waiting) == 5
