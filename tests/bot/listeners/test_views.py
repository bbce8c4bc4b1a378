"""A form decides by the remembered record. What speaks against it is looked up, and then said, entered and drawn once."""

from functools import partial
from typing import Any

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain import transitions
from bot.listeners.actions import Buttons
from bot.listeners.services import Services
from bot.rendering.modal.forms import render_agree_view, render_note_view, render_reject_view
from bot.sentences import in_answer
from bot.store.records import ApprovalStore
from bot.use_cases.assign import Assignments
from tests.bot.rendering.slack_side import submitted
from tests.bot.store.test_votes import ERIK, MIRA, asked, newest, press
from tests.support.builders import edited

MALLORY = "U0MALLORY"


@pytest.fixture
def other_bot(store):
    """Another process beside the same Redis, which the first one does not hear."""
    return ApprovalStore(store._redis, store.keys)


@pytest.fixture
def submit(store, decisions, approvals):
    judge = approvals.judge
    services = Services(store, judge, decisions, Assignments(store, judge), approvals, slack=None)

    async def submit(view: dict[str, Any], user: str = ERIK) -> dict[str, Any] | None:
        return await Buttons(services, home=None).submit({"user": {"id": user}, "view": submitted(view)})

    return submit


async def refusals(store):
    trail = [entry for _, entry in await store._redis.xrange(store.keys.audit)]
    names = ("by", "button", "index", "code")
    return [tuple(e.get(name) for name in names) for e in trail if e["event"] == "click_refused"]


async def test_what_the_remembered_record_refuses_is_judged_by_the_newest(client, store, other_bot, submit):
    """Erik has read the call through another bot since."""
    state = await asked(client, store, modal_only=("to",))
    reading = partial(transitions.read, user=ERIK, pages=[(state.actions[0], state.actions[0].pages)])
    await other_bot.update(state, reading)
    assert not store.recall(state.id).has_read(state.actions[0], ERIK)

    assert await submit(render_note_view(state, 0)) == {"response_action": "clear"}

    assert (await newest(store, state)).recorded[0].decided_by == ERIK
    assert await refusals(store) == []


async def test_a_form_that_decides_nothing_is_entered_once(client, store, submit):
    """With the button that opened it, and why. It is judged twice."""
    state = await asked(client, store)

    reply = await submit(render_reject_view(state, 0), MALLORY)

    assert reply["view"]["callback_id"] == "notice"
    assert await refusals(store) == [(MALLORY, "reject", "0", "not_allowed")]


async def test_a_form_that_asks_something_else_decides_nothing_and_its_card_is_drawn_again(
    client, store, submit
):
    """Silence approves nothing of it either."""
    state = await asked(client, store)
    view = render_note_view(state, 0)
    await store._redis.hset(store.keys.card(state.id), "use_within", str(30 * 24 * 3_600_000))
    await store.load(state.id)

    reply = await submit(view)

    assert in_answer.ASKS_OTHERWISE in str(reply)
    assert await refusals(store) == [(ERIK, "approve_note", "0", "outdated")]
    found = await newest(store, state)
    assert (found.recorded[0], found.missed) == (None, True)


@pytest.mark.parametrize("why", ["gone", "unread"])
async def test_nobody_agrees_with_a_change_that_is_gone_or_that_they_were_not_shown(
    client, store, submit, why
):
    """Mira takes her change back while Erik looks at it; or it is so long that it has to be read page by page."""
    state = await asked(client, store, quorum=3)
    change = edited("pay", to="bo" if why == "gone" else "x\n" * 9_000, amount=0)
    await press(store, state, MIRA, change)
    view = render_agree_view(await newest(store, state), 0)
    if why == "gone":
        await press(store, state, MIRA, ApproveDecision())
    await store.load(state.id)

    reply = str(await submit(view))

    assert (in_answer.GONE if why == "gone" else in_answer.read_proposal_first(1)) in reply
    assert ERIK not in {vote.user for vote in (await newest(store, state)).votes[0]}
