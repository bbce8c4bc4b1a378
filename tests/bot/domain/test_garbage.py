"""Whatever stands in a record, the bot reads it or says that it cannot. No other error ends a loop, a list or a click."""

import contextlib

import pytest

from agent_adapter.contract.wire import dump_interrupt
from agent_adapter.errors import InvalidRequestError, UnreadableRecordError
from bot.domain.admission import Place
from bot.domain.codec import ADMISSION, admission_fields, body_digest, read_state
from bot.jobs.outdated import first_outdated
from bot.rendering.card.card import render_card
from bot.store.sealed import FACTS
from tests.support.builders import an_action, an_admission, an_interrupt

BODY = dump_interrupt(an_interrupt(an_action("a"), an_action("b")))
REQ = {"body": BODY, "created": "1", "deadline": "9000000"}
CARD = {
    **admission_fields(an_admission(places=(Place(channel="C1", actions=(0, 1)),))),
    "asked": body_digest(BODY),
    "status": "pending",
    "deadline": "9000000",
}
WRITTEN_LATER = {
    "status", "reason", "code", "deadline", "settled", "lapsed", "untaken", "vote", "press", "version", "d", "t", "by", "at", "signed",
    "extended", "waiting", "sticky_grant", "sticky_until", "sticky_ended", "sticky_uses", "sticky_given",
    "up", "lease", "missed", "gone", "notice", "seal", "sealed",
}  # fmt: skip
"""The kinds of fields that bots write after the admission, beside those with a mark of their own."""
GARBAGE = {
    "a word": "x",
    "nothing": "",
    "a large number": "9" * 30,
    "a number of 5,000 digits": "9" * 5000,
    "a number that is out of bounds": "99",
    "a negative number": "-1",
    "no number": "nan",
    "no end": "inf",
    "a megabyte": "x" * (1 << 20),
    "deep JSON": "[" * 100_000,
    "an object": '{"a": 1}',
    "a list": "[1, 2]",
    "null": "null",
}


def look_at(req: dict[str, str], card: dict[str, str]) -> None:
    """Read a record, and draw what was read."""
    with contextlib.suppress(InvalidRequestError):
        state = read_state(req, card, now=6)
        render_card(state)
        first_outdated(state, {})


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE)
def test_garbage_in_a_field_is_read_or_said(text):
    """On both sides: each kind of field alone, and as that of an action, of a place, of one that is not there, of none."""
    for field in [
        "created",
        "deadline",
        "fence",
        "claim_until",
        "resumed",
        "withdraw",
        "outcome:x",
        "outcome:0",
    ]:
        look_at({**REQ, field: text}, CARD)
    for kind in sorted(ADMISSION | FACTS | WRITTEN_LATER):
        for of in ("", ":0", ":0:0", ":99", ":x"):
            look_at(REQ, {**CARD, kind + of: text})


@pytest.mark.parametrize(
    ("field", "text"), [("fence", "0"), ("fence", "01"), ("claim_until", "+7"), ("resumed", "07")]
)
def test_a_number_that_no_client_writes_so_makes_a_record_unreadable(field, text):
    """What is compared with it would never be the same, and the card would be drawn without end."""
    with pytest.raises(UnreadableRecordError, match="cannot be read"):
        read_state({**REQ, field: text}, CARD, now=6)
