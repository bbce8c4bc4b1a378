"""An agent in any language asks over HTTP, people decide in Slack, exactly that comes back."""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bot.app import running
from tests.conftest import settings_for, until
from tests.support.http_api import a_key, a_pause, read_event, speaking
from tests.support.people import buttons, words
from tests.support.signing import unsigned
from tests.support.topologies import KEYS, connected

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def caller(start_bot, redis_url):
    """The agent `billing`, which knows nothing but HTTP."""
    bot = await start_bot()
    async with speaking(bot.http.port, await a_key(redis_url)) as caller:
        yield caller


async def read(caller, interrupt_id, wait=0):
    status, state = await caller.send("GET", f"/interrupts/{interrupt_id}", params={"wait": wait})
    assert status == 200, state
    return state


async def test_approve_edit_and_reject_come_back_in_the_words_of_the_pause(caller, dana):
    """Given a batch in camel case, when each call is decided otherwise, then the answer is in camel case, by index."""
    pause = a_pause("send_email", "pay_invoice", "delete_file")
    interrupt_id = await caller.ask(payload=pause, run="thread-1", pause="pause-1")
    waiting = asyncio.create_task(read(caller, interrupt_id, wait=30))

    card = await dana.card("if nobody")
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(card, "edit:1"), to="b@x.com")
    await dana.close()
    await dana.fill(await dana.opened(await dana.showing("reject:2"), "reject:2"), reason="Keep it.")
    state = await waiting

    assert state["status"] == "decided"
    edited = {"name": "pay_invoice", "args": {"to": "b@x.com", "count": 3}}
    assert state["resume"] == {
        "decisions": [
            {"type": "approve"},
            {"type": "edit", "editedAction": edited},
            {"type": "reject", "message": "Keep it."},
        ]
    }
    assert [decision["type"] for decision in state["decisions"]] == ["approve", "edit", "reject"]
    assert state["decisions"][1]["edited_action"] == edited
    assert {(record["decided_by"], record["policy"]) for record in state["records"]} == {
        ("U0DANA", "settings-1")
    }
    await dana.card("waiting for the agent")

    status, state = await caller.send("POST", f"/interrupts/{interrupt_id}/resumed")
    assert (status, state["status"]) == (200, "decided")
    assert state["resumed_at"]
    assert "approve:0" not in buttons(await dana.card("the agent has resumed"))


SNAKE = {
    "action_requests": [{"name": "send_email", "args": {"big": 12345678901234567890123}}],
    "review_configs": [{"action_name": "send_email", "allowed_decisions": ["approve", "reject", "respond"]}],
}
OLDER = {
    "action_request": {"action": "send_email", "args": {"to": "a@x.com"}},
    "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True},
}


@pytest.mark.parametrize(
    ("body", "button", "resume"),
    [
        ({"payload": SNAKE}, "approve:0", {"decisions": [{"type": "approve"}]}),
        (
            {"payload": a_pause(), "dialect": "langchain_js"},
            "approve:0",
            {"decisions": [{"type": "approve"}]},
        ),
        ({"payload": OLDER}, "approve:0", {"type": "accept", "args": None}),
        ({"payload": "Deploy now?", "dialect": "boolean"}, "approve:0", True),
        ({"payload": "Deploy now?", "dialect": "approve_reject"}, "approve:0", "approve"),
    ],
    ids=["our own request", "LangChain JS", "older LangGraph", "read as truth", "read as a word"],
)
async def test_each_pause_is_answered_in_its_own_dialect(caller, dana, body, button, resume):
    """What is in `resume` can be handed to the framework as it is."""
    interrupt_id = await caller.ask(**body)
    await dana.press(await dana.card("if nobody"), button)

    state = await read(caller, interrupt_id, wait=30)

    assert state["resume"] == resume
    assert state["decisions"] == [{"type": "approve"}]


async def test_the_same_question_sent_twice_is_asked_once(caller, dana, slack, start_bot):
    """Given an agent that is restarted, when it sends its pause again to another bot, then it finds the question."""
    body = {"payload": a_pause(), "run": "thread-1", "pause": "pause-1"}
    status, first = await caller.send("POST", "/interrupts", json=body)
    assert status == 201
    await dana.card()

    other = await start_bot()
    async with speaking(other.http.port) as elsewhere:
        elsewhere.session.headers.update(caller.session.headers)
        status, second = await elsewhere.send("POST", "/interrupts", json=body)

    assert (status, second["id"]) == (200, first["id"])
    assert len(await slack.messages("C0APPROVALS")) == 1


async def test_another_question_under_the_same_names_is_a_conflict(caller):
    """Given a pause that was asked, when its names are used for another call, then nothing of it is asked."""
    await caller.ask(run="thread-1", pause="pause-1")
    other = {"payload": a_pause("delete_file"), "run": "thread-1", "pause": "pause-1"}
    status, body = await caller.send("POST", "/interrupts", json=other)

    assert (status, body["error"]["code"]) == (409, "conflict")


