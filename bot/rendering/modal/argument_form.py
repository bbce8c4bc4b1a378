"""Arguments as a form, and a filled form as arguments.

Each argument has one input. Its kind follows the schema, or the value where no schema can be used. A value that this
kind cannot hold exactly is entered as JSON. What is masked is shown as masked, and stays as it is.
"""

import copy
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter.contract.arguments import check_arguments, encode
from agent_adapter.errors import InvalidRequestError
from bot.domain.drafts import Draft, Raw
from bot.domain.masking import Unshown, hide, holds
from bot.domain.schemas import Schema, UnsafeSchemaError, flatten, violations
from bot.rendering.arguments import value_lines
from bot.rendering.blocks import Block, context, literal, plain
from bot.rendering.modal.boxes import BOXES, Box, is_blank, is_text
from bot.rendering.modal.field_types import ABSENT, InputError, Question
from bot.rendering.modal.inputs import answer, element, fits, initial, raw_of
from bot.rendering.modal.labels import LONGEST, label_of
from bot.rendering.modal.specs import ANYTHING, UNKNOWN, Spec, inferred_kind
from bot.sentences import in_field
from bot.text.literal import clip, one_line, visible

MOST_AT_ONCE = 8
"""More inputs than this are offered as a choice first."""
MOST_FIELDS = 800
"""The most arguments that the choice can list. Beyond that, inner objects are entered as JSON."""
MAX_BLOCKS = 88
"""Of a view's 100. The rest is for the blocks above the form."""
MAX_FORM_BYTES = 200_000
"""Of a view's 250 KB."""

Path = tuple[str, ...]

_KEPT = "kept"
_MULTILINE = 100
_EXCERPT = 1_000
_OPTION = 75
_READABLE = re.compile(r"[!-~]{0,80}")


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
        """Its name in Slack and in drafts: the same whatever else is in the form."""
        return block_id_of(self.path)

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


def block_id_of(path: Path) -> str:
    """Name an input by its argument, as a JSON pointer where that is short and plain."""
    pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
    if _READABLE.fullmatch(pointer):
        return f"f:{pointer}"
    return f"f#{hashlib.sha256(pointer.encode()).hexdigest()[:32]}"


def form_of(args: dict[str, Any], schema: Schema | None, mask: Collection[str] = ()) -> tuple[Field, ...]:
    """Choose the inputs for these arguments: always the same ones for the same arguments and schema.

    A masked argument has no input. An argument that holds something masked is shown without it and stays as it is.
    """
    flat = _usable(schema)
    for deep in (True, False):
        fields = _numbered(_fields(args, flat, (), mask, deep=deep))
        if len(fields) <= MOST_FIELDS and any(field.is_input for field in fields):
            return fields
    return fields[:MOST_FIELDS] if holds(args, mask) else _numbered([_whole(args)])


def must_choose(fields: Collection[Field]) -> bool:
    """Tell whether a person first says what they want to change: the inputs are too many to look through."""
    return sum(field.is_input for field in fields) > MOST_AT_ONCE or not is_drawable(fields)


def visible_fields(fields: tuple[Field, ...], draft: Draft) -> tuple[Field, ...]:
    """Give the inputs that a person sees: all of them, or those that they chose."""
    if not must_choose(fields):
        return fields
    return tuple(field for field in fields if field.is_input and field.block_id in draft.chosen)


def schema_problem(schema: Schema | None) -> str | None:
    """Say why a schema is not used: `None` when it is, or when there is none."""
    try:
        if schema is not None:
            flatten(schema)
    except UnsafeSchemaError as error:
        return str(error)
    return None


def form_blocks(fields: Iterable[Field], draft: Draft | None = None) -> list[Block]:
    """Draw the inputs with what was typed into them, those of a nested object under its name."""
    fields, typed = list(fields), draft.typed if draft else {}
    blocks: list[Block] = []
    group: Path = ()
    for field in fields:
        if field.path[:-1] not in {group, ()}:
            name = label_of(field.path[:-1], field.number + 1, as_json=False)
            blocks.append(literal(f"group:{field.number}", name))
        group = field.path[:-1]
        blocks += [_input(field, typed)] if field.is_input else _kept_blocks(field)
    return blocks + [
        box.block(_options(suited), _several(typed.get(box.block_id))) for box, suited in _boxes(fields)
    ]


def is_drawable(fields: Iterable[Field], draft: Draft | None = None) -> bool:
    """Tell whether one view can hold these inputs."""
    blocks = form_blocks(fields, draft)
    return len(blocks) <= MAX_BLOCKS and len(json.dumps(blocks)) <= MAX_FORM_BYTES


def merged(draft: Draft, view: Mapping[str, Any]) -> Draft:
    """Add what a view holds to what was typed before."""
    values, typed = view["state"]["values"], dict(draft.typed)
    for block in view["blocks"]:
        block_id = block["block_id"]
        state = values.get(block_id, {}).get(block_id)
        if block["type"] != "input" or state is None:
            continue
        if block_id.startswith(("f:", "f#")):
            typed[block_id] = raw_of(state)
        elif block_id in {box.block_id for box in BOXES}:
            offered = {option["value"] for option in block["element"]["options"]}
            others = [ticked for ticked in _several(typed.get(block_id)) if ticked not in offered]
            typed[block_id] = others + _several(raw_of(state))
    return replace(draft, typed=typed)


def held_text(field: Field, draft: Draft, size: int) -> str:
    """Write what an input holds in a few characters; empty when it holds nothing."""
    held = _held(field, draft.typed)
    if field.kind in {"choice", "choices"} or not isinstance(held, str):
        value = field.question.value
        held = "" if value is ABSENT else encode(value)
    return clip(one_line(held), size) if held.strip() else ""


def read_form(
    draft: Draft, args: dict[str, Any], schema: Schema | None, mask: Collection[str] = ()
) -> Edited | Unchanged | Errors:
    """Read the arguments out of what was typed.

    An input that nobody touched gives exactly the value that was asked, whatever Slack did to its text. Keys keep their
    order. All arguments together are then checked against the schema.
    """
    fields = [field for field in form_of(args, schema, mask) if field.is_input]
    found, errors = copy.deepcopy(args), {}
    for field in fields:
        try:
            value = _value(field, draft)
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


def _value(field: Field, draft: Draft) -> Any:
    suited = [box for box in BOXES if box.suits(field.kind, field.question)]
    ticked = [box for box in suited if field.block_id in _several(draft.typed.get(box.block_id))]
    if field.block_id not in draft.typed and not ticked:
        return field.question.value
    return answer(field.kind, field.question, _held(field, draft.typed), ticked)


def _held(field: Field, typed: Any) -> Raw:
    """Give what an input holds: what was typed, or the value that was asked."""
    held: Raw = typed.get(field.block_id, _NOTHING_TYPED)
    return initial(field.kind, field.question) if held is _NOTHING_TYPED else held


_NOTHING_TYPED: Any = object()


def _several(raw: Raw | None) -> list[str]:
    return raw if isinstance(raw, list) else []


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


# How they look


def _input(field: Field, typed: Any) -> Block:
    question = field.question
    block = {
        "type": "input",
        "block_id": field.block_id,
        "label": plain(field.label()),
        "element": element(field.kind, question, field.block_id, _held(field, typed)),
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
