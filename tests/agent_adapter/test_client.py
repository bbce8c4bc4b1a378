"""The agent's verbs, against a real Redis and the bot's real scripts."""

import asyncio
import re
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import pytest

from agent_adapter import ApprovalClient
from agent_adapter import client as agent_client
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    DecisionNotAllowedError,
    InterruptExpiredError,
    InterruptRefusedError,
    InvalidRequestError,
    ServerUnsuitableError,
    UnreadableRecordError,
    WrongArgumentError,
)
from agent_adapter.redis import pool, replies
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.redis.runs import OwedRun
from bot.store.records import ApprovalStore
from playground.redis_server import RedisServer
from tests.conftest import an_agent, serving, until
from tests.support.builders import ALL_DECISIONS, an_action, asking
from tests.support.deciding import admit, is_waited_for, record, start_retention
from tests.support.faults import eventually, take
from tests.support.workers import ids


def batch(*names, allowed=ALL_DECISIONS):
    return asking(*(an_action(name, {"n": i}, allowed=allowed) for i, name in enumerate(names)))


async def asked(client, store, *names, allowed=ALL_DECISIONS, **options):
    """Ask about these calls, and let people decide them."""
    interrupt = client.interrupt(batch(*(names or "a"), allowed=allowed), **options)
    interrupt_id = await client.publish(interrupt)
    await admit(store, interrupt_id)
    return interrupt_id


async def waiting_for(client, store, interrupt_id):
    """Begin to wait, and give the wait as soon as a decision would wake it."""
    waiting = asyncio.create_task(client.wait(interrupt_id))
    await eventually(partial(is_waited_for, store, interrupt_id))
    return waiting


async def approved(client, store):
    """Ask about one call, and approve it."""
    interrupt_id = await asked(client, store)
    await record(store, interrupt_id, {0: ApproveDecision()})
    return interrupt_id


def url_of(client):
    return client._address


@pytest.mark.parametrize(
    ("field", "read"),
    [
        ("created", lambda record: record.created_at),
        ("deadline", lambda record: record.deadline),
        ("resumed", lambda record: record.resumed_at),
        ("claim_until", lambda record: record.claim_lapsed_at),
    ],
)
async def test_a_time_that_no_script_writes_is_an_unreadable_record(client, store, field, read):
    """Whoever reads it gets one of our errors, not one of Python's."""
    interrupt_id = await client.publish(client.interrupt(batch("a")))
    for junk in ("x", "-" + "9" * 30, "9" * 5_000):
        await store._redis.hset(store.keys.req(interrupt_id), field, junk)
        record = await client.record(interrupt_id)
        with pytest.raises(UnreadableRecordError, match=interrupt_id):
            read(record)


async def test_of_two_processes_one_resumes(client, store):
    """While one process holds the claim, which it renews, the other is told so."""
    interrupt_id = await approved(client, store)
    req, seen = store.keys.req(interrupt_id), set()

    async def is_renewed():
        seen.add(await store._redis.hget(req, "claim_until"))
        return len(seen) > 2

    async with an_agent(url_of(client)) as other, client.resuming(interrupt_id):
        await eventually(is_renewed)
        with pytest.raises(ClaimedError):
            async with other.resuming(interrupt_id):
                pass


async def test_a_claim_that_is_sent_twice_finds_itself(client, store):
    """Its answer may be lost. Only where another one had the answer before, the run may have had it."""
    interrupt_id = await approved(client, store)
    for owner, lease in [("me", 9_000), ("me", 9_000), ("me", 0), ("you", 9_000), ("you", 9_000)]:
        record, _ = await client._records.take(interrupt_id, owner, lease)
        assert record.was_claimed_before(owner) is (owner == "you")


