"""Decisions that take several people: who counted, with what, in the real scripts and against a plain model of the rules."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, Decision, RejectDecision
from agent_adapter.contract.record import unix_milliseconds
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval
from bot.domain.ids import MessageId, Shown
from bot.domain.transitions import end, miss
from bot.rendering.pages import measure
from bot.sentences import in_answer
from bot.store.ending import decided_by_silence
from bot.store.records import ApprovalStore
from bot.use_cases.answers import Answer
from bot.use_cases.bulk import approve_all, reject_all
from tests.support.builders import ALL_DECISIONS, an_action, an_admission, an_interrupt
from tests.support.deciding import record, shows

DANA, ERIK, MIRA = "U0DANA", "U0ERIK", "U0MIRA"
MANY = tuple(f"U0MANY{number}" for number in range(40))
RUNS = count()
CARD = MessageId(0)


def for_several(count: int = 1, *, parts: Sequence[Sequence[int]] = (), **terms: Any) -> Admission:
    place = Place(channel="C1", actions=tuple(range(count)), parts=parts)
    return an_admission(places=[place], **{"approvers": ("S0OPS", MIRA), **terms})


async def asked(
    client: ApprovalClient, store: ApprovalStore, count: int = 1, *, life: int | None = None, **terms: Any
) -> Approval:
    """Publish so many actions, for whom Dana is the requester, and admit them on these terms."""
    allowed = terms.pop("allowed", ALL_DECISIONS)
    actions = [an_action("pay", {"to": "al", "amount": index}, allowed=allowed) for index in range(count)]
    interrupt = an_interrupt(*actions, run=f"run-{next(RUNS)}", expires_in=timedelta(hours=1))
    interrupt_id = await client.publish(interrupt)
    admission = for_several(count, **terms)
    pages = tuple(call.pages for call in measure(interrupt, admission.terms))
    await store.admit(
        await store.load(interrupt_id), admission.model_copy(update={"pages": pages}), life=life
    )
    return await store.load(interrupt_id)


async def newest(store: ApprovalStore, state: Approval) -> Approval:
    return await store.load(state.id)


async def press(
    store: ApprovalStore, state: Approval, by: str, decision: Decision, index: int = 0, **given: Any
) -> list[str]:
    """Record one person's decision on one action, and give the outcome."""
    return [*(await record(store, state.id, {index: decision}, by=by, **given)).values()]


APPROVE, REJECT = ApproveDecision(), RejectDecision()


# --- The script ---------------------------------------------------------------------------------------------------


async def test_a_vote_that_is_counted_is_drawn_and_wakes_no_agent(client, store, redis):
    """The card changes; the run waits for a decision."""
    state = await asked(client, store, quorum=2)
    await redis.delete(store.keys.undrawn)

    await press(store, state, ERIK, APPROVE)
    assert await redis.zcard(store.keys.undrawn) == 1
    assert (await newest(store, state)).status == "pending"
    await redis.delete(store.keys.undrawn)
    await press(store, state, ERIK, APPROVE)

    assert await redis.zcard(store.keys.undrawn) == 0
    events = [entry["event"] for _, entry in await redis.xrange(store.keys.audit)]
    assert events[-1:] == ["counted"]


async def test_twenty_people_at_once_give_one_decision_of_two(client, store):
    """However many press together: one counts, one completes it, and all others are late."""
    state = await asked(client, store, quorum=2)

    async def until_all_are_judged(user: str) -> str:
        while (outcomes := await press(store, state, user, APPROVE)) == ["judge_again"]:
            pass
        return outcomes[0]

    outcomes = await asyncio.gather(*(until_all_are_judged(f"U{n}") for n in range(20)))

    assert sorted(outcomes) == ["counted", "recorded", *["taken"] * 18]
    recorded = (await newest(store, state)).recorded[0]
    assert len(set(recorded.agreed_by)) == 2
    assert recorded.agreed_by[-1] == recorded.decided_by


async def test_forty_people_at_once_decide_forty_actions(client, store, decisions, slack):
    """However many press on one card in the same moment: nobody has to press again."""
    state, people = await asked(client, store, 40, approvers=("S0OPS", *MANY)), MANY
    for user in people:
        await slack.person(user, name=user)

    answers = await asyncio.gather(
        *(decisions.decide(state, user, {index: APPROVE}) for index, user in enumerate(people))
    )

    assert all(answer.recorded for answer in answers)
    assert [found.decided_by for found in (await newest(store, state)).recorded] == list(people)


@pytest.mark.parametrize("key", ["card", "req"])
async def test_a_record_that_is_gone_is_not_decided(client, store, redis, decisions, key):
    """This process remembers it, and Redis went back to a time before people were asked."""
    state = await asked(client, store)
    await redis.delete(getattr(store.keys, key)(state.id))

    answer = await decisions.decide(state, ERIK, {0: APPROVE})

    assert (answer.recorded, "nothing was recorded" in answer.sentence) == (False, True)


