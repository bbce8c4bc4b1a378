"""What people decided lately through this process, to notice when Redis has lost it."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

MOST = 10_000
"""Decisions to remember: some 5 MB."""
KEPT_FOR = 120.0
"""Seconds: longer than it takes to replace a primary."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A decision, a vote or a proposal that Slack has shown as accepted."""

    interrupt_id: str
    index: int
    person: str
    token: str
    """The name of the click, or of what it proposed."""
    at: int
    """When it was stored, in the server's milliseconds."""
    is_vote: bool
    """Whether more people have to agree."""
    decision: str = ""
    """What was decided: `approve`, `edit`, `reject` or `respond`."""
    may_have_run: bool = False
    """Whether the agent may have gone on with it."""
    was_last: bool = False
    """Whether nothing of its request was open after it."""
    asked: str = ""
    """The digest of the question."""
    was_told: bool = False
    """Whether its person was told that it is lost."""

    def is_in(self, card: Mapping[str, str]) -> bool:
        """Whether the bot's side of the record has it, or has what came after it."""
        if f"d:{self.index}" in card:
            return self.is_vote or self.token in card.get(f"t:{self.index}", "").split()
        if not self.is_vote:
            return False
        votes = (line.split(" ", 4) for line in card.get(f"votes:{self.index}", "").splitlines())
        later = [(who, int(when)) for who, _, _, when, _ in votes]
        # A vote that was taken out, because its person may not decide any more or has proposed something else.
        later += [
            (who, int(when)) for who, when in map(str.split, card.get(f"out:{self.index}", "").splitlines())
        ]
        return any(who == self.person and when >= self.at for who, when in later)


@dataclass(frozen=True, slots=True)
class Loss:
    """What Redis does not have any more of a click."""

    clicks: list[Accepted]
    is_followed: bool
    """Whether an agent takes each decision of the request as it is made."""


class AcceptedLately:
    """The decisions of the last two minutes: a failover can have lost them."""

    def __init__(self, is_unlooked: Callable[[str], bool] = lambda _: False) -> None:
        """Remember nothing yet.

        Args:
            is_unlooked: Whether a request is still to be looked for since a failover. Its decisions are not forgotten.
        """
        self._is_unlooked = is_unlooked
        self._found: dict[tuple[str, int, str, str], tuple[Accepted, float]] = {}

    def add(self, accepted: Accepted) -> None:
        """Remember a decision, and forget the oldest ones.

        Of the same one again, the time counts. What an agent may have heard of it stays true.
        """
        name, now = (accepted.interrupt_id, accepted.index, accepted.person, accepted.token), time.monotonic()
        before, _ = self._found.pop(name, (accepted, 0))
        both = replace(
            accepted,
            # What was final and is told as lost may count as a vote from then on.
            is_vote=accepted.is_vote and (before.is_vote or before.was_told),
            may_have_run=accepted.may_have_run or before.may_have_run,
            was_last=accepted.was_last or before.was_last,
        )
        self._found[name] = both, now
        over = takewhile(lambda found: now - found[1][1] > KEPT_FOR, self._found.items())
        for old in [name for name, (each, _) in over if not self._is_unlooked(each.interrupt_id)]:
            del self._found[old]
        if len(self._found) > MOST:
            del self._found[next(iter(self._found))]

    def note_told(self, lost: Iterable[Accepted]) -> None:
        """Note that people were told that this is lost."""
        for each in lost:
            name = each.interrupt_id, each.index, each.person, each.token
            if known := self._found.get(name):
                self._found[name] = replace(known[0], was_told=True), known[1]

    def requests(self) -> list[list[list[Accepted]]]:
        """Give what was decided about each request, by click, oldest first.

        None is dropped while nobody decides: Redis may be away.
        """
        found: dict[str, dict[str, list[Accepted]]] = {}
        for accepted, _ in self._found.values():
            found.setdefault(accepted.interrupt_id, {}).setdefault(accepted.token, []).append(accepted)
        return [[*clicks.values()] for clicks in found.values()]