async def test_a_program_may_claim_and_finish_by_itself(client, store):
    """Under a name of its own: nobody else gets the run meanwhile, and once it went on nobody does."""
    interrupt = client.interrupt(batch("refund"), run="r")
    await client.publish(interrupt)
    await admit(store, interrupt.id)
    with pytest.raises(AgentAdapterError, match="is not decided"):
        await client.claim(interrupt.id, "me", timedelta(seconds=9))
    await record(store, interrupt.id, {0: ApproveDecision()})

    await client.claim(interrupt.id, "me", timedelta(seconds=9))
    with pytest.raises(ClaimedError):
        await client.claim(interrupt.id, "you", timedelta(seconds=9))
    with pytest.raises(WrongArgumentError, match="owner: this is empty"):
        await client.claim(interrupt.id, "", timedelta(seconds=9))
    await client.claim(interrupt.id, "me", timedelta(0))
    await client.claim(interrupt.id, "you", timedelta(seconds=9))
    await client.finish(interrupt.id, "you")

    with pytest.raises(ConsumedError):
        await client.claim(interrupt.id, "me", timedelta(seconds=9))
    found = await client.record(interrupt.id)
    assert found.created_at <= found.resumed_at <= found.read_at < found.deadline
    assert [each.decision.type for each in found.recorded()] == ["approve"]


async def test_silence_where_no_bot_runs_ends_the_wait_and_says_so(client, caplog):
    """With a rejection, or an error where the caller wants that or nothing allowed is a no. The log says it meanwhile."""
    no_bot = "No bot was running: start one with this agent's REDIS_URL and namespace."
    two = batch("pay", "mail", allowed=("approve", "edit"))
    second = timedelta(seconds=1)

    resume, raised, no_way = await asyncio.gather(
        client.review(batch("a"), expires_in=second),
        client.review(batch("b"), expires_in=second, on_expiry="raise"),
        client.review(two, expires_in=second),
        return_exceptions=True,
    )

    assert (resume.status, resume.reason, resume.decisions[0].type) == ("expired", no_bot, "reject")
    assert resume.decisions[0].message == f"Nobody decided in time. {no_bot}"
    assert isinstance(raised, InterruptExpiredError)
    assert re.search(
        r"nobody decided action 1 \(b\) in time.*on_expiry.*nothing was resumed\. No bot was", str(raised)
    )
    assert isinstance(no_way, InterruptExpiredError)
    assert re.search(
        r"action 1 \(pay\) and action 2 \(mail\) in time.*cannot be a rejection: pay allows only approve, edit.*allow reject",
        str(no_way),
    )
    assert "no bot runs in namespace 'assent'" in caplog.text
    assert "start one with this Redis and ASSENT_NAMESPACE=assent" in caplog.text


async def test_a_refused_interrupt_raises_with_its_code(client, store):
    """The agent hears why its interrupt could not be asked; asking again later is a new attempt."""
    interrupt = client.interrupt(batch("a"), run="thread", pauses=["p"])
    interrupt_id = await client.publish(interrupt)
    await store.settle(interrupt_id, "refused", reason="no such channel", code="channel_not_found")

    with pytest.raises(InterruptRefusedError, match="no such channel") as caught:
        async with client.resuming(interrupt_id):
            pass
    assert caught.value.code == "channel_not_found"
    assert (await store.load(interrupt_id)).stalled is None
    assert await client.publish(interrupt) != interrupt_id


async def test_what_has_ended_is_not_withdrawn(client, store):
    """The answer stands, nothing more falls due, and neither the card nor the audit says that it was taken back."""
    interrupt_id = await approved(client, store)
    await start_retention(store, interrupt_id)
    falls_due = await store.first_due("due", limit=1)

    await client.withdraw(interrupt_id, "plans changed")

    assert (await store.load(interrupt_id)).withdraw_asked is None
    assert await store.first_due("due", limit=1) == falls_due
    await store.take_inbox("billing")
    assert "withdraw_asked" not in str(await store._redis.xrange(store.keys.audit))
    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"


def left(version="1"):
    """What a worker of this version goes on with."""
    return Continuation(framework="f", name="n", version=version, sdk="s", state="{}")


