"""Arguments as a form, and a submitted form as arguments.

Each argument has one input. Its kind follows the schema, or the value where no schema can be used. A value that this
kind cannot hold exactly is entered as JSON. A value that is too long for an input is shown and stays as it is.
"""

import copy
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter.contract.arguments import check_arguments, encode
from agent_adapter.errors import InvalidRequestError
from bot.domain.masking import Unshown, hide, holds
from bot.domain.schemas import Schema, UnsafeSchemaError, flatten, violations
from bot.rendering.arguments import value_lines
from bot.rendering.blocks import Block, context, literal, plain
from bot.rendering.modal.boxes import BOXES, Box, is_blank, is_text
from bot.rendering.modal.field_types import ABSENT, InputError, Question
from bot.rendering.modal.inputs import answer, element, fits, raw_of
from bot.rendering.modal.labels import LONGEST, label_of
from bot.rendering.modal.specs import ANYTHING, UNKNOWN, Spec, inferred_kind
from bot.sentences import in_field
from bot.text.literal import clip, one_line, visible

MAX_BLOCKS = 92
"""Of a view's 100. The rest is for the blocks above the form."""
MAX_FORM_BYTES = 200_000
"""Of a view's 250 KB."""

Path = tuple[str, ...]

_KEPT = "kept"
_MULTILINE = 100
_EXCERPT = 1_000
_OPTION = 75


@dataclass(frozen=True, slots=True)
class Field:
    """One argument in a form."""

    path: Path
    """Names from the outermost object; empty for all arguments at once."""
    kind: str
    """One of `field_types.KINDS`, or `kept` for what cannot be edited here."""
    question: Question
    hint: str = ""
    number: int = 0
    """Its place in the form."""

    @property
    def block_id(self) -> str:
        return f"f:{self.number}"

    def label(self, size: int = LONGEST) -> str:
        return label_of(self.path, self.number + 1, as_json=self.kind == "json", size=size)

    @property
    def is_input(self) -> bool:
        return self.kind != _KEPT


