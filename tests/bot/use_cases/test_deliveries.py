"""What a person sends counts once: a body is known by its trigger, and one without a trigger is always handled."""

import pytest

from bot.domain.errors import StoreUnavailableError
from bot.runtime.tasks import Tasks
from bot.use_cases.deliveries import handle_once

CLICK = {
    "trigger_id": "1.2",
    "user": {"id": "U0DANA"},
    "actions": [{"action_id": "approve:0"}],
    "message": {"text": "asks"},
}


@pytest.fixture
def deliver(store):
    """Deliver a body as Slack does, and wait until its answer is noted: `await deliver(body, handle)`."""

    async def delivered(body, handle):
        tasks = Tasks()
        try:
            return await handle_once(store, tasks, "billing.one", body, handle)
        finally:
            await tasks.drain()

    return delivered


@pytest.fixture
def count():
    """Count how often a body is handled; the answer is the count."""

    async def handle(delivery):
        await delivery.begin()
        handle.times += 1
        return {"times": handle.times}

    handle.times = 0
    return handle


async def test_the_same_press_is_handled_once_and_gets_the_first_answer(deliver, count):
    """Slack delivers again what was acknowledged too late, and its message may have been drawn anew since."""
    again = {**CLICK, "message": {"text": "was approved"}}

    assert [await deliver(CLICK, count), await deliver(again, count)] == [{"times": 1}, {"times": 1}]


async def test_another_press_has_another_trigger_and_is_handled(deliver, count):
    """The same button, pressed again."""
    await deliver(CLICK, count)

    assert await deliver({**CLICK, "trigger_id": "1.3"}, count) == {"times": 2}


async def test_a_body_without_a_trigger_is_always_handled(deliver, count):
    """Nobody can say whether it is a second press, so both count."""
    body = {name: value for name, value in CLICK.items() if name != "trigger_id"}

    assert [await deliver(body, count), await deliver(body, count)] == [{"times": 1}, {"times": 2}]


async def test_what_failed_is_handled_again_when_it_is_delivered_again(deliver, count):
    """The first time Redis did not answer in time."""

    async def fail(delivery):
        await delivery.begin()
        raise StoreUnavailableError("Redis did not answer in time")

    with pytest.raises(StoreUnavailableError):
        await deliver(CLICK, fail)

    assert await deliver(CLICK, count) == {"times": 1}
