"""What is said about texts that are not what they look like, wherever they are shown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from inspect import unwrap
from itertools import chain
from typing import Any

from bot.domain.action import Action, once
from bot.rendering.blocks import Block, literal_within, section
from bot.sentences import in_text, words
from bot.text.literal import clip, has_decomposed, has_hidden, visible
from bot.text.look_alikes import domains, imitates, misread_words

_LINES = 1_000
"""The room for the words that are named, in JSON characters."""
_NAMED = 5
"""The most words that are named. The others are counted."""
_REMEMBERED = 16_384
"""The most characters of texts whose result is remembered."""


def caution_blocks(at: str, *shown: Any, as_json: bool = False) -> list[Block]:
    """Say what the texts in some JSON values hide, and which of their words read as others; nothing for ordinary texts.

    The names of the blocks begin with `at`. In an input, the values are shown as JSON.
    """
    found, said = _found_in(shown), []
    if found.is_hidden:
        said.append(in_text.HIDDEN_IN_JSON if as_json else in_text.HIDDEN)
    if found.is_decomposed:
        said.append(in_text.DECOMPOSED_IN_JSON if as_json else in_text.DECOMPOSED)
    if found.words or found.domains:
        said.append(in_text.MISREAD if found.is_fake else in_text.DOMAINS)
    if not said:
        return []
    named = [literal_within(f"{at}misread", "\n".join(lines), _LINES)] if (lines := found.lines) else []
    return [section(f"{at}hidden", "\n".join(said)), *named]


@once
def misleads(action: Action) -> bool:
    """Tell whether a call has characters that nobody sees, or words that read as others."""
    found = _found_in([action.request.name, action.shown(), action.description])
    return found.is_hidden or found.is_fake


def caution_lines(shown: Any, known: Any) -> list[str]:
    """Name in lines of their own the words that read as others, in texts that were not there before."""
    before = {*_texts(known)}
    new = tuple(dict.fromkeys(text for text in _texts(shown) if text not in before))
    return [f"⚠ {line}" for line in unwrap(_found)(new).lines]


@dataclass(frozen=True, slots=True)
class _Found:
    is_hidden: bool
    is_decomposed: bool
    words: list[str]
    domains: dict[str, str]

    @property
    def is_fake(self) -> bool:
        return bool(self.words) or any(map(imitates, self.domains))

    @property
    def lines(self) -> list[str]:
        in_hosts = misread_words(self.domains)
        misread = [in_text.misread(_shown(word)) for word in self.words if word not in in_hosts]
        hosts = [
            in_text.as_computers_read(_shown(host), clip(read, 200)) for host, read in self.domains.items()
        ]
        return [*_first(hosts), *_first(misread)]


_NOTHING = _Found(is_hidden=False, is_decomposed=False, words=[], domains={})


def _first(lines: list[str]) -> list[str]:
    left = len(lines) - _NAMED
    return [*lines[:_NAMED], words.more(left).strip()] if left > 0 else lines


def _shown(text: str) -> str:
    return clip(visible(text), 100)


def _found_in(shown: Iterable[Any]) -> _Found:
    if (written := repr(shown)).isascii() and "\\" not in written:
        # Printable ASCII hides nothing, and most calls are just that.
        return _NOTHING
    texts = tuple(dict.fromkeys(text for value in shown for text in _texts(value)))
    # Long ones would fill the memory.
    return (_found if sum(map(len, texts)) <= _REMEMBERED else unwrap(_found))(texts)


@lru_cache(maxsize=256)  # a card asks at each drawing, and a modal at each page
def _found(texts: Iterable[str]) -> _Found:
    odd = [text for text in texts if not text.isascii()]
    return _Found(
        any(map(has_hidden, texts)), any(map(has_decomposed, odd)), misread_words(odd), domains(odd)
    )


def _texts(value: Any) -> Iterator[str]:
    nodes = chain.from_iterable(value.items()) if isinstance(value, dict) else value
    for node in nodes if isinstance(value, dict | list) else [value]:
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict | list):
            yield from _texts(node)