async def test_an_ended_question_cannot_be_claimed_or_resumed(caller, dana):
    """Given a withdrawn question, when an agent says that it resumed, then it is told that there was nothing to resume."""
    interrupt_id = await caller.ask()
    await caller.send("DELETE", f"/interrupts/{interrupt_id}")
    await read(caller, interrupt_id, wait=30)

    for path, body in (("claim", {"claim": "me"}), ("resumed", {})):
        status, said = await caller.send("POST", f"/interrupts/{interrupt_id}/{path}", json=body)
        assert (status, said["error"]["code"]) == (409, "ended")
    status, state = await caller.send("DELETE", f"/interrupts/{interrupt_id}")
    assert (status, state["status"]) == (200, "withdrawn")


@pytest.mark.parametrize(
    ("on_expiry", "resume"),
    [
        ("reject", {"decisions": [{"type": "reject", "message": "Nobody decided in time."}]}),
        ("raise", None),
    ],
)
async def test_silence_never_approves(caller, on_expiry, resume):
    """Given a second to decide, when nobody does, then the answer is a rejection, or none at all."""
    interrupt_id = await caller.ask(expires_in=1, on_expiry=on_expiry)

    state = await read(caller, interrupt_id, wait=30)

    assert (state["status"], state["resume"]) == ("expired", resume)


async def test_events_tell_each_decision_and_then_the_answer(caller, dana):
    """Given a stream, when calls are decided out of order, then each is an event, and a cut stream goes on behind it."""
    interrupt_id = await caller.ask(payload=a_pause("send_email", "pay_invoice", "delete_file"))
    card = await dana.card()
    async with caller.session.get(f"/v1/interrupts/{interrupt_id}/events") as stream:
        await dana.press_one(card, "approve:2")
        first = read_event((await stream.content.readuntil(b"\n\n")).decode().strip())
    # From here on nobody listens.
    await dana.press_one(card, "approve:0")
    await dana.press(await dana.showing("approve:1"), "approve:1")
    await read(caller, interrupt_id, wait=30)
    later = await caller.events(interrupt_id, last=first[0])

    assert first == ("2", "decision", {"index": 2, "decision": {"type": "approve"}})
    assert [(event_id, name) for event_id, name, _ in later] == [
        ("0,2", "decision"),
        ("0,1,2", "decision"),
        ("settled", "settled"),
    ]
    assert later[-1][2] == await read(caller, interrupt_id)
    assert len(await caller.events(interrupt_id, last="nonsense")) == 4
    headers = {"Last-Event-ID": "settled"}
    async with caller.session.get(f"/v1/interrupts/{interrupt_id}/events", headers=headers) as answer:
        assert answer.status == 204


async def test_one_of_two_processes_resumes(caller, dana):
    """Given two processes of an agent, when both claim, then one gets it, and a lost answer may be asked for again."""
    interrupt_id = await caller.ask(run="thread-1", pause="pause-1")
    await dana.press(await dana.card(), "approve:0")
    await read(caller, interrupt_id, wait=30)

    async def post(path, claim):
        status, said = await caller.send("POST", f"/interrupts/{interrupt_id}/{path}", json={"claim": claim})
        return status, said.get("error", {}).get("code")

    assert await post("claim", "one") == (200, None)
    assert await post("claim", "one") == (200, None)
    assert await post("claim", "two") == (409, "claimed")
    assert await post("resumed", "two") == (409, "claimed")
    assert await post("resumed", "one") == (200, None)
    assert await post("resumed", "one") == (200, None)
    assert await post("resumed", "two") == (409, "consumed")
    assert await post("claim", "two") == (409, "consumed")
    again = {"payload": a_pause(), "run": "thread-1", "pause": "pause-1"}
    status, said = await caller.send("POST", "/interrupts", json=again)
    assert (status, said["error"]["code"]) == (409, "consumed")


async def with_a_forged_edit(caller, dana, redis_url):
    """Ask about a pause that allows no edit, have it approved, and write an edit into Redis in its place."""
    interrupt_id = await caller.ask(payload=a_pause(allowed=("approve", "reject")))
    await dana.press(await dana.card(), "approve:0")
    await read(caller, interrupt_id, wait=30)
    forged = {"type": "edit", "edited_action": {"name": "send_email", "args": {"to": "thief@x.com"}}}
    with connected(redis_url, decode_responses=True) as redis:
        card = f"{KEYS.prefix}card:{interrupt_id}"
        stored = json.loads(redis.hget(card, "d:0"))
        redis.hset(card, "d:0", json.dumps({**stored, "decision": forged}))
    return interrupt_id


@pytest.mark.unencrypted
async def test_a_forged_decision_counts_as_open(caller, dana, redis_url):
    """Given a decision whose words are not the signed ones, then the answer is as if nobody had decided yet."""
    interrupt_id = await with_a_forged_edit(caller, dana, redis_url)

    state = await read(caller, interrupt_id)

    assert (state["status"], state["decisions"], state["resume"]) == ("pending", [None], None)