@dataclass(frozen=True, slots=True)
class Edited:
    """The form holds other arguments than were asked."""

    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The form holds exactly what was asked."""


@dataclass(frozen=True, slots=True)
class Errors:
    """The form holds something that the tool does not take."""

    by_block: dict[str, str]
    """A sentence for each input, by its `block_id`."""


def form_of(args: dict[str, Any], schema: Schema | None, mask: Collection[str] = ()) -> tuple[Field, ...]:
    """Choose the inputs for these arguments: always the same ones for the same arguments and schema.

    A masked argument has no input. An argument that holds something masked is shown without it and stays as it is.
    """
    flat = _usable(schema)
    whole = [] if holds(args, mask) else [_whole(args)]
    for fields in (
        _fields(args, flat, (), mask, deep=True),
        _fields(args, flat, (), mask, deep=False),
        whole,
    ):
        numbered = _numbered(fields)
        if any(field.is_input for field in numbered) and _is_drawable(numbered):
            return numbered
    return _numbered(_fewer(_fields(args, flat, (), mask, deep=False)))


def schema_problem(schema: Schema | None) -> str | None:
    """Say why a schema is not used: `None` when it is, or when there is none."""
    try:
        if schema is not None:
            flatten(schema)
    except UnsafeSchemaError as error:
        return str(error)
    return None


def form_blocks(fields: tuple[Field, ...]) -> list[Block]:
    """Draw the inputs, those of a nested object under its name."""
    blocks: list[Block] = []
    group: Path = ()
    for field in fields:
        if field.path[:-1] not in {group, ()}:
            name = label_of(field.path[:-1], field.number + 1, as_json=False)
            blocks.append(literal(f"group:{field.number}", name))
        group = field.path[:-1]
        blocks += [_input(field)] if field.is_input else _kept_blocks(field)
    return blocks + [box.block(_options(suited)) for box, suited in _boxes(fields)]


def parse_form(
    view: dict[str, Any], args: dict[str, Any], schema: Schema | None, mask: Collection[str] = ()
) -> Edited | Unchanged | Errors:
    """Read the arguments out of a submitted view.

    An input that nobody touched gives exactly the value that was asked, whatever Slack did to its text. Keys keep their
    order. All arguments together are then checked against the schema.
    """
    fields = [field for field in form_of(args, schema, mask) if field.is_input]
    found, errors = copy.deepcopy(args), {}
    ticked = {box: box.ticked(view) & {f.block_id for f in suited} for box, suited in _boxes(fields)}
    for field in fields:
        boxes = [box for box, block_ids in ticked.items() if field.block_id in block_ids]
        state = view["state"]["values"].get(field.block_id, {}).get(field.block_id, {})
        try:
            value = (
                answer(field.kind, field.question, raw_of(state), boxes) if state else field.question.value
            )
        except InputError as error:
            errors[field.block_id] = str(error)
        else:
            found = _put(found, field, value)
    if errors:
        return Errors(errors)
    if encode(found) == encode(args):
        return Unchanged()
    errors = _errors(found, fields, schema)
    return Errors(errors) if errors else Edited(found)


def changed_input(
    args: dict[str, Any], edited: dict[str, Any], schema: Schema | None, mask: Collection[str] = ()
) -> str | None:
    """Name the first input whose value an edit changed: `None` when there is none."""
    for field in form_of(args, schema, mask):
        if field.is_input and _at(args, field.path) != _at(edited, field.path):
            return field.block_id
    return None


def _at(args: Any, path: Path) -> str | None:
    """Write the value at a path as JSON: `None` when there is none."""
    for name in path:
        if not isinstance(args, dict) or name not in args:
            return None
        args = args[name]
    return encode(args)


# Which inputs


def _usable(schema: Schema | None) -> Schema | None:
    try:
        return flatten(schema) if schema is not None else None
    except UnsafeSchemaError:
        return None


def _fields(
    value: dict[str, Any], node: Schema | None, path: Path, mask: Collection[str], *, deep: bool
) -> Iterator[Field]:
    properties = _properties(node)
    # A schema that names no property says nothing about the form.
    node = node if properties else None
    required = node.get("required", ()) if node else tuple(value)
    for name in [*value, *(name for name in properties if name not in value)]:
        child = value.get(name, ABSENT)
        spec = Spec.of(properties[name]) if name in properties else UNKNOWN if node else ANYTHING
        inner = spec.node if node and name in properties else None
        if deep and name not in mask and _is_group(child, inner, known=node is None):
            yield from _fields(child, inner, (*path, name), mask, deep=True)
        elif holds({name: child}, mask):
            if child is not ABSENT:
                yield Field((*path, name), _KEPT, Question(hide({name: child}, mask)[name]))
        else:
            yield _field((*path, name), child, spec, required=name in required)


def _properties(node: Schema | None) -> dict[str, Any]:
    found = node.get("properties") if node else None
    return found if isinstance(found, dict) else {}


def _is_group(child: Any, node: Schema | None, *, known: bool) -> bool:
    return isinstance(child, dict) and bool(child) and (known or bool(_properties(node)))


def _field(path: Path, value: Any, spec: Spec, *, required: bool) -> Field:
    question = Question(value, spec.options, required=required, nullable=spec.nullable)
    kind = spec.kind or inferred_kind(value)
    if kind == "choice" and not spec.options:
        question = replace(question, options=(True, False))
    if kind == "text" and isinstance(value, str) and ("\n" in value or len(value) > _MULTILINE):
        kind = "lines"
    return _holding(Field(path, kind, question, spec.hint))


def _holding(field: Field) -> Field:
    if fits(field.kind, field.question):
        return field
    return replace(field, kind="json" if fits("json", field.question) else _KEPT)


def _whole(args: dict[str, Any]) -> Field:
    return _holding(Field((), "json", Question(args)))


def _numbered(fields: Iterable[Field]) -> tuple[Field, ...]:
    return tuple(replace(field, number=number) for number, field in enumerate(fields))


def _boxes(fields: Iterable[Field]) -> Iterator[tuple[Box, list[Field]]]:
    """Give each box with the inputs that it suits. Boxes that suit none are left out."""
    fields = list(fields)
    for box in BOXES:
        if suited := [field for field in fields if box.suits(field.kind, field.question)]:
            yield box, suited


def _options(fields: list[Field]) -> list[tuple[str, str]]:
    return [(field.label(_OPTION), field.block_id) for field in fields]


def _is_drawable(fields: tuple[Field, ...]) -> bool:
    blocks = form_blocks(fields)
    return len(blocks) <= MAX_BLOCKS and len(json.dumps(blocks)) <= MAX_FORM_BYTES


def _fewer(fields: Iterable[Field]) -> list[Field]:
    """Keep as many inputs as a view can hold. The arguments after them stay as they are."""
    found = list(fields)[: MAX_BLOCKS - len(BOXES)]
    while len(found) > 1 and not _is_drawable(_numbered(found)):
        found = found[: len(found) * 9 // 10]
    return found


# How they look


def _input(field: Field) -> Block:
    question = field.question
    block = {
        "type": "input",
        "block_id": field.block_id,
        "label": plain(field.label()),
        "element": element(field.kind, question, field.block_id),
        "optional": _may_be_empty(field),
    }
    return {**block, "hint": plain(field.hint)} if field.hint else block


def _may_be_empty(field: Field) -> bool:
    if field.kind == "choice":
        # Null and leaving out are options of it.
        return False
    question = field.question
    # An empty list has no choice made. An empty text, or one of only spaces, is shown as an empty input.
    is_empty = field.kind == "choices" or (is_text(field.kind) and is_blank(question.value))
    return is_empty or not question.required or question.nullable


def _kept_blocks(field: Field) -> list[Block]:
    value = field.question.value
    text = visible(value) if isinstance(value, str) else "\n".join(value_lines(value))
    return [
        literal(f"{field.block_id}:name", field.label()),
        context(f"{field.block_id}:kept", in_field.MASKED if _is_masked(value) else in_field.TOO_LONG),
        literal(f"{field.block_id}:value", clip(text, _EXCERPT)),
    ]


def _is_masked(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_is_masked, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Unshown)


# What came back


def _put(args: Any, field: Field, value: Any) -> Any:
    """Set or remove one argument. A new one goes to the end."""
    if value is field.question.value:
        return args
    if not field.path:
        return value
    inner = args
    for name in field.path[:-1]:
        inner = inner[name]
    if value is ABSENT:
        del inner[field.path[-1]]
    else:
        inner[field.path[-1]] = value
    return args


def _errors(args: Any, fields: list[Field], schema: Schema | None) -> dict[str, str]:
    try:
        check_arguments(args)
    except InvalidRequestError as error:
        return {fields[0].block_id: f"{error}."}
    flat = _usable(schema)
    errors: dict[str, str] = {}
    for found in violations(flat, args) if flat is not None else ():
        field = max(fields, key=lambda field: _nearness(field.path, found.path))
        sentence = found.sentence
        if field.path != found.path:
            where = ".".join(str(step) for step in found.path)
            sentence = f"{clip(one_line(where), 100)}: {sentence}" if where else sentence
        errors.setdefault(field.block_id, sentence)
    return errors


def _nearness(path: Path, place: tuple[str | int, ...]) -> int:
    """Count the steps that a field and a place share, from the outermost."""
    shared = 0
    while shared < min(len(path), len(place)) and path[shared] == place[shared]:
        shared += 1
    return shared
