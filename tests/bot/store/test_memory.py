"""What a bot remembers of records is bounded in bytes, and what it forgets is read again."""

from dataclasses import replace

import pytest

from bot.store.commits import Memory, weight
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.deciding import admit


def a_record(run: str, characters: int = 0, decided: int = 0):
    state = a_state(an_interrupt(an_action(), run=run))
    return replace(state, body="x" * characters, size=characters + decided)


def test_what_was_read_longest_ago_is_forgotten_first():
    """Reading a record again makes it the newest."""
    first, second, third = (a_record(run, 50_000) for run in ("1", "2", "3"))
    memory = Memory(2 * weight(first))
    for each in (first, second, first, third):
        memory.put(each)

    assert [*memory._states] == [first.id, third.id]
    assert memory.get(second.id) is None
    assert memory.bytes == 2 * weight(first)


@pytest.mark.parametrize("size", [10, 20_000], ids=["small", "large"])
async def test_a_body_is_read_once_while_it_is_remembered(client, store, size):
    """Its card is drawn and redrawn from the values that were checked when it was first read."""
    first = await admit(store, await client.publish(an_interrupt(an_action("pay", {"text": "x " * size}))))

    again = await store.load(first.id)
    store._remembered.clear()
    anew = await store.load(first.id)

    assert again.interrupt is first.interrupt
    assert anew.interrupt == first.interrupt
