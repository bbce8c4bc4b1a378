"""The inputs of a form as a tree: one for each argument, rows for a list, and a choice where several forms are possible.

The tree follows the schema and the values, and what a person did to the rows and the choices. Each part has a name that
stays the same whatever else is in the form, so what was typed is always found again.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias

from bot.domain.drafts import Draft, Raw
from bot.domain.masking import hide, holds
from bot.domain.schemas import fits_schema
from bot.rendering.modal.field_types import ABSENT, LONGEST, InputError, Question, is_long_text, label_of
from bot.rendering.modal.inputs import (
    BOXES,
    EMPTY_WHOLE,
    LEFT_OUT,
    NULLED,
    Box,
    answer,
    fits,
    initial,
    is_blank,
)
from bot.rendering.modal.specs import (
    ANYTHING,
    GROUP,
    ROWS,
    UNION,
    Spec,
    branch_labels,
    inferred_kind,
    schema_like,
    seed,
)
from bot.sentences import in_field
from bot.text.literal import head, units

PART = 2_500
"""The most characters of a part. An input takes 3,000, so there is room to write more."""

_SPACES = re.compile(r"\s+")
NEW = 1_000_000
"""The number of the first row that a person added. Those of the agent count from 0."""
Path: TypeAlias = tuple[str | int, ...]
_KEPT = "kept"
_MULTILINE = 100
_READABLE = re.compile(r"[!-~]{0,80}")


def parts_of(text: str) -> list[tuple[str, str]]:
    """Cut a text at ends of lines, else at spaces. Each part comes with the spaces after it, which no input holds.

    So Slack, which may trim what is typed, cannot join two words or two lines.
    """
    found = []
    while units(text) > PART:
        start, end = _end_of_part(text)
        found.append((text[:start], text[start:end]))
        text = text[end:]
    return [*found, (text, "")]


def _end_of_part(text: str) -> tuple[int, int]:
    """Give where the first part ends, and where the next one begins."""
    # A row of marks that is longer than a part is cut.
    part = head(text, PART) or text[: PART // 2]
    spaces = [found for found in _SPACES.finditer(part) if found.start() > 0]
    lines = [found for found in spaces if "\n" in found[0] and found.start() > PART // 2]
    if not spaces:
        return len(part), len(part)
    start = (lines or spaces)[-1].start()
    after = _SPACES.match(text, start)
    return start, after.end() if after else start


@dataclass(frozen=True, slots=True)
class _Part:
    key: str
    """Its name in drafts, the same wherever its row stands."""
    path: Path
    """Names and positions from the outermost object; empty for all arguments at once."""
    number: int
    """Its place in the form."""

    @property
    def block_id(self) -> str:
        """Its name in Slack."""
        return block_id_of(self.key)

    def label(self, size: int = LONGEST) -> str:
        return label_of(self.path, self.number + 1, size=size)


@dataclass(frozen=True, slots=True)
class Field(_Part):
    """One argument in a form, with one input."""

    kind: str
    """One of `field_types.KINDS`, or `kept` for what cannot be edited here."""
    question: Question
    hint: str = ""
    is_picker: bool = False
    """Whether it chooses the form of a value that has several."""
    part: tuple[int, int] | None = None
    """Which part of a long text it holds, and of how many."""

    def label(self, size: int = LONGEST) -> str:
        def ending(name: str) -> str:
            label = in_field.as_json(name) if self.kind == "json" else name
            if self.part:
                return in_field.as_part(label, *self.part)
            return in_field.as_picker(label) if self.is_picker else label

        return label_of(self.path, self.number + 1, size=size, ends=ending)

    @property
    def is_input(self) -> bool:
        return self.kind != _KEPT


@dataclass(frozen=True, slots=True)
class Group(_Part):
    """An object, with a part for each argument in it."""

    question: Question
    children: "tuple[tuple[str, Node], ...]"
    kind = GROUP


@dataclass(frozen=True, slots=True)
class Rows(_Part):
    """A list, with a part for each row."""

    question: Question
    rows: "tuple[tuple[int, Node], ...]"
    most: int
    """How many rows the tool takes."""
    kind = ROWS
    is_input = True


@dataclass(frozen=True, slots=True)
class LongText(_Part):
    """A text that is too long for one input, with an input for each part."""

    question: Question
    parts: tuple[Field, ...]
    gaps: tuple[str, ...]
    """The spaces after each part."""
    is_input = True


@dataclass(frozen=True, slots=True)
class Union(_Part):
    """A value that can have several forms: a choice of the form, and its inputs."""

    picker: Field
    branch: "Node | None"
    is_unfit: bool
    """Whether the value that was asked has none of the forms, so that it stays until somebody chooses one."""
    is_input = True

    def label(self, size: int = LONGEST) -> str:
        return self.picker.label(size)


Node: TypeAlias = Field | Group | Rows | LongText | Union
Part: TypeAlias = Field | Group | Rows
"""What boxes are about."""
Unit: TypeAlias = Field | Rows | LongText | Union
"""What a person chooses to change: an argument, a list or a value of several forms."""


def block_id_of(key: str) -> str:
    """Name an input in Slack: by its key, where that is short and plain."""
    return f"f:{key}" if _READABLE.fullmatch(key) else f"f#{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def key_of(parent: str, name: str) -> str:
    """Name an argument of an object, as a JSON pointer does. The marks of rows and branches are escaped as well."""
    for sign, escaped in (("~", "~0"), ("/", "~1"), ("#", "~2"), ("?", "~3")):
        name = name.replace(sign, escaped)
    return f"{parent}/{name}"


# --- From values and schema to the tree -----------------------------------------------------------------------------


class Builder:
    """Builds the tree of a form."""

    def __init__(self, mask: Collection[str], draft: Draft) -> None:
        self._mask = mask
        self._draft = draft
        self._numbers = count()

    def root(self, args: dict[str, Any], flat: dict[str, Any] | None) -> Node:
        """Build the tree of all arguments."""
        if flat is not None and Spec.of(flat).kind in {GROUP, UNION}:
            return self._node(args, Spec.of(flat), "", (), required=True)
        return self._group(Question(args), None, "", ())

    def whole(self, args: dict[str, Any]) -> Field:
        """Give one input for all arguments."""
        return _holding(Field("", (), next(self._numbers), "json", Question(args)))

    def _node(
        self, value: Any, spec: Spec, key: str, path: Path, *, required: bool, is_wanted: bool = False
    ) -> Node:
        absent = value is ABSENT or (value is None and spec.asks.nullable)
        # What is masked in it would go with it.
        is_masked = holds({"": value}, self._mask)
        question = replace(
            spec.asks,
            value=value,
            required=required or is_masked,
            nullable=spec.asks.nullable and not is_masked,
        )
        if spec.kind == UNION:
            return self._union(value, spec, key, path, required=required)
        if spec.kind == GROUP and (isinstance(value, dict) or absent):
            if is_wanted and absent:
                # It is there even if nothing is in it, as a row that somebody added.
                question = replace(question, value={})
            return self._group(
                question, spec, key, path, is_wanted=is_wanted, optional=absent and not is_wanted
            )
        if spec.kind is None and isinstance(value, dict) and value:
            return self._group(question, None, key, path)
        if (
            spec.kind == "choices"
            and isinstance(value, list)
            and not fits("choices", Question(value, spec.asks.options))
        ):
            # A value that is there twice, or is none of the choices.
            return self._rows(question, spec, key, path)
        if spec.kind == ROWS and (isinstance(value, list) or absent):
            return self._rows(question, spec, key, path)
        if spec.kind is None and isinstance(value, list) and value:
            return self._rows(question, Spec({}, ROWS), key, path)
        return self._field(value, spec, key, path, required=required)

    def _group(
        self,
        question: Question,
        spec: Spec | None,
        key: str,
        path: Path,
        *,
        is_wanted: bool = False,
        optional: bool = False,
    ) -> Group:
        given = question.value if isinstance(question.value, dict) else {}
        number = next(self._numbers) if path else 0
        properties = spec.properties if spec else {}
        required = spec.node.get("required", ()) if spec else tuple(given)
        children: list[tuple[str, Node]] = []
        for name in [*given, *(name for name in properties if name not in given)]:
            child, inner = given.get(name, ABSENT), (*path, name)
            known = Spec.of(properties[name]) if name in properties else ANYTHING
            is_needed = name in required and not optional
            if child is ABSENT and is_wanted and name in required:
                child = seed(properties.get(name))
            at = key_of(key, name)
            # What is masked inside an object can be left out of its form.
            is_open = (
                name not in self._mask and isinstance(child, dict) and child and known.kind in {None, GROUP}
            )
            if not holds({name: child}, self._mask) or is_open:
                wanted = is_wanted and name in required
                node = self._node(child, known, at, inner, required=is_needed, is_wanted=wanted)
                children.append((name, node))
            elif child is not ABSENT:
                shown = Question(hide({name: child}, self._mask)[name], stays=child)
                children.append((name, Field(at, inner, next(self._numbers), _KEPT, shown)))
        return Group(key, path, number, question, tuple(children))

    def _rows(self, question: Question, spec: Spec, key: str, path: Path) -> Rows:
        given = question.value if isinstance(question.value, list) else []
        number, order = next(self._numbers), self._draft.rows.get(block_id_of(key))
        rows = []
        for position, row in enumerate(range(len(given)) if order is None else order):
            inner_key, inner = f"{key}#{row}", (*path, position)
            known = Spec.of(spec.item(position))
            if row < len(given):
                node = self._node(given[row], known, inner_key, inner, required=True)
            else:
                if known.kind is None and given:
                    known = Spec.of(schema_like(given[0]))
                start = ABSENT if known.kind in {GROUP, UNION} else seed(known.node)
                node = self._node(start, known, inner_key, inner, required=True, is_wanted=True)
            rows.append((row, node))
        return Rows(key, path, number, question, tuple(rows), spec.most_rows)

    def _union(self, value: Any, spec: Spec, key: str, path: Path, *, required: bool) -> Union:
        branches = spec.branches
        labels = branch_labels(branches)
        absent = value is ABSENT or (value is None and spec.asks.nullable)
        held = None if absent else next((n for n, b in enumerate(branches) if fits_schema(b, value)), None)
        is_unfit = held is None and not absent
        asked = labels[held] if held is not None else ABSENT if is_unfit else value
        question = Question(asked, labels, required or is_unfit, spec.asks.nullable, stays=value)
        picker = Field(key, path, next(self._numbers), "choice", question, spec.hint, is_picker=True)
        typed = self._draft.typed.get(picker.block_id)
        chosen = (
            int(typed) if isinstance(typed, str) and typed.isdecimal() else held if typed is None else None
        )
        node = None
        if chosen is not None and chosen < len(branches):
            inner = Spec.of(branches[chosen])
            start = value if chosen == held else ABSENT
            if start is ABSENT and inner.kind not in {GROUP, UNION}:
                start = seed(inner.node)
            node = self._node(start, inner, f"{key}?{chosen}", path, required=True, is_wanted=True)
        return Union(key, path, picker.number, picker, node, is_unfit)

    def _field(self, value: Any, spec: Spec, key: str, path: Path, *, required: bool) -> Field | LongText:
        question = replace(spec.asks, value=value, required=required)
        kind = spec.kind or inferred_kind(value)
        if kind == "choice" and not spec.asks.options:
            question = replace(question, options=(True, False))
        if spec.takes_text and isinstance(value, str) and not fits(kind, question):
            kind = "text"
        if kind == "text" and isinstance(value, str) and ("\n" in value or len(value) > _MULTILINE):
            kind = "lines"
        if kind in {GROUP, ROWS}:
            kind = "json"
        if kind == "lines" and is_long_text(value):
            return self._long_text(question, key, path, spec.hint)
        return _holding(Field(key, path, next(self._numbers), kind, question, spec.hint))

    def _long_text(self, question: Question, key: str, path: Path, hint: str) -> LongText:
        cut = parts_of(question.value)
        parts = tuple(
            Field(
                f"{key}#{place}",
                path,
                next(self._numbers),
                "part",
                Question(text, required=False),
                hint,
                part=(place + 1, len(cut)),
            )
            for place, (text, _) in enumerate(cut)
        )
        return LongText(parts[0].key, path, parts[0].number, question, parts, tuple(gap for _, gap in cut))


def _holding(field: Field) -> Field:
    if fits(field.kind, field.question):
        return field
    return replace(field, kind="json" if fits("json", field.question) else _KEPT)


# --- From the tree to values -------------------------------------------------------------------------------------------


def units_of(node: Node | None) -> Iterator[Unit]:
    """Give what a person can choose to change, from the top."""
    if isinstance(node, Group):
        for _, child in node.children:
            yield from units_of(child)
    elif node:
        yield node


def inputs_in(node: Node) -> Iterator[Field]:
    """Give every input of a part of a form, also those out of sight."""
    return (each for each in all_in(node) if isinstance(each, Field))


def rows_in(node: Node) -> Iterator[Rows]:
    """Give every list of a form."""
    return (each for each in all_in(node) if isinstance(each, Rows))


def all_in(node: Node) -> Iterator[Node]:
    """Give every part of a form, also those out of sight."""
    inside: Iterable[Node] = ()
    match node:
        case Group():
            inside = (child for _, child in node.children)
        case Rows():
            inside = (row for _, row in node.rows)
        case LongText():
            inside = node.parts
        case Union():
            inside = filter(None, (node.picker, node.branch))
    yield node
    for child in inside:
        yield from all_in(child)


def value_of(node: Node, draft: Draft, errors: dict[str, str]) -> Any:
    """Read the value of a part of a form. What nobody touched is exactly what was asked.

    `errors` gets a sentence for each input whose value cannot be read, by its `block_id`.
    """
    match node:
        case Field() | Group() | Rows() if boxes := {LEFT_OUT, NULLED, EMPTY_WHOLE} & {*ticked(node, draft)}:
            is_empty = EMPTY_WHOLE in boxes
            return ABSENT if LEFT_OUT in boxes else None if not is_empty else {} if node.kind == GROUP else []
        case Field():
            return _value_of_field(node, draft, errors)
        case Group():
            inner = {name: value_of(child, draft, errors) for name, child in node.children}
            given = {name: value for name, value in inner.items() if value is not ABSENT}
            asked = node.question.value
            return given if given or isinstance(asked, dict) else asked
        case Rows():
            asked = node.question.value
            if not node.rows and not isinstance(asked, list):
                return asked
            values = [value_of(row, draft, errors) for _, row in node.rows]
            empty = [row for (_, row), value in zip(node.rows, values, strict=True) if value is ABSENT]
            errors.update({[*inputs_in(row)][-1].block_id: in_field.NEEDS_VALUE for row in empty})
            return values
        case LongText():
            return _value_of_long_text(node, draft, errors)
        case Union():
            picked = _value_of_field(node.picker, draft, errors)
            if picked in (ABSENT, None) or node.branch is None:
                return node.picker.question.stays if node.is_unfit and picked is ABSENT else picked
            return value_of(node.branch, draft, errors)


def _value_of_long_text(node: LongText, draft: Draft, errors: dict[str, str]) -> Any:
    texts = [value_of(part, draft, errors) for part in node.parts]
    found = "".join(
        ("" if text is ABSENT else text) + gap for text, gap in zip(texts, node.gaps, strict=True)
    )
    if found.strip() or found == node.question.value:
        return found
    if not node.question.required:
        return ABSENT
    if not node.question.nullable:
        errors[node.block_id] = in_field.NEEDS_VALUE
    return None


def _value_of_field(field: Field, draft: Draft, errors: dict[str, str]) -> Any:
    if not field.is_input:
        return field.question.value if field.question.stays is ABSENT else field.question.stays
    boxes = ticked(field, draft)
    if field.block_id not in draft.typed and not boxes:
        return field.question.value
    try:
        return answer(field.kind, field.question, held(field, draft), boxes)
    except InputError as error:
        errors[field.block_id] = str(error)
        return field.question.value


def ticked(part: Part, draft: Draft) -> list[Box]:
    """Give the boxes that are ticked for a part of a form."""
    found = (box for box in BOXES if part.block_id in several(draft.typed.get(box.block_id)))
    return [box for box in found if box.suits(part.kind, part.question)]


def looks_emptied(part: Part, draft: Draft) -> bool:
    """Tell whether an input is empty, and neither the agent nor the schema says what that means."""
    if not isinstance(part, Field) or not is_blank(raw := held(part, draft) or ""):
        return False
    asked = part.question
    return bool(asked.is_given or raw or (asked.required and part.block_id in draft.typed))


def held(field: Field, draft: Draft) -> Raw:
    """Give what an input holds: what was typed, or the value that was asked."""
    if field.block_id in draft.typed:
        return draft.typed[field.block_id]
    return initial(field.kind, field.question)


def several(raw: Raw | None) -> list[str]:
    """Give the options that an input of several holds."""
    return raw if isinstance(raw, list) else []
