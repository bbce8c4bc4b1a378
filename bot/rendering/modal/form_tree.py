"""The inputs of a form as a tree: one for each argument, rows for a list, and a choice where several forms are possible.

The tree follows the schema and the values, and what a person did to the rows and the choices. Each part has a name that
stays the same whatever else is in the form, so what was typed is always found again.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias

from bot.domain.drafts import Draft, Raw
from bot.domain.masking import hide, holds
from bot.domain.schemas import fits_schema
from bot.rendering.modal.field_types import (
    ABSENT,
    BOXES,
    EMPTY_WHOLE,
    GROUP,
    KINDS,
    LEFT_OUT,
    LONG,
    LONGEST,
    NULLED,
    ROWS,
    UNION,
    Box,
    InputError,
    Question,
    answer,
    fits,
    initial,
    is_blank,
    is_long_text,
    label_of,
)
from bot.rendering.modal.specs import Spec, branch_labels, inferred_kind, schema_like, seed
from bot.sentences import in_field
from bot.text.literal import head, units

PART = 2_500
"""The most characters of a part of a long text. An input takes 3,000, so there is room to write more."""
NEW = 1_000_000
"""The number of the first row that a person added. Those of the agent count from 0."""
KEPT = "kept"
"""The kind of what cannot be edited here."""
Path: TypeAlias = tuple[str | int, ...]
_MULTILINE = 100
_READABLE = re.compile(r"[!-~]{0,80}")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a form: an input, or what has parts of its own."""

    kind: str
    """One of `field_types.KINDS`, or `KEPT`, `GROUP`, `ROWS`, `UNION`, `LONG`."""
    key: str
    """Its name in drafts, the same wherever its row stands."""
    path: Path
    """Names and positions from the outermost object; empty for all arguments at once."""
    number: int
    """Its place in the form."""
    question: Question
    inner: "tuple[tuple[Any, Part], ...]" = ()
    """Arguments by name, rows by number, the parts of a long text with the spaces after each; for a union the choice of
    the form, and then the form."""
    hint: str = ""
    ends: Callable[[str], str] = str
    """Adds to its label what it is."""
    most: int = 0
    """How many rows the tool takes."""

    @property
    def block_id(self) -> str:
        """Its name in Slack."""
        return block_id_of(self.key)

    @property
    def is_input(self) -> bool:
        return self.kind not in {GROUP, KEPT}

    @property
    def is_picker(self) -> bool:
        """Whether it chooses the form of a value that has several."""
        return self.ends is in_field.as_picker

    def label(self, size: int = LONGEST) -> str:
        return label_of(self.path, self.number + 1, size=size, ends=self.ends)


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

    def root(self, args: dict[str, Any], flat: dict[str, Any] | None) -> Part:
        """Build the tree of all arguments."""
        spec = Spec.of(flat)
        if spec.kind not in {GROUP, UNION}:
            spec = Spec({"required": [*args]}, GROUP)
        return self._part(args, spec, "", (), required=True)

    def whole(self, args: dict[str, Any]) -> Part:
        """Give one input for all arguments."""
        return self._field(Question(args), Spec({}, "json"), "", ())

    def _part(
        self, value: Any, spec: Spec, key: str, path: Path, *, required: bool, is_wanted: bool = False
    ) -> Part:
        question = replace(spec.asks, value=value, required=required)
        if spec.kind == UNION:
            return self._union(question, spec, key, path)
        if spec.kind is None and value and isinstance(value, dict):
            spec = replace(spec, node={"required": [*value]}, kind=GROUP)
        elif spec.kind is None and value and isinstance(value, list):
            spec = replace(spec, node={}, kind=ROWS)
        elif spec.kind == "choices" and isinstance(value, list) and not fits("choices", question):
            # A value that is there twice, or is none of the choices.
            spec = replace(spec, kind=ROWS)
        if spec.kind not in {GROUP, ROWS} or not (
            isinstance(value, dict if spec.kind == GROUP else list) or not question.is_given
        ):
            return self._field(question, spec, key, path)
        if holds({"": value}, self._mask):
            # What is masked in it would go with it.
            question = replace(question, required=True, nullable=False)
        if spec.kind == ROWS:
            return self._rows(question, spec, key, path)
        return self._group(question, spec, key, path, is_wanted=is_wanted)

    def _group(self, question: Question, spec: Spec, key: str, path: Path, *, is_wanted: bool) -> Part:
        is_out = not (question.is_given or is_wanted)
        if is_wanted and not question.is_given:
            # It is there even if nothing is in it, as a row that somebody added.
            question = replace(question, value={})
        given = question.value if isinstance(question.value, dict) else {}
        number = next(self._numbers) if path else 0
        properties, required = spec.node.get("properties", {}), spec.node.get("required", ())
        inner: list[tuple[str, Part]] = []
        for name in [*given, *(name for name in properties if name not in given)]:
            known, at, place = Spec.of(properties.get(name)), key_of(key, name), (*path, name)
            is_new = is_wanted and name in required
            child = given.get(name, seed(properties.get(name)) if is_new else ABSENT)
            # What is masked inside an object can be left out of its form.
            is_open = (
                name not in self._mask and isinstance(child, dict) and child and known.kind in {None, GROUP}
            )
            if is_open or not holds({name: child}, self._mask):
                is_needed = name in required and not is_out
                part = self._part(child, known, at, place, required=is_needed, is_wanted=is_new)
                inner.append((name, part))
            elif child is not ABSENT:
                shown = Question(hide({name: child}, self._mask)[name], stays=child)
                inner.append((name, Part(KEPT, at, place, next(self._numbers), shown)))
        return Part(GROUP, key, path, number, question, tuple(inner))

    def _rows(self, question: Question, spec: Spec, key: str, path: Path) -> Part:
        given = question.value if isinstance(question.value, list) else []
        number, inner = next(self._numbers), []
        for position, row in enumerate(self._draft.rows.get(block_id_of(key), range(len(given)))):
            known, is_new = Spec.of(spec.item(position)), row >= len(given)
            if is_new and known.kind is None and given:
                known = Spec.of(schema_like(given[0]))
            value, at = known.start if is_new else given[row], f"{key}#{row}"
            part = self._part(value, known, at, (*path, position), required=True, is_wanted=is_new)
            inner.append((row, part))
        return Part(ROWS, key, path, number, question, tuple(inner), most=spec.most_rows)

    def _union(self, asked: Question, spec: Spec, key: str, path: Path) -> Part:
        branches, value, held = spec.branches, asked.value, None
        labels = branch_labels(branches)
        question = Question(value, labels, asked.required, asked.nullable)
        if asked.is_given:
            held = next((n for n, branch in enumerate(branches) if fits_schema(branch, value)), None)
        if held is not None:
            question = replace(question, value=labels[held])
        elif asked.is_given:
            # It has none of the forms, so it stays until somebody chooses one.
            question = replace(question, value=ABSENT, required=True, stays=value)
        picker = Part(
            "choice", key, path, next(self._numbers), question, hint=spec.hint, ends=in_field.as_picker
        )
        typed, inner = self._draft.typed.get(picker.block_id), [("", picker)]
        chosen = (
            held if typed is None else int(typed) if isinstance(typed, str) and typed.isdecimal() else None
        )
        if chosen is not None and chosen < len(branches):
            known = Spec.of(branches[chosen])
            start, at = value if chosen == held else known.start, f"{key}?{chosen}"
            inner.append(("", self._part(start, known, at, path, required=True, is_wanted=True)))
        return replace(picker, kind=UNION, inner=tuple(inner))

    def _field(self, question: Question, spec: Spec, key: str, path: Path) -> Part:
        value = question.value
        kind = spec.kind or inferred_kind(value)
        if kind == "choice" and not question.options:
            question = replace(question, options=(True, False))
        if spec.takes_text and isinstance(value, str) and not fits(kind, question):
            kind = "text"
        if kind == "text" and isinstance(value, str) and ("\n" in value or len(value) > _MULTILINE):
            kind = "lines"
        if kind in {GROUP, ROWS}:
            kind = "json"
        if kind == "lines" and is_long_text(value):
            return self._long_text(question, key, path, spec.hint)
        kind = next((each for each in (kind, "json") if fits(each, question)), KEPT)
        ends = in_field.as_json if kind == "json" else str
        return Part(kind, key, path, next(self._numbers), question, hint=spec.hint, ends=ends)

    def _long_text(self, question: Question, key: str, path: Path, hint: str) -> Part:
        cut = parts_of(question.value)
        inner = []
        for place, (text, gap) in enumerate(cut):
            asked, ends = Question(text, required=False), in_field.as_part("{}", place + 1, len(cut)).format
            at, number = f"{key}#{place}", next(self._numbers)
            inner.append((gap, Part("part", at, path, number, asked, hint=hint, ends=ends)))
        return replace(inner[0][1], kind=LONG, question=question, inner=tuple(inner), ends=str)


