"""An agent in any language asks over HTTP, people decide in Slack, exactly that comes back."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from bot.app import running
from tests.conftest import settings_for, until
from tests.support.http_api import a_key, a_pause, read_event, speaking
from tests.support.people import buttons, words


@pytest.fixture
async def caller(start_bot, redis_url):
    """The agent `billing`, which knows nothing but HTTP."""
    bot = await start_bot()
    async with speaking(bot.http.port, await a_key(redis_url)) as caller:
        yield caller


@pytest.mark.cell("HTTP API", "Approve: told", "Edit: told", "Reject: told", "Batch: one card")
async def test_approve_edit_and_reject_come_back_in_the_words_of_the_pause(caller, dana):
    """Given a batch in camel case, when each call is decided otherwise, then the answer is in camel case, by index."""
    pause = a_pause("send_email", "pay_invoice", "delete_file")
    interrupt_id = await caller.ask(payload=pause, run="thread-1", pause="pause-1")
    waiting = asyncio.create_task(caller.read(interrupt_id, wait=30))

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


@pytest.mark.cell("HTTP API", "Respond: told")
async def test_what_a_person_answers_comes_back_in_the_place_of_a_result(caller, dana):
    """Where the pause is of a framework that can read it."""
    review = {"action_name": "ask_user", "allowed_decisions": ["respond"]}
    action = {"name": "ask_user", "args": {"question": "Which env?"}}
    interrupt_id = await caller.ask(payload={"action_requests": [action], "review_configs": [review]})
    await dana.fill(await dana.opened(await dana.card(), "respond:0"), **{"Your answer": "staging"})

    state = await caller.read(interrupt_id, wait=30)
    assert state["resume"] == {"decisions": [{"type": "respond", "message": "staging"}]}


@pytest.mark.cell("HTTP API", "Process ended: found again", "Changed: refused")
async def test_the_same_question_sent_twice_is_asked_once(caller, dana, slack, start_bot):
    """An agent that is restarted finds it at another bot, too. Another question under its names is a conflict."""
    body = {"payload": a_pause(), "run": "thread-1", "pause": "pause-1"}
    status, first = await caller.send("POST", "/interrupts", json=body)
    assert status == 201
    await dana.card()

    other = await start_bot()
    async with speaking(other.http.port) as elsewhere:
        elsewhere.session.headers.update(caller.session.headers)
        status, second = await elsewhere.send("POST", "/interrupts", json=body)
        assert (status, second["id"]) == (200, first["id"])
        body["payload"] = a_pause("delete_file")
        status, said = await elsewhere.send("POST", "/interrupts", json=body)
        assert (status, said["error"]["code"]) == (409, "conflict")

    assert len(await slack.messages("C0APPROVALS")) == 1


@pytest.mark.cell("HTTP API", "Nobody decides: told", "Withdrawn: error")
async def test_silence_rejects_and_what_was_withdrawn_cannot_be_claimed_or_resumed(caller):
    """There is nothing to resume, and the agent is told so."""
    silent = await caller.ask(expires_in=1)
    rejected = {"decisions": [{"type": "reject", "message": "Nobody decided in time."}]}
    state = await caller.read(silent, wait=30)
    assert (state["status"], state["resume"]) == ("expired", rejected)

    withdrawn = await caller.ask()
    await caller.send("DELETE", f"/interrupts/{withdrawn}")
    assert (await caller.read(withdrawn, wait=30))["status"] == "withdrawn"
    for path, body in (("claim", {"claim": "me"}), ("resumed", {})):
        status, said = await caller.send("POST", f"/interrupts/{withdrawn}/{path}", json=body)
        assert (status, said["error"]["code"]) == (409, "ended")


@pytest.mark.cell("HTTP API", "Partly decided: waits")
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
    await caller.read(interrupt_id, wait=30)
    later = await caller.events(interrupt_id, last=first[0])

    assert first == ("2", "decision", {"index": 2, "decision": {"type": "approve"}})
    assert [(event_id, name) for event_id, name, _ in later] == [
        ("0,2", "decision"),
        ("0,1,2", "decision"),
        ("settled", "settled"),
    ]
    assert later[-1][2] == await caller.read(interrupt_id)
    assert len(await caller.events(interrupt_id, last="nonsense")) == 4
    headers = {"Last-Event-ID": "settled"}
    async with caller.session.get(f"/v1/interrupts/{interrupt_id}/events", headers=headers) as answer:
        assert answer.status == 204


@pytest.mark.cell("HTTP API", "Resumed twice: refused")
async def test_one_of_two_processes_resumes(caller, dana):
    """Given two processes of an agent, when both claim, then one gets it, and a lost answer may be asked for again."""
    interrupt_id = await caller.ask(run="thread-1", pause="pause-1")
    await dana.press(await dana.card(), "approve:0")
    await caller.read(interrupt_id, wait=30)

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


async def test_a_bot_that_stops_answers_open_waits(playground, redis_url):
    """Given requests that wait, when the bot is stopped, then they hear at once that it is pending, and may ask again."""
    key = await a_key(redis_url)
    stack = AsyncExitStack()
    bot = await stack.enter_async_context(running(settings_for(playground, redis_url)))
    await until(lambda: bot.health.ready)
    async with speaking(bot.http.port, key) as caller:
        interrupt_id = await caller.ask()
        polls = [asyncio.create_task(caller.read(interrupt_id, wait=60)) for _ in range(3)]
        stream = asyncio.create_task(caller.events(interrupt_id))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(30):
            stopping = asyncio.create_task(stack.aclose())
            states = await asyncio.gather(*polls)
            events = await stream
        await stopping

    assert [state["status"] for state in states] == ["pending"] * 3
    assert events == []


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


async def test_the_outcome_of_what_was_approved_is_reported_once(caller, dana):
    """The first one is in every state. What is open, or is no call, has none."""
    interrupt_id = await caller.ask()
    path, done = f"/interrupts/{interrupt_id}/outcome", {"index": 0, "status": "done", "text": "sent as m_17"}
    status, said = await caller.send("POST", path, json=done)
    assert (status, said["error"]["code"]) == (409, "pending")
    await dana.press(await dana.card(), "approve:0")
    await caller.read(interrupt_id, wait=30)

    status, state = await caller.send("POST", path, json=done)
    again = await caller.send("POST", path, json={"index": 0, "status": "failed", "text": "twice"})

    assert status == 200
    (outcome,) = state["outcomes"]
    assert (outcome["status"], outcome["text"]) == ("done", "sent as m_17")
    assert again[1]["outcomes"] == state["outcomes"] == (await caller.read(interrupt_id))["outcomes"]
    status, said = await caller.send("POST", path, json={**done, "index": 7})
    assert (status, said["error"]["code"]) == (422, "invalid")
