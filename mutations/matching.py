"""Find the listed mutations again in code that was moved, renamed and edited since."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import PurePosixPath

from mutations.listing import Listed
from mutations.lua import without_names
from mutations.mutation import Mutation

ALIKE = 0.7
"""How much of the text has to be the same where the file or the function has kept its name."""
ALMOST_THE_SAME = 0.9
"""Likewise where both have got new names."""


@dataclass(frozen=True)
class Match:
    """A listed mutation, and the one that it is now."""

    listed: Listed
    mutation: Mutation | None
    """None when the code that it changes is gone."""

    @property
    def how(self) -> str:
        """Say how it was found again: `same`, `moved`, `alike` or `gone`."""
        if not self.mutation:
            return "gone"
        if self.mutation.name == self.listed.name:
            return "same"
        return "moved" if self.mutation.text == self.listed.text else "alike"


def find_again(
    listed: Sequence[Listed], now: Iterable[Mutation], names: Mapping[str, set[str]] | None = None
) -> list[Match]:
    """Give each listed mutation with the one that it is now.

    That is the one with its name; else the same in a function of its name, wherever that is now; else the most alike.

    Args:
        listed: The mutations to find.
        now: All that there are.
        names: Of the keys and arguments in each script, which are compared without them.
    """
    free = {mutation.place: mutation for mutation in now}
    found: dict[str, Mutation] = {}
    for known in (lambda one: one.name, lambda one: (one.where, one.kind, one.text, one.ordinal)):
        _find_equal(listed, free, found, known)
    lost = [each for each in listed if each.name not in found]
    likely = _likely(lost, [*free.values()], names or {})
    for _, old, new in sorted(likely, key=lambda one: -one[0]):
        if old.name not in found and new.place in free:
            found[old.name] = free.pop(new.place)
    return [Match(each, found.get(each.name)) for each in listed]


def _find_equal(
    listed: Sequence[Listed],
    free: dict[str, Mutation],
    found: dict[str, Mutation],
    known: Callable[[Listed | Mutation], Hashable],
) -> None:
    stems = {_stem(mutation) for mutation in free.values()}
    now: defaultdict[Hashable, list[Mutation]] = defaultdict(list)
    for mutation in free.values():
        now[known(mutation)].append(mutation)
    for old in listed:
        if old.name in found or (not old.where and _stem(old) in stems and known(old) != old.name):
            # What is outside of functions is known by its file, while that keeps its name.
            continue
        equal = [each for each in now[known(old)] if each.place in free and _language(each) == _language(old)]
        if equal:
            nearest = max(equal, key=lambda each: _folders_in_common(each, old))
            found[old.name] = free.pop(nearest.place)


def _likely(
    lost: Sequence[Listed], free: Sequence[Mutation], names: Mapping[str, set[str]]
) -> Iterator[tuple[float, Listed, Mutation]]:
    texts = [(new, without_names(new.text, names.get(new.file, set()))) for new in free]
    for old in lost:
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(without_names(old.text, names.get(old.file, set())))
        for new, text in texts:
            if (new.kind, _language(new)) != (old.kind, _language(old)):
                continue
            kept = [_stem(new) == _stem(old), bool(new.where) and new.where == old.where]
            enough = ALIKE if any(kept) else ALMOST_THE_SAME
            matcher.set_seq1(text)
            if matcher.real_quick_ratio() >= enough and matcher.quick_ratio() >= enough:
                ratio = matcher.ratio()
                if ratio >= enough:
                    yield ratio + sum(kept) / 4 + (new.ordinal == old.ordinal) / 20, old, new


def _stem(one: Listed | Mutation) -> str:
    return PurePosixPath(one.file).stem


def _language(one: Listed | Mutation) -> str:
    return PurePosixPath(one.file).suffix


def _folders_in_common(one: Mutation, other: Listed) -> int:
    """Count them from the left; one more for the same file."""
    pairs = zip(PurePosixPath(one.file).parts, PurePosixPath(other.file).parts, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
