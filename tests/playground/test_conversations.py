"""What the bot can see of channels, threads and people."""

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

CHANNEL = "C0APPROVALS"


async def refusal(call):
    with pytest.raises(SlackApiError) as refused:
        await call
    return refused.value.response


async def test_history_is_newest_first_without_replies(slack):
    """Replies are in their thread."""
    first = (await slack.chat_postMessage(channel=CHANNEL, text="first"))["ts"]
    await slack.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=first)
    await slack.chat_postMessage(channel=CHANNEL, text="second")

    history = await slack.conversations_history(channel=CHANNEL)
    thread = await slack.conversations_replies(channel=CHANNEL, ts=first)

    assert [message["text"] for message in history["messages"]] == ["second", "first"]
    assert [message["text"] for message in thread["messages"]] == ["first", "reply"]
    assert history["messages"][1]["reply_count"] == 1


async def test_broadcast_reply_is_in_the_channel_too(slack):
    """`reply_broadcast` shows a reply in both places."""
    first = (await slack.chat_postMessage(channel=CHANNEL, text="first"))["ts"]
    await slack.chat_postMessage(channel=CHANNEL, text="loud", thread_ts=first, reply_broadcast=True)

    history = await slack.conversations_history(channel=CHANNEL)

    assert [message["text"] for message in history["messages"]] == ["loud", "first"]


async def test_history_is_bounded_in_time_without_its_ends(slack):
    """`oldest` and `latest` are excluded unless `inclusive`."""
    first, second, third = [
        (await slack.chat_postMessage(channel=CHANNEL, text=text))["ts"] for text in ("1", "2", "3")
    ]

    between = await slack.conversations_history(channel=CHANNEL, oldest=first, latest=third)
    included = await slack.conversations_history(channel=CHANNEL, oldest=second, inclusive=True)

    assert [message["ts"] for message in between["messages"]] == [second]
    assert [message["ts"] for message in included["messages"]] == [third, second]


async def test_history_comes_in_pages(slack):
    """The cursor leads to what was left out."""
    for number in range(5):
        await slack.chat_postMessage(channel=CHANNEL, text=str(number))

    first = await slack.conversations_history(channel=CHANNEL, limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    rest = await slack.conversations_history(channel=CHANNEL, limit=3, cursor=cursor)

    assert [message["text"] for message in first["messages"]] == ["4", "3", "2"]
    assert [message["text"] for message in rest["messages"]] == ["1", "0"]
    assert (first["has_more"], rest["has_more"]) == (True, False)


async def test_page_is_shorter_than_asked_for_before_the_end(slack, control):
    """Only the cursor tells whether there is more."""
    for number in range(101):
        await control.message("U0DANA", CHANNEL, str(number))

    first = await slack.conversations_history(channel=CHANNEL, limit=200)

    assert len(first["messages"]) == 100
    assert first["response_metadata"]["next_cursor"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"limit": 1000}, "invalid_limit"),
        ({"limit": 0}, "invalid_limit"),
        ({"cursor": "made up"}, "invalid_cursor"),
        ({"oldest": "yesterday"}, "invalid_ts_oldest"),
    ],
)
async def test_history_refuses_what_it_cannot_read(slack, arguments, error):
    """A page of 999 is the largest; a cursor is Slack's own."""
    assert (await refusal(slack.conversations_history(channel=CHANNEL, **arguments)))["error"] == error


async def test_history_needs_membership(slack, control):
    """To read a public channel the bot must be in it; a private one is not there at all."""
    await control.channel("C0OPEN", name="open", members=["U0DANA"])

    public = await refusal(slack.conversations_history(channel="C0OPEN"))
    private = await refusal(slack.conversations_history(channel="C0PRIVATE"))

    assert (public["error"], private["error"]) == ("not_in_channel", "channel_not_found")


async def test_thread_that_is_not_there_is_not_found(slack):
    """`thread_not_found`, not an empty thread."""
    assert (await refusal(slack.conversations_replies(channel=CHANNEL, ts="1.000001")))[
        "error"
    ] == "thread_not_found"


@pytest.mark.parametrize(
    ("channel", "flag", "value"),
    [
        ("C0APPROVALS", "is_member", True),
        ("C0APPROVALS", "is_ext_shared", False),
        ("C0SHARED", "is_ext_shared", True),
        ("C0OLD", "is_archived", True),
    ],
)
async def test_channel_tells_what_it_is(slack, channel, flag, value):
    """Shared and archived channels say so."""
    assert (await slack.conversations_info(channel=channel))["channel"][flag] is value


async def test_members_are_listed(slack):
    """All of them, guests and the bot too."""
    members = (await slack.conversations_members(channel=CHANNEL))["members"]

    assert {"U0DANA", "U0GUEST", "U0BOT"} <= set(members)
    assert "U0CONN" not in members


async def test_direct_message_is_opened_and_written_in(slack, control):
    """A person is reached by the id of the conversation, never by their own."""
    channel = (await slack.conversations_open(users="U0DANA"))["channel"]["id"]
    await slack.chat_postMessage(channel=channel, text="hello")

    assert channel.startswith("D")
    assert [message["text"] for message in await control.messages(channel)] == ["hello"]


