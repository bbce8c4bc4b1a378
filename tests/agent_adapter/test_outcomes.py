"""What became of an approved call: reported once, by whoever has the claim on its run."""

import asyncio
import logging
from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient, Outcome
from agent_adapter.contract.hitl import ApproveDecision, EditDecision, RejectDecision, RespondDecision
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimLostError,
    DecisionNotAllowedError,
    InvalidRequestError,
    UnknownInterruptError,
)
from agent_adapter.redis import claims
from playground.redis_server import RedisServer
from tests.agent_adapter.test_client import approved, batch
from tests.conftest import an_agent, until
from tests.support.deciding import deciding

MINUTE = timedelta(minutes=1)


async def asked(*decisions):
    """Ask about one action for each decision; the reviewer of the client has it ready."""
    client = deciding(*decisions)
    interrupt = client.interrupt(batch(*(f"tool{n}" for n in range(len(decisions)))))
    return client, await client.publish(interrupt)


async def outcomes(client, interrupt_id):
    return [each and each.outcome for each in (await client.record(interrupt_id)).outcomes()]


async def test_the_first_outcome_is_kept_with_its_time():
    """A tool that is retried has two. It may be reported once the run counts as resumed: `review` claims and finishes in one call."""
    edit = EditDecision(edited_action={"name": "tool0", "args": {"n": 7}})
    client, interrupt_id = await asked(edit, ApproveDecision())
    async with client.resuming(interrupt_id):
        first = await client.report(interrupt_id, 0, Outcome.failed(ValueError("timed out")))
        second = await client.report(interrupt_id, 0, Outcome.done("paid"))
    await client.report(interrupt_id, 1, Outcome.done("paid as tr_1"))

    record = await client.record(interrupt_id)
    assert (first.outcome, first.is_repeat) == (Outcome(status="failed", text="ValueError: timed out"), False)
    assert (second.outcome, second.reported_at, second.is_repeat) == (first.outcome, first.reported_at, True)
    assert await outcomes(client, interrupt_id) == [first.outcome, Outcome.done("paid as tr_1")]
    assert record.created_at <= first.reported_at <= record.read_at


@pytest.mark.parametrize("decision", [RejectDecision(message="no"), RespondDecision(message="tomorrow")])
async def test_a_call_that_was_not_approved_has_no_outcome(decision):
    client, interrupt_id = await asked(ApproveDecision(), decision)
    async with client.resuming(interrupt_id):
        with pytest.raises(DecisionNotAllowedError, match=rf"action 1 \(tool1\) is {decision.type}"):
            await client.report(interrupt_id, 1, Outcome.done())

    assert await outcomes(client, interrupt_id) == [None, None]


@pytest.mark.parametrize("index", [-1, 1, True, "0"])
async def test_an_action_that_does_not_exist_is_named(index):
    client, interrupt_id = await asked(ApproveDecision())
    async with client.resuming(interrupt_id):
        with pytest.raises(InvalidRequestError, match=r"index: .* from 0 to 0"):
            await client.report(interrupt_id, index, Outcome.done())


async def test_nothing_is_reported_before_the_decision_and_before_the_answer_was_taken():
    client, interrupt_id = await asked(ApproveDecision())
    with pytest.raises(AgentAdapterError, match="is not decided"):
        await client.report(interrupt_id, 0, Outcome.done())

    await client.wait(interrupt_id)
    with pytest.raises(ClaimLostError, match="nobody has claimed its run"):
        await client.report(interrupt_id, 0, Outcome.done())


async def test_a_process_whose_claim_another_has_taken_reports_nothing():
    """The old process may still run the tool. What the card says comes from whoever has the claim, also of one process."""
    client, interrupt_id = await asked(ApproveDecision())
    await client.wait(interrupt_id)
    for owner in ("old", "new"):
        await client.claim(interrupt_id, owner, MINUTE)
        if owner == "old":
            await client.claim(interrupt_id, owner, timedelta(0))
    with pytest.raises(ClaimLostError, match="another process has the claim"):
        await client.report(interrupt_id, 0, Outcome.done("old"), claim="old")
    with pytest.raises(ClaimLostError, match="pass its owner"):
        await client.report(interrupt_id, 0, Outcome.done("old"))

    await client.report(interrupt_id, 0, Outcome.done("new"), claim="new")

    assert await outcomes(client, interrupt_id) == [Outcome.done("new")]


async def test_a_report_about_a_record_that_is_gone_leaves_nothing_behind(client, store, monkeypatch):
    """A field written to a record that has expired would be a key that never ends."""
    interrupt_id = await approved(client, store)
    async with client.resuming(interrupt_id):
        load = client._records.load

        async def load_and_expire(which):
            record = await load(which)
            await store._redis.flushall()
            return record

        monkeypatch.setattr(client._records, "load", load_and_expire)
        with pytest.raises(UnknownInterruptError):
            await client.report(interrupt_id, 0, Outcome.done())
        assert not await store._redis.keys("*req:*")


async def test_a_report_is_in_the_trail_without_its_words_and_lets_no_record_live_longer(client, store):
    """The words may contain a masked value, and the trail masks nothing."""
    interrupt_id = await approved(client, store)
    async with client.resuming(interrupt_id):
        pass
    await store.take_inbox("billing")
    before = await store._redis.pttl(store.keys.req(interrupt_id))
    await client.report(interrupt_id, 0, Outcome.failed("the key is sk-123"))

    assert 0 < await store._redis.pttl(store.keys.req(interrupt_id)) <= before
    await store.take_inbox("billing")
    entry = (await store._redis.xrevrange(store.keys.audit, count=1))[0][1]
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


async def test_a_report_in_the_background_is_kept_by_the_time_the_client_is_closed(store, redis_url):
    async with an_agent(redis_url, "billing") as client:
        interrupt_id = await approved(client, store)
        async with client.resuming(interrupt_id) as resume:
            pass
        await asyncio.to_thread(client.report_later, resume.key(0), Outcome.done("paid"), claim=resume.claim)

    async with an_agent(redis_url, "billing") as client:
        assert await outcomes(client, interrupt_id) == [Outcome.done("paid")]


@pytest.mark.server
async def test_a_report_that_redis_does_not_take_is_given_up_and_logged(tmp_path, caplog, monkeypatch):
    """The run goes on. The log names the call, and not the words of its outcome."""
    monkeypatch.setattr(claims, "REPORT_WITHIN", 0.2)
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


async def test_the_error_of_a_claim_is_over_when_the_run_went_on_and_stays_when_it_ended_so(client, store):
    """A run fails, is taken again, uses the answer up and fails in the same way: its card says that."""
    went_on, failed = [await approved(client, store) for _ in range(2)]
    for interrupt_id in (went_on, failed):
        with pytest.raises(OSError, match="busy"):
            async with client.resuming(interrupt_id):
                raise OSError("busy")
        assert (await store.load(interrupt_id)).stalled == "the run failed with OSError"
    async with client.resuming(went_on):
        pass
    async with client.resuming(failed) as resume:
        await client.note_failure(resume, OSError("busy"))

    assert (await store.load(went_on)).stalled is None
    assert (await store.load(failed)).stalled == "the run failed with OSError"
