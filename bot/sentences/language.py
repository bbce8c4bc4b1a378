"""The language that is spoken: a card has that of its place, and what one person reads that of their Slack."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeVar, TypeVarTuple

Language = Literal["en", "de"]
ENGLISH: Language = "en"
CATALOGUES: dict[str, str] = {"en": "bot.sentences.en", "de": "bot.sentences.de"}
"""The package of each language. All have the same modules, with the same names in them."""

_Ts = TypeVarTuple("_Ts")
_T = TypeVar("_T")
_spoken: ContextVar[Callable[[], str]] = ContextVar("language", default=lambda: ENGLISH)


def language() -> str:
    """Name the language that is spoken now. One that is not known is spoken as English."""
    found = _spoken.get()()
    return found if found in CATALOGUES else ENGLISH


@contextmanager
def speaking(found: str | Callable[[], str]) -> Iterator[None]:
    """Speak a language for a while, in this task and in those that it starts.

    Args:
        found: The language, or what says it when a sentence is needed. Slack may say who somebody is only later.
    """
    token = _spoken.set(found if callable(found) else lambda: found)
    try:
        yield
    finally:
        _spoken.reset(token)


def language_of(locale: str) -> str:
    """Give the language of a locale as Slack writes it: `de-DE` is German, and so is `de-AT`."""
    found = locale.partition("-")[0].lower()
    return found if found in CATALOGUES else ENGLISH


def kept_for_each_language(maxsize: int) -> Callable[[Callable[[*_Ts], _T]], Callable[[*_Ts], _T]]:
    """Keep what a function gives for some arguments, for each language that was spoken.

    Args:
        maxsize: How many answers are kept.
    """

    def keep(function: Callable[[*_Ts], _T]) -> Callable[[*_Ts], _T]:
        @lru_cache(maxsize=maxsize)
        def kept(spoken: str, *args: Any) -> _T:
            # Slack may say who the reader is while this runs, and what is kept under one language speaks that one.
            with speaking(spoken):
                return function(*args)

        @wraps(function)
        def give(*args: *_Ts) -> _T:
            return kept(language(), *args)

        return give

    return keep


class Spoken:
    """A module of sentences, in the language that is spoken at the moment when one is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, sentence: str) -> Any:
        return getattr(_module(language(), self._name), sentence)


@cache
def _module(language: str, name: str) -> ModuleType:
    return import_module(f"{CATALOGUES[language]}.{name}")
