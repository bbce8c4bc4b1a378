"""A language for tests: English, about 40 % longer and with accents. What has room for it has room for a translation."""

import re
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from inspect import isfunction
from itertools import cycle, islice
from types import ModuleType
from typing import Any

from bot.sentences.language import CATALOGUES, ENGLISH
from bot.text.literal import units
from tests.bot.sentences.catalogue import LIMITS, MODULES

PSEUDO = "xx"
_LETTERS = " ṕśéúďö ĺåñğüåğé"


def _translated(english: ModuleType, name: str) -> ModuleType:
    module = ModuleType(f"{__name__}.{name}")
    for each, found in vars(english).items():
        if not each.startswith("__"):
            setattr(module, each, _longer(f"{name}.{each}", found))
    return module


def _longer(at: str, found: Any) -> Any:
    match found:
        case str():
            return _padded(at, found, found)
        case Mapping():
            return {key: _longer(at, value) for key, value in found.items()}
        case tuple():
            return tuple(_longer(at, value) for value in found)
        case _ if isfunction(found) and found.__module__.endswith(at.partition(".")[0]):
            return _speaking_longer(at, found)
    return found


def _speaking_longer(at: str, sentence: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(sentence)
    def say(*args: Any, **kwargs: Any) -> Any:
        text = sentence(*args, **kwargs)
        own = text
        for value in (*args, *kwargs.values()):
            for piece in value if isinstance(value, list | tuple) else [value]:
                own = own.replace(piece, "") if isinstance(piece, str) and piece else own
        return _padded(at, text, own)

    return say


def _padded(at: str, text: str, own: str) -> str:
    """Make a text longer by a share of its own words: the values in it stay as they are."""
    words = re.sub("<[^>]*>", "", own)
    if not re.search("[A-Za-z]", words):
        return text
    more = min(len(words) * 2 // 5, LIMITS.get(at, sys.maxsize) - units(text))
    return text + "".join(islice(cycle(_LETTERS), max(more, 0))).rstrip()


for _name in MODULES:
    _module = _translated(import_module(f"{CATALOGUES[ENGLISH]}.{_name}"), _name)
    sys.modules[_module.__name__] = _module
CATALOGUES[PSEUDO] = __name__
LANGUAGES = tuple(CATALOGUES)
"""All that is spoken in tests."""
