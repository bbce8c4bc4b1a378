"""What confirms a write: which servers can, and which writes wait for it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.errors import ServerUnsuitableError
from agent_adapter.redis.pool import freeze_meta
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.errors import NotConfirmedError
from bot.domain.ids import Remark
from bot.domain.standing import StandingTerms
from bot.domain.transitions import miss
from bot.domain.votes import Outcome, Press
from bot.sentences import in_answer
from bot.store.durability import Durability, durability_on, missing_on
from bot.store.records import ApprovalStore
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import admit, assign, end_standing, extend, record
from tests.support.replicas import Group, replicated

ONLINE = {"state": "online", "lag": 0}
TWO = {"redis_version": "7.2.4", "aof_enabled": 1, "connected_slaves": 2, "slave0": ONLINE, "slave1": ONLINE}


# --- Which servers can ------------------------------------------------------------------------------------------


def test_all_replicas_that_follow_have_to_confirm_by_default():
    """Whichever takes over then has it."""
    assert durability_on(TWO, "here", "replica", None) == Durability("replica", 2)
    assert durability_on(TWO, "here", "replica", 1) == Durability("replica", 1)


def test_a_replica_that_only_the_sentinels_know_has_to_confirm_too():
    """It is away while the bot starts, and may be the one that takes over."""
    one = {**TWO, "connected_slaves": 1}
    del one["slave1"]

    assert durability_on(one, "here", "replica", None, known=2).replicas == 2


@pytest.mark.parametrize(
    ("mode", "info", "cure"),
    [
        ("replica", {"connected_slaves": 0}, "start a replica"),
        ("replica", {"connected_slaves": 1, "slave0": {"state": "wait_bgsave", "lag": 0}}, "start a replica"),
        ("replica", {"connected_slaves": 1, "slave0": {"state": "online", "lag": 60}}, "start a replica"),
        ("fsync", {"redis_version": "7.2.4", "aof_enabled": 0}, "set appendonly yes"),
        ("fsync", {"redis_version": "7.0.15", "aof_enabled": 1}, "use Redis 7.2 or newer"),
        ("fsync", {"redis_version": "6.2.14", "aof_enabled": 1}, "use Redis 7.2 or newer"),
    ],
)
def test_a_server_that_can_confirm_nothing_is_refused_with_the_cure(mode, info, cure):
    """Every click would fail there."""
    with pytest.raises(ServerUnsuitableError, match=f"Redis at here .*{cure}.*ASSENT_DURABILITY=local"):
        durability_on(info, "here", mode, None)


def test_replicas_that_are_missing_are_counted_and_named():
    """A frozen one still has its connection, and does not report any more."""
    late = {**TWO, "slave1": {"state": "online", "lag": 11}}

    assert (
        "clicks wait for 2 replicas, and 1 follows Redis: Slack shows each click as failed, but it counts"
        in missing_on(late, Durability("replica", 2))
    )
    for info, durability in (
        (TWO, Durability("replica", 2)),
        (late, Durability("replica", 1)),
        (late, Durability()),
        ({}, Durability("replica", 2)),
    ):
        assert missing_on(info, durability) == ""


@pytest.mark.parametrize(
    ("durability", "answer", "is_met"),
    [
        (Durability("replica", 2), 2, True),
        (Durability("replica", 2), 1, False),
        (Durability("fsync"), [1, 0], True),
        (Durability("fsync"), [0, 3], False),
    ],
)
def test_an_answer_is_counted(durability, answer, is_met):
    """Redis gives the number of those that have confirmed, also when they are too few."""
    assert durability.is_met(answer) is is_met


# --- Which writes wait ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with replicated(1) as group:
        yield group


@pytest.fixture
def redis_url(group: Group) -> Iterator[str]:
    yield group.primary.url
    group.replicas[0].thaw()


@pytest.fixture
async def store(redis: Redis) -> ApprovalStore:
    await redis.flushall()
    keys = await freeze_meta(redis, "assent")
    store = ApprovalStore(redis, keys, address="here", durability=Durability("replica", 1))
    # After a WAIT that nobody has confirmed, a click has a quarter of a second left: too short for a busy machine.
    store._extra = 30
    return store


@pytest.fixture
async def state(client: ApprovalClient, store: ApprovalStore) -> Approval:
    """A record with a standing approval for its first action."""
    interrupt_id = await client.publish(an_interrupt(an_action(), an_action()))
    places = (Place(channel="C1", actions=(0, 1), assign=timedelta(minutes=5)),)
    state = await admit(store, interrupt_id, places=places)
    terms = StandingTerms(same="tool", lasts=timedelta(hours=1), uses=3)
    assert await decide(store, state, 0, standing=terms) == Outcome.RECORDED
    return await store.admitted(interrupt_id) or state


async def decide(store: ApprovalStore, state: Approval, index: int, **more: Any) -> Outcome:
    return (await record(store, state.id, {index: ApproveDecision()}, **more))[index]


Write = Callable[[ApprovalStore, Approval], Awaitable[object]]
SAID = Remark(kind="extend", places=())
OF_CLICKS: dict[str, Write] = {
    "a decision": lambda store, state: decide(store, state, 1),
    "a decision that is there already": lambda store, state: decide(store, state, 0),
    "a press that is delivered again": lambda store, state: decide(
        store, state, 1, press=Press("click", "one")
    ),
    "more time": lambda store, state: extend(store, state, timedelta(hours=1)),
    "an assignment": lambda store, state: assign(store, state, 0, "U0ERIK"),
    "the end of a standing approval": lambda store, state: end_standing(store, state.id, 0, "U0ERIK"),
    "what was read as done": lambda store, state: store.confirm(),
}


@pytest.mark.parametrize("write", OF_CLICKS.values(), ids=OF_CLICKS)
async def test_what_a_click_stores_has_to_be_confirmed(redis, store, state, group, write):
    """While the replica is frozen it is not certain, again and again. Afterwards it is."""
    # After a failover, Redis knows no script, and a replica is away.
    await redis.script_flush()
    group.replicas[0].freeze()
    for _ in range(2):
        with pytest.raises(NotConfirmedError):
            await write(store, state)

    group.replicas[0].thaw()
    await write(store, state)


async def test_what_the_bot_does_by_itself_waits_for_nobody(store, state, group):
    """It is done again when it is lost."""
    group.replicas[0].freeze()

    await store.queue_drawing(state.id)
    await store.update(state, miss, is_told=False)
    assert await end_standing(store, state.id, 0, is_told=False) == "early"


async def test_nobody_approves_what_was_refused_and_then_lost_before_a_replica_had_it(
    store, state, group, redis, decisions
):
    """The bot that took the refusal remembers it, although Slack has shown the click as failed."""
    card = store.keys.card(state.id)
    before = await redis.hgetall(card)
    group.replicas[0].freeze()
    with pytest.raises(NotConfirmedError):
        await decisions.decide(state, "U0ERIK", {1: RejectDecision()})
    group.replicas[0].thaw()
    await redis.delete(card)
    await redis.hset(card, mapping=before)

    answer = await decisions.decide(await store.admitted(state.id), "U0ERIK", {1: ApproveDecision()})

    assert answer.sentence == in_answer.REFUSAL_LOST
    assert store.refused.has(state.id, 1)


async def test_a_connection_that_is_lost_while_it_waits_does_not_confirm_anything(store, state, group, redis):
    """On the next connection nothing was written yet, so WAIT alone would answer at once that all is confirmed."""
    group.replicas[0].freeze()
    pressed = asyncio.create_task(decide(store, state, 1))
    while not (waiting := [each["id"] for each in await redis.client_list() if each["cmd"] == "wait"]):
        await asyncio.sleep(0.01)
    await redis.client_kill_filter(_id=waiting[0])

    with pytest.raises(NotConfirmedError):
        await pressed
