"""For how long the oldest owed work could have been done."""

import pytest

from bot.jobs import heartbeat
from bot.jobs.heartbeat import OwedAges

AT = 1_000_000


@pytest.fixture
def later(monkeypatch):
    """Let the clock of this process go on: `later(seconds)`."""
    at = 100.0

    def go_on(seconds):
        nonlocal at
        at += seconds

    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: at)
    return go_on


async def test_what_is_not_owed_or_due_later_has_no_age(store, redis, keys):
    """Every kind is there, so that an alert has something to compare."""
    await redis.zadd(keys.due, {"billing.1": AT + 3_600_000})

    assert await OwedAges(store).look(AT) == {"undrawn": 0, "due": 0, "unresumed": 0}


@pytest.mark.parametrize("kind", ["undrawn", "due", "unresumed"])
async def test_the_oldest_work_that_is_due_gives_the_age(store, redis, keys, kind):
    """Whoever should do it does not."""
    await redis.zadd(getattr(keys, kind), {"billing.1": AT - 90_000, "billing.2": AT - 10})

    ages = await OwedAges(store).look(AT)

    assert ages == {"undrawn": 0, "due": 0, "unresumed": 0} | {kind: 90}


async def test_a_card_that_is_tried_again_and_again_grows_old(store, redis, keys, later):
    """Each try moves it a little ahead, so it never seems to be due for long."""
    ages = OwedAges(store)
    for _ in range(3):
        await redis.zadd(keys.undrawn, {"billing.1": AT + 1_000})
        await ages.look(AT)
        later(20)
    assert (await ages.look(AT))["undrawn"] == 60

    await redis.zrem(keys.undrawn, "billing.1")
    assert (await ages.look(AT))["undrawn"] == 0

    await redis.zadd(keys.undrawn, {"billing.1": AT})
    assert (await ages.look(AT))["undrawn"] == 0
