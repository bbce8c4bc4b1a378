"""Calls of the Web API that Slack refuses, with its own codes."""

import pytest
from slack_sdk.errors import SlackApiError

from tests.playground.builders import modal, preformatted, section

CHANNEL = "C0APPROVALS"


async def refusal(call):
    with pytest.raises(SlackApiError) as refused:
        await call
    return refused.value.response


def post(channel=CHANNEL, **fields):
    return "chat.postMessage", {"channel": channel, "text": "x", **fields}


def update(ts, **fields):
    return "chat.update", {"channel": CHANNEL, "ts": ts, "text": "x", **fields}


def history(channel=CHANNEL, **fields):
    return "conversations.history", {"channel": channel, **fields}


@pytest.mark.parametrize(
    ("call", "error"),
    [
        # A private channel without the bot does not exist for it; names and people are no channels.
        (post("C0NOWHERE"), "channel_not_found"),
        (post("C0PRIVATE"), "channel_not_found"),
        (post("C0OLD"), "is_archived"),
        (post("U0DANA"), "channel_not_found"),
        (post("#approvals"), "channel_not_found"),
        (post("C0OPEN"), "not_in_channel"),
        (post(thread_ts="1.000001"), "thread_not_found"),
        (post(blocks=[section("x" * 3001)]), "invalid_blocks"),
        # A misspelt argument is an error here, not silence.
        (post(thread="1.2"), "invalid_arguments"),
        (("chat.postMessage", {"text": "x"}), "invalid_arguments"),
        (update("1.000001"), "message_not_found"),
        # Nobody outside the channel gets an ephemeral message.
        *((("chat.postEphemeral", {"channel": CHANNEL, "user": user, "text": "x"}), "user_not_in_channel")
          for user in ("U0CONN", "U0LEFT", "U0NOBODY")),
        (history("C0OPEN"), "not_in_channel"),
        (history("C0PRIVATE"), "channel_not_found"),
        (history(limit=1000), "invalid_limit"),
        (history(limit=0), "invalid_limit"),
        (history(cursor="made up"), "invalid_cursor"),
        (history(oldest="yesterday"), "invalid_ts_oldest"),
        (("conversations.replies", {"channel": CHANNEL, "ts": "1.000001"}), "thread_not_found"),
        (("conversations.open", {"users": "U0NOBODY"}), "user_not_found"),
        (("conversations.open", {"users": "U0LEFT"}), "user_disabled"),
        (("conversations.open", {"users": "U0ROBO"}), "cannot_dm_bot"),
        (("conversations.open", {"users": "U0DANA,U0ERIK"}), "missing_scope"),
        (("users.info", {"user": "U0NOBODY"}), "user_not_found"),
        (("users.conversations", {"user": "U0NOBODY"}), "user_not_found"),
        (("usergroups.users.list", {"usergroup": "S0NONE"}), "no_such_subteam"),
        (("views.open", {"trigger_id": "1.2.abc", "view": modal()}), "invalid_trigger_id"),
        (("apps.connections.open", {}), "not_allowed_token_type"),
        (("reactions.add", {}), "unknown_method"),
    ],
    ids=lambda value: None if isinstance(value, str) else value[0],
)  # fmt: skip
async def test_call_is_refused_as_slack_does(slack, control, call, error):
    """What the stand-in would let pass, the real one would not."""
    await control.channel("C0OPEN", name="open", members=["U0DANA"])
    method, arguments = call
    writes = method.startswith(("chat.", "views.", "reactions."))
    asked = {"json": arguments} if writes else {"params": arguments}

    response = await refusal(slack.api_call(method, **asked))

    assert response["error"] == error
    assert await control.messages(CHANNEL) == []


async def test_only_own_messages_are_changed(slack, control):
    """People's messages are theirs, an ephemeral one changes only by its `response_url`; a reply opens no thread."""
    written = (await control.message("U0DANA", CHANNEL, "mine"))["ts"]
    whispered = (await slack.chat_postEphemeral(channel=CHANNEL, user="U0DANA", text="psst"))["message_ts"]
    reply = (await slack.chat_postMessage(channel=CHANNEL, text="x", thread_ts=written))["ts"]

    for call, error in [
        (slack.chat_update(channel=CHANNEL, ts=written, text="x"), "cant_update_message"),
        (slack.chat_delete(channel=CHANNEL, ts=written), "cant_delete_message"),
        (slack.chat_update(channel=CHANNEL, ts=whispered, text="x"), "cant_update_message"),
        (slack.chat_postMessage(channel=CHANNEL, text="x", thread_ts=reply), "cannot_reply_to_message"),
        # A post takes ten times as much as an update.
        (slack.chat_update(channel=CHANNEL, ts=reply, text="x" * 4_001), "msg_too_long"),
    ]:
        assert (await refusal(call))["error"] == error


async def test_missing_scope_names_what_is_needed(slack, control):
    """And what was provided; to read, it depends on the kind of channel."""
    await control.channel("C0PRIVATE", members=["U0DANA", "U0BOT"])
    await control.channel("C0OPEN", name="open", members=["U0DANA"])
    await control.set_scopes("channels:history")

    refused = await refusal(slack.chat_postMessage(channel=CHANNEL, text="x"))
    private = await refusal(slack.conversations_history(channel="C0PRIVATE"))

    assert (refused["error"], refused["needed"]) == ("missing_scope", "chat:write")
    assert (private["needed"], private["provided"]) == ("groups:history", "channels:history")
    assert (await slack.conversations_history(channel=CHANNEL))["ok"]
    await control.set_scopes("chat:write", "chat:write.public")
    assert (await slack.chat_postMessage(channel="C0OPEN", text="x"))["ok"]


async def test_rich_text_is_not_replaced_by_a_message_without_other_text(slack):
    """A section or header in both versions is what keeps an edit of rich text possible."""
    bare = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[preformatted("x")])
    kept = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[section(), preformatted("x")])

    refused = await refusal(slack.chat_update(channel=CHANNEL, ts=bare["ts"], text="x", blocks=[section()]))
    edited = await slack.chat_update(channel=CHANNEL, ts=kept["ts"], text="x", blocks=[section()])

    assert (refused["error"], edited["ok"]) == ("block_mismatch", True)
