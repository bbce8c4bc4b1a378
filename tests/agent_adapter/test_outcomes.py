"""What became of an approved call: reported once, by whoever has the claim on its run."""

import asyncio
import logging
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient, Outcome
from agent_adapter.contract.hitl import ApproveDecision, EditDecision, RejectDecision, RespondDecision
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    DecisionNotAllowedError,
    InvalidRequestError,
    UnknownInterruptError,
    WrongArgumentError,
)
from agent_adapter.redis import reports
from playground.redis_server import RedisServer
from tests.agent_adapter.test_client import admit, batch, decide
from tests.conftest import an_agent, until


async def decided(client, store, *decisions):
    """Publish one action for each decision, and decide it. Return the id."""
    interrupt = client.interrupt(batch(*(f"tool{n}" for n in range(len(decisions)))))
    await client.publish(interrupt)
    await admit(store, interrupt.id)
    for index, decision in enumerate(decisions):
        await decide(store, interrupt.id, index, decision)
    return interrupt.id


async def outcomes(client, interrupt_id):
    return [each and each.outcome for each in (await client.record(interrupt_id)).outcomes()]


async def test_the_first_outcome_is_kept_with_the_time_of_the_server(client, store):
    """A tool that is retried has two. It may be reported once the run counts as resumed: `review` claims and finishes in one call."""
    edit = EditDecision(edited_action={"name": "tool0", "args": {"n": 7}})
    interrupt_id = await decided(client, store, edit, ApproveDecision())
    async with client.resuming(interrupt_id):
        first = await client.report(interrupt_id, 0, Outcome.failed(ValueError("timed out")))
        second = await client.report(interrupt_id, 0, Outcome.done("paid"))
    await client.report(interrupt_id, 1, Outcome.done("paid as tr_1"))

    record = await client.record(interrupt_id)
    assert (first.outcome, first.is_repeat) == (Outcome(status="failed", text="ValueError: timed out"), False)
    assert (second.outcome, second.reported_at, second.is_repeat) == (first.outcome, first.reported_at, True)
    assert await outcomes(client, interrupt_id) == [
        first.outcome,
        Outcome(status="done", text="paid as tr_1"),
    ]
    assert record.created_at <= first.reported_at <= record.read_at


@pytest.mark.parametrize("decision", [RejectDecision(message="no"), RespondDecision(message="tomorrow")])
async def test_a_call_that_was_not_approved_has_no_outcome(client, store, decision):
    interrupt_id = await decided(client, store, ApproveDecision(), decision)
    async with client.resuming(interrupt_id):
        with pytest.raises(DecisionNotAllowedError, match=rf"action 1 \(tool1\) is {decision.type}"):
            await client.report(interrupt_id, 1, Outcome.done())

    assert await outcomes(client, interrupt_id) == [None, None]


@pytest.mark.parametrize("index", [-1, 1, True, "0"])
async def test_an_action_that_does_not_exist_is_named(client, store, index):
    interrupt_id = await decided(client, store, ApproveDecision())
    async with client.resuming(interrupt_id):
        with pytest.raises(InvalidRequestError, match=r"index: .* from 0 to 0"):
            await client.report(interrupt_id, index, Outcome.done())


async def test_nothing_is_reported_before_the_decision(client, store):
    interrupt = client.interrupt(batch("pay"))
    await client.publish(interrupt)
    await admit(store, interrupt.id)

    with pytest.raises(AgentAdapterError, match="is not decided"):
        await client.report(interrupt.id, 0, Outcome.done())


async def test_nothing_is_reported_before_the_answer_was_taken(client, store):
    interrupt_id = await decided(client, store, ApproveDecision())

    with pytest.raises(ClaimLostError, match="nobody has claimed its run"):
        await client.report(interrupt_id, 0, Outcome.done())


async def test_a_process_whose_claim_another_has_taken_reports_nothing(client, store, redis_url):
    """The old process may still run the tool. What the card says comes from the process that has the claim."""
    interrupt_id = await decided(client, store, ApproveDecision())
    await client.claim(interrupt_id, "old", timedelta(milliseconds=20))
    async with an_agent(redis_url, "billing") as other:
        await take(other, interrupt_id)
        with pytest.raises(ClaimLostError, match="another process has the claim"):
            await client.report(interrupt_id, 0, Outcome.done("old"), claim="old")
        with pytest.raises(ClaimLostError, match="pass its owner"):
            await client.report(interrupt_id, 0, Outcome.done("old"))

        await other.report(interrupt_id, 0, Outcome.done("new"), claim="new")

    assert await outcomes(client, interrupt_id) == [Outcome.done("new")]


async def take(client, interrupt_id):
    """Claim a run as soon as the claim of somebody else has ended."""
    while True:
        try:
            return await client.claim(interrupt_id, "new", timedelta(minutes=1))
        except ClaimedError:
            await asyncio.sleep(0.02)


