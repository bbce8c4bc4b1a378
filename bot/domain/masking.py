"""What is not shown: nowhere the arguments that a rule masks, and not on a card those that only a reading shows."""

import hmac
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from agent_adapter.contract.arguments import digest, encode
from bot.sentences import in_text

_SHORTEST = 3
"""The shortest masked text that is also removed from what the agent says. A shorter one would be found everywhere."""
MOST_SECRETS = 2_000
MAX_SCRUBBING = 5_000_000
"""The number of masked texts times the length of the text that is searched for them."""
TOO_MANY = ("",)
"""Replaces more masked texts than can be searched for. Every text contains the empty text, so nothing is shown."""
RANDOM_BITS = 128
"""How random a value has to be to get a fingerprint, so that nobody finds the value by trying."""

_NESTING = (dict, list)
_RUN = re.compile(r"[A-Za-z0-9]+")
_SYMBOLS = (
    (re.compile(r"[0-9]+"), 10),
    (re.compile(r"[0-9a-f]+|[0-9A-F]+"), 16),
    (re.compile(r"[0-9a-z]+|[0-9A-Z]+"), 36),
)


@dataclass(frozen=True, slots=True)
class Unshown:
    """Replaces a value. It is drawn without quotes, so no text of an agent looks like it."""

    says: str


@dataclass(frozen=True, slots=True)
class Mask(Collection[str]):
    """Names of arguments whose values nobody sees."""

    names: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    """Those whose values are random, as the policy says. A fingerprint shows whether two values are equal."""
    key: str = ""
    """The key of the fingerprints."""

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def in_place_of(self, name: str, value: Any) -> Unshown:
        """Give what is shown instead. It says neither length nor content, since either would help to guess the value."""
        if name in self.random and self.key and isinstance(value, str) and random_bits(value) >= RANDOM_BITS:
            found = hmac.digest(self.key.encode(), value.encode(), "sha256").hex()[:8]
            return Unshown(in_text.masked(found))
        return Unshown(in_text.MASKED)


def random_bits(text: str) -> float:
    """Say how many random bits a text can have, by its longest run of letters and digits."""
    run = max(_RUN.findall(text), key=len, default="")
    symbols = next((count for form, count in _SYMBOLS if form.fullmatch(run)), 62)
    return len(run) * log2(symbols)


def hide(value: Any, mask: Collection[str], modal_only: Collection[str] = ()) -> Any:
    """Replace every value with such a name, at any depth."""
    names = {*mask, *modal_only}
    if not names or not named_in(value, names):
        return value
    masked = mask if isinstance(mask, Mask) else Mask(tuple(mask))
    return _without(_without(value, masked, masked.in_place_of), modal_only, _in_a_modal)


def has_unshown(value: Any) -> bool:
    """Say whether something inside is replaced."""
    if isinstance(value, dict | list):
        return any(map(has_unshown, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Unshown)


def holds(value: Any, names: Collection[str]) -> bool:
    """Say whether a value with such a name is inside."""
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
    """Give the name of a masked value that an edit adds, changes, moves or removes; `None` where it does none of that."""
    if not (holds(before, names) or holds(after, names)):
        return None
    one, other = ({path: encode(value) for path, value in _named(args, names)} for args in (before, after))
    changed = (path for path in {**one, **other} if one.get(path) != other.get(path))
    return next((str(path[-1]) for path in changed), None)


def secrets_of(arguments: Iterable[tuple[Any, Collection[str]]]) -> tuple[str, ...]:
    """Give every text inside masked values, the longest first; `TOO_MANY` where there are very many.

    Args:
        arguments: Those of each call, with the names that are masked in them.
    """
    texts: set[str] = set()
    for args, names in arguments:
        for _, value in _named(args, names) if names and holds(args, names) else ():
            for leaf in _leaves(value):
                written = {leaf, encode(leaf)[1:-1], leaf.strip()}
                texts |= written | set(map(_normal, written))
                if len(texts) > MOST_SECRETS:
                    return TOO_MANY
    # Of equal lengths by their letters: where two overlap, every process removes the same one.
    return tuple(
        sorted((text for text in texts if len(text) >= _SHORTEST), key=lambda text: (-len(text), text))
    )


def scrub(text: str, secrets: Sequence[str]) -> str:
    """Remove masked values from what an agent says about its call. Nothing is left where that would take too long."""
    if not text or not secrets:
        return text
    if not secrets[-1] or len(secrets) * len(text) > MAX_SCRUBBING:
        return in_text.TOO_MANY_MASKED
    text = _dotted(text, secrets)
    normal = _normal(text)
    if len(secrets) * len(normal) > MAX_SCRUBBING:
        return in_text.TOO_MANY_MASKED
    found = _dotted(normal, secrets)
    return text if found == normal else found


def _dotted(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, in_text.DOTS)
    return text


def _normal(text: str) -> str:
    """Give the same form for all spellings of a text in Unicode, such as an é of one character or of two."""
    return unicodedata.normalize("NFKC", text)


def scrub_all(value: Any, secrets: Sequence[str]) -> Any:
    """Remove masked values from every text in a value, names included. Nothing is left where that would take too long."""
    if not secrets:
        return value
    written = encode(value)
    # Each text takes time, even a short one.
    if not secrets[-1] or len(secrets) * (len(written) + 20 * written.count('"')) > MAX_SCRUBBING:
        return in_text.TOO_MANY_MASKED
    return _scrubbed(value, secrets)


def plain(value: Any) -> Any:
    """Write the replacements of values as text."""
    if isinstance(value, Unshown):
        return value.says
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    return [plain(child) for child in value] if isinstance(value, list) else value


def masked_digest(tool: str, args: Any, mask: Collection[str]) -> str:
    """Name a call by what people may see of it.

    The digest of a short masked value could be guessed by trying, so masked values are replaced first.
    """
    return digest("arguments", tool, encode(plain(hide(args, mask)) if mask else args))


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
    return value if isinstance(value, Unshown) else Unshown(in_text.in_reading(_size(value)))


def _size(value: Any) -> str:
    if isinstance(value, str):
        return in_text.characters(len(value))
    # A value that only a reading shows may contain masked ones.
    return f"{in_text.characters(len(encode(plain(value))))} of JSON"


def _named(
    value: Any, names: Collection[str], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Give the outermost values with such a name, by their path."""
    if not isinstance(value, _NESTING):
        return
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and key in names:
            yield (*path, key), child
        else:
            yield from _named(child, names, (*path, key))


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
