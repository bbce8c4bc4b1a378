"""What a call to Slack may end in, and that no post is ever made twice by a retry."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout, web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.errors import InterruptFaultError, SlackBusyError, SlackUnclearError, WorkspaceFaultError
from bot.domain.ids import EVENT_TYPE, Label, MessageId
from bot.slack.client import SlackClient, _as_our_error
from playground.server import Playground
from tests.support.web import served

CHANNEL = "C0APPROVALS"
CARD = MessageId(0)
LABEL = Label("billing.abc", CARD, "0123", "ended", frozenset({0, 2}))
BLOCKS = [{"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}]


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession(timeout=ClientTimeout(total=1)) as session:
        yield session


@pytest.fixture
async def client(playground: Playground, session: ClientSession) -> SlackClient:
    client = SlackClient(playground.bot_token, playground.api_url, session)
    await client.who_am_i()
    return client


async def post(client: SlackClient, **changed: Any) -> str:
    given: dict[str, Any] = {
        "channel": CHANNEL,
        "text": "A card",
        "blocks": BLOCKS,
        "thread_ts": None,
        "label": LABEL,
    }
    return await client.post_message(**given | changed)


async def test_a_post_is_one_message_that_can_be_found_again(client, slack):
    """It carries the record's id and its part where people do not see them."""
    ts = await post(client)

    (message,) = await slack.messages(CHANNEL)
    assert (message["ts"], message["text"]) == (ts, "A card")
    assert message["metadata"] == {
        "event_type": EVENT_TYPE,
        "event_payload": {
            "id": "billing.abc",
            "part": "0:0",
            "digest": "0123",
            "stage": "ended",
            "decided": "0 2",
        },
    }


async def test_agent_text_is_never_made_active(client, slack):
    """Slack is told to make no links, names or previews of what an agent wrote."""
    ts = await post(client)
    await client.update_message(CHANNEL, ts, text="Again", blocks=BLOCKS, label=LABEL)

    posted = await slack.calls("chat.postMessage")
    for call in (*posted, *await slack.calls("chat.update")):
        assert (call["args"]["parse"], call["args"]["link_names"]) == ("none", False)
    assert not posted[0]["args"]["unfurl_links"]
    assert not posted[0]["args"]["unfurl_media"]


# --- Errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "expected", "sentence"),
    [
        ({"kind": "ratelimited", "seconds": 7}, SlackBusyError, "chat.postMessage: ratelimited"),
        ({"kind": "status", "status": 500}, SlackUnclearError, "chat.postMessage: http_500"),
        ({"kind": "status", "status": 503}, SlackUnclearError, "chat.postMessage: http_503"),
        ({"kind": "error", "error": "fatal_error"}, SlackUnclearError, "chat.postMessage: fatal_error"),
        ({"kind": "error", "error": "invalid_auth"}, WorkspaceFaultError, "chat.postMessage: invalid_auth (check SLACK_BOT_TOKEN)"),
        ({"kind": "error", "error": "token_revoked"}, WorkspaceFaultError, "chat.postMessage: token_revoked"),
        ({"kind": "error", "error": "is_archived"}, InterruptFaultError, "chat.postMessage: is_archived"),
        ({"kind": "error", "error": "a_new_code"}, InterruptFaultError, "chat.postMessage: a_new_code"),
        ({"kind": "drop"}, SlackUnclearError, "chat.postMessage: "),
    ],
    ids=lambda value: value.get("error", value.get("status", value["kind"])) if isinstance(value, dict) else "",
)  # fmt: skip
async def test_what_slack_answers_is_sorted_into_four_errors(client, slack, fault, expected, sentence):
    """Wait as long as Slack says, unclear, a fault of the workspace, or of this interrupt; and a post is tried exactly once."""
    await slack.fault("chat.postMessage", times=None, **fault)

    with pytest.raises(expected) as caught:
        await post(client)
    assert type(caught.value) is expected
    assert str(caught.value).startswith(sentence)
    assert getattr(caught.value, "retry_after", 7) == 7
    assert len(await slack.calls("chat.postMessage")) == 1


async def test_a_post_whose_answer_is_lost_is_unclear_and_made_once(client, slack):
    """Slack took it and the connection ended: a retry would have posted a second card."""
    await slack.fault("chat.postMessage", "accept_then_drop")

    with pytest.raises(SlackUnclearError) as caught:
        await post(client)
    assert not caught.value.answered
    (message,) = await slack.messages(CHANNEL)
    assert await find(client) == message["ts"]


async def test_a_slack_that_does_not_answer_is_unclear(client, slack):
    """The session's own time-out ends the wait."""
    await slack.fault("chat.postMessage", "timeout", seconds=5)

    with pytest.raises(SlackUnclearError, match=r"chat\.postMessage: .+"):
        await post(client)


async def test_a_missing_scope_is_the_workspaces_fault_and_named(client, slack):
    """The operator reads what to add."""
    await slack.set_scopes("users:read")

    with pytest.raises(
        WorkspaceFaultError, match=r"missing_scope \(add the scope chat:write and install the app again\)"
    ):
        await post(client)


