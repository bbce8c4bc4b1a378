"""Argument schemas. Agents write them, so they are checked and freed of references before anything uses them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from agent_adapter.contract.arguments import encode, has_numbers
from agent_adapter.contract.numbers import as_decimals
from bot.domain.schema_effort import MAX_EFFORT, MAX_WEIGHT, effort, pattern_weight
from bot.sentences import in_field
from bot.text.literal import clip, one_line

MAX_REFS = 200
MAX_NODES = 1_000
MAX_DEPTH = 32
MAX_PATTERN = 1_000
MAX_ENUM = 5_000
MAX_WORK = 50_000_000
"""The most JSON characters of a schema, times the JSON characters of the values."""

Schema = dict[str, Any]
_Errors = list[jsonschema_rs.ValidationError]

_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_ONES = (
    *("items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"),
    *("contains", "propertyNames", "not", "if", "then", "else"),
)
# Only references use these names, and no reference is left.
_DROPPED = ("$ref", "$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$comment")
_REFUSED = ("$dynamicRef", "$recursiveRef", "dependencies")
_NOTES = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
# pydantic accepts more than these formats allow, such as a time without a zone.
_LENIENT = (
    "date-time", "date", "time", "duration", "uri", "uri-reference", "uri-template", "iri", "iri-reference", "hostname",
    "idn-hostname", "idn-email", "email", "json-pointer", "relative-json-pointer", "regex",
)  # fmt: skip
_OLDER = re.compile(r"https?://json-schema\.org/(draft-0[467]|draft/2019-09)/schema#?")
_POSITION = re.compile(r"0|[1-9][0-9]{0,5}")


class UnsafeSchemaError(ValueError):
    """This schema cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing about arguments that their schema does not allow."""

    path: tuple[str | int, ...]
    sentence: str
    """In plain words, without the value."""


def compiled(schema: Schema) -> Callable[[Any], bool]:
    """Give a function that says whether arguments fit a schema.

    Raises:
        UnsafeSchemaError: as `flatten`.
    """
    validator = _validator(flatten(schema))
    return lambda args: validator.is_valid(_for_library(args))


def flatten(schema: Schema) -> Schema:
    """Give the schema with every reference replaced by its target.

    Raises:
        UnsafeSchemaError: for references out of the schema or in circles, for one that is too large, and for one
            that does not compile.
    """
    flat: Schema = _Flattening(schema).node(schema, 0, ())
    _validator(flat)
    return flat


def violations(flat: Schema, args: Any) -> list[Violation]:
    """List what a flattened schema does not allow about these arguments; for large ones only the first thing."""
    if effort(flat, args) > MAX_EFFORT:
        return [Violation((), in_field.TOO_MUCH_TO_CHECK)]
    validator, values = _validator(flat), _for_library(args)
    if validator.is_valid(values):
        return []
    # All errors of a large schema about many values took a minute; the first one takes a millisecond.
    if len(encode(flat)) * len(encode(args)) > MAX_WORK:
        try:
            validator.validate(values)
        except jsonschema_rs.ValidationError as first:
            return list(_violations(first))
    return [found for error in validator.iter_errors(values) for found in _violations(error)]


def fitting(flat: Schema, values: Sequence[Any]) -> list[Any]:
    """Give those of the values that fit a part of a flattened schema: none where that takes too long to check."""
    if effort({"items": flat}, list(values)) > MAX_EFFORT:
        return []
    try:
        validator = _validator(flat)
    except UnsafeSchemaError:
        return []
    return [value for value in values if validator.is_valid(_for_library(value))]


def beyond(integers: tuple[int, int], value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Violation]:
    """Give the whole numbers in a value that are smaller or larger than these two."""
    if isinstance(value, int) and not integers[0] <= value <= integers[1]:
        yield Violation(path, in_field.beyond(*integers))
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from beyond(integers, part, (*path, name))


def fits_schema(flat: Schema, value: Any) -> bool:
    """Tell whether a value fits a part of a flattened schema."""
    return bool(fitting(flat, [value]))


class _Flattening:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._nodes = self._refs = self._weight = 0
        self._has_addresses = False

    def node(self, node: Any, depth: int, within: tuple[str, ...]) -> Any:
        """Give a part without references."""
        if isinstance(node, bool):
            return node
        self._count(node, depth)
        node = _in_todays_words(node)
        found = {
            key: self._value(key, value, depth + 1, within)
            for key, value in node.items()
            if key not in _DROPPED
        }
        if depth:
            self._note_address(node)
        if "$ref" not in node:
            return found
        target = self._target(node["$ref"], depth, within)
        return (
            {**target, **found}
            if set(found) <= set(_NOTES)
            else {**found, "allOf": [target, *found.get("allOf", [])]}
        )

    def _count(self, node: Any, depth: int) -> None:
        if not isinstance(node, dict):
            raise UnsafeSchemaError("a part of it is not a schema")
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnsafeSchemaError(f"more than {MAX_NODES:,} parts")
        if depth > MAX_DEPTH:
            raise UnsafeSchemaError(f"nested deeper than {MAX_DEPTH} levels")
        if refused := set(node) & set(_REFUSED):
            raise UnsafeSchemaError(f"{min(refused)} is not supported")

    def _value(self, key: str, value: Any, depth: int, within: tuple[str, ...]) -> Any:
        if key in _MAPS and isinstance(value, dict):
            if key == "patternProperties":
                self._check_patterns(value)
            return {name: self.node(child, depth, within) for name, child in value.items()}
        if key in _LISTS and isinstance(value, list):
            return [self.node(child, depth, within) for child in value]
        if key in _ONES:
            return self.node(value, depth, within)
        if key == "pattern":
            self._check_patterns([value])
        if key == "enum" and isinstance(value, list) and len(value) > MAX_ENUM:
            raise UnsafeSchemaError(f"a choice of more than {MAX_ENUM} values")
        return value

    def _check_patterns(self, patterns: Iterable[Any]) -> None:
        written = [pattern for pattern in patterns if isinstance(pattern, str)]
        if any(len(pattern) > MAX_PATTERN for pattern in written):
            raise UnsafeSchemaError(f"a pattern of more than {MAX_PATTERN} characters")
        self._weight += sum(map(pattern_weight, written))
        if self._weight > MAX_WEIGHT:
            raise UnsafeSchemaError("patterns that take too long to read")

    def _target(self, ref: Any, depth: int, within: tuple[str, ...]) -> Schema:
        self._refs += 1
        if ref in within:
            raise UnsafeSchemaError("references in a circle")
        if self._refs > MAX_REFS:
            raise UnsafeSchemaError(f"more than {MAX_REFS} references")
        target = self.node(self._find(ref), depth + 1, (*within, ref))
        return target if isinstance(target, dict) else {"allOf": [target]}

    def _find(self, ref: Any) -> Any:
        """Give what a reference is about."""
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise UnsafeSchemaError("a reference that leaves it")
        found: Any = self._root
        for step in unquote(ref).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and _POSITION.fullmatch(name) and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise UnsafeSchemaError("a reference to nothing")
            self._note_address(found)
        return found

    def _note_address(self, part: Any) -> None:
        """References inside of a part with an address are relative to that, so the two do not go together."""
        self._has_addresses |= isinstance(part, dict) and isinstance(part.get("$id"), str)
        if self._has_addresses and self._refs:
            raise UnsafeSchemaError("references beside a part with an $id of its own")


def _in_todays_words(node: Schema) -> Schema:
    """Write what older drafts and OpenAPI 3.0 have other words for as draft 2020-12 does."""
    found = dict(node)
    if _OLDER.fullmatch(str(node.get("$schema"))):
        del found["$schema"]
    if isinstance(node.get("items"), list):
        found |= {"prefixItems": node["items"], "items": found.pop("additionalItems", True)}
    if node.get("nullable") is True and isinstance(node.get("type"), str):
        found["type"] = [node["type"], "null"]
    return found


def _validator(flat: Schema) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            _for_library(flat),
            # The library would fetch http:// and read file:// references. None are left, and none would be followed.
            retriever=_refuse,
            # This engine takes linear time for any pattern.
            pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000),
            validate_formats=True,
            formats=dict.fromkeys(_LENIENT, lambda _: True),
        )
    except ValueError as error:
        raise UnsafeSchemaError("it is not a valid JSON Schema") from error


def _for_library(value: Any) -> Any:
    """Give JSON values with decimals, so that the library computes exactly."""
    return as_decimals(value) if has_numbers(value) else value


def _refuse(uri: str) -> Any:
    raise UnsafeSchemaError(f"a reference that leaves it: {uri}")


def _violations(error: jsonschema_rs.ValidationError) -> Iterator[Violation]:
    kind, facts = error.kind.name, error.kind.as_dict()
    path = tuple(error.instance_path)
    if kind in {"anyOf", "oneOf"} and (meant := _meant(facts.get("context", []), path)):
        for inner in meant:
            yield from _violations(inner)
    elif kind == "required":
        yield Violation((*path, facts["property"]), in_field.MISSING)
    elif kind in {"additionalProperties", "unevaluatedProperties"}:
        for name in facts["unexpected"]:
            yield Violation((*path, name), in_field.UNKNOWN)
    else:
        if kind == "pattern":
            facts = facts | {"pattern": clip(one_line(facts["pattern"]), 100)}
        yield Violation(path, in_field.not_allowed(kind, facts))


def _meant(branches: list[_Errors], path: tuple[str | int, ...]) -> _Errors:
    """Give the errors of the one branch that a value was meant for: not `null`, and of its type and its constants."""
    others = [
        branch for branch in branches if len(branch) != 1 or branch[0].kind.as_dict().get("types") != ["null"]
    ]
    if len(others) > 1:
        others = [branch for branch in others if not any(_is_of_another(error, path) for error in branch)]
    return others[0] if len(others) == 1 else []


def _is_of_another(error: jsonschema_rs.ValidationError, path: tuple[str | int, ...]) -> bool:
    kind = error.kind.name
    return kind == "const" or (kind == "type" and tuple(error.instance_path) == path)