def parts_of(text: str) -> list[tuple[str, str]]:
    """Cut a text at ends of lines, else at spaces. Each part comes with the spaces after it, which no input holds.

    So Slack, which may trim what is typed, cannot join two words or two lines.
    """
    found = []
    while units(text) > PART:
        # A row of marks that is longer than a part is cut.
        part = head(text, PART) or text[: PART // 2]
        at = max(part.rfind("\n", PART // 2), 0) or max(part.rfind("\n"), part.rfind(" "))
        cut = part[: max(at, 0)].rstrip() or part
        text = text[len(cut) :]
        found.append((cut, text[: len(text) - len(text.lstrip())]))
        text = text.lstrip()
    return [*found, (text, "")]


# --- From the tree to values -------------------------------------------------------------------------------------------


def units_of(part: Part) -> Iterator[Part]:
    """Give what a person can choose to change, from the top: an argument, a list or a value of several forms."""
    if part.kind != GROUP:
        yield part
        return
    for _, child in part.inner:
        yield from units_of(child)


def all_in(part: Part) -> Iterator[Part]:
    """Give every part of a form, also those out of sight."""
    yield part
    for _, child in part.inner:
        yield from all_in(child)


def inputs_in(part: Part) -> Iterator[Part]:
    """Give every input of a part of a form, also those out of sight."""
    return (each for each in all_in(part) if each.kind in KINDS)


def value_of(part: Part, draft: Draft, errors: dict[str, str]) -> Any:
    """Read the value of a part of a form. What nobody touched is exactly what was asked.

    `errors` gets a sentence for each input whose value cannot be read, by its `block_id`.
    """
    question, boxes = part.question, ticked(part, draft)
    if LEFT_OUT in boxes:
        return ABSENT
    if EMPTY_WHOLE in boxes:
        return {} if part.kind == GROUP else []
    if NULLED in boxes:
        return None
    if part.kind == KEPT:
        return question.value if question.stays is ABSENT else question.stays
    if part.kind in KINDS:
        return _value_of_input(part, draft, errors, boxes)
    return _value_of_several(part, draft, errors)


def _value_of_several(part: Part, draft: Draft, errors: dict[str, str]) -> Any:
    question, children = part.question, [child for _, child in part.inner]
    if part.kind == UNION:
        picked = value_of(children[0], draft, errors)
        if picked is ABSENT:
            return question.stays
        return None if picked is None else value_of(children[-1], draft, errors)
    found = [value_of(child, draft, errors) for child in children]
    if part.kind == LONG:
        return _value_of_long_text(part, found, errors)
    if part.kind == GROUP:
        named = zip(part.inner, found, strict=True)
        given = {name: value for (name, _), value in named if value is not ABSENT}
        return given if given or isinstance(question.value, dict) else question.value
    for row, value in zip(children, found, strict=True):
        if value is ABSENT:
            errors[[*inputs_in(row)][-1].block_id] = in_field.NEEDS_VALUE
    return found if found or isinstance(question.value, list) else question.value


def _value_of_long_text(part: Part, texts: list[Any], errors: dict[str, str]) -> Any:
    gaps = (gap for gap, _ in part.inner)
    found = "".join(("" if text is ABSENT else text) + gap for text, gap in zip(texts, gaps, strict=True))
    if found.strip() or found == part.question.value:
        return found
    if not part.question.required:
        return ABSENT
    if not part.question.nullable:
        errors[part.block_id] = in_field.NEEDS_VALUE
    return None


def _value_of_input(part: Part, draft: Draft, errors: dict[str, str], boxes: list[Box]) -> Any:
    if part.block_id not in draft.typed and not boxes:
        return part.question.value
    try:
        return answer(part.kind, part.question, held(part, draft), boxes)
    except InputError as error:
        errors[part.block_id] = str(error)
        return part.question.value


def ticked(part: Part, draft: Draft) -> list[Box]:
    """Give the boxes that are ticked for a part of a form."""
    found = (box for box in BOXES if part.block_id in several(draft.typed.get(box.block_id)))
    return [box for box in found if box.suits(part.kind, part.question)]


def looks_emptied(part: Part, draft: Draft) -> bool:
    """Tell whether an input is empty, and neither the agent nor the schema says what that means."""
    if part.kind not in KINDS or not is_blank(raw := held(part, draft) or ""):
        return False
    asked = part.question
    return bool(asked.is_given or raw or (asked.required and part.block_id in draft.typed))


def held(part: Part, draft: Draft) -> Raw:
    """Give what an input holds: what was typed, or the value that was asked."""
    if part.block_id in draft.typed:
        return draft.typed[part.block_id]
    return initial(part.kind, part.question)


def several(raw: Raw | None) -> list[str]:
    """Give the options that an input of several holds."""
    return raw if isinstance(raw, list) else []
