"""What a schema says about one argument, or its value where no schema does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.numbers import Number
from bot.domain.schemas import Schema
from bot.rendering.modal.field_types import MAX_OPTIONS
from bot.sentences import in_field
from bot.text.literal import clip, one_line

_TYPES = {"integer": "integer", "number": "number", "boolean": "choice"}
_FORMATS = {"date": "date", "time": "time", "date-time": "date-time", "email": "email", "uri": "uri"}
_UNIONS = ("oneOf", "anyOf")
# What gives a branch of a union inputs of its own. Any other branch only limits values, which the check knows about.
_SHAPES = ("type", "properties", "enum", "const", "items", "prefixItems", "oneOf", "anyOf", "allOf")
GROUP, ROWS, UNION = "group", "rows", "union"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a schema says about one argument."""

    node: Schema
    """Without null, and without a union around it."""
    kind: str | None = None
    """One of `field_types.KINDS`, or `GROUP`, `ROWS`, `UNION`. `None` where the schema leaves it open and the value decides."""
    options: tuple[Any, ...] = ()
    nullable: bool = False
    hint: str = ""

    @classmethod
    def of(cls, node: Any) -> "Spec":
        """Read the schema of one property, flattened."""
        if not isinstance(node, dict):
            return ANYTHING
        node, nullable = _without_null(_merged(node))
        options = _choices(node)
        if None in options:
            options, nullable = tuple(option for option in options if option is not None), True
        kind = _kind(node, options)
        items = _choices(node["items"]) if kind == "choices" else options
        return cls(node, kind, items, nullable, _hint(node))

    @property
    def takes_text(self) -> bool:
        """Whether only texts are values, so that a line of text can hold what its own input cannot."""
        if self.options:
            return all(isinstance(option, str) for option in self.options)
        return self.kind in _FORMATS.values()

    @property
    def properties(self) -> dict[str, Any]:
        """The arguments that the schema names inside."""
        found = self.node.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def branches(self) -> list[Schema]:
        """The schemas of a union, each with what the schema says beside it."""
        if isinstance(self.node.get("type"), list):
            return [{**self.node, "type": name} for name in self.node["type"]]
        union = _union(self.node)
        rest = {key: value for key, value in self.node.items() if key != union}
        return [_both(rest, branch) if isinstance(branch, dict) else rest for branch in self.node[union]]

    def item(self, position: int) -> Any:
        """The schema of one row."""
        first = self.node.get("prefixItems")
        if isinstance(first, list) and position < len(first):
            return first[position]
        items = self.node.get("items", {})
        return {} if isinstance(items, list) else items


ANYTHING = Spec({})
"""Nothing is known: the value decides."""


def inferred_kind(value: Any) -> str:
    """Choose the kind of input by the value alone."""
    match value:
        case bool():
            return "choice"
        case int():
            return "integer"
        case float() | Number():
            return "number"
        case str():
            return "text"
        case _:
            return "json"