@pytest.mark.parametrize("is_left_to_a_worker", [False, True])
async def test_a_cancelled_review_is_withdrawn(client, store, is_left_to_a_worker):
    """Nobody could find its answer; one that a worker goes on with stays open."""
    continuation = left() if is_left_to_a_worker else None
    asking = asyncio.create_task(client.review(batch("a"), continuation=continuation))
    (interrupt_id,) = await eventually(partial(ids, store))
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    asked = (await store.load(interrupt_id)).withdraw_asked
    assert asked == (None if is_left_to_a_worker else "The call that asked was cancelled.")


async def test_a_review_that_is_cancelled_while_its_client_closes_is_withdrawn(redis_url, store):
    """However long Redis takes, and also when it is cancelled twice. No connection is left open."""
    others = await connections(store)
    async with an_agent(redis_url, "closing") as client:
        asking = asyncio.create_task(client.review(batch("a")))
        (interrupt_id,) = await eventually(partial(ids, store))
        await store._redis.client_pause(500, all=False)
        asking.cancel()
        await until(lambda: client._withdrawals)
        asking.cancel()

    await asyncio.wait([asking])
    assert asking.cancelled()
    assert (await store.load(interrupt_id)).withdraw_asked == "The call that asked was cancelled."
    assert await connections(store) == others


async def connections(store: ApprovalStore) -> int:
    """Count the connections to Redis, with both of the store's."""
    await until(lambda: store.scripts.pipelined and store.scripts.pipelined.send("PING"))
    return len(await store._redis.client_list())


async def only_waits(store):
    """Whether one connection waits for an answer, and no other has had a command for a second."""
    found = [each for each in await store._redis.client_list() if each["cmd"] != "client|list"]
    return len(found) > 1 and all("b" in each["flags"] or int(each["idle"]) >= 1 for each in found)


async def requests_of(redis):
    """Count what the verbs have asked since the last reset: each is one script. A server may have to be told it first."""
    found: dict[str, dict[str, int]] = await redis.info("commandstats")
    told = found.get("cmdstat_eval", {"calls": 0})
    return found["cmdstat_evalsha"]["calls"] - found["cmdstat_evalsha"]["failed_calls"] + told["calls"]


async def test_a_review_goes_on_with_one_request_after_its_decision(client, store):
    """The claim reads what was decided: nobody reads the record before it."""
    interrupt = client.interrupt(batch("a"))
    interrupt_id = await client.publish(interrupt)
    await admit(store, interrupt_id)
    async with (
        ApprovalClient.from_url(url_of(client), agent="billing") as unhurried,
        open_redis(url_of(client)) as redis,
        asyncio.timeout(30),
    ):
        reviewing = unhurried.reviewing(interrupt)
        entering = asyncio.create_task(reviewing.__aenter__())
        await client.close()
        await eventually(partial(only_waits, store))
        await redis.config_resetstat()
        await record(store, interrupt_id, {0: RejectDecision(message="no: ö")})
        said = await entering

        # Two of them are the decision's own.
        assert await requests_of(redis) == 3
        assert said.decisions[0].message == "no: ö"
        await reviewing.__aexit__(None, None, None)


async def test_a_wake_up_that_is_not_true_ends_no_review(client, store):
    """Whoever writes to Redis can say that something is decided. The claim says that it is not, and people are waited for."""
    interrupt = client.interrupt(batch("a"))
    await client.publish(interrupt)
    await admit(store, interrupt.id)
    reviewing = asyncio.create_task(take(client, interrupt))
    await until(lambda: interrupt.id in client._replies._waiting)

    replies = store.keys.replies(client._records.process)
    await store._redis.xadd(replies, {"id": interrupt.id, "status": "decided"})
    await record(store, interrupt.id, {0: RejectDecision(message="no")})

    assert (await reviewing).decisions[0].message == "no"


