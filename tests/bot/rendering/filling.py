"""A person who wants a form to hold certain arguments, and uses its inputs, rows, choices and boxes for it."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from bot.domain.drafts import Draft, Raw
from bot.rendering.modal.argument_form import ADD, REMOVE, Edited, Errors, Form, Unchanged, form_of
from bot.rendering.modal.field_types import (
    ABSENT,
    EMPTY,
    EMPTY_WHOLE,
    GROUP,
    KINDS,
    LEAVE_OUT,
    LEFT_OUT,
    LONG,
    NULL,
    NULLED,
    ROWS,
    UNION,
    Box,
)
from bot.rendering.modal.form_tree import KEPT, Part, several


class CannotBeTypedError(Exception):
    """The form has no input for this: the message says for what."""


class _ChoiceError(Exception):
    """A value of several forms, of which one has to be chosen first."""

    def __init__(self, union: Part) -> None:
        self.union = union


def filled_in(
    asked: dict[str, Any], schema: dict[str, Any], wanted: dict[str, Any]
) -> Edited | Unchanged | Errors:
    """Read the form after somebody has filled it in with the arguments that they want.

    Raises:
        CannotBeTypedError: The form has no input for one of them.
    """
    return _Person(asked, schema).fill(wanted)


class _Person:
    def __init__(self, asked: dict[str, Any], schema: dict[str, Any]) -> None:
        self._asked, self._schema, self._draft = asked, schema, Draft()

    def fill(self, wanted: dict[str, Any]) -> Edited | Unchanged | Errors:
        # Rows and choices bring new inputs, so the form is looked at again after each press.
        try:
            while self._does_something(self._form.root, wanted):
                pass
        except _ChoiceError as choice:
            return self._tries(choice.union, wanted)
        return self._form.read(self._asked, self._schema)

    def _tries(self, union: Part, wanted: dict[str, Any]) -> Edited | Unchanged | Errors:
        """Choose one form after the other, until one can hold what is wanted."""
        found: Edited | Unchanged | Errors | None = None
        for number in range(len(union.question.options)):
            person = _Person(self._asked, self._schema)
            person._draft = replace(self._draft, typed={**self._draft.typed, union.block_id: str(number)})
            with suppress(CannotBeTypedError):
                found = person.fill(wanted)
                if not isinstance(found, Errors):
                    return found
        if found is None:
            raise CannotBeTypedError("none of the forms")
        return found

    @property
    def _form(self) -> Form:
        return form_of(self._asked, self._schema, (), self._draft)

    def _types(self, block_id: str, raw: Raw) -> bool:
        if block_id in self._draft.typed and self._draft.typed[block_id] == raw:
            return False
        self._draft = replace(self._draft, typed={**self._draft.typed, block_id: raw})
        return True

    def _does_something(self, node: Part, wanted: Any) -> bool:
        """Do the next thing, if there is one."""
        if box := _box(node, wanted):
            ticked = several(self._draft.typed.get(box.block_id))
            return node.block_id not in ticked and self._types(box.block_id, [*ticked, node.block_id])
        if node.kind == UNION:
            return self._chooses(node, wanted)
        if node.kind == LONG:
            raise CannotBeTypedError("a long text")
        if node.kind not in {GROUP, ROWS}:
            return self._types(node.block_id, _raw(node, wanted))
        if wanted is ABSENT or wanted is None:
            if node.question.value is not wanted:
                raise CannotBeTypedError("an object or a list that cannot be left out or null")
            return False
        return self._fills_object(node, wanted) if node.kind == GROUP else self._fills_list(node, wanted)

    def _fills_object(self, node: Part, wanted: Any) -> bool:
        if not isinstance(wanted, dict):
            raise CannotBeTypedError("another type")
        if not set(wanted) <= {name for name, _ in node.inner}:
            raise CannotBeTypedError("a new name")
        return any(self._does_something(child, wanted.get(name, ABSENT)) for name, child in node.inner)

    def _fills_list(self, node: Part, wanted: Any) -> bool:
        if not isinstance(wanted, list):
            raise CannotBeTypedError("another type")
        if not wanted and not isinstance(node.question.value, list):
            raise CannotBeTypedError("an empty list where none was given")
        if len(node.inner) < len(wanted):
            self._draft = self._form.with_rows(ADD, 0, node.block_id)
        elif len(node.inner) > len(wanted):
            self._draft = self._form.with_rows(REMOVE, node.inner[-1][0], node.block_id)
        else:
            rows = zip(node.inner, wanted, strict=True)
            return any(self._does_something(row, each) for (_, row), each in rows)
        return True

    def _chooses(self, node: Part, wanted: Any) -> bool:
        question = node.question
        if wanted is ABSENT and not question.required:
            return self._types(node.block_id, LEAVE_OUT)
        if wanted is None and question.nullable:
            return self._types(node.block_id, NULL)
        if node.block_id not in self._draft.typed:
            raise _ChoiceError(node)
        _, *branch = node.inner
        if not branch:
            raise CannotBeTypedError("another type")
        return self._does_something(branch[0][1], wanted)


def _box(part: Part, wanted: Any) -> Box | None:
    """Give the box that says more than the inputs could."""
    boxes = [(EMPTY, ""), (LEFT_OUT, ABSENT), (NULLED, None), (EMPTY_WHOLE, []), (EMPTY_WHOLE, {})]
    suited = (box for box, means in boxes if wanted == means and box.suits(part.kind, part.question))
    return next(suited, None)


def _raw(field: Part, wanted: Any) -> Raw:
    question = field.question
    if wanted is ABSENT:
        if question.required:
            raise CannotBeTypedError("an argument that cannot be left out")
        return LEAVE_OUT if field.kind == "choice" else None
    if wanted is None and question.nullable and field.kind != "json":
        return NULL if field.kind == "choice" else None
    if field.kind == KEPT or not KINDS[field.kind].holds(wanted, question):
        raise CannotBeTypedError("another type")
    return KINDS[field.kind].to_raw(wanted, question)
