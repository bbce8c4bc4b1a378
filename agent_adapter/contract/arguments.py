"""Arguments of a tool call: strict JSON in, exact bytes out. An error about a limit names the place.

Integers may be large, and numbers with decimals keep the text in which they were sent. Keys keep their order. Nothing is
normalised.
"""

import hashlib
import json
import math
import re
import secrets
from collections.abc import Iterator
from typing import Any

from agent_adapter.contract.numbers import Number, read_integer, read_number
from agent_adapter.errors import InvalidRequestError

MAX_ARGUMENTS_BYTES = 64 * 1024
MAX_SCHEMA_BYTES = 32 * 1024
MAX_DEPTH = 32
MAX_NODES = 5_000
MAX_SCHEMA_NODES = 100_000
"""Of a schema before it is trimmed, and of a pause with schemas."""
MAX_KEYS = 1_000
MAX_INTEGER_BITS = 13_288
KEY_SHOWN = 40
"""Characters of a key that an error shows."""

DIGEST_LENGTH = 32
"""Hex characters kept of a SHA-256: 128 bits."""

_KINDS = {str, bool, type(None), int, float, Number, list, dict}
_LARGE = 2**MAX_INTEGER_BITS - 1

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def encode(value: Any) -> str:
    """Write JSON in the one form that is shown, stored, hashed and compared."""
    if type(value) is int:
        # The encoder writes the same, and takes ten times as long for a single number.
        return str(value)
    return _with_numbers(_ENCODER.encode(value))


def digest(kind: str, *parts: object) -> str:
    """Return a digest of these parts; with different kinds, equal parts have different digests."""
    # Half of a surrogate pair has a digest too; `dump_interrupt` refuses it later and names the place.
    written = encode([f"assent/{kind}/v1", *parts]).encode(errors="surrogatepass")
    return hashlib.sha256(written).hexdigest()[:DIGEST_LENGTH]


def encode_indented(value: Any) -> str:
    """Write JSON for a person to read and change: the same values, indented."""
    return _with_numbers(_INDENTED.encode(value))


def has_numbers(value: Any) -> bool:
    """Whether JSON values contain a `Number`, or may contain one. It is much faster than a check of each value."""
    try:
        return _MARK in _ENCODER.encode(value)
    except ValueError:
        # For example infinity, which is not JSON. Other values may still be `Number`s.
        return True


def decode(text: str | bytes) -> Any:
    """Read strict JSON: UTF-8, no duplicate keys, no NaN."""
    try:
        raw = text.decode("utf-8") if isinstance(text, bytes) else text
        _check_bracket_depth(raw)
        return _DECODER.decode(raw)
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except ValueError as error:
        # Python refuses to read integers of more than 4,300 digits.
        raise InvalidRequestError(f"not readable JSON: {error}") from error


def decode_arguments(text: str | bytes, *, where: str = "args") -> dict[str, Any]:
    """Read the arguments of a call from a framework that sends them as JSON text."""
    try:
        value = decode(text)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{where}: {error}") from error
    check_arguments(value, where=where)
    return dict(value)


def check_arguments(value: Any, *, where: str = "args") -> None:
    """Refuse a value that is not a JSON object within the limits."""
    if type(value) is not dict:
        raise InvalidRequestError(f"{where}: arguments must be a JSON object, not {type(value).__name__}")
    check_json(value, where=where)
    size = len(encode(value).encode())
    if size > MAX_ARGUMENTS_BYTES:
        raise InvalidRequestError(
            f"{where}: {size:,} bytes of arguments, at most {MAX_ARGUMENTS_BYTES:,}: "
            "pass a reference to large content instead of the content"
        )


def check_text(text: str | None, *, where: str) -> None:
    """Refuse a text that is not valid Unicode."""
    if text and (problem := _problem_of_text(text)):
        raise InvalidRequestError(f"{where}: {problem}")


def check_json(value: Any, *, where: str, most: int = MAX_NODES) -> None:
    """Refuse values that are not JSON, or more than this many values."""
    if _is_sound(value, most):
        return
    for count, (path, depth, node) in enumerate(_walk(value), 1):
        if count > most:
            raise InvalidRequestError(f"{where}: more than {most:,} values; pass a reference to the data")
        if problem := _problem(node, depth):
            raise InvalidRequestError(f"{where}{_spell(path)}: {problem}")


