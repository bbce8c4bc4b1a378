"""What is not shown: arguments that a rule masks, everywhere, and those that stand in a modal only, on a card."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.identity import digest

CODE_LENGTH = 4
# No letter or digit that could be taken for another.
_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_DOTS = "••••"
_SHORTEST = 3
"""Characters of a masked text that is also taken out of what the agent says; a shorter one would be found everywhere."""


@dataclass(frozen=True, slots=True)
class Unshown:
    """Stands in the place of a value. It is drawn without quotes, so no text of an agent looks like it."""

    says: str


def hide(value: Any, mask: Collection[str], modal_only: Collection[str] = ()) -> Any:
    """Put something else in the place of every value with such a name, at any depth."""
    return _without(_without(value, mask, _masked), modal_only, _in_a_modal)


def holds(value: Any, names: Collection[str]) -> bool:
    """Tell whether a value with such a name is inside."""
    return bool(names) and any(True for _ in _values(value, names))


def secrets_of(arguments: Iterable[tuple[Any, Collection[str]]]) -> tuple[str, ...]:
    """Give every text that masked values consist of, the longest first.

    Args:
        arguments: of each call, with the names that are masked in them.
    """
    texts = {
        text
        for args, names in arguments
        for value in (_values(args, names) if names else ())
        for leaf in _leaves(value)
        for text in (leaf, encode(leaf)[1:-1], leaf.strip())
        if len(text) >= _SHORTEST
    }
    return tuple(sorted(texts, key=len, reverse=True))


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Take masked values out of what an agent says beside its call."""
    for secret in secrets:
        text = text.replace(secret, _DOTS)
    return text


def plain(value: Any) -> Any:
    """Write what stands in the place of values as text."""
    if isinstance(value, Unshown):
        return value.says
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    return [plain(child) for child in value] if isinstance(value, list) else value


def code_of(fingerprint: str) -> str:
    """Give the characters that name an action for a person to type."""
    number = int(digest("code", fingerprint), 16)
    return "".join(
        _ALPHABET[number // len(_ALPHABET) ** place % len(_ALPHABET)] for place in range(CODE_LENGTH)
    )


def _without(value: Any, names: Collection[str], stand_in: Any) -> Any:
    if not names:
        return value
    if isinstance(value, dict):
        return {
            key: stand_in(child) if key in names else _without(child, names, stand_in)
            for key, child in value.items()
        }
    return [_without(child, names, stand_in) for child in value] if isinstance(value, list) else value


def _masked(value: Any) -> Unshown:
    # Two bytes of a digest tell equal values from different ones, and fit too many others to be turned around.
    return Unshown(f"{_DOTS} ({_size(value)}, digest {digest('masked', encode(value))[:4]})")


def _in_a_modal(value: Any) -> Unshown:
    return value if isinstance(value, Unshown) else Unshown(f"({_size(value)}, see Read all)")


def _size(value: Any) -> str:
    if isinstance(value, str):
        return f"{len(value):,} characters"
    # What stands in a modal only may hold something that is masked.
    return f"{len(encode(plain(value))):,} characters of JSON"


def _values(value: Any, names: Collection[str]) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, child in value.items():
            if key in names:
                yield child
            else:
                yield from _values(child, names)
    elif isinstance(value, list):
        for child in value:
            yield from _values(child, names)


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, child in value.items():
                yield key
                yield from _leaves(child)
        case list():
            for child in value:
                yield from _leaves(child)
        case bool() | None:
            return
        case _:
            yield encode(value)
