"""Arguments as a form, and a filled form as arguments.

Each argument has an input whose kind follows the schema, or the value where no schema can be used. A list has rows, and
a value of several forms a choice. A value that its input cannot hold exactly is entered as JSON. What is masked is shown
as masked, and stays as it is.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter.contract.arguments import check_arguments, encode
from agent_adapter.errors import InvalidRequestError
from bot.domain.drafts import Draft
from bot.domain.masking import Unshown, holds
from bot.domain.schemas import Schema, UnsafeSchemaError, beyond, flatten, violations
from bot.rendering.arguments import value_lines
from bot.rendering.blocks import Block, actions, context, input_block, literal
from bot.rendering.buttons import FORM
from bot.rendering.modal.field_types import ABSENT, KINDS, label_of, option
from bot.rendering.modal.form_tree import (
    NEW,
    Builder,
    Field,
    Group,
    LongText,
    Node,
    Part,
    Path,
    Rows,
    Union,
    Unit,
    all_in,
    held,
    inputs_in,
    looks_emptied,
    rows_in,
    several,
    ticked,
    units_of,
    value_of,
)
from bot.rendering.modal.inputs import BOXES, EMPTY, OTHERS, TEXTS, Box, is_blank, options_of, raw_of
from bot.sentences import in_field, in_form
from bot.text.literal import clip, one_line, visible

MOST_AT_ONCE = 8
"""Of more arguments than this, the form shows those that matter most, and offers the others."""
MOST_UNITS = 800
"""The most arguments that the choice can list. More of them are entered as one JSON."""
MAX_BLOCKS = 88
"""Of a view's 100. The rest is for the blocks above the form."""
ROOM_FOR_ROWS, BYTES_FOR_ROWS = 40, 100_000
"""The most blocks, and bytes of them, for the rows of one list. The others are a page away."""
MAX_FORM_BYTES = 200_000
"""Of a view's 250 KB."""
ADD, REMOVE, UP, DOWN, TURN = "add", "remove", "up", "down", "turn"
"""What the buttons of a list do."""

