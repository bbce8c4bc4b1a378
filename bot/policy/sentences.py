"""What pydantic finds wrong with a policy file, in sentences with the cure."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from bot.policy.keys import json_schema
from bot.policy.values import Fault, meant, shown
from bot.policy.yaml_values import Loc

_EXAMPLES = {
    "default": "{channel: C0123ABCD, approvers: [U0123ABCD]}",
    "channel": "C0123ABCD",
    "approvers": "[U0123ABCD]",
    "after": "1h",
    "by": "30m",
    "from": "22:00",
    "to": "07:00",
    "zone": "Europe/Berlin",
    "requester": "agent, to believe whom it names",
}
_ENTRIES = {"rules": "a rule", "limits": "an entry of limits", "agents": "an agent"}


def fault(error: ErrorDetails) -> Fault:
    """Say what is wrong, and what to write."""
    return error["loc"], _sentence(error, error["loc"], error["input"])


def _sentence(error: ErrorDetails, loc: Loc, value: Any) -> str:
    key = str(loc[-1]) if loc else ""
    match error["type"]:
        case "extra_forbidden":
            known = _known(loc[:-1])
            return f"{_what(loc[:-1])} has no {key!r}: {meant(key, known, f'there are {_listed(known)}')}"
        case "missing":
            return f"{_what(loc[:-1])} has no {key}: add it, as in {key}: {_EXAMPLES[key]}"
        case "dict_type":
            return f"{_what(loc)} has keys and values ({_listed(_known(loc))}), not {shown(value)}"
        case "list_type":
            return f"{key} takes a list: each entry begins with a hyphen"
        case "bool_type":
            return f"{key} takes true or false, not {shown(value)}"
        case "literal_error":
            return f"{shown(value)} is not known here: write {error['ctx']['expected']}"
        case "empty" | "full":
            return f"{key} {error['msg']}"
        case _:
            return str(error.get("ctx", {}).get("error", error["msg"]))


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "a name and what is known of it"


def _what(loc: Loc) -> str:
    match loc:
        case ():
            return "a policy"
        case ("default",):
            return "the default"
        case (str(key), _) if key in _ENTRIES:
            return _ENTRIES[key]
    return str(loc[-1])


def _known(loc: Loc) -> list[str]:
    """Give the keys that there are at a place."""
    places = [json_schema()]
    for part in loc:
        places = [inner for place in places for inner in _inside(place, part)]
    return [key for place in places for key in place.get("properties", {})]


def _inside(place: dict[str, Any], part: str | int) -> Iterator[dict[str, Any]]:
    keys = place.get("properties", {})
    named = keys.get(part)
    others = (place.get("items"), *place.get("patternProperties", {}).values())
    for inner in filter(None, (named, *others)):
        for each in inner.get("anyOf", [inner]):
            yield json_schema()["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
