"""Arguments of a tool call: strict JSON in, exact bytes out, limits with the place that broke them.

Python integers of any size are kept. Keys stay in their order. Nothing is normalised.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from agent_adapter.errors import InvalidRequestError

MAX_ARGUMENTS_BYTES = 64 * 1024
MAX_SCHEMA_BYTES = 32 * 1024
MAX_DEPTH = 32
MAX_NODES = 5_000
MAX_KEYS = 1_000
MAX_INTEGER_BITS = 13_288

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def encode(value: Any) -> str:
    """Write JSON in the one form that is shown, stored, digested and compared."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decode(text: str | bytes) -> Any:
    """Read strict JSON: UTF-8, no duplicate keys, no NaN.

    Raises:
        InvalidRequestError: with what is wrong and, for syntax, the position.
    """
    try:
        raw = text.decode("utf-8") if isinstance(text, bytes) else text
        _check_bracket_depth(raw)
        return json.loads(raw, object_pairs_hook=_object, parse_constant=_refuse_constant)
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
    """Read the arguments of a call from a framework that sends them as JSON text.

    Raises:
        InvalidRequestError: for anything but a JSON object within the limits.
    """
    try:
        value = decode(text)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{where}: {error}") from error
    check_arguments(value, where=where)
    return dict(value)


def check_arguments(value: Any, *, where: str = "args") -> None:
    """Refuse what is not a JSON object within the limits.

    Raises:
        InvalidRequestError: naming the path and the cure.
    """
    if type(value) is not dict:
        raise InvalidRequestError(f"{where}: arguments must be a JSON object, not {type(value).__name__}")
    check_json(value, where=where)
    size = len(encode(value).encode())
    if size > MAX_ARGUMENTS_BYTES:
        raise InvalidRequestError(
            f"{where}: {size:,} bytes of arguments, at most {MAX_ARGUMENTS_BYTES:,}: "
            "pass a reference to large content instead of the content"
        )


def check_json(value: Any, *, where: str) -> None:
    """Refuse values that JSON does not have, or too many of them.

    Raises:
        InvalidRequestError: naming the path and the cure.
    """
    for count, (path, depth, node) in enumerate(_walk(value, where), 1):
        if count > MAX_NODES:
            raise InvalidRequestError(f"{where}: more than {MAX_NODES:,} values")
        if depth > MAX_DEPTH:
            raise InvalidRequestError(f"{path}: nested deeper than {MAX_DEPTH} levels")
        _check_node(path, node)


def _check_node(path: str, node: Any) -> None:
    match node:
        case bool() | None:
            return
        case int() if type(node) is int:
            # Python itself neither writes nor reads integers of more than 4,300 digits.
            if node.bit_length() > MAX_INTEGER_BITS:
                raise InvalidRequestError(
                    f"{path}: an integer of more than 4,000 digits; send it as a string"
                )
        case float() if type(node) is float:
            if not math.isfinite(node):
                raise InvalidRequestError(f"{path}: {node} is not a JSON number; send null or a string")
        case str() if type(node) is str:
            _check_text(path, node)
        case list() if type(node) is list:
            return
        case dict() if type(node) is dict:
            _check_keys(path, node)
        case _:
            raise InvalidRequestError(
                f"{path}: {type(node).__name__} is not a JSON value; send a string, number, boolean, null, list or object"
            )


def _check_keys(path: str, node: dict[Any, Any]) -> None:
    if len(node) > MAX_KEYS:
        raise InvalidRequestError(f"{path}: {len(node):,} keys, at most {MAX_KEYS:,}")
    for key in node:
        if type(key) is not str:
            raise InvalidRequestError(f"{path}: key {key!r} is {type(key).__name__}; JSON keys are strings")
        _check_text(f"{path}: key {key!r}", key)


def _check_text(path: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{path}: half of a surrogate pair at character {error.start}: this is not Unicode text and cannot be shown"
        ) from error


def _walk(value: Any, where: str) -> Iterator[tuple[str, int, Any]]:
    # A stack of its own: hostile nesting must meet our limit, not Python's.
    stack = [(where, 0, value)]
    while stack:
        path, depth, node = stack.pop()
        yield path, depth, node
        if isinstance(node, dict):
            stack.extend((_join(path, key), depth + 1, child) for key, child in reversed(node.items()))
        elif isinstance(node, list):
            stack.extend((f"{path}[{i}]", depth + 1, child) for i, child in reversed(list(enumerate(node))))


def _join(path: str, key: Any) -> str:
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(str(key)) else f"{path}[{key!r}]"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidRequestError(f"key {key!r} stands twice in one object; send it once")
            seen.add(key)
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidRequestError(f"{name} is not JSON; send null or a string")


def _check_bracket_depth(text: str) -> None:
    # json raises RecursionError near depth 1000; brackets inside strings do not nest.
    depth = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text, re.DOTALL):
        if bracket in "[{":
            depth += 1
            # The envelope itself and a schema nest above the arguments.
            if depth > 3 * MAX_DEPTH:
                raise InvalidRequestError(f"nested deeper than {3 * MAX_DEPTH} levels")
        elif bracket in "]}":
            depth -= 1