@pytest.mark.unencrypted
@unsigned
async def test_a_forged_decision_is_not_handed_out_where_nothing_is_signed_either(caller, dana, redis_url):
    """Given a decision that the pause does not allow, then the answer is an error that says so."""
    interrupt_id = await with_a_forged_edit(caller, dana, redis_url)

    status, said = await caller.send("GET", f"/interrupts/{interrupt_id}")

    assert (status, said["error"]["code"]) == (409, "not_allowed")
    assert "edit is not one of approve, reject" in said["error"]["message"]
    assert [name for _, name, _ in await caller.events(interrupt_id)] == ["failure"]


async def test_a_bot_that_stops_answers_open_waits(playground, redis_url):
    """Given requests that wait, when the bot is stopped, then they hear at once that it is pending, and may ask again."""
    key = await a_key(redis_url)
    stack = AsyncExitStack()
    bot = await stack.enter_async_context(running(settings_for(playground, redis_url)))
    await until(lambda: bot.health.ready)
    async with speaking(bot.http.port, key) as caller:
        interrupt_id = await caller.ask()
        polls = [asyncio.create_task(read(caller, interrupt_id, wait=60)) for _ in range(3)]
        stream = asyncio.create_task(caller.events(interrupt_id))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(30):
            stopping = asyncio.create_task(stack.aclose())
            states = await asyncio.gather(*polls)
            events = await stream
        await stopping

    assert [state["status"] for state in states] == ["pending"] * 3
    assert events == []


async def test_the_example_sends_what_was_decided(start_bot, redis_url, dana):
    """Given the example and a bot, when a person edits, then it sends just that."""
    bot = await start_bot()
    given = {"ASSENT_URL": f"http://127.0.0.1:{bot.http.port}", "ASSENT_KEY": await a_key(redis_url)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "examples.http_api", cwd=ROOT, env={"PATH": os.environ["PATH"], **given},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    card = await dana.card("send_email", within=60)
    await dana.fill(await dana.opened(card, "edit:0"), subject="A gentle reminder")
    output, _ = await process.communicate()

    assert process.returncode == 0
    assert (
        "To: dana@example.com\nSubject: A gentle reminder\n\nDear Dana,\n\nyour invoice is due.\n"
        in output.decode()
    )
    await dana.card("the agent has resumed")


async def test_numbers_are_shown_compared_and_handed_back_as_they_were_sent(caller, dana):
    """Given decimals that floats would change, when another value is edited, then every other digit comes back."""
    args = '{"to":"a@x.com","amount":9007199254740993.99,"rate":1.10,"steps":[1E5,-0]}'
    pause = f'{{"action_requests":[{{"name":"pay","args":{args}}}],"review_configs":[{{"action_name":"pay","allowed_decisions":["approve","edit"]}}]}}'
    status, state = await caller.send("POST", "/interrupts", data=f'{{"payload":{pause},"expires_in":3.6e3}}')
    assert status == 201, state

    card = await dana.card("if nobody")
    text = words(card["blocks"])
    assert [found in text for found in ("9007199254740993.99", "1.10", "1E5", "-0")] == [True] * 4
    await dana.fill(await dana.opened(card, "edit:0"), to="b@x.com")
    async with caller.session.get(f"/v1/interrupts/{state['id']}", params={"wait": 10}) as answer:
        said = await answer.text()

    edited = args.replace("a@x.com", "b@x.com")
    assert said.count(f'"args":{edited}') == 2
    assert (
        f'"resume":{{"decisions":[{{"type":"edit","edited_action":{{"name":"pay","args":{edited}}}}}]}}'
        in said
    )


async def test_an_outcome_is_reported_with_the_key_alone(caller, dana):
    """Given an approved call, when the agent reports it twice, then the first outcome is in every state."""
    interrupt_id = await caller.ask()
    await dana.press(await dana.card(), "approve:0")
    await read(caller, interrupt_id, wait=30)
    path = f"/interrupts/{interrupt_id}/outcome"

    done = {"index": 0, "status": "done", "text": "sent as m_17"}
    status, state = await caller.send("POST", path, json=done)
    again = await caller.send("POST", path, json={"index": 0, "status": "failed", "text": "twice"})

    (outcome,) = state["outcomes"]
    assert status == 200
    assert outcome.pop("reported_at")
    assert outcome == {"status": "done", "text": "sent as m_17", "length": None}
    assert again[1]["outcomes"] == (await read(caller, interrupt_id))["outcomes"]
    assert again[1]["outcomes"][0]["text"] == "sent as m_17"


async def test_only_what_was_approved_has_an_outcome(caller, dana):
    """Given an open and a rejected call, a report is refused with the place and the reason."""
    interrupt_id = await caller.ask()
    path, report = f"/interrupts/{interrupt_id}/outcome", {"index": 0, "status": "done"}
    status, said = await caller.send("POST", path, json=report)
    assert (status, said["error"]["code"]) == (409, "pending")

    await dana.fill(await dana.opened(await dana.card(), "reject:0"), reason="No.")
    await read(caller, interrupt_id, wait=30)

    status, said = await caller.send("POST", path, json=report)
    assert (status, said["error"]["code"]) == (409, "not_allowed")
    assert "action 0 (send_email) is reject" in said["error"]["message"]
    status, said = await caller.send("POST", path, json={**report, "index": 7})
    assert (status, said["error"]["code"]) == (422, "invalid")
