"""What is not shown: arguments that a rule masks, everywhere, and those that stand in a modal only, on a card."""

import hmac
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.identity import digest

CODE_LENGTH = 4
# No letter or digit that could be taken for another.
_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_DOTS = "••••"
_SHORTEST = 3
"""Characters of a masked text that is also taken out of what the agent says; a shorter one would be found everywhere."""
MOST_SECRETS = 2_000
MAX_SCRUBBING = 5_000_000
"""Masked texts times characters in which they are looked for."""
UNSAID = "(Not shown: more masked values than can be looked for in these words.)"
TOO_MANY = ("",)
"""In place of masked texts, where there are more than can be looked for: an empty text is found in all words."""
RANDOM_BITS = 128
"""Of a value that may be told from others by its fingerprint: nobody finds it by trying."""

_NESTING = (dict, list)
_Place = tuple[tuple[str | int, ...], str]
_RUN = re.compile(r"[A-Za-z0-9]+")
_SYMBOLS = (
    (re.compile(r"[0-9]+"), 10),
    (re.compile(r"[0-9a-f]+|[0-9A-F]+"), 16),
    (re.compile(r"[0-9a-z]+|[0-9A-Z]+"), 36),
)


@dataclass(frozen=True, slots=True)
class Unshown:
    """Stands in the place of a value. It is drawn without quotes, so no text of an agent looks like it."""

    says: str


@dataclass(frozen=True, slots=True)
class Mask(Collection[str]):
    """Names of arguments whose values nobody is shown."""

    names: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    """Those of them whose values are random, as the policy says: a fingerprint tells them apart."""
    key: str = ""
    """Of the fingerprints."""

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def in_place_of(self, name: str, value: Any) -> Unshown:
        """Give what stands there: neither length nor content, of which either would narrow a guess."""
        if name in self.random and self.key and isinstance(value, str) and random_bits(value) >= RANDOM_BITS:
            found = hmac.digest(self.key.encode(), value.encode(), "sha256").hex()[:8]
            return Unshown(f"{_DOTS} (masked, fingerprint {found})")
        return Unshown(f"{_DOTS} (masked)")


def random_bits(text: str) -> float:
    """Say how many bits a random text of this form has, by its longest row of letters and digits."""
    run = max(_RUN.findall(text), key=len, default="")
    symbols = next((count for form, count in _SYMBOLS if form.fullmatch(run)), 62)
    return len(run) * log2(symbols)


def hide(value: Any, mask: Collection[str], modal_only: Collection[str] = ()) -> Any:
    """Put something else in the place of every value with such a name, at any depth."""
    names = {*mask, *modal_only}
    if not names or not named_in(value, names):
        return value
    masked = mask if isinstance(mask, Mask) else Mask(tuple(mask))
    return _without(_without(value, masked, masked.in_place_of), modal_only, _in_a_modal)


def holds(value: Any, names: Collection[str]) -> bool:
    """Tell whether a value with such a name is inside."""
    return bool(named_in(value, names))


def named_in(value: Any, names: Collection[str]) -> set[str]:
    """Give those of the names that values inside have."""
    wanted, found, left = frozenset(names), set[str](), [value]
    while left and len(found) < len(wanted):
        node = left.pop()
        if isinstance(node, dict):
            found |= wanted & node.keys()
            left += [child for child in node.values() if isinstance(child, _NESTING)]
        elif isinstance(node, list):
            left += [child for child in node if isinstance(child, _NESTING)]
    return found


def masked_change(before: Any, after: Any, names: Collection[str]) -> str | None:
    """Give the name of a masked value that an edit brings in, changes, moves or takes away; `None` where it does not."""
    if not (holds(before, names) or holds(after, names)):
        return None
    one, other = dict(_places(before, names)), dict(_places(after, names))
    changed = (path for path in {**one, **other} if one.get(path) != other.get(path))
    return next((str(path[-1]) for path in changed), None)


def secrets_of(arguments: Iterable[tuple[Any, Collection[str]]]) -> tuple[str, ...]:
    """Give every text that masked values consist of, the longest first; of very many `TOO_MANY`.

    Args:
        arguments: of each call, with the names that are masked in them.
    """
    texts: set[str] = set()
    for args, names in arguments:
        for value in _values(args, names) if names and holds(args, names) else ():
            for leaf in _leaves(value):
                written = {leaf, encode(leaf)[1:-1], leaf.strip()}
                texts |= written | set(map(_normal, written))
                if len(texts) > MOST_SECRETS:
                    return TOO_MANY
    return tuple(sorted((text for text in texts if len(text) >= _SHORTEST), key=len, reverse=True))


def scrub(text: str, secrets: Sequence[str]) -> str:
    """Take masked values out of what an agent says beside its call; all of it, where that would take too long."""
    if not text or not secrets:
        return text
    if not secrets[-1] or len(secrets) * len(text) > MAX_SCRUBBING:
        return UNSAID
    text = _dotted(text, secrets)
    normal = _normal(text)
    if len(secrets) * len(normal) > MAX_SCRUBBING:
        return UNSAID
    found = _dotted(normal, secrets)
    return text if found == normal else found


def _dotted(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _DOTS)
    return text


def _normal(text: str) -> str:
    """Give the one form of all spellings of a text in Unicode, such as an é of one character or of two."""
    return unicodedata.normalize("NFKC", text)


def scrub_all(value: Any, secrets: Sequence[str]) -> Any:
    """Take masked values out of every text of a value, names included; give `UNSAID`, where that would take too long."""
    if not secrets:
        return value
    written = encode(value)
    # Each text costs something, however short it is.
    if not secrets[-1] or len(secrets) * (len(written) + 20 * written.count('"')) > MAX_SCRUBBING:
        return UNSAID
    return _scrubbed(value, secrets)


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


def _scrubbed(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return scrub(value, secrets)
    if isinstance(value, dict):
        return {scrub(name, secrets): _scrubbed(child, secrets) for name, child in value.items()}
    return [_scrubbed(child, secrets) for child in value] if isinstance(value, list) else value


def _without(value: Any, names: Collection[str], stand_in: Callable[[str, Any], Any]) -> Any:
    if not names:
        return value
    if isinstance(value, dict):
        return {
            key: stand_in(key, child) if key in names else _without(child, names, stand_in)
            for key, child in value.items()
        }
    return [_without(child, names, stand_in) for child in value] if isinstance(value, list) else value


def _in_a_modal(_: str, value: Any) -> Unshown:
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


def _places(value: Any, names: Collection[str], path: tuple[str | int, ...] = ()) -> Iterator[_Place]:
    """Give the outermost values with such a name, as they are written, by their place."""
    if not isinstance(value, _NESTING):
        return
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and key in names:
            yield (*path, key), encode(child)
        else:
            yield from _places(child, names, (*path, key))


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
