"""Which message is which: in the bot by its kind, in Redis and in Slack by a number."""

import pytest

from bot.domain.ids import Label, MessageId

STORED = {
    "0:0": MessageId(0),
    "1:0": MessageId(1),
    "0:3": MessageId(0, "part", 3),
    "0:999": MessageId(0, "part", 999),
    "2:1001": MessageId(2, "remark", 1),
    "0:1012": MessageId(0, "remark", 12),
    "0:1000000": MessageId(0, "standing", 0),
    "1:1000007": MessageId(1, "standing", 7),
}


@pytest.mark.parametrize(("text", "message"), STORED.items())
def test_a_message_is_stored_as_a_number_of_its_place(text: str, message: MessageId):
    """Records and cards name their messages this way, so it never changes."""
    assert str(message) == text
    assert MessageId.parse(text) == message


def test_only_what_asks_something_is_part_of_a_card():
    """Notes and standing approvals stand beside it: people can decide without them."""
    beside = [message for message in STORED.values() if message.is_beside]

    assert {message.kind for message in beside} == {"remark", "standing"}
    assert all(message.card == MessageId(message.place) for message in STORED.values())


def test_a_message_says_in_slack_which_one_it_is():
    """Its metadata keeps the number, by which the message is recognised."""
    label = Label("billing.abc", MessageId(0, "remark", 2), "digest")
    posted = {"metadata": label.metadata, "bot_id": "B1"}

    assert label.metadata["event_payload"]["part"] == "0:1002"
    assert Label.of(posted, "B1") == label
