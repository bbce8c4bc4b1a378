"""What is said about texts that are not what they look like, wherever they are shown."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import unwrap
from typing import Any

from bot.rendering.blocks import Block, context, literal_within
from bot.sentences import in_text
from bot.text.literal import clip, has_decomposed, has_hidden, key_text
from bot.text.misread import Lines, misread_domains, misread_words, odd_domains
from bot.text.misread_signs import misread_signs

Shown = Sequence[tuple[str, Any]]
"""JSON values that are shown, each with its place. The place of arguments is empty, because their names say it."""

_LINES = 1_000
"""The room for the words that are named, in JSON characters."""
_PLACES = 3
"""The most places that are named for a word."""
_LONGEST = 60
"""The most characters of a place."""
_REMEMBERED = 16_384
"""The most characters of texts whose result is remembered."""

_Step = str | int | None
_Path = tuple[Any, _Step, bool]
"""The path above, one step below it, and whether the text is a name itself. Most paths are never written out."""


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
    found = (_found if sum(map(len, texts)) <= _REMEMBERED else unwrap(_found))(texts)
    said = []
    if found.is_hidden:
        said.append(in_text.HIDDEN_IN_JSON if as_json else in_text.HIDDEN)
    if found.is_decomposed:
        said.append(in_text.DECOMPOSED_IN_JSON if as_json else in_text.DECOMPOSED)
    if found.hosts or found.words:
        said.append(in_text.MISREAD)
    if found.domains:
        said.append(in_text.DOMAINS)
    if not said:
        return []
    lines = "\n".join(_placed(found.lines, places))
    named = [literal_within(f"{at}misread", lines, _LINES)] if lines else []
    return [context(f"{at}hidden", "\n".join(said)), *named]


def caution_lines(shown: Any, known: Any) -> list[str]:
    """Say in lines of their own which words read as others, in texts that were not there before."""
    before, places = _places([("", known)]), _places([("", shown)])
    new = [text for text in places if text not in before]
    return [f"⚠ {line}" for line in _placed(_found_in(new).lines, places)]


@dataclass(frozen=True, slots=True)
class _Found:
    is_hidden: bool
    is_decomposed: bool
    hosts: Lines
    """Domain names that look like others: where a click or a mail goes matters most."""
    words: Lines
    domains: Lines

    @property
    def lines(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The sentences, what matters most first, each with the texts that it is about."""
        return [*self.hosts.items(), *self.words.items(), *self.domains.items()]


@lru_cache(maxsize=64)  # a card asks at each drawing, and a modal at each page
def _found(texts: tuple[str, ...]) -> _Found:
    return _found_in(texts)


def _found_in(texts: Collection[str]) -> _Found:
    return _Found(
        any(map(has_hidden, texts)),
        any(map(has_decomposed, texts)),
        misread_domains(texts),
        misread_words(texts) | misread_signs(texts),
        odd_domains(texts),
    )


def _placed(
    lines: Sequence[tuple[str, Sequence[str]]], places: Mapping[str, Sequence[_Path]]
) -> Iterator[str]:
    """Add to each line where its texts are."""
    for line, texts in lines:
        paths = [path for text in texts for path in places[text]]
        named = [_written(path) for path in paths[:_PLACES]]
        yield in_text.found_in(named, len(paths) - _PLACES, line) if named else line


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
    named = clip(text, _LONGEST)
    return in_text.the_name(named) if is_name else named
