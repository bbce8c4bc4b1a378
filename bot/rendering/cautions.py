"""What a person is told about texts that are not what they look like, wherever they are shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bot.rendering.blocks import Block, context, literal_within
from bot.rendering.misread import misread_words, odd_domains
from bot.rendering.text import has_decomposed, has_hidden

_LINES = 700
"""JSON characters of the words that are named."""
_REMEMBERED = 16_384
"""Characters of texts that are remembered, with what was found in them."""


def caution_blocks(at: str, shown: Any, *, as_json: bool = False) -> list[Block]:
    """Say what the texts in some JSON values hide, and which of their words read as others; nothing for ordinary texts.

    Args:
        at: What the names of the blocks begin with.
        shown: What is shown beside this.
        as_json: Whether it is shown as JSON, in an input.
    """
    texts = tuple(dict.fromkeys(_texts(shown)))
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
    lines = "\n".join([*found.words, *found.domains])
    named = [literal_within(f"{at}misread", lines, _LINES)] if lines else []
    return [context(f"{at}hidden", "\n".join(told)), *named]


def caution_lines(shown: Any, known: Any) -> list[str]:
    """Say in lines of their own which words read as others, in texts that were not there before."""
    before = {*_texts(known)}
    new = [text for text in _texts(shown) if text not in before]
    return [f"⚠ {line}" for line in (*misread_words(new), *odd_domains(new))]


@dataclass(frozen=True, slots=True)
class _Found:
    is_hidden: bool
    is_decomposed: bool
    words: tuple[str, ...]
    domains: tuple[str, ...]


@lru_cache(maxsize=64)  # a card asks at each drawing, and a modal at each page
def _found(texts: tuple[str, ...]) -> _Found:
    return _Found(
        any(map(has_hidden, texts)), any(map(has_decomposed, texts)), misread_words(texts), odd_domains(texts)
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from _texts(child)
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child)