@pytest.mark.parametrize(
    ("method", "answer", "expected"),
    [
        ("conversations.open", {"error": "missing_scope", "needed": "im:write", "provided": "chat:write"}, WorkspaceFaultError),
        ("conversations.history", {"error": "missing_scope", "needed": "channels:history,groups:history,im:history", "provided": "chat:write,channels:history,groups:history"}, InterruptFaultError),
        ("conversations.history", {"error": "missing_scope", "needed": "groups:history", "provided": "chat:write"}, WorkspaceFaultError),
        ("conversations.history", {"error": "missing_scope"}, InterruptFaultError),
        ("chat.postMessage", {"error": "missing_scope", "needed": "chat:write:bot", "provided": "users:read"}, WorkspaceFaultError),
        ("chat.postMessage", {"error": "no_permission"}, InterruptFaultError),
        ("auth.test", {"error": "no_permission"}, WorkspaceFaultError),
        ("chat.postMessage", {"error": "restricted_action_read_only_channel"}, InterruptFaultError),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("needed", value["error"]) if isinstance(value, dict) else value.__name__,
)  # fmt: skip
def test_what_the_app_may_not_do_in_one_place_is_told_from_what_it_needs_everywhere(method, answer, expected):
    """A scope that every card needs is the operator's to add; one place or person out of reach is the interrupt's end."""
    response = AsyncSlackResponse(
        client=None, http_verb="POST", api_url=method, req_args={}, data={"ok": False, **answer}, headers={}, status_code=200
    )  # fmt: skip
    place = "" if method == "auth.test" else CHANNEL

    error = _as_our_error(method, SlackApiError("", response), place)

    assert type(error) is expected
    assert not isinstance(error, InterruptFaultError) or error.place == CHANNEL


async def test_refused_blocks_say_what_is_wrong_with_them(client):
    """Slack's own details stand in the sentence."""
    too_long = [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_001}}]

    with pytest.raises(
        InterruptFaultError, match=r"invalid_blocks \(must be less than 3001 characters .*/blocks/0/text"
    ):
        await post(client, blocks=too_long)


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/json"])
@pytest.mark.parametrize("status", [200, 403])
async def test_an_answer_of_something_in_between_is_unclear(session, content_type, status):
    """A proxy's page is no word of Slack's: it must not end an interrupt."""

    async def blocked(_: web.Request) -> web.Response:
        return web.Response(text="<html>Access denied</html>", content_type=content_type, status=status)

    async with served(web.route("*", "/api/{method}", blocked)) as url:
        with pytest.raises(SlackUnclearError):
            await post(SlackClient("xoxb", f"{url}/api/", session))


# --- Repeating --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [{"kind": "accept_then_drop"}, {"kind": "status", "status": 500}])
async def test_an_edit_is_repeated(client, slack, fault):
    """Showing the same picture twice does no harm, so a short trouble passes unseen."""
    ts = await post(client)
    await slack.fault("chat.update", **fault)

    await client.update_message(CHANNEL, ts, text="Changed", blocks=BLOCKS, label=LABEL)

    assert [message["text"] for message in await slack.messages(CHANNEL)] == ["Changed"]
    assert len(await slack.calls("chat.update")) == 2


async def test_trouble_that_lasts_is_an_error_of_an_edit_too(client, slack):
    """It is repeated once, and then said."""
    ts = await post(client)
    await slack.fault("chat.update", "drop", times=None)

    with pytest.raises(SlackUnclearError):
        await client.update_message(CHANNEL, ts, text="Changed", blocks=BLOCKS, label=LABEL)
    assert len(await slack.calls("chat.update")) == 2


# --- Finding ----------------------------------------------------------------------------------------------------


async def find(client: SlackClient, **changed: Any) -> str | None:
    given: dict[str, Any] = {
        "channel": CHANNEL, "thread_ts": None, "since": 1_000, "interrupt_id": "billing.abc", "part": CARD,
    }  # fmt: skip
    return await client.find_message(**given | changed)


async def test_only_that_very_part_of_that_very_record_is_adopted(client):
    """Other records and other parts are other messages."""
    await post(client, label=Label("billing.other", CARD))
    await post(client, label=Label("billing.abc", MessageId(0, "part", 1)))
    assert await find(client) is None

    ts = await post(client)

    assert await find(client) == ts


async def test_what_people_write_is_never_adopted(client, slack, playground):
    """Neither their words nor a copy of our metadata on a message that is not an app's."""
    await slack.message("U0DANA", CHANNEL, "billing.abc 0:0")
    playground._state.post(
        CHANNEL,
        "U0DANA",
        "A card",
        metadata={"event_type": EVENT_TYPE, "event_payload": {"id": "billing.abc", "part": "0:0"}},
    )

    assert await find(client) is None


async def test_a_message_is_found_beyond_the_first_page(client, slack):
    """In a busy channel the search goes on to its end."""
    ts = await post(client)
    for n in range(120):
        await slack.message("U0DANA", CHANNEL, f"chatter {n}")

    assert await find(client) == ts
    assert len(await slack.calls("conversations.history")) == 2


async def test_a_part_in_a_thread_is_looked_for_there(client):
    """A reply does not show in the channel's history."""
    parent = await post(client)
    reply = await post(client, thread_ts=parent, label=Label("billing.abc", MessageId(0, "part", 1)))

    assert await find(client, thread_ts=parent, part=MessageId(0, "part", 1)) == reply
    assert await find(client, part=MessageId(0, "part", 1)) is None


async def test_messages_from_before_the_intent_are_left_alone(client):
    """The search starts a minute before, for clocks that differ, and no earlier."""
    ts = await post(client)

    assert await find(client, since=float(ts) + 59) == ts
    assert await find(client, since=float(ts) + 61) is None
