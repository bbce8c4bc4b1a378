"""How much work a schema makes. An agent writes it, and the bot does nothing else while the library works. Pure."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

MAX_EFFORT = 50_000
"""The most steps of a check. Each takes up to a microsecond, so a check takes fifty milliseconds at most."""
MAX_WEIGHT = 20_000
"""The most states of all patterns together. The library compiles them in a few milliseconds."""

_TOKEN = re.compile(r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d{1,9})(,(\d{0,9}))?\}|.", re.DOTALL)
_SAME = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
"""What is checked against the value itself."""
_EACH = {
    *("items", "contains", "unevaluatedItems"),
    *("additionalProperties", "unevaluatedProperties", "patternProperties"),
}
"""What is checked against each value inside."""
_MULTIPLE = 20
"""The steps of `multipleOf`, which computes with fractions."""


def pattern_weight(pattern: str) -> int:
    """Count the states of a pattern, with its repetitions written out."""
    groups, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            groups.append(0)
            continue
        if text == ")" and len(groups) > 1:
            last = groups.pop()
        elif token[1]:
            last *= max(int(token[3] or token[1]), 1) - 1
        elif text in "*+?|^$":
            continue
        else:
            last = 1
        groups[-1] += last
    return sum(groups)


def effort(schema: Any, value: Any) -> int:
    """Count the steps of checking a value against a flattened schema. The count stops above `MAX_EFFORT`."""
    left, used = [(schema, value)], 0
    while left and used <= MAX_EFFORT:
        node, value = left.pop()
        if isinstance(node, dict):
            used += _own(node, value)
            for pair in _inner(node, value):
                left.append(pair)
                used += 1
                if used > MAX_EFFORT:
                    break
    return used


def _own(node: dict[str, Any], value: Any) -> int:
    """Count the steps of a schema itself."""
    steps = 1 + len(node.get("enum") or ())
    if isinstance(value, str) and isinstance(node.get("pattern"), str):
        steps += _matching(node["pattern"], len(value))
    if isinstance(value, dict) and isinstance(node.get("patternProperties"), dict):
        length = sum(map(len, value))
        steps += sum(len(value) + _matching(each, length) for each in node["patternProperties"])
    if isinstance(value, list) and node.get("uniqueItems"):
        steps += 3 * len(value)
    return steps + (_MULTIPLE if "multipleOf" in node else 0)


def _matching(pattern: str, length: int) -> int:
    return pattern_weight(pattern) * length // 1_000


def _inner(node: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Pair the schemas inside with the values that they may be checked against. In doubt a pair is counted."""
    named = value if isinstance(value, dict) else {}
    values = value if isinstance(value, list) else list(named.values())
    for key, inside in node.items():
        if key == "properties":
            yield from ((inside[name], child) for name, child in named.items() if name in inside)
        elif key == "prefixItems":
            yield from zip(inside, values, strict=False)
        elif key in _SAME:
            yield from ((each, value) for each in _schemas(key, inside))
        elif key in _EACH:
            yield from product(_schemas(key, inside), values)
        elif key == "propertyNames":
            yield from product([inside], named)


def _schemas(key: str, inside: Any) -> list[Any]:
    if key in {"dependentSchemas", "patternProperties"}:
        return list(inside.values())
    return inside if isinstance(inside, list) else [inside]
