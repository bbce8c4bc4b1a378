"""The script with which agents write, and bots what is not an event: commands that run together, if what they rely on is still so."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_adapter.contract.keys import Named
from agent_adapter.redis.scripts import Private, Scripts, Sent, Value, fields_of

NOTHING, ANYTHING = "", "*"
WHATEVER, WHERE_REFUSED = "?", "!"
"""What a look has to find. The last one is for what only a change that was refused has to know."""
LONGEST_SILENCE = 15_000
"""Milliseconds: while a bot lives, its last sign of life is at most this old."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The server's time in milliseconds, before a text if there is one."""

    later: int = 0
    text: str | None = None


Word: TypeAlias = str | int | Stamp
Words: TypeAlias = Sequence[Word]


@dataclass(frozen=True, slots=True)
class Change:
    """Commands, and what they rely on."""

    looks: Sequence[Words] = ()
    """Each is what it has to find, a command that reads, a key, and more words."""
    commands: Sequence[Words] = ()
    """Each is a command, a key, and more words."""
    since: int = 0
    """When the caller read what it relies on, by the server's clock."""
    before: int | None = None
    """Until when it may run, by the server's clock."""
    lease: int | None = None
    """Milliseconds of a claim that is new: it waits where the server may have lost another one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a change."""

    ran: bool
    now: int
    unsure: int
    """Milliseconds until it is known whether somebody else holds a claim."""
    found: Sequence[Any]
    """What each look has found; `None` for nothing, or for a key of another type."""


def same(text: object) -> str:
    """Expect this text, or nothing for `None`."""
    return NOTHING if text is None else f"= {text}"


def no_other_than(beginning: str) -> str:
    """Expect nothing, or what begins like this."""
    return f"~ {beginning}"


def written(key: str, fields: Mapping[str, Word]) -> list[Words]:
    """Write these fields, if there are any."""
    return [("HSET", key, *(word for field in fields.items() for word in field))] if fields else []


def note(names: Named, event: str, *words: Word) -> Words:
    """Note for the bots what happened to a record: `take_inbox` does what follows from it."""
    return ("XADD", names["inbox"], "*", "event", event, "id", names["id"], *words)


def wake(names: Named) -> Words:
    """Have a bot look into the inbox of this agent soon. Without this it looks at its next sweep."""
    return ("PUBLISH", f"{names['prefix']}inbox", names["id"].partition(".")[0])


async def run(scripts: Scripts, names: Named, change: Change) -> Answer:
    """Run the commands of a change in their order, if all looks find what they expect.

    Redis undoes nothing when a later command fails. So what the others rely on, or must not be lost, comes first.
    """
    words, keys, given = arguments(change)
    ran, *rest = await scripts("change", names, words, keys, **given)
    return Answer(ran == 1, *rest)


async def read_hashes(scripts: Scripts, names: Named, *hashes: str) -> tuple[list[dict[str, str]], int]:
    """Read hashes of these names and the server's milliseconds, at one moment.

    Raises:
        UnreadableRecordError: when one of them has another type.
    """
    answer = await run(scripts, names, Change([(WHATEVER, "HGETALL", names[each]) for each in hashes]))
    return [fields_of(found, names["id"]) for found in answer.found], answer.now


def arguments(change: Change) -> tuple[list[Sent], Iterable[str], dict[str, Value]]:
    """Return what the script takes: words, keys, and what has a name."""
    words: list[Sent] = []
    for expected, *look in change.looks:
        words += (len(look) + 1, str(expected), *_written(look))
    for command in change.commands:
        words += (len(command), *_written(command))
    # The second word of PUBLISH is a channel, not a key.
    keys = [str(command[1]) for command in change.commands if command[0] != "PUBLISH"]
    given: dict[str, Value] = {"since": change.since, "before": change.before, "lease": change.lease}
    return words, dict.fromkeys(keys), {**given, "looks": len(change.looks)}


def clock_was_set(till: int, lease: int, at: int, clock: str | None, bots: Sequence[str]) -> bool:
    """Whether a lease has to begin again. A clock that was set back makes no lease longer, and one that was set forward ends none.

    Bots note when they notice that it was set. Until then, their last sign of life seems older than it can be.
    """
    since = till - lease
    if till - at > lease:
        return True
    if till > at or till <= 0:
        return False
    if since <= int(clock or 0) <= at:
        return True
    return bool(bots) and since - LONGEST_SILENCE <= float(bots[1]) < at - LONGEST_SILENCE


def _written(words: Words) -> list[Sent]:
    command, key, *rest = words
    return [str(command), str(key), *map(_word, rest)]


def _word(word: Word) -> str:
    if isinstance(word, Private):
        return Private(f"= {word}", word.field, record=word.record, words=1)
    if not isinstance(word, Stamp):
        return f"= {word}"
    text = f"@{word.later}" if word.text is None else f"@{word.later} {word.text}"
    return Private(text, word.text.field, words=1) if isinstance(word.text, Private) else text
