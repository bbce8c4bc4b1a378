"""Posting, editing and finding messages with the real Web API client."""

import pytest
from slack_sdk.errors import SlackApiError

from tests.playground.builders import actions, button, preformatted, section

CHANNEL = "C0APPROVALS"
METADATA = {"event_type": "card", "event_payload": {"id": "billing.1", "part": 0}}


async def refusal(call):
    with pytest.raises(SlackApiError) as refused:
        await call
    return refused.value.response


async def test_post_is_what_the_channel_shows(slack, control):
    """A post comes back with its `ts`, and stands in the channel."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="hello", blocks=[section("*hello*")])

    [shown] = await control.messages(CHANNEL)
    assert (shown["ts"], shown["user"], shown["text"]) == (posted["ts"], "U0BOT", "hello")
    assert posted["message"]["bot_id"] == "B0PLAY"


async def test_blocks_come_back_as_slack_stores_them(slack):
    """Slack names nameless blocks and fills in the defaults of texts."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[section("x"), actions()])

    text, buttons = posted["message"]["blocks"]
    assert text["text"]["verbatim"] is False
    assert buttons["elements"][0]["text"]["emoji"] is True
    assert text["block_id"] != buttons["block_id"]


async def test_refused_blocks_name_what_and_where(slack):
    """`invalid_blocks` carries its sentences twice, as Slack does."""
    response = await refusal(slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[section("x" * 3001)]))

    sentence = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    assert response["error"] == "invalid_blocks"
    assert response["errors"] == [sentence]
    assert response["response_metadata"]["messages"] == [f"[ERROR] {sentence}"]


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("C0NOWHERE", "channel_not_found"),
        ("C0PRIVATE", "channel_not_found"),
        ("C0OLD", "is_archived"),
        ("U0DANA", "channel_not_found"),
        ("#approvals", "channel_not_found"),
    ],
)
async def test_post_reaches_only_channels_the_bot_can_write_in(slack, channel, error):
    """A private channel without the bot does not exist for it; names and people are no channels."""
    assert (await refusal(slack.chat_postMessage(channel=channel, text="x")))["error"] == error


async def test_post_to_a_public_channel_needs_membership_or_its_scope(slack, control):
    """`chat:write.public` is what lets a bot post where it is not a member."""
    await control.channel("C0OPEN", name="open", members=["U0DANA"])
    assert (await refusal(slack.chat_postMessage(channel="C0OPEN", text="x")))["error"] == "not_in_channel"

    await control.set_scopes("chat:write", "chat:write.public")

    assert (await slack.chat_postMessage(channel="C0OPEN", text="x"))["ok"]


async def test_argument_that_slack_would_ignore_is_refused(slack):
    """A misspelt argument is an error here, not silence."""
    response = await refusal(slack.chat_postMessage(channel=CHANNEL, text="x", thread="1.2"))

    assert response["error"] == "invalid_arguments"
    assert response["response_metadata"]["messages"] == [
        "[ERROR] invalid additional property: thread [json-pointer:/]"
    ]


async def test_missing_channel_is_refused(slack):
    """A required argument is named."""
    response = await refusal(slack.api_call("chat.postMessage", json={"text": "x"}))

    assert response["response_metadata"]["messages"] == [
        "[ERROR] missing required field: channel [json-pointer:/channel]"
    ]


async def test_reply_needs_a_thread_that_is_there(slack):
    """A thread is opened on a message, and not on a reply."""
    first = (await slack.chat_postMessage(channel=CHANNEL, text="first"))["ts"]
    reply = (await slack.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=first))["ts"]

    nowhere = await refusal(slack.chat_postMessage(channel=CHANNEL, text="x", thread_ts="1.000001"))
    below = await refusal(slack.chat_postMessage(channel=CHANNEL, text="x", thread_ts=reply))

    assert (nowhere["error"], below["error"]) == ("thread_not_found", "cannot_reply_to_message")


async def test_update_with_text_alone_removes_the_blocks(slack, control):
    """Blocks that are not given again are gone."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[section(), actions()])

    await slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="plain")

    [shown] = await control.messages(CHANNEL)
    assert (shown["text"], shown["blocks"]) == ("plain", [])
    assert shown["edited"]["ts"] > posted["ts"]


async def test_update_of_long_text_is_refused(slack):
    """An update takes 4,000 characters, a post ten times as many."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x" * 4_001)

    refused = await refusal(slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="x" * 4_001))

    assert refused["error"] == "msg_too_long"


