"""What the bot can see of channels, threads and people."""

CHANNEL = "C0APPROVALS"


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


async def test_user_group_lists_its_people_without_those_who_left(slack, control):
    """Someone who left cannot be asked any more."""
    await control.group("S0OPS", users=["U0DANA", "U0LEFT"])

    users = await slack.usergroups_users_list(usergroup="S0OPS")
    everybody = await slack.usergroups_users_list(usergroup="S0OPS", include_disabled=True)

    assert users["users"] == ["U0DANA"]
    assert everybody["users"] == ["U0DANA", "U0LEFT"]