async def test_an_answer_that_does_not_fit_leaves_no_claim(client, store):
    """Every process that tries to resume with it hears what is wrong with it, and not that another has it."""
    interrupt_id = await asked(client, store, allowed=("reject",))
    await record(store, interrupt_id, {0: ApproveDecision()})

    async with ApprovalClient.from_url(url_of(client), agent="billing") as other:
        for each in (other, client):
            with pytest.raises(DecisionNotAllowedError, match="approve is not one of reject"):
                async with each.resuming(interrupt_id):
                    pass


async def test_more_waits_than_one_look_takes_all_end(client, monkeypatch):
    """However many there are, none is passed over when nobody answers."""
    monkeypatch.setattr(replies, "IDS_PER_LOOK", 1)
    asked = [client.review(batch(name), expires_in=timedelta(seconds=1)) for name in "abc"]

    async with asyncio.timeout(30):
        assert [resume.status for resume in await asyncio.gather(*asked)] == ["expired"] * 3


async def test_who_follows_is_woken_by_each_decision(client, store):
    """Without a look at intervals, too; and a wait for the same interrupt in the same process hears of its end."""
    interrupt_id = await asked(client, store, "a", "b")
    async with ApprovalClient.from_url(url_of(client), agent="billing") as unhurried, asyncio.timeout(30):
        waiting = await waiting_for(unhurried, store, interrupt_id)
        given = unhurried.decisions(interrupt_id)
        for index in (1, 0):
            following = asyncio.create_task(anext(given))
            await until(lambda: unhurried._replies._followed[interrupt_id])
            await record(store, interrupt_id, {index: ApproveDecision()})
            assert (await following).index == index
        assert (await waiting).status == "decided"


async def test_of_several_waits_for_one_interrupt_one_that_gives_up_takes_no_other_along(client, store):
    """Whichever of them it is, the first, one between, or the last; without a look at intervals."""
    interrupt_id = await asked(client, store)
    async with ApprovalClient.from_url(url_of(client), agent="billing") as unhurried, asyncio.timeout(30):
        waits = [asyncio.create_task(unhurried.wait(interrupt_id)) for _ in range(5)]
        await until(lambda: len(unhurried._replies._waiting.get(interrupt_id, ())) == 5)
        for each in (waits[0], waits[2], waits[4]):
            each.cancel()
        await asyncio.sleep(0)
        await record(store, interrupt_id, {0: ApproveDecision()})
        assert [(await each).status for each in (waits[1], waits[3])] == ["decided"] * 2


async def test_a_question_that_redis_forgot_is_asked_again(client, store):
    """A Redis that comes back empty gets the interrupt from whoever still waits for it."""
    reviewing = asyncio.create_task(client.review(batch("a"), expires_in=timedelta(minutes=1)))
    interrupt_id = await first_owed(store)
    await store._redis.flushall()

    again = await first_owed(store)
    await admit(store, again)
    await record(store, again, {0: ApproveDecision()})
    assert again == interrupt_id
    assert (await reviewing).decisions[0].type == "approve"


async def test_what_was_asked_first_stands(client, store):
    """Whichever process asks again: its deadline, and its continuation, so that the workers who can go on with it do."""
    asked = client.interrupt(batch("a"), run="thread", pauses=["p"])
    interrupt_id = await client.publish(asked.model_copy(update={"continuation": left("1")}))
    deadline = (await store.load(interrupt_id)).deadline

    later = {"continuation": left("2"), "expires_in": timedelta(days=2)}
    async with an_agent(url_of(client)) as other:
        assert await other.publish(asked.model_copy(update=later)) == interrupt_id

    assert (await client.runs.journal(interrupt_id)).continuation == left("1")
    assert (await store.load(interrupt_id)).deadline == deadline


