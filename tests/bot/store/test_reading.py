"""How much of a call has to be read is fixed when it is admitted: no other version asks for more, or for less."""

from typing import Any

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.wire import dump_interrupt
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.codec import admission_fields, read_state
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import lay_out
from bot.rendering.pages import pages_of
from bot.store.records import ApprovalStore
from bot.use_cases.who_may_decide import first_objection
from tests.bot.rendering.slack_side import assert_slack_takes_card, button_labels, shown
from tests.support.builders import an_action, an_admission, an_interrupt

ERIK = "U0ERIK"
LONG = {"query": "".join(f"select {number};\n" for number in range(3_000))}
"""On pages of today's size it takes three."""
SHORT = {"query": "select 1;"}
PAGES_TODAY = "[0,3]"


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
    fixed = f"[0,{pages}]"

    assert [len(pages_of(action)) for action in stored(fixed).actions] == [1, pages]
    assert "press *Open…*" in objection(fixed, read=pages - 1)
    assert not objection(fixed, read=pages)


def test_a_card_shows_whole_what_nobody_has_to_read():
    """Its buttons stand beside all of the call."""
    longer = an_action("sql", {"query": "".join(f"select {number};\n" for number in range(300))})
    cut, whole = stored("[1]", longer), stored("[0]", longer)

    assert "Only the beginning is shown" in shown(render_card(cut)[0].blocks)
    assert "Approve" not in button_labels(render_card(cut)[0].blocks)
    assert_slack_takes_card(render_card(whole))
    assert "select 299;" in shown(render_card(whole)[0].blocks)
    assert "Approve" in button_labels(render_card(whole)[0].blocks)
    assert not first_objection(whole, ERIK, {0: ApproveDecision()})