def _is_sound(value: Any, most: int) -> bool:
    """Whether values are certainly within the limits. It is ten times as fast as a search for the value that is not."""
    count, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        by_kind: dict[type, list[Any]] = {kind: [] for kind in {*map(type, level)}}
        if count > most or not by_kind.keys() <= _KINDS:
            return False
        for node in level:
            by_kind[type(node)].append(node)
        objects = by_kind.get(dict, [])
        keys = [key for node in objects for key in node]
        if not (
            all(len(node) <= MAX_KEYS for node in objects)
            and {*map(type, keys)} <= {str}
            and all(map(math.isfinite, by_kind.get(float, ())))
            and all(-_LARGE < node < _LARGE for node in by_kind.get(int, ()))
            and not _problem_of_text("".join(keys))
            and not _problem_of_text("".join(by_kind.get(str, ())))
        ):
            return False
        level = [child for node in objects for child in node.values()]
        level += [child for node in by_kind.get(list, ()) for child in node]
        if not level:
            return True
    return False


def _problem(node: Any, depth: int) -> str:
    """Say what is wrong with one value and how to fix it; empty when nothing is."""
    if depth > MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH} levels; send the inner part as a string"
    match node:
        case str() if type(node) is str:
            return _problem_of_text(node)
        case bool() | None | Number():
            return ""
        case int() if type(node) is int:
            # Python itself neither writes nor reads integers of more than 4,300 digits.
            too_long = node.bit_length() > MAX_INTEGER_BITS
            return "an integer of more than 4,000 digits; send it as a string" if too_long else ""
        case float() if type(node) is float:
            return "" if math.isfinite(node) else f"{node} is not a JSON number; send null or a string"
        case list() if type(node) is list:
            return ""
        case dict() if type(node) is dict:
            return _problem_of_keys(node)
        case _:
            return f"{type(node).__name__} is not a JSON value; send a string, number, boolean, null, list or object"


def _problem_of_keys(node: dict[Any, Any]) -> str:
    if len(node) > MAX_KEYS:
        return f"{len(node):,} keys, at most {MAX_KEYS:,}; send a list, or pass a reference to the data"
    for key in node:
        if type(key) is not str:
            return f"key {key!r} is {type(key).__name__}; JSON keys are strings"
        if problem := _problem_of_text(key):
            return f"key {_short(key)!r}: {problem}"
    return ""


def _problem_of_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"half of a surrogate pair at character {error.start}: this is not Unicode text and cannot be shown"
    return ""


_Path = tuple["_Path", str | int] | None
"""The path of the parent, and the key or index in it. It is written out only for an error, because keys may be long."""


def _walk(value: Any) -> Iterator[tuple[_Path, int, Any]]:
    # A stack of its own, read one value at a time: hostile depth or width must hit our limits before Python's.
    levels: list[Iterator[tuple[_Path, Any]]] = [iter([(None, value)])]
    while levels:
        for path, node in levels[-1]:
            yield path, len(levels) - 1, node
            levels.append(_children(path, node))
            break
        else:
            levels.pop()


def _children(path: _Path, node: Any) -> Iterator[tuple[_Path, Any]]:
    if isinstance(node, dict):
        return (((path, key), child) for key, child in node.items())
    if isinstance(node, list):
        return (((path, index), child) for index, child in enumerate(node))
    return iter(())


def _spell(path: _Path) -> str:
    if path is None:
        return ""
    parent, name = path
    if isinstance(name, int):
        return f"{_spell(parent)}[{name}]"
    return _spell(parent) + (f".{_short(name)}" if _PLAIN_KEY.fullmatch(name) else f"[{_short(name)!r}]")


def _short(key: str) -> str:
    return key if len(key) <= KEY_SHOWN else f"{key[:KEY_SHOWN]}…"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidRequestError(f"key {_short(key)!r} appears twice in one object; send it once")
            seen.add(key)
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidRequestError(f"{name} is not JSON; send null or a string")


def _check_bracket_depth(text: str) -> None:
    # json raises RecursionError near depth 1000; brackets inside strings do not nest. A string that never ends is
    # skipped as a whole, because a search for another start inside it would take quadratic time.
    if text.count("[") + text.count("{") <= 3 * MAX_DEPTH:
        return
    depth = 0
    for found in _BRACKET.finditer(text):
        bracket = found[0]
        if bracket in "[{":
            depth += 1
            # The envelope and a schema may be nested deeper than the arguments.
            if depth > 3 * MAX_DEPTH:
                raise InvalidRequestError(f"nested deeper than {3 * MAX_DEPTH} levels")
        elif bracket in "]}":
            depth -= 1


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)

# Python's encoder cannot write a number as given text, so it writes a string with a random mark, which is removed later.
_MARK = secrets.token_hex(16)
_MARKED = re.compile(f'"{_MARK}([^"]*)"')


def _marked(value: Any) -> str:
    if isinstance(value, Number):
        return _MARK + value.text
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _with_numbers(text: str) -> str:
    return _MARKED.sub(r"\1", text) if _MARK in text else text


# `json.dumps` and `json.loads` would make a new one at each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_marked)
_INDENTED = json.JSONEncoder(ensure_ascii=False, indent=2, allow_nan=False, default=_marked)
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_refuse_constant,
    parse_float=read_number,
    parse_int=read_integer,
)