async def test_no_worker_takes_an_answer_from_a_process_that_is_about_to_wait(client, store):
    """Whoever asked is known from the first moment: an answer that is there before the wait begins waits for it."""

    class Late(ApprovalClient):
        async def _wait(self, interrupt_id, **how):
            await eventually(partial(store._redis.exists, store.keys.replies(self._records.process)))
            await admit(store, interrupt_id)
            await record(store, interrupt_id, {0: ApproveDecision()})
            needs = f"billing: {left().needs}"
            taken.append(await client.runs.lease([needs], limit=1, lease=1_000))
            return await super()._wait(interrupt_id, **how)

    taken: list[tuple[list[OwedRun], set[str]]] = []
    async with Late.from_url(url_of(client), agent="billing", reconcile_every=timedelta(seconds=1)) as late:
        resume = await late.review(batch("a"), continuation=left())

    assert resume.decisions[0].type == "approve"
    assert taken == [([], set())]


async def test_a_pause_whose_record_is_gone_is_asked_again(client, store):
    """A name that leads nowhere any more is no record that could be waited for."""
    interrupt = client.interrupt(batch("a"), run="thread", pauses=["p"])
    interrupt_id = await client.publish(interrupt)
    await store._redis.delete(store.keys.req(interrupt_id))

    assert await client.publish(interrupt) == interrupt_id
    assert (await client.record(interrupt_id)).interrupt == interrupt


async def first_owed(store):
    async with asyncio.timeout(30):
        while not (works := await store.lease_work("undrawn", limit=1, lease=60_000)):
            await store.take_inbox("billing")
            await asyncio.sleep(0.02)
    return works[0].interrupt_id


TAKEN = {"claim_by": "another", "claim_until": "9999999999999"}
MEANWHILE = pytest.mark.parametrize(
    "meanwhile", [TAKEN, {"resumed": "1", "resumed_by": "another"}], ids=["taken", "resumed"]
)


@MEANWHILE
async def test_a_claim_that_went_to_somebody_else_ends_the_body(client, store, meanwhile):
    """A process that lost its claim does not go on resuming beside the one that has it."""
    interrupt_id = await approved(client, store)
    req = store.keys.req(interrupt_id)
    went_on = False

    async def resume() -> None:
        nonlocal went_on
        async with client.resuming(interrupt_id):
            await store._redis.hset(req, mapping=meanwhile)
            await asyncio.Event().wait()
            went_on = True

    with pytest.raises(ClaimLostError):
        await asyncio.wait_for(resume(), 60)
    assert not went_on


@MEANWHILE
async def test_a_run_that_somebody_else_took_is_not_reported_as_resumed(client, store, meanwhile):
    """A body that ends after its claim went to another process is told so: what it did may be done twice."""
    interrupt_id = await approved(client, store)

    with pytest.raises(ClaimLostError, match="another process took it"):
        async with client.resuming(interrupt_id):
            await store._redis.hset(store.keys.req(interrupt_id), mapping=meanwhile)


async def test_the_deadline_of_the_policy_ends_a_wait_too(client, store):
    """Where the rules give people less time than the agent did, nobody waits longer, though the bot is gone."""
    interrupt = client.interrupt(batch("a"), run="thread")
    interrupt_id = await client.publish(interrupt)
    await admit(store, interrupt_id, life=1_000)

    async with asyncio.timeout(30), client.reviewing(interrupt) as resume:
        assert resume.status == "expired"


async def test_a_server_that_will_not_do_is_left(redis_url):
    """A client that refuses its Redis keeps no connection to it."""
    async with open_redis(redis_url) as redis:
        await redis.hset(Keys("assent").meta, "schema", "7")

        with pytest.raises(ServerUnsuitableError):
            async with an_agent(redis_url):
                pass

        assert len(await redis.client_list()) == 1


async def test_what_cannot_be_asked_is_refused_with_the_place(client, redis_url):
    """Before it is stored: a thread that nobody could look up, an agent that is somebody else's."""
    # Without the channel nobody knows who began the thread, and so who may not approve.
    with pytest.raises(
        InvalidRequestError, match="a thread needs its channel: pass channel=… beside thread_ts"
    ):
        await client.publish(client.interrupt(batch("a"), thread_ts="1700000000.000100"))
    async with an_agent(redis_url, "shipping") as other:
        with pytest.raises(
            InvalidRequestError, match="'shipping' cannot be asked for through the client of 'billing'"
        ):
            await client.publish(other.interrupt(batch("a")))
    interrupt_id = await client.publish(client.interrupt(batch("a")))
    with pytest.raises(InvalidRequestError, match="reason: half of a surrogate pair at character 2"):
        await client.withdraw(interrupt_id, "no\ud83d")