@pytest.mark.parametrize(
    ("terms", "decision", "said"),
    [
        ({"risk": "high"}, APPROVE, "type what the form asks for"),
        ({"allowed": ("reject",)}, APPROVE, "You cannot approve here, only reject."),
        ({"life": 0}, APPROVE, "expired before your decision; nothing was recorded"),
    ],
    ids=["no code", "not of this kind", "too late"],
)
async def test_whatever_speaks_against_a_decision_keeps_it_from_counting(
    client, store, decisions, terms, decision, said
):
    """Whoever made up a click of their own gets no further than the buttons that are there."""
    state = await asked(client, store, **terms)

    answer = await decisions.decide(state, ERIK, {0: decision})

    assert (answer.recorded, said in answer.sentence) == (False, True)
    found = await newest(store, state)
    assert (found.recorded, found.votes) == ((None,), {})


async def test_nobody_approves_what_was_refused_for_good_when_redis_has_forgotten_it(
    client, store, redis, decisions
):
    """It went back to an older state, and no bot has compared the card yet. It can be refused again."""
    state = await asked(client, store)
    card = store.keys.card(state.id)
    before = await redis.hgetall(card)
    await decisions.decide(state, ERIK, {0: REJECT})
    await redis.delete(card)
    await redis.hset(card, mapping=before)

    assert not (await decisions.decide(await newest(store, state), MIRA, {0: APPROVE})).recorded
    assert (await decisions.decide(await newest(store, state), MIRA, {0: REJECT})).recorded


async def test_a_bulk_button_means_what_people_could_see(client, store, decisions):
    """It approves what its own message shows; the one that rejects is above the parts, and can be pressed before they are there."""
    state = await asked(client, store, 3, parts=((0, 1), (2,)))

    above = await approve_all(decisions, state, ERIK, CARD, {0, 1, 2})
    early = await reject_all(decisions, state, ERIK, 0)
    await is_shown(store, state, MessageId(0, "part", 1))
    first = MessageId(0, "part", 1)
    later = await approve_all(decisions, await newest(store, state), ERIK, first, {0, 1})

    assert above == Answer(False, in_answer.NOT_SHOWN_HERE)
    assert early == Answer(False, "There is nothing left here that you can reject.")
    assert later == Answer(True)
    # Pressing once more says nothing new.
    assert await approve_all(decisions, await newest(store, state), ERIK, first, {0, 1}) == Answer(True)
    assert [bool(recorded) for recorded in (await newest(store, state)).recorded] == [True, True, False]
    assert await reject_all(decisions, await newest(store, state), ERIK, 0) == Answer(
        False, "There is nothing left here that you can reject."
    )


async def test_a_bulk_button_approves_only_what_its_question_named(client, store, decisions):
    """What it left out because of a proposal stays open, also when the proposal is gone by now."""
    state = await asked(client, store, 2)
    await is_shown(store, state)

    assert await approve_all(decisions, await newest(store, state), ERIK, CARD, {0}) == Answer(True)
    assert [bool(recorded) for recorded in (await newest(store, state)).recorded] == [True, False]


# --- Judged again ------------------------------------------------------------------------------------------------


async def test_a_vote_of_somebody_who_may_not_decide_any_more_is_taken_out(client, store, redis):
    """It counts for nothing from then on, the card is drawn, and the audit trail names it."""
    state = await asked(client, store, quorum=3)
    for person in (DANA, ERIK):
        await press(store, state, person, APPROVE)

    assert await press(store, state, MIRA, APPROVE, refused=[ERIK]) == ["counted"]
    assert (await newest(store, state)).actions[0].voters("approve") == (DANA, MIRA)
    assert await press(store, state, MIRA, APPROVE, refused=[DANA]) == ["repeat"]
    assert (await newest(store, state)).actions[0].voters("approve") == (MIRA,)

    trail = [entry for _, entry in await redis.xrange(store.keys.audit)]
    assert [entry["by"] for entry in trail if entry["event"] == "uncounted"] == [ERIK, DANA]


async def test_a_person_who_saw_an_older_record_judges_those_who_voted_since(client, store, decisions, slack):
    """Approvals are judged by the record as it was last read: who voted since then is judged all the same."""
    before = await asked(client, store, quorum=2)
    await decisions.decide(before, ERIK, {0: APPROVE})

    await slack.group("S0OPS", users=[DANA])
    answer = await decisions.decide(before, MIRA, {0: APPROVE})

    assert (answer.recorded, "counts: 1 of 2. One more" in answer.sentence) == (True, True)
    assert (await newest(store, before)).actions[0].voters("approve") == (MIRA,)


# --- Silence ------------------------------------------------------------------------------------------------------


async def is_shown(store: ApprovalStore, state: Approval, part: MessageId = CARD) -> None:
    """Have a bot be there, and a message of the card, as if since the card was asked."""
    await store.heartbeat("bot")
    since = unix_milliseconds(state.created_at)
    await store._redis.hset(store.keys.watched, "since", since)
    await shows(store, state.id, part, Shown("C1", "1.2", "d"))
    await store._redis.hset(store.keys.card(state.id), f"up:{part}", since)