def schema_like(value: Any) -> Schema:
    """Give a schema for a new row, after the value of a row that is there."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float() | Number():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case dict() if value:
            inner = {name: schema_like(child) for name, child in value.items()}
            return {"type": "object", "properties": inner, "required": list(value)}
        case list() if value:
            return {"type": "array", "items": schema_like(value[0])}
        case _:
            return {}


def seed(node: Any) -> Any:
    """Give the value that a needed argument of a new row begins with: `NOTHING` where the schema gives none."""
    if isinstance(node, dict):
        for name in ("const", "default"):
            if name in node:
                return node[name]
        if node.get("type") == "array":
            return []
    return NOTHING


NOTHING = object()


def branch_labels(branches: list[Schema]) -> tuple[str, ...]:
    """Name the branches of a union so that no two names are the same."""
    names = [_branch_name(branch) for branch in branches]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(in_field.nth(number, name) for number, name in enumerate(names, 1))


def _branch_name(branch: Schema) -> str:
    title = branch.get("title")
    if isinstance(title, str) and title.strip():
        return clip(one_line(title), 60)
    choices = _choices(branch)
    if choices:
        return clip(one_line(", ".join(map(encode, choices))), 60)
    properties = branch.get("properties")
    inner: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
    fixed = [
        f"{one_line(name)}: {one_line(encode(node['const']))}"
        for name, node in inner.items()
        if isinstance(node, dict) and "const" in node
    ]
    if fixed:
        return clip(", ".join(fixed), 60)
    if inner:
        return clip(", ".join(map(one_line, inner)), 60)
    return in_field.type_words(branch.get("type"))


def _hint(node: Schema) -> str:
    note, default = node.get("description"), node.get("default")
    said = [clip(one_line(note), 200)] if isinstance(note, str) and note else []
    if default is not None:
        said.append(in_field.if_left_out(clip(one_line(encode(default)), 100)))
    return " ".join(said)


def _both(one: Schema, other: Schema) -> Schema:
    """Give what two schemas together say about inputs. What they say about values is checked with the whole schema."""
    found = {**one, **other}
    for name in ("properties",):
        if isinstance(one.get(name), dict) and isinstance(other.get(name), dict):
            found[name] = {**one[name], **other[name]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        found["required"] = [*one["required"], *other["required"]]
    return found


def _merged(node: Schema) -> Schema:
    """Give the schema with all of `allOf` in it."""
    branches = node.get("allOf")
    if not isinstance(branches, list):
        return node
    found = {key: value for key, value in node.items() if key != "allOf"}
    for branch in branches:
        if isinstance(branch, dict):
            found = _both(_merged(branch), found)
    return found


def _without_null(node: Schema) -> tuple[Schema, bool]:
    """Give the schema without `null`, and whether it allowed that. A union of one alternative becomes the alternative."""
    for union in _UNIONS:
        branches = node.get(union)
        if isinstance(branches, list):
            others = [branch for branch in branches if branch != {"type": "null"}]
            rest = {key: value for key, value in node.items() if key != union}
            if len(others) == 1 and isinstance(others[0], dict):
                inner, nullable = _without_null(_merged(others[0]))
                return _both(inner, rest), nullable or len(others) < len(branches)
            if len(others) < len(branches):
                return {**rest, union: others}, True
    types = node.get("type")
    if isinstance(types, list) and "null" in types:
        others = [name for name in types if name != "null"]
        return {**node, "type": others[0] if len(others) == 1 else others}, True
    return node, False


def _choices(node: Any) -> tuple[Any, ...]:
    if not isinstance(node, dict):
        return ()
    if "const" in node:
        return (node["const"],)
    values = node.get("enum")
    if isinstance(values, list):
        return tuple(values)
    return _constants(node)


def _constants(node: Schema) -> tuple[Any, ...]:
    """Give the values of a union whose every branch is one value."""
    union = _union(node)
    branches = node[union] if union else []
    if all(isinstance(branch, dict) and "const" in branch for branch in branches):
        return tuple(branch["const"] for branch in branches)
    return ()


def _union(node: Schema) -> str:
    """Name the union of a schema that gives its branches inputs of their own; empty when there is none."""
    for name in _UNIONS:
        branches = node.get(name)
        if isinstance(branches, list) and any(
            isinstance(branch, dict) and any(shape in branch for shape in _SHAPES) for branch in branches
        ):
            return name
    return ""


def _kind(node: Schema, options: tuple[Any, ...]) -> str | None:
    if options:
        if len(options) <= MAX_OPTIONS:
            return "choice"
        return "text" if all(isinstance(option, str) for option in options) else "json"
    type_ = node.get("type")
    if _union(node) or (isinstance(type_, list) and len(type_) > 1):
        return UNION
    if isinstance(type_, list):
        type_ = next(iter(type_), None)
    if type_ is None:
        type_ = "object" if node.get("properties") else "array" if _has_items(node) else None
    if type_ == "object":
        return GROUP if node.get("properties") else "json"
    if type_ == "array":
        items = _choices(node.get("items"))
        return "choices" if items and None not in items and len(items) <= MAX_OPTIONS else ROWS
    if type_ == "string":
        return _FORMATS.get(str(node.get("format")), "text")
    return _TYPES.get(type_, "json") if isinstance(type_, str) else None


def _has_items(node: Schema) -> bool:
    return isinstance(node.get("items"), dict) or isinstance(node.get("prefixItems"), list)