@pytest.fixture
def server(tmp_path):
    """A Redis that a test may kill."""
    yield from serving(RedisServer(tmp_path / "r"))


@asynccontextmanager
async def records_in(server):
    async with open_redis(server.url) as redis:
        yield ApprovalStore(redis, await freeze_meta(redis, "assent"))


@pytest.fixture
async def lost_server(server):
    """A Redis that was killed, a client of it, and what it asked before."""
    async with an_agent(server.url) as client:
        interrupt_id = await client.publish(client.interrupt(batch("a")))
        server.kill()
        yield server, client, interrupt_id


async def test_a_wait_may_begin_while_redis_is_away(lost_server, caplog):
    """It says so, goes on when Redis is back, and gives the answer."""
    server, client, interrupt_id = lost_server
    waiting = asyncio.create_task(client.wait(interrupt_id))
    await until(lambda: "loop.hindered: wait" in caplog.text)
    server.start()

    async with records_in(server) as store, asyncio.timeout(30):
        await admit(store, interrupt_id)
        await record(store, interrupt_id, {0: ApproveDecision()})
        assert (await waiting).decisions[0].type == "approve"


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_run_that_went_on_while_redis_was_away_keeps_its_result(server, caplog, comes_back):
    """Only the note that it went on is late; closing does not wait for a Redis that stays away."""
    async with an_agent(server.url) as client:
        async with records_in(server) as store:
            interrupt_id = await approved(client, store)
        async with client.resuming(interrupt_id):
            server.kill()
        await until(lambda: "loop.hindered: wait" in caplog.text)
        if comes_back:
            server.start()
            async with asyncio.timeout(30):
                while not (await client.record(interrupt_id)).is_resumed:
                    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_review_that_was_cancelled_while_redis_was_away_is_withdrawn(
    server, monkeypatch, caplog, comes_back
):
    """However long it stays away; closing does not wait for that, and says what was not withdrawn."""
    for module in (agent_client, pool):
        monkeypatch.setattr(module, "REPEAT_WITHIN", 0.1)
    async with an_agent(server.url) as client:
        asking = asyncio.create_task(client.review(batch("a")))
        async with records_in(server) as store:
            (interrupt_id,) = await eventually(partial(ids, store))
        server.kill()
        asking.cancel()
        await asyncio.wait([asking])
        if comes_back:
            server.start()
            await until(lambda: not client._withdrawals)
            async with records_in(server) as store:
                assert (await store.load(interrupt_id)).withdraw_asked
    assert ("withdrawal.lost" in caplog.text) is not comes_back
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_waits_are_looked_at_again_after_redis_was_away(lost_server, caplog):
    """A process that has lost Redis once still notices that nobody answers."""
    server, client, _ = lost_server
    # An agent that sets up no logging prints the message alone, so it has the reason.
    await until(lambda: "loop.hindered: reconciling: Redis at " in caplog.text)
    server.start()

    async with asyncio.timeout(30):
        assert (await client.review(batch("b"), expires_in=timedelta(seconds=1))).status == "expired"


async def test_closing_while_redis_is_away_ends_what_waits(lost_server, caplog):
    """A wait that had not begun to listen ends, too."""
    _, client, interrupt_id = lost_server
    waiting = [
        asyncio.create_task(client.wait(interrupt_id)),
        asyncio.create_task(anext(client.decisions(interrupt_id))),
    ]
    await until(lambda: caplog.text.count("loop.hindered: wait") >= 2)
    await client.close()

    async with asyncio.timeout(30):
        heard = await asyncio.gather(*waiting, return_exceptions=True)
    assert ["client was closed" in str(each) for each in heard] == [True, True]


