"""What a person is told about texts that are not what they look like, wherever they are shown."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bot.rendering.arguments import key_text
from bot.rendering.blocks import Block, context, literal_within
from bot.rendering.misread import Lines, misread_words, odd_domains
from bot.rendering.misread_signs import misread_signs
from bot.rendering.text import clip, has_decomposed, has_hidden

TOOL, WORDS, ANSWER = "the tool's name", "the agent's words", "the answer"
"""Where a text stands that is no argument."""

Shown = Sequence[tuple[str, Any]]
"""JSON values that are shown, each with the place where it stands: empty for arguments, whose names tell it."""

_LINES = 1_000
"""JSON characters of the words that are named."""
_PLACES = 3
"""Places that are named for each of them."""
_LONGEST = 60
"""Characters of such a place."""
_REMEMBERED = 16_384
"""Characters of texts that are remembered, with what was found in them."""

_Step = str | int | None
_Path = tuple[Any, _Step, bool]
"""The path above, one step below it, and whether the text is a name itself: most paths are never written."""


def caution_blocks(at: str, shown: Shown, *, as_json: bool = False) -> list[Block]:
    """Say what the texts in some JSON values hide, and which of their words read as others; nothing for ordinary texts.

    Args:
        at: What the names of the blocks begin with.
        shown: What is shown beside this.
        as_json: Whether it is shown as JSON, in an input.
    """
    places = _places(shown)
    texts = tuple(places)
    # Long ones would fill the memory.
    found = (_found if sum(map(len, texts)) <= _REMEMBERED else _found.__wrapped__)(texts)
    how = "in JSON as `\\u` and four digits" if as_json else "here as `\\u{…}`"
    told = []
    if found.is_hidden:
        told.append(f"⚠️ *Contains hidden characters*, written {how}.")
    if found.is_decomposed:
        mark = (
            f"have their marks {how}" if as_json else "have a `\\+` behind them, or are written as `\\u{…}`"
        )
        told.append(f"Letters that are stored in another way than usual, and look the same, {mark}.")
    if found.words:
        told.append("⚠️ *Some words are not what they look like*: see below.")
    if found.domains:
        told.append("Domain names below are written as computers read them.")
    if not told:
        return []
    lines = "\n".join([*_placed(found.words, places), *_placed(found.domains, places)])
    named = [literal_within(f"{at}misread", lines, _LINES)] if lines else []
    return [context(f"{at}hidden", "\n".join(told)), *named]


def caution_lines(shown: Any, known: Any) -> list[str]:
    """Say in lines of their own which words read as others, in arguments that were not there before."""
    before, places = _places([("", known)]), _places([("", shown)])
    new = [text for text in places if text not in before]
    return [f"⚠ {line}" for found in (_misread(new), odd_domains(new)) for line in _placed(found, places)]


@dataclass(frozen=True, slots=True)
class _Found:
    is_hidden: bool
    is_decomposed: bool
    words: Lines
    domains: Lines


@lru_cache(maxsize=64)  # a card asks at each drawing, and a modal at each page
def _found(texts: tuple[str, ...]) -> _Found:
    return _Found(
        any(map(has_hidden, texts)), any(map(has_decomposed, texts)), _misread(texts), odd_domains(texts)
    )


def _misread(texts: Collection[str]) -> Lines:
    return misread_words(texts) | misread_signs(texts)


def _placed(lines: Lines, places: Mapping[str, Sequence[_Path]]) -> Iterator[str]:
    """Say of each line where its texts stand."""
    for line, texts in lines.items():
        paths = [path for text in texts for path in places[text]]
        named = ", ".join(_written(path) for path in paths[:_PLACES])
        more = f" and {len(paths) - _PLACES} more" if len(paths) > _PLACES else ""
        yield f"{named}{more}: {line}" if named else line


def _places(shown: Shown) -> dict[str, list[_Path]]:
    """Give the places of each text."""
    found: dict[str, list[_Path]] = {}
    for where, value in shown:
        for path, text in _texts(value, (None, where or None, False)):
            found.setdefault(text, []).append(path)
    return found


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield (path, key, True), key
            yield from _texts(child, (path, key, False))
    elif isinstance(value, list):
        for place, child in enumerate(value):
            yield from _texts(child, (path, place, False))


def _written(path: _Path) -> str:
    """Write a path as the changes of an edit do: refund.lines[0]."""
    above, step, is_name = path
    steps: list[str] = []
    while above is not None:
        steps.append(f"[{step}]" if isinstance(step, int) else f".{key_text(str(step))}")
        above, step, _ = above
    text = f"{step or ''}{''.join(reversed(steps))}".removeprefix(".")
    return f"the name {clip(text, _LONGEST)}" if is_name else clip(text, _LONGEST)