@pytest.mark.parametrize("shown", [True, False])
async def test_silence_approves_what_says_so_and_was_shown(client, store, redis, shown):
    """A card that nobody could see asked nobody. Either way the audit says that the deadline decided."""
    own = {1: Terms(approvers=(ERIK,), by_silence=True)}
    state = await asked(client, store, 3, own=own, life=200)
    if shown:
        await is_shown(store, state)
    await press(store, state, ERIK, REJECT, 2)
    await asyncio.sleep(0.25)

    assert await store.settle(state.id, "expired", why_not="") == "settled"

    resume = await client.wait(state.id)
    assert [decision.type for decision in resume.decisions] == [
        "reject",
        "approve" if shown else "reject",
        "reject",
    ]
    assert [record.decided_by for record in resume.records] == ["expired", "expired", ERIK]
    entries = [fields for _, fields in await redis.xrange(store.keys.audit)]
    by_silence = [each["index"] for each in entries if each["event"] == "decided" and each["by"] == "expired"]
    assert by_silence == ["1"]


SILENT = {"by_silence": True, "life": 400}
NOBODY = "no bot was running"


async def at_the_deadline(client, store, state: Approval) -> tuple[str, str]:
    """Wait for it; give the decision and its words."""
    await asyncio.sleep(max(0, (state.deadline - (await newest(store, state)).now).total_seconds()) + 0.01)
    assert await store.settle(state.id, "expired", why_not="") == "settled"
    decision = (await client.wait(state.id)).decisions[0]
    return decision.type, getattr(decision, "message", None) or ""


async def test_a_message_that_is_posted_anew_has_been_there_since_then(client, store):
    """An edit of the same message changes nothing about that; a new message does."""
    state = await asked(client, store, **SILENT)
    await is_shown(store, state)
    first = (await newest(store, state)).up[CARD]

    for ts, is_new in (("1.2", False), ("9.9", True)):
        before = (await newest(store, state)).shown[CARD]
        await shows(store, state.id, CARD, Shown("C1", ts, "e"), before=before)
        assert ((await newest(store, state)).up[CARD] > first) is is_new


@pytest.mark.parametrize(
    ("signs", "kind"),
    [
        ([("bot", False)], "reject"),
        ([("bot", False), ("another", True)], "reject"),
        ([("another", True), ("bot", False), ("another", True)], "approve"),
    ],
    ids=["it stopped", "another one came later", "another one was there"],
)
async def test_silence_approves_only_where_a_bot_was_there_all_the_time(client, store, signs, kind):
    """A bot that stopped leaves a gap, also where another one starts before the deadline. Replicas are replaced one by one."""
    state = await asked(client, store, **SILENT)
    await is_shown(store, state)
    for name, alive in signs:
        await asyncio.sleep(0.05)
        await store.heartbeat(name, alive=alive)

    found, words = await at_the_deadline(client, store, state)
    assert (found, NOBODY in words) == (kind, kind == "reject")


@pytest.mark.parametrize("seconds", [14, 16])
async def test_a_bot_that_slack_cannot_reach_takes_no_objection(client, store, redis, seconds):
    """It lives and says so; longer than a sign of life may take, it counts as not there."""
    state = await asked(client, store, **SILENT)
    await is_shown(store, state)
    watched = store.keys.watched
    await redis.hincrby(watched, "heard", -seconds * 1000)
    await store.heartbeat("bot", quiet_for=None)
    await asyncio.sleep(0.1)
    await store.heartbeat("bot")

    assert (await at_the_deadline(client, store, state))[0] == ("approve" if seconds < 15 else "reject")


async def test_silence_approves_nothing_where_nobody_has_looked(client, store):
    """Whoever ends a record has to say that people could object."""
    state = await asked(client, store, **SILENT)
    await is_shown(store, state)
    await asyncio.sleep(0.45)
    assert await store.settle(state.id, "expired") == "settled"

    assert (await client.wait(state.id)).decisions[0].type == "reject"


@pytest.mark.parametrize("what", ["somebody tried and could not", "somebody rejected it"])
async def test_what_happens_between_the_look_and_the_end_counts(client, store, what):
    """What the record said before is not what decides."""
    state = await asked(client, store, by_silence=True)
    await is_shown(store, state)
    seen = await newest(store, state)
    _, change = end(
        replace(seen, now=seen.deadline), "expired", reason="", code="", silent=decided_by_silence(seen, "")
    )
    await (press(store, state, ERIK, REJECT) if "rejected" in what else store.update(seen, miss))

    assert (await store.commit(seen, change)).status == ("decided" if "rejected" in what else "pending")


@pytest.mark.parametrize("status", ["withdrawn", "refused"])
async def test_an_end_before_the_deadline_decides_nothing(client, store, status):
    """Nobody was out of time."""
    state = await asked(client, store, by_silence=True)
    await is_shown(store, state)

    await store.settle(state.id, status)

    assert (await newest(store, state)).recorded == (None,)