async def test_a_close_that_is_cancelled_has_ended_what_waits(client, store):
    interrupt_id = await asked(client, store, "a")
    waiting = asyncio.create_task(client.wait(interrupt_id))
    await eventually(partial(is_waited_for, store, interrupt_id))
    closing = asyncio.create_task(client.close())
    await asyncio.sleep(0)
    closing.cancel()

    async with asyncio.timeout(30):
        with pytest.raises(AgentAdapterError, match="the client was closed while it waited"):
            await waiting


async def test_a_client_that_two_open_at_the_same_moment_is_open_once(redis_url):
    client = an_agent(redis_url)
    opened = await asyncio.gather(client.__aenter__(), client.__aenter__(), return_exceptions=True)
    await client.close()

    assert sum("is open already" in str(each) for each in opened) == 1


async def test_a_client_that_is_not_connected_says_how_it_is(redis_url):
    """Before `async with` and after it, a verb is an error of our own; nothing is begun that nobody would end."""
    client = an_agent(redis_url)
    with pytest.raises(AgentAdapterError, match="is not connected: use it inside `async with"):
        await client.wait("billing.1")
    assert not hasattr(client, "anything_else")
    async with client:
        # As if another task had closed it while it begins to listen.
        begun = asyncio.create_task(client.publish(client.interrupt(batch("a"))))
        await asyncio.sleep(0)
        client._replies.is_closed = True
        await asyncio.wait([begun])

    for verb in (begun, client.wait("billing.1"), client.publish(client.interrupt(batch("b")))):
        with pytest.raises(
            AgentAdapterError, match="this client was closed: open it again with `async with`"
        ):
            await verb
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_decision_whose_wake_up_was_lost_is_found_at_the_next_look(client, store):
    """`decisions` looks at its record at every interval, so that a lost wake-up only delays."""
    interrupt_id = await asked(client, store, "a", "b")
    decided = client.decisions(interrupt_id)
    first = asyncio.create_task(anext(decided))
    await eventually(partial(is_waited_for, store, interrupt_id))
    names = [f"{kind}:{client._records.process}" for kind in "wf"]
    await store._redis.hdel(store.keys.req(interrupt_id), *names)
    await record(store, interrupt_id, {1: ApproveDecision()})

    async with asyncio.timeout(30):
        assert (await first).index == 1
    await decided.aclose()


async def test_an_end_whose_wake_up_was_lost_is_found_at_the_next_look(client, store):
    """`wait` ends though nothing woke it, and another wait of the same process goes on."""
    ended, still_open = [await asked(client, store, run=run, pauses=["p"]) for run in ("one", "other")]
    first, second = [await waiting_for(client, store, each) for each in (ended, still_open)]
    await store._redis.hdel(store.keys.req(ended), f"w:{client._records.process}")
    await record(store, ended, {0: ApproveDecision()})

    async with asyncio.timeout(30):
        assert (await first).decisions[0].type == "approve"
    assert not second.done()
    second.cancel()


async def test_a_record_that_is_no_text_ends_no_other_wait(client, store, monkeypatch):
    """Its own waiters get the error, whatever else is looked at beside it."""
    damaged, sound = [await asked(client, store) for _ in range(2)]
    was_read, load = set(), client._records.load

    async def noted(interrupt_id):
        record = await load(interrupt_id)
        was_read.add(interrupt_id)
        return record

    monkeypatch.setattr(client._records, "load", noted)
    first, second = [await waiting_for(client, store, each) for each in (damaged, sound)]
    await until(lambda: was_read == {damaged, sound})
    await store._redis.hset(store.keys.card(damaged), "deadline", b"\xff")

    async with asyncio.timeout(30):
        with pytest.raises(UnreadableRecordError, match=damaged):
            await first
    await record(store, sound, {0: ApproveDecision()})
    assert (await second).decisions[0].type == "approve"
