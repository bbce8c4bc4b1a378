"""What the bot can see of channels, threads and people."""

import pytest
from slack_sdk.errors import SlackApiError

CHANNEL = "C0APPROVALS"


async def refusal(call):
    with pytest.raises(SlackApiError) as refused:
        await call
    return refused.value.response


async def test_history_is_newest_first_without_replies(slack):
    """Replies are in their thread; `reply_broadcast` shows one in both places."""
    first = (await slack.chat_postMessage(channel=CHANNEL, text="first"))["ts"]
    await slack.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=first)
    await slack.chat_postMessage(channel=CHANNEL, text="second")
    await slack.chat_postMessage(channel=CHANNEL, text="loud", thread_ts=first, reply_broadcast=True)

    history = await slack.conversations_history(channel=CHANNEL)
    thread = await slack.conversations_replies(channel=CHANNEL, ts=first)

    assert [message["text"] for message in history["messages"]] == ["loud", "second", "first"]
    assert [message["text"] for message in thread["messages"]] == ["first", "reply", "loud"]
    assert history["messages"][2]["reply_count"] == 2


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
    members = set((await slack.conversations_members(channel=CHANNEL))["members"])
    assert {"U0DANA", "U0GUEST", "U0BOT"} <= members
    assert "U0CONN" not in members


async def test_direct_message_is_opened_and_written_in(slack, control):
    """A person is reached by the id of the conversation, never by their own."""
    channel = (await slack.conversations_open(users="U0DANA"))["channel"]["id"]
    await slack.chat_postMessage(channel=channel, text="hello")

    assert channel.startswith("D")
    assert [message["text"] for message in await control.messages(channel)] == ["hello"]


@pytest.mark.parametrize(
    ("user", "flag"),
    [("U0GUEST", "is_restricted"), ("U0LEFT", "deleted"), ("U0CONN", "is_stranger"), ("U0ROBO", "is_bot")],
)
async def test_person_tells_what_they_are(slack, user, flag):
    """Guests, people who left, strangers and bots are told apart; a stranger is of another team."""
    assert (await slack.users_info(user=user))["user"][flag] is True
    assert (await slack.users_info(user="U0DANA"))["user"][flag] is False
    assert (await slack.users_info(user="U0CONN"))["user"]["team_id"] == "T0OTHER"


async def test_user_group_lists_its_people_without_those_who_left(slack, control):
    """Someone who left cannot be asked any more."""
    await control.group("S0OPS", users=["U0DANA", "U0LEFT"])

    users = await slack.usergroups_users_list(usergroup="S0OPS")
    everybody = await slack.usergroups_users_list(usergroup="S0OPS", include_disabled=True)

    assert users["users"] == ["U0DANA"]
    assert everybody["users"] == ["U0DANA", "U0LEFT"]


async def test_user_groups_are_listed(slack):
    """With their people."""
    groups = (await slack.usergroups_list(include_users=True))["usergroups"]

    assert [(group["handle"], group["users"]) for group in groups] == [("ops", ["U0DANA", "U0ERIK"])]


async def test_token_tells_whose_it_is_and_what_it_may(slack):
    """`x-oauth-scopes` lists what was granted."""
    identity = await slack.auth_test()

    assert (identity["team_id"], identity["user_id"], identity["bot_id"]) == ("T0PLAY", "U0BOT", "B0PLAY")
    assert "chat:write" in identity.headers["x-oauth-scopes"].split(",")


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
