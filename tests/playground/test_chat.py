"""Posting, editing and finding messages with the real Web API client, and who is in a group."""

from tests.playground.builders import preformatted, section
from tests.playground.test_refusals import refusal

CHANNEL = "C0APPROVALS"
METADATA = {"event_type": "card", "event_payload": {"id": "billing.1", "part": 0}}


async def test_rich_text_is_not_replaced_by_a_message_without_other_text(slack):
    """A section or header in both versions is what keeps an edit of rich text possible."""
    bare = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[preformatted("x")])
    kept = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[section(), preformatted("x")])

    refused = await refusal(slack.chat_update(channel=CHANNEL, ts=bare["ts"], text="x", blocks=[section()]))
    edited = await slack.chat_update(channel=CHANNEL, ts=kept["ts"], text="x", blocks=[section()])

    assert (refused["error"], edited["ok"]) == ("block_mismatch", True)


async def test_metadata_comes_back_only_when_asked_for(slack):
    """`include_all_metadata` is what shows it."""
    await slack.chat_postMessage(channel=CHANNEL, text="x", metadata=METADATA)

    silent = await slack.conversations_history(channel=CHANNEL)
    asked = await slack.conversations_history(channel=CHANNEL, include_all_metadata=True)

    assert "metadata" not in silent["messages"][0]
    assert asked["messages"][0]["metadata"] == METADATA