_EXCERPT = 1_000
_OPTION = 75
_DESCRIBED = 300
"""The most arguments that are offered with their values."""


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


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one call, as one person has filled it in."""

    root: Node
    draft: Draft
    leading: tuple[Collection[Path], ...] = ()
    """What matters most. Where nothing of it has an input, what comes after it does."""

    @property
    def units(self) -> list[Unit]:
        """What can be chosen to be changed, and what is only shown."""
        return list(units_of(self.root))

    @property
    def must_choose(self) -> bool:
        """Whether the inputs are too many to look through."""
        return len(self._inputs) > MOST_AT_ONCE or not self.fits(self.units)

    @property
    def in_sight(self) -> list[Unit]:
        """What a person sees: everything, or what matters most and what they chose."""
        if not self.must_choose:
            return self.units
        return self._leading if self.is_too_much else self._chosen

    @property
    def is_too_much(self) -> bool:
        """Whether a person chose more than one view can hold."""
        return self.must_choose and not self.fits(self._chosen)

    @property
    def _chosen(self) -> list[Unit]:
        leading, chosen = self._leading, several(self.draft.typed.get(OTHERS.block_id))
        return [unit for unit in self._inputs if unit in leading or unit.block_id in chosen]

    @property
    def _leading(self) -> list[Unit]:
        named = (
            [unit for unit in self._inputs if any(unit.path[: len(path)] == path for path in paths)]
            for paths in self.leading
        )
        found = next(filter(None, named), [])[:MOST_AT_ONCE]
        while found and not self.fits(found):
            found.pop()
        return found

    @property
    def _inputs(self) -> list[Unit]:
        return [unit for unit in self.units if unit.is_input]

    @property
    def has_inputs(self) -> bool:
        return bool(self._inputs)

    def fits(self, found: Collection[Unit]) -> bool:
        """Tell whether one view can hold these inputs."""
        blocks = self.blocks(found)
        return len(blocks) <= MAX_BLOCKS and len(json.dumps(blocks)) <= MAX_FORM_BYTES

    def blocks(self, found: Collection[Unit]) -> list[Block]:
        """Draw inputs with what was typed into them, those of an object or a list under its name, and offer the others."""
        blocks: list[Block] = []
        group: Path = ()
        seen: list[Part] = []
        for unit in found:
            if unit.path[:-1] not in {group, ()}:
                blocks.append(literal(f"group:{unit.number}", label_of(unit.path[:-1], unit.number + 1)))
            group = unit.path[:-1]
            blocks += self._unit(unit, seen)
        in_sight = {unit.block_id for unit in found}
        if others := [unit for unit in self._inputs if unit.block_id not in in_sight]:
            blocks.append({**self._box(OTHERS, others), "optional": bool(found)})
        # Of objects, those of which something is in sight.
        inside = {part.path[:length] for part in seen for length in range(len(part.path))}
        parts = [
            *seen,
            *(each for each in all_in(self.root) if isinstance(each, Group) and each.path in inside),
        ]
        for box in BOXES:
            suited = [part for part in parts if box.suits(part.kind, part.question)]
            if box is EMPTY:
                # Only where a field was emptied, or is ticked.
                suited = [
                    part
                    for part in suited
                    if looks_emptied(part, self.draft) or box in ticked(part, self.draft)
                ]
            blocks += [self._box(box, suited)] if suited else []
        return blocks

    def read(
        self, args: dict[str, Any], schema: Schema | None, integers: tuple[int, int] | None = None
    ) -> Edited | Unchanged | Errors:
        """Read the arguments that the form holds.

        An input that nobody touched gives exactly the value that was asked, whatever Slack did to its text. Keys keep
        their order. All arguments together are then checked against the schema, and whole numbers against those that the
        agent can keep.
        """
        errors: dict[str, str] = {}
        found = value_of(self.root, self.draft, errors)
        if errors:
            return Errors(errors)
        if encode(found) == encode(args):
            return Unchanged()
        errors = self._objections(found, schema, integers)
        return Errors(errors) if errors else Edited(found)

    def unit_of(self, block_id: str) -> Unit | None:
        """Give what a person chooses in order to see an input."""
        for unit in self.units:
            if block_id == unit.block_id or any(field.block_id == block_id for field in inputs_in(unit)):
                return unit
        return None

    def changed_input(self, args: dict[str, Any], edited: dict[str, Any]) -> str | None:
        """Name the first input whose value an edit changed: `None` when there is none."""
        for field in inputs_in(self.root):
            if field.is_input and _at(args, field.path) != _at(edited, field.path):
                return field.block_id
        return None

    def with_rows(self, what: str, row: int, block_id: str) -> Draft:
        """Do to a list what one of its buttons says."""
        found = next((rows for rows in rows_in(self.root) if rows.block_id == block_id), None)
        if found is None:
            return self.draft
        order, made = [number for number, _ in found.rows], self.draft.made
        if what == TURN:
            return replace(self.draft, first={**self.draft.first, block_id: row})
        first = dict(self.draft.first)
        if what == ADD:
            order, made = [*order, NEW + made], made + 1
            first[block_id] = max(0, len(order) - self._rows_at_once(found))
        elif row in order:
            at = order.index(row)
            order.pop(at)
            if what != REMOVE:
                order.insert(max(at - 1, 0) if what == UP else at + 1, row)
        return replace(self.draft, rows={**self.draft.rows, block_id: tuple(order)}, first=first, made=made)

    # How it looks

    def _unit(self, unit: Unit, seen: list[Part]) -> list[Block]:
        match unit:
            case Field() if unit.is_input:
                seen.append(unit)
                return [self._input(unit)]
            case Field():
                return _kept_blocks(unit)
            case Rows():
                return self._rows(unit, seen)
            case LongText():
                seen += unit.parts
                return [self._input(part) for part in unit.parts]
            case Union():
                inner = [block for child in units_of(unit.branch) for block in self._unit(child, seen)]
                return [self._input(unit.picker), *inner]

    def _rows(self, rows: Rows, seen: list[Part]) -> list[Block]:
        seen.append(rows)
        first = min(self.draft.first.get(rows.block_id, 0), max(len(rows.rows) - 1, 0))
        blocks, shown, used = [literal(f"{rows.block_id}:name", rows.label())], 0, 0.0
        for position, (number, node) in enumerate(rows.rows[first:], first):
            parts: list[Part] = []
            drawn = [block for unit in units_of(node) for block in self._unit(unit, parts)]
            drawn.append(actions(f"{rows.block_id}:{number}", _row_buttons(rows, position, number)))
            used += _share(drawn)
            if shown and used > 1:
                break
            seen += parts
            shown += 1
            blocks += drawn
        if buttons := _list_buttons(rows, first, shown):
            blocks.append(actions(f"{rows.block_id}:rows", buttons))
        if shown < len(rows.rows):
            which = in_form.rows_in_sight(first + 1, first + shown, len(rows.rows))
            blocks.append(context(f"{rows.block_id}:page", which))
        return blocks

    def _rows_at_once(self, rows: Rows) -> int:
        """Count how many rows of a list are in sight together, by its first row."""
        row = next((node for _, node in rows.rows), None)
        blocks = [block for unit in units_of(row) for block in self._unit(unit, [])] if row else []
        return max(1, int(1 / _share([*blocks, actions("row", _row_buttons(rows, 0, 0))]))) if row else 1

    def _input(self, field: Field) -> Block:
        question = field.question
        drawn = KINDS[field.kind].element(held(field, self.draft), question)
        # Slack says of a number that it does not take only that it is none.
        hint = in_field.hint(field.hint, field.kind)
        # An empty list has no choice made. A text of only spaces is shown as an empty input.
        is_empty = field.kind == "choices" or (field.kind in TEXTS and is_blank(question.value))
        # Null and leaving out are options of a choice.
        optional = field.kind != "choice" and (is_empty or not question.required or question.nullable)
        return input_block(field.block_id, field.label(), drawn, optional=optional, hint=hint)

    def _box(self, box: Box, suited: Sequence[Part | Unit]) -> Block:
        is_described, options = box is OTHERS and len(suited) <= _DESCRIBED, []
        for part in suited:
            value = value_of(part, self.draft, {}) if is_described else ABSENT
            about = "" if value is ABSENT else value if isinstance(value, str) else encode(value)
            options.append(option(part.label(_OPTION), part.block_id, about))
        return box.block(options, several(self.draft.typed.get(box.block_id)))

    # What came back

    def _objections(
        self, args: Any, schema: Schema | None, integers: tuple[int, int] | None
    ) -> dict[str, str]:
        fields = [field for field in inputs_in(self.root) if field.is_input]
        lists = [*rows_in(self.root)]
        # A list with rows has inputs, unless all that they hold is masked.
        places: list[Field | Rows] = [*fields, *(rows for rows in lists if not rows.rows)] or [*lists]
        # What is wrong with a value is said beside the value, and not beside the choice of its form.
        places.sort(key=lambda place: isinstance(place, Field) and place.is_picker)
        try:
            check_arguments(args)
        except InvalidRequestError as error:
            return {places[0].block_id: f"{error}."}
        flat = _usable(schema)
        errors: dict[str, str] = {}
        kept = beyond(integers, args) if integers else []
        for found in [*kept, *(violations(flat, args) if flat is not None else ())]:
            place = max(places, key=lambda place: _nearness(place.path, found.path))
            sentence = found.sentence
            if place.path != found.path:
                where = ".".join(str(step) for step in found.path)
                sentence = f"{clip(one_line(where), 100)}: {sentence}" if where else sentence
            errors.setdefault(place.block_id, sentence)
        return errors


def form_of(
    args: dict[str, Any],
    schema: Schema | None,
    mask: Collection[str] = (),
    draft: Draft | None = None,
    leading: tuple[Collection[Path], ...] = (),
) -> Form:
    """Make the form of these arguments: always the same one for the same arguments, schema and draft.

    A masked argument has no input. An argument that holds something masked is shown without it and stays as it is.
    """
    draft = draft or Draft()
    form = Form(Builder(mask, draft).root(args, _usable(schema)), draft, leading)
    if (form.has_inputs and len(form.units) <= MOST_UNITS) or holds(args, mask):
        return form
    return Form(Builder(mask, draft).whole(args), draft)


def schema_problem(schema: Schema | None) -> str | None:
    """Say why a schema is not used: `None` when it is, or when there is none."""
    try:
        if schema is not None:
            flatten(schema)
    except UnsafeSchemaError as error:
        return str(error)
    return None


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
        elif block_id in in_field.BOXES:
            offered = {option["value"] for option in options_of(block)}
            others = [value for value in several(typed.get(block_id)) if value not in offered]
            typed[block_id] = others + several(raw_of(state))
    return replace(draft, typed=typed)


def _usable(schema: Schema | None) -> Schema | None:
    try:
        return flatten(schema) if schema is not None else None
    except UnsafeSchemaError:
        return None


def _share(row: list[Block]) -> float:
    """Tell how much of the room of a list a row takes."""
    return max(len(row) / ROOM_FOR_ROWS, len(json.dumps(row)) / BYTES_FOR_ROWS)


def _row_buttons(rows: Rows, position: int, number: int) -> list[Block]:
    named = [(REMOVE, in_form.remove_row(position + 1))]
    if position:
        named.append((UP, in_form.MOVE_UP))
    if position < len(rows.rows) - 1:
        named.append((DOWN, in_form.MOVE_DOWN))
    return [_list_button(what, number, rows, label) for what, label in named]


def _list_buttons(rows: Rows, first: int, shown: int) -> list[Block]:
    named = [(ADD, 0, in_form.ADD_ROW)] if len(rows.rows) < rows.most else []
    if first:
        named.append((TURN, max(0, first - max(shown, 1)), in_form.PREVIOUS_ROWS))
    if first + shown < len(rows.rows):
        named.append((TURN, first + shown, in_form.NEXT_ROWS))
    return [_list_button(what, row, rows, label) for what, row, label in named]


def _list_button(what: str, row: int, rows: Rows, label: str) -> Block:
    return FORM.drawn(f"{what} {row} {rows.block_id}", "list", label)


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


def _at(args: Any, path: Path) -> str | None:
    """Write the value at a path as JSON: `None` when there is none."""
    for step in path:
        try:
            args = args[step]
        except (KeyError, IndexError, TypeError):
            return None
    return encode(args)


def _nearness(path: Path, place: tuple[str | int, ...]) -> int:
    """Count the steps that a field and a place share, from the outermost."""
    shared = 0
    while shared < min(len(path), len(place)) and path[shared] == place[shared]:
        shared += 1
    return shared
