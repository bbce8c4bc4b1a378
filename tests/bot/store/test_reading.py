"""How much of a call has to be read is fixed when it is admitted: no other version asks for more, or for less."""

from typing import Any

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, EditDecision, EditedAction
from agent_adapter.contract.wire import dump_interrupt
from bot.domain.admission import Place, Terms
from bot.domain.approval import Approval
from bot.domain.votes import Proposal
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import lay_out
from bot.rendering.modal.reading import render_reading_view
from bot.rendering.pages import pages_of
from bot.store.codec import admission_fields, proposal_field, read_state
from bot.store.records import ApprovalStore
from bot.use_cases.objections import first_objection
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_view,
    button_labels,
    shown,
)
from tests.support.builders import an_action, an_admission, an_interrupt

ERIK = "U0ERIK"
LONG = {"query": "".join(f"select {number};\n" for number in range(3_000))}
"""On pages of today's size it takes three."""
SHORT = {"query": "select 1;"}
PAGES_TODAY = "1:3"


def stored(pages: str, *actions: Any, **more: str) -> Approval:
    """Read a record of a short and a long call, or of these, with this stored about their pages."""
    interrupt = an_interrupt(*(actions or (an_action("sql", SHORT), an_action("sql", LONG))))
    everywhere = tuple(range(len(interrupt.pauses)))
    fields = admission_fields(an_admission(places=[Place(channel="C1", actions=everywhere)]))
    card = {"status": "pending", **fields, **more, "pages": pages}
    req = {"body": dump_interrupt(interrupt), "created": "1", "deadline": "9000000"}
    found = read_state(req, card, now=6)
    assert isinstance(found, Approval)
    return found


def objection(pages: str, *, read: int) -> str:
    """Say why Erik, who was shown so many pages of the long call, cannot approve it."""
    mark = f"{stored(pages).actions[1].fingerprint}:{read}"
    return first_objection(stored(pages, **{f"seen:1:{ERIK}": mark}), ERIK, {1: ApproveDecision()})


async def test_what_has_to_be_read_is_kept_in_the_record(client: ApprovalClient, store: ApprovalStore, redis):
    """Beside what judges a click, and of those calls only that a card does not show whole."""
    interrupt = an_interrupt(an_action("sql", SHORT), an_action("sql", LONG))
    await client.publish(interrupt)
    admission = lay_out(interrupt, an_admission(places=[Place(channel="C1", actions=(0, 1))]))

    await store.admit(await store.load(interrupt.id), admission)

    assert await redis.hget(store.keys.card(interrupt.id), "pages") == PAGES_TODAY
    assert [action.pages for action in (await store.admitted(interrupt.id)).actions] == [0, 3]


@pytest.mark.parametrize("pages", [1, 2, 5])
def test_the_stored_number_of_pages_decides(pages):
    """A version with larger or smaller pages has fixed it: so many are shown, and who has read them decides."""
    fixed = f"1:{pages}"

    assert [len(pages_of(action)) for action in stored(fixed).actions] == [1, pages]
    assert "press *Read and decide…*" in objection(fixed, read=pages - 1)
    assert not objection(fixed, read=pages)


@pytest.mark.parametrize("pages", [1, 2, 5])
def test_a_reading_of_another_number_of_pages_shows_everything_and_ends_with_approve(pages):
    """All lines in their order, each once, on pages that Slack takes."""
    state = stored(f"1:{pages}")

    views = [render_reading_view(state, 1, page, pages_read=page - 1) for page in range(1, pages + 1)]

    for view in views:
        assert_slack_takes_view(view)
    lines = [line for page in pages_of(state.actions[1]) for _, found in page for line in found]
    assert lines == ["query:", *(f"  │ select {number};" for number in range(3_000)), "  │ "]
    assert f"Page {pages} of {pages}" in shown(views[-1])
    assert [view.get("submit", {}).get("text") for view in views] == [*[None] * (pages - 1), "Approve"]


def test_more_pages_than_lines_can_be_turned_to_their_end():
    """What was divided by other lines is still approved on its last page."""
    state = stored("0:4")

    views = [render_reading_view(state, 0, page, pages_read=page - 1) for page in range(1, 5)]

    for view in views:
        assert_slack_takes_view(view)
    assert "submit" in views[-1]


def test_a_card_shows_whole_what_nobody_has_to_read():
    """Its buttons stand beside all of the call."""
    longer = an_action("sql", {"query": "".join(f"select {number};\n" for number in range(300))})
    cut, whole = stored("0:1", longer), stored("", longer)

    assert "Only the beginning is shown" in shown(render_card(cut)[0].blocks)
    assert "Approve" not in button_labels(render_card(cut)[0].blocks)
    assert_slack_takes_card(render_card(whole))
    assert "select 299;" in shown(render_card(whole)[0].blocks)
    assert "Approve" in button_labels(render_card(whole)[0].blocks)
    assert not first_objection(whole, ERIK, {0: ApproveDecision()})


def test_a_card_shows_the_beginning_of_what_has_to_be_read():
    """A version with less room on its cards has admitted it, and planned its messages with the beginning only."""
    state = stored("0:1 1:3")
    drawn = render_card(state)[0].blocks

    assert shown(drawn).count("Only the beginning is shown") == 2
    assert "Approve" not in button_labels(drawn)


@pytest.mark.parametrize(("kept", "expected"), [(0, 0), (2, 2), (7, 7)])
def test_what_has_to_be_read_of_a_proposal_is_kept_with_it(kept, expected):
    """It is not measured again."""
    edit = EditDecision(edited_action=EditedAction(name="sql", args=LONG))
    terms = Terms(approvers=(ERIK,))
    given = {"name": "n", "fingerprint": "f", "decision": edit, "by": "U0DANA", "policy": "2", "rule": "r"}
    field = proposal_field(Proposal(**given, terms=terms, pages=kept, channel="C2"), at=5)

    state = stored(PAGES_TODAY, **{"proposal:0": field})

    assert state.actions[0].proposed.pages == expected
    assert state.actions[0].pages == 0
