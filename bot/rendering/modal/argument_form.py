"""Arguments as a form, and a filled form as arguments.

Each argument has an input whose kind follows the schema, or the value where no schema can be used. A list has rows, and
a value of several forms a choice. A value that its input cannot hold exactly is entered as JSON. What is masked is shown
as masked, and stays as it is.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from agent_adapter.contract.arguments import check_arguments, encode
from agent_adapter.errors import InvalidRequestError
from bot.domain.drafts import Draft
from bot.domain.masking import has_unshown, holds
from bot.domain.schemas import Schema, UnsafeSchemaError, beyond, flatten, violations
from bot.rendering.arguments import value_lines
from bot.rendering.blocks import Block, actions, context, input_block, literal
from bot.rendering.buttons import FORM
from bot.rendering.modal.field_types import (
    ABSENT,
    BOXES,
    EMPTY,
    GROUP,
    KINDS,
    OTHERS,
    ROWS,
    TEXTS,
    Box,
    is_blank,
    label_of,
    option,
    options_of,
    raw_of,
)
from bot.rendering.modal.form_tree import (
    KEPT,
    NEW,
    Builder,
    Part,
    Path,
    all_in,
    held,
    inputs_in,
    looks_emptied,
    several,
    ticked,
    units_of,
    value_of,
)
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

    root: Part
    draft: Draft
    leading: tuple[Collection[Path], ...] = ()
    """What matters most. Where nothing of it has an input, what comes after it does."""

    @property
    def units(self) -> list[Part]:
        """What can be chosen to be changed, and what is only shown."""
        return list(units_of(self.root))

    @property
    def must_choose(self) -> bool:
        """Whether the inputs are too many to look through."""
        return len(self._inputs) > MOST_AT_ONCE or not self.fits(self.units)

    @property
    def in_sight(self) -> list[Part]:
        """What a person sees: everything, or what matters most and what they chose."""
        if not self.must_choose:
            return self.units
        return self._leading if self.is_too_much else self._chosen

    @property
    def is_too_much(self) -> bool:
        """Whether a person chose more than one view can hold."""
        return self.must_choose and not self.fits(self._chosen)

    @property
    def _chosen(self) -> list[Part]:
        leading, chosen = self._leading, several(self.draft.typed.get(OTHERS.block_id))
        return [unit for unit in self._inputs if unit in leading or unit.block_id in chosen]

    @property
    def _leading(self) -> list[Part]:
        named = (
            [unit for unit in self._inputs if any(unit.path[: len(path)] == path for path in paths)]
            for paths in self.leading
        )
        found = next(filter(None, named), [])[:MOST_AT_ONCE]
        while found and not self.fits(found):
            found.pop()
        return found

    @property
    def _inputs(self) -> list[Part]:
        return [unit for unit in self.units if unit.is_input]

    @property
    def _lists(self) -> list[Part]:
        return [part for part in all_in(self.root) if part.kind == ROWS]

    @property
    def has_inputs(self) -> bool:
        return bool(self._inputs)

    def fits(self, found: Collection[Part]) -> bool:
        """Tell whether one view can hold these inputs."""
        blocks = self.blocks(found)
        return len(blocks) <= MAX_BLOCKS and len(json.dumps(blocks)) <= MAX_FORM_BYTES

    def blocks(self, found: Collection[Part]) -> list[Block]:
        """Draw inputs with what was typed into them, those of an object or a list under its name, and offer the others."""
        blocks: list[Block] = []
        group: Path = ()
        for unit in found:
            if unit.path[:-1] not in {group, ()}:
                blocks.append(literal(f"group:{unit.number}", label_of(unit.path[:-1], unit.number + 1)))
            group = unit.path[:-1]
            blocks += self._unit(unit)
        parts = self._in_sight(blocks)
        in_sight = {unit.block_id for unit in found}
        if others := [unit for unit in self._inputs if unit.block_id not in in_sight]:
            blocks.append({**self._box(OTHERS, others), "optional": bool(found)})
        for box in BOXES:
            suited = [part for part in parts if self._is_offered(box, part)]
            blocks += [self._box(box, suited)] if suited else []
        return blocks

    def _in_sight(self, blocks: list[Block]) -> list[Part]:
        """Give what is drawn, and the objects of which something is."""
        drawn, every = {block["block_id"] for block in blocks}, [*all_in(self.root)]
        ids = ((part, _name_id(part) if part.kind == ROWS else part.block_id) for part in every)
        found = [part for part, block_id in ids if part.is_input and block_id in drawn]
        inside = {part.path[:length] for part in found for length in range(len(part.path))}
        return [*found, *(part for part in every if part.kind == GROUP and part.path in inside)]

    def _is_offered(self, box: Box, part: Part) -> bool:
        # An empty text is only offered where a field was emptied, or is ticked.
        is_due = box is not EMPTY or looks_emptied(part, self.draft) or box in ticked(part, self.draft)
        return is_due and box.suits(part.kind, part.question)

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

    def unit_of(self, block_id: str) -> Part | None:
        """Give what a person chooses in order to see an input."""
        holding = (unit for unit in self.units if block_id in {part.block_id for part in all_in(unit)})
        return next(holding, None)

    @property
    def changed_input(self) -> str | None:
        """The first input that somebody changed: `None` when there is none."""
        inputs = inputs_in(self.root)
        changed = (part for part in inputs if value_of(part, self.draft, {}) != part.question.value)
        return next((part.block_id for part in changed), None)

    def with_rows(self, what: str, row: int, block_id: str) -> Draft:
        """Do to a list what one of its buttons says."""
        found = next((rows for rows in self._lists if rows.block_id == block_id), None)
        if found is None:
            return self.draft
        order, made = [number for number, _ in found.inner], self.draft.made
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

    def _unit(self, unit: Part) -> list[Block]:
        if unit.kind == KEPT:
            return _kept_blocks(unit)
        if unit.kind == ROWS:
            return self._rows(unit)
        # An input, the parts of a long text, or the choice of a form and then its inputs.
        parts = [each for _, child in unit.inner for each in units_of(child)]
        return [block for part in parts for block in self._unit(part)] if parts else [self._input(unit)]

    def _rows(self, rows: Part) -> list[Block]:
        first = min(self.draft.first.get(rows.block_id, 0), max(len(rows.inner) - 1, 0))
        blocks, shown, used = [literal(_name_id(rows), rows.label())], 0, 0.0
        for position in range(first, len(rows.inner)):
            drawn = self._row(rows, position)
            used += _share(drawn)
            if shown and used > 1:
                break
            shown += 1
            blocks += drawn
        if buttons := _list_buttons(rows, first, shown):
            blocks.append(actions(f"{rows.block_id}:rows", buttons))
        if shown < len(rows.inner):
            which = in_form.rows_in_sight(first + 1, first + shown, len(rows.inner))
            blocks.append(context(f"{rows.block_id}:page", which))
        return blocks

    def _row(self, rows: Part, position: int) -> list[Block]:
        number, part = rows.inner[position]
        buttons = actions(f"{rows.block_id}:{number}", _row_buttons(rows, position, number))
        return [*(block for unit in units_of(part) for block in self._unit(unit)), buttons]

    def _rows_at_once(self, rows: Part) -> int:
        """Count how many rows of a list are in sight together, by its first row."""
        return max(1, int(1 / _share(self._row(rows, 0)))) if rows.inner else 1

    def _input(self, part: Part) -> Block:
        question, kind = part.question, part.kind
        drawn = KINDS[kind].element(held(part, self.draft), question)
        # Slack says of a number that it does not take only that it is none.
        hint = in_field.hint(part.hint, kind)
        # An empty list has no choice made. A text of only spaces is shown as an empty input.
        is_empty = kind == "choices" or (kind in TEXTS and is_blank(question.value))
        # Null and leaving out are options of a choice.
        optional = kind != "choice" and (is_empty or not question.required or question.nullable)
        return input_block(part.block_id, part.label(), drawn, optional=optional, hint=hint)

    def _box(self, box: Box, suited: Sequence[Part]) -> Block:
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
        # A list with rows has inputs, unless all that they hold is masked.
        places = [*inputs_in(self.root), *(rows for rows in self._lists if not rows.inner)] or self._lists
        # What is wrong with a value is said beside the value, and not beside the choice of its form.
        places.sort(key=lambda place: place.is_picker)
        try:
            check_arguments(args)
        except InvalidRequestError as error:
            return {places[0].block_id: f"{error}."}
        flat, _ = _flat(schema)
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
    form = Form(Builder(mask, draft).root(args, _flat(schema)[0]), draft, leading)
    if (form.has_inputs and len(form.units) <= MOST_UNITS) or holds(args, mask):
        return form
    return Form(Builder(mask, draft).whole(args), draft)


def schema_problem(schema: Schema | None) -> str:
    """Say why a schema is not used: an empty text when it is, or when there is none."""
    return _flat(schema)[1]


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


def _name_id(part: Part) -> str:
    return f"{part.block_id}:name"


def _flat(schema: Schema | None) -> tuple[Schema | None, str]:
    """Give the schema as it is used, or why it is not."""
    try:
        return (flatten(schema) if schema is not None else None), ""
    except UnsafeSchemaError as error:
        return None, str(error)


def _share(row: list[Block]) -> float:
    return max(len(row) / ROOM_FOR_ROWS, len(json.dumps(row)) / BYTES_FOR_ROWS)


def _row_buttons(rows: Part, position: int, number: int) -> list[Block]:
    named = [(REMOVE, in_form.remove_row(position + 1))]
    if position:
        named.append((UP, in_form.MOVE_UP))
    if position < len(rows.inner) - 1:
        named.append((DOWN, in_form.MOVE_DOWN))
    return [_list_button(what, number, rows, label) for what, label in named]


def _list_buttons(rows: Part, first: int, shown: int) -> list[Block]:
    named = [(ADD, 0, in_form.ADD_ROW)] if len(rows.inner) < rows.most else []
    if first:
        named.append((TURN, max(0, first - max(shown, 1)), in_form.PREVIOUS_ROWS))
    if first + shown < len(rows.inner):
        named.append((TURN, first + shown, in_form.NEXT_ROWS))
    return [_list_button(what, row, rows, label) for what, row, label in named]


def _list_button(what: str, row: int, rows: Part, label: str) -> Block:
    return FORM.drawn(f"{what} {row} {rows.block_id}", "list", label)


def _kept_blocks(field: Part) -> list[Block]:
    value = field.question.value
    text = visible(value) if isinstance(value, str) else "\n".join(value_lines(value))
    return [
        literal(_name_id(field), field.label()),
        context(f"{field.block_id}:kept", in_field.MASKED if has_unshown(value) else in_field.TOO_LONG),
        literal(f"{field.block_id}:value", clip(text, _EXCERPT)),
    ]


def _nearness(path: Path, place: Path) -> int:
    """Count the steps that a field and a place share, from the outermost."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(path, place, strict=False))])