async def test_a_report_about_a_record_that_is_gone_leaves_nothing_behind(client, store, redis_url):
    """A field written to a record that has expired would be a key that never ends."""
    interrupt_id = await decided(client, store, ApproveDecision())
    async with client.resuming(interrupt_id), Redis.from_url(redis_url) as redis:
        await redis.flushall()
        with pytest.raises(UnknownInterruptError):
            await client.report(interrupt_id, 0, Outcome.done())
        assert not await redis.keys("*req:*")


async def test_a_report_does_not_make_a_record_live_longer(client, store, redis_url):
    interrupt_id = await decided(client, store, ApproveDecision())
    async with client.resuming(interrupt_id):
        pass
    await store.take_inbox("billing")
    async with Redis.from_url(redis_url) as redis:
        (key,) = await redis.keys(f"*req:{interrupt_id}")
        before = await redis.pttl(key)
        await client.report(interrupt_id, 0, Outcome.done())

        assert 0 < await redis.pttl(key) <= before


async def test_the_trail_says_that_a_call_was_reported_and_not_with_which_words(client, store, redis_url):
    """The words may contain a masked value, and the trail masks nothing."""
    interrupt_id = await decided(client, store, ApproveDecision())
    async with client.resuming(interrupt_id):
        await client.report(interrupt_id, 0, Outcome.failed("the key is sk-123"))

    await store.take_inbox("billing")
    async with Redis.from_url(redis_url, decode_responses=True) as redis:
        (trail,) = await redis.keys("*audit")
        entries = [entry for _, entry in await redis.xrange(trail)]
    (entry,) = [entry for entry in entries if entry["event"] == "reported"]
    assert entry.pop("seq")
    assert entry == {"event": "reported", "id": interrupt_id, "index": "0", "outcome": "failed"}


def test_of_a_long_outcome_the_beginning_is_kept_and_its_length_is_said():
    outcome = Outcome.failed("x" * 60_000)

    assert (len(outcome.text), outcome.length) == (2_000, 60_000)


def test_an_outcome_of_any_object_can_be_stored():
    class Broken:
        def __str__(self):
            raise RuntimeError

    assert Outcome.done(Broken()).text == ""
    assert Outcome.failed(OSError("\udc80")).text == "OSError: \\udc80"
    assert Outcome.done(None).text == ""
    assert Outcome.failed(KeyError()).text == "KeyError"


async def test_a_bare_text_is_not_an_outcome(client):
    with pytest.raises(WrongArgumentError, match=r"outcome: this is a text: pass Outcome\.done"):
        await client.report("billing." + "0" * 32, 0, "done")


async def test_a_report_in_the_background_is_kept_by_the_time_the_client_is_closed(store, redis_url):
    async with an_agent(redis_url, "billing") as client:
        interrupt_id = await decided(client, store, ApproveDecision())
        async with client.resuming(interrupt_id) as resume:
            pass
        await asyncio.to_thread(client.report_later, resume.key(0), Outcome.done("paid"), claim=resume.claim)

    async with an_agent(redis_url, "billing") as client:
        assert await outcomes(client, interrupt_id) == [Outcome.done("paid")]


@pytest.mark.server
async def test_a_report_that_redis_does_not_take_is_given_up_and_logged(tmp_path, caplog, monkeypatch):
    """The run goes on. The log names the call, and not the words of its outcome."""
    monkeypatch.setattr(reports, "WITHIN", 0.2)
    server = RedisServer(tmp_path)
    server.start()
    async with ApprovalClient.from_url(server.url, agent="billing") as client:
        server.stop()
        with caplog.at_level(logging.WARNING):
            client.report_later("billing." + "0" * 32 + ":0", Outcome.failed("sk-123"), claim="me")
            await until(lambda: "report.lost" in caplog.messages)

    (lost,) = [record for record in caplog.records if record.message == "report.lost"]
    assert lost.key == "billing." + "0" * 32 + ":0"
    assert "sk-123" not in str(lost.__dict__)


async def test_the_error_of_the_last_claim_counts_also_when_an_earlier_one_failed_alike(client, store):
    """A run fails, is taken again, uses the answer up and fails in the same way: the card says that it ended so."""
    interrupt_id = await decided(client, store, ApproveDecision())
    with pytest.raises(OSError, match="busy"):
        async with client.resuming(interrupt_id):
            raise OSError("busy")
    assert (await store.load(interrupt_id)).stalled == "the run failed with OSError"
    async with client.resuming(interrupt_id) as resume:
        await client.note_failure(resume, OSError("busy"))

    state = await store.load(interrupt_id)
    assert (state.stalled, state.resumed_at is None) == ("the run failed with OSError", False)


async def test_the_error_of_an_earlier_claim_is_over_when_the_run_went_on(client, store):
    interrupt_id = await decided(client, store, ApproveDecision())
    with pytest.raises(OSError, match="busy"):
        async with client.resuming(interrupt_id):
            raise OSError("busy")
    async with client.resuming(interrupt_id):
        pass

    assert (await store.load(interrupt_id)).stalled is None
