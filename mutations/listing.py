"""The mutations that are tried, and what became of each: `listed.jsonl`, one on each line."""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import zip_longest
from math import sqrt
from pathlib import Path

from mutations import lua, python
from mutations.mutation import Mutation, name_of

LIST = Path(__file__).parent / "listed.jsonl"
CODE = ("agent_adapter", "bot")


@dataclass(frozen=True)
class Area:
    """Files that are about one thing, and how many of their mutations are tried."""

    count: int
    files: tuple[str, ...]


AREAS = {
    "scripts": Area(85, ("agent_adapter/**/*.lua", "bot/**/*.lua")),
    "policy": Area(40, ("bot/policy/*.py", "bot/domain/*.py")),
    "rendering": Area(45, ("bot/rendering/**/*.py", "bot/text/*.py")),
    "decisions": Area(40, ("bot/use_cases/*.py",)),
}


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One mutation that is tried each time."""

    area: str
    """What it is about, as in `AREAS`."""
    file: str
    where: str = ""
    kind: str
    text: str
    ordinal: int
    verdict: str = ""
    """What became of it when the list was last brought up to date."""
    by: str = ""
    """The test that caught it."""
    reason: str = ""
    """Why it may survive."""

    @property
    def name(self) -> str:
        """What it is called, as in `Mutation.name`."""
        return name_of(self.file, self.where, self.kind, self.text, self.ordinal)


def listed_from(area: str, mutation: Mutation) -> Listed:
    """Give a new line of the list."""
    return Listed(
        area=area,
        file=mutation.file,
        where=mutation.where,
        kind=mutation.kind,
        text=mutation.text,
        ordinal=mutation.ordinal,
    )


def read_list(path: Path = LIST) -> list[Listed]:
    """Read the list."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Listed(**json.loads(line)) for line in lines]


def write_list(listed: Iterable[Listed], path: Path = LIST) -> None:
    """Write the list, in the order of areas, files and functions."""
    order = sorted(listed, key=lambda each: (each.area, each.name))
    lines = (
        json.dumps({k: v for k, v in asdict(each).items() if v != ""}, ensure_ascii=False) for each in order
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def mutations_of(root: Path, file: str) -> list[Mutation]:
    """Give every mutation of one file."""
    source = (root / file).read_text(encoding="utf-8")
    return lua.mutations_in(file, source) if file.endswith(".lua") else python.mutations_in(file, source)


def all_mutations(root: Path) -> Iterator[Mutation]:
    """Give every mutation of the packages."""
    for file in _files(root, [f"{package}/**/*.{ending}" for package in CODE for ending in ("py", "lua")]):
        yield from mutations_of(root, file)


def names_in_scripts(root: Path) -> dict[str, set[str]]:
    """Give the names that each script gives its keys and arguments."""
    files = _files(root, [f"{package}/**/*.lua" for package in CODE])
    return {file: lua.named_in((root / file).read_text(encoding="utf-8")) for file in files}


def choose(root: Path, seed: int) -> list[Listed]:
    """Choose mutations from each file, more from larger ones, and of each kind in turn."""
    chosen: list[Listed] = []
    for name, area in AREAS.items():
        found = {file: mutations_of(root, file) for file in _files(root, area.files)}
        for file, share in _shares({file: len(each) for file, each in found.items()}, area.count).items():
            taken = _of_each_kind(found[file], random.Random(f"{seed} {file}"))[:share]
            chosen += [listed_from(name, mutation) for mutation in taken]
    return chosen


def _files(root: Path, patterns: Iterable[str]) -> list[str]:
    return sorted({path.relative_to(root).as_posix() for pattern in patterns for path in root.glob(pattern)})


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Share out a number by the roots of the sizes, at least one for each file that has something."""
    whole = sum(sqrt(size) for size in sizes.values())
    return {file: max(1, round(count * sqrt(size) / whole)) for file, size in sizes.items() if size}


def _of_each_kind(found: list[Mutation], chance: random.Random) -> list[Mutation]:
    kinds: defaultdict[str, list[Mutation]] = defaultdict(list)
    for mutation in chance.sample(found, len(found)):
        kinds[mutation.kind].append(mutation)
    order = chance.sample(sorted(kinds), len(kinds))
    rounds = zip_longest(*(kinds[kind] for kind in order))
    return [mutation for each in rounds for mutation in each if mutation]