async def test_rich_text_is_not_replaced_by_a_message_without_other_text(slack):
    """A section or header in both versions is what keeps an edit of rich text possible."""
    bare = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[preformatted("x")])
    kept = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[section(), preformatted("x")])

    refused = await refusal(slack.chat_update(channel=CHANNEL, ts=bare["ts"], text="x", blocks=[section()]))
    edited = await slack.chat_update(channel=CHANNEL, ts=kept["ts"], text="x", blocks=[section()])

    assert (refused["error"], edited["ok"]) == ("block_mismatch", True)


async def test_only_own_messages_are_changed(slack, control):
    """People's messages are theirs; what is not there is not found."""
    written = await control.message("U0DANA", CHANNEL, "mine")

    update = await refusal(slack.chat_update(channel=CHANNEL, ts=written["ts"], text="x"))
    delete = await refusal(slack.chat_delete(channel=CHANNEL, ts=written["ts"]))
    nothing = await refusal(slack.chat_update(channel=CHANNEL, ts="1.000001", text="x"))

    assert update["error"] == "cant_update_message"
    assert delete["error"] == "cant_delete_message"
    assert nothing["error"] == "message_not_found"


async def test_deleted_message_is_gone(slack, control):
    """What was deleted is neither shown nor changed."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x")

    await slack.chat_delete(channel=CHANNEL, ts=posted["ts"])

    assert await control.messages(CHANNEL) == []
    refused = await refusal(slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="x"))
    assert refused["error"] == "message_not_found"


async def test_metadata_comes_back_only_when_asked_for(slack):
    """`include_all_metadata` is what shows it."""
    await slack.chat_postMessage(channel=CHANNEL, text="x", metadata=METADATA)

    silent = await slack.conversations_history(channel=CHANNEL)
    asked = await slack.conversations_history(channel=CHANNEL, include_all_metadata=True)

    assert "metadata" not in silent["messages"][0]
    assert asked["messages"][0]["metadata"] == METADATA


async def test_update_keeps_metadata_until_it_is_emptied(slack, control):
    """Left out, metadata stays; `{}` removes it."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", metadata=METADATA)

    await slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="y")
    [kept] = await control.messages(CHANNEL)
    await slack.api_call(
        "chat.update", json={"channel": CHANNEL, "ts": posted["ts"], "text": "z", "metadata": {}}
    )
    [emptied] = await control.messages(CHANNEL)

    assert kept["metadata"] == METADATA
    assert "metadata" not in emptied


async def test_ephemeral_message_is_seen_by_its_reader_alone(slack, control):
    """It is in nobody else's channel, and in no history."""
    await slack.chat_postEphemeral(channel=CHANNEL, user="U0DANA", text="psst")

    assert [message["text"] for message in await control.messages(CHANNEL, as_user="U0DANA")] == ["psst"]
    assert await control.messages(CHANNEL, as_user="U0ERIK") == []
    assert (await slack.conversations_history(channel=CHANNEL))["messages"] == []


@pytest.mark.parametrize("user", ["U0CONN", "U0LEFT", "U0NOBODY"])
async def test_ephemeral_message_needs_its_reader_in_the_channel(slack, user):
    """Nobody outside the channel gets one."""
    refused = await refusal(slack.chat_postEphemeral(channel=CHANNEL, user=user, text="x"))

    assert refused["error"] == "user_not_in_channel"


async def test_ephemeral_message_cannot_be_updated(slack):
    """Only a `response_url` can change it."""
    posted = await slack.chat_postEphemeral(channel=CHANNEL, user="U0DANA", text="psst")

    refused = await refusal(slack.chat_update(channel=CHANNEL, ts=posted["message_ts"], text="x"))

    assert refused["error"] == "cant_update_message"


async def test_permalink_names_channel_and_time(slack):
    """As Slack builds it."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x")

    link = await slack.chat_getPermalink(channel=CHANNEL, message_ts=posted["ts"])

    assert link["permalink"].endswith(f"/archives/{CHANNEL}/p{posted['ts'].replace('.', '')}")


async def test_blocks_validate_gives_the_verdict_without_sending(slack, control):
    """Slack's own validator, in both ways the SDK can ask it."""
    fine = await slack.api_call("blocks.validate", json={"blocks": [section()]})
    refused = await refusal(slack.blocks_validate(blocks=[actions(button(style="loud"))]))

    assert fine["ok"]
    [error] = refused["errors"]
    assert error == {
        "pointer": "/blocks/0/elements/0/style",
        "code": "not_allowed",
        "message": "must be one of: primary, danger",
        "constraint": ["primary", "danger"],
    }
    assert await control.messages(CHANNEL) == []