@pytest.mark.parametrize(
    ("users", "error"),
    [
        ("U0NOBODY", "user_not_found"),
        ("U0LEFT", "user_disabled"),
        ("U0ROBO", "cannot_dm_bot"),
        ("U0DANA,U0ERIK", "missing_scope"),
    ],
)
async def test_direct_message_needs_somebody_to_read_it(slack, users, error):
    """People who left and bots get none; several people need a scope of their own."""
    assert (await refusal(slack.conversations_open(users=users)))["error"] == error


@pytest.mark.parametrize(
    ("user", "flag"),
    [
        ("U0GUEST", "is_restricted"),
        ("U0LEFT", "deleted"),
        ("U0CONN", "is_stranger"),
        ("U0ROBO", "is_bot"),
    ],
)
async def test_person_tells_what_they_are(slack, user, flag):
    """Guests, people who left, strangers and bots are told apart."""
    assert (await slack.users_info(user=user))["user"][flag] is True
    assert (await slack.users_info(user="U0DANA"))["user"][flag] is False


async def test_stranger_is_of_another_team(slack):
    """Slack Connect people carry their own team."""
    assert (await slack.users_info(user="U0CONN"))["user"]["team_id"] == "T0OTHER"


async def test_unknown_person_is_not_found(slack):
    """`user_not_found`."""
    assert (await refusal(slack.users_info(user="U0NOBODY")))["error"] == "user_not_found"


async def test_user_group_lists_its_people_without_those_who_left(slack, control):
    """Someone who left cannot be asked any more."""
    await control.group("S0OPS", users=["U0DANA", "U0LEFT"])

    users = await slack.usergroups_users_list(usergroup="S0OPS")
    everybody = await slack.usergroups_users_list(usergroup="S0OPS", include_disabled=True)

    assert users["users"] == ["U0DANA"]
    assert everybody["users"] == ["U0DANA", "U0LEFT"]


async def test_user_groups_are_listed_and_unknown_ones_refused(slack):
    """`no_such_subteam`."""
    groups = (await slack.usergroups_list(include_users=True))["usergroups"]
    refused = await refusal(slack.usergroups_users_list(usergroup="S0NONE"))

    assert [(group["handle"], group["users"]) for group in groups] == [("ops", ["U0DANA", "U0ERIK"])]
    assert refused["error"] == "no_such_subteam"


async def test_token_tells_whose_it_is_and_what_it_may(slack):
    """`x-oauth-scopes` lists what was granted."""
    identity = await slack.auth_test()

    assert (identity["team_id"], identity["user_id"], identity["bot_id"]) == ("T0PLAY", "U0BOT", "B0PLAY")
    assert "chat:write" in identity.headers["x-oauth-scopes"].split(",")


async def test_missing_scope_names_what_is_needed(slack, control):
    """And what was provided."""
    await control.set_scopes("channels:read")

    refused = await refusal(slack.chat_postMessage(channel=CHANNEL, text="x"))

    assert (refused["error"], refused["needed"], refused["provided"]) == (
        "missing_scope",
        "chat:write",
        "channels:read",
    )


async def test_scope_to_read_depends_on_the_kind_of_channel(slack, control):
    """Public channels need `channels:history`, private ones `groups:history`."""
    await control.channel("C0PRIVATE", members=["U0DANA", "U0BOT"])
    await control.set_scopes("channels:history")

    assert (await slack.conversations_history(channel=CHANNEL))["ok"]
    assert (await refusal(slack.conversations_history(channel="C0PRIVATE")))["needed"] == "groups:history"


@pytest.mark.parametrize(
    ("token", "error"),
    [("xoxb-wrong", "invalid_auth"), ("xapp-playground", "not_allowed_token_type")],
)
async def test_wrong_token_is_refused(playground, http, token, error):
    """Only the bot's own token opens the bot's methods."""
    stranger = AsyncWebClient(token, base_url=playground.api_url, session=http)

    assert (await refusal(stranger.auth_test()))["error"] == error


async def test_call_without_a_token_is_not_authed(playground, http):
    """No token is not a wrong token."""
    async with http.post(f"{playground.api_url}auth.test") as response:
        assert await response.json() == {"ok": False, "error": "not_authed"}


async def test_revoked_token_opens_nothing(slack, control):
    """Until it is given back."""
    await control.revoke_token()
    assert (await refusal(slack.auth_test()))["error"] == "token_revoked"

    await control.revoke_token(revoked=False)

    assert (await slack.auth_test())["ok"]


async def test_bot_token_opens_no_socket(slack):
    """Socket Mode needs the app-level token."""
    refused = await refusal(slack.api_call("apps.connections.open"))

    assert refused["error"] == "not_allowed_token_type"


async def test_unknown_method_is_refused(slack):
    """What the stand-in does not have, it does not pretend to have."""
    assert (await refusal(slack.api_call("reactions.add", json={})))["error"] == "unknown_method"


async def test_channels_of_a_person_are_those_that_the_app_can_see(slack, control):
    """Every public one that they are in, and a private one only where the app is in it as well."""
    await control.channel("C0PUBLIC", name="public", members=["U0DANA"])

    answer = await slack.api_call(
        "users.conversations",
        http_verb="GET",
        params={"user": "U0DANA", "types": "public_channel,private_channel"},
    )

    found = {channel["id"] for channel in answer["channels"]}
    assert {"C0PUBLIC", "C0APPROVALS"} <= found
    assert "C0PRIVATE" not in found
    unknown = slack.api_call("users.conversations", http_verb="GET", params={"user": "U0NOBODY"})
    assert (await refusal(unknown))["error"] == "user_not_found"
