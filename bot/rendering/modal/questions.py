"""The questions that several forms ask, each beside the reading of its answer."""

from collections.abc import Sequence
from typing import Any

from bot.domain.action import Action, only_options, options_of
from bot.domain.drafts import Raw
from bot.rendering.blocks import Block, input_block, plain
from bot.rendering.calls import asks_first, run_title
from bot.rendering.modal.field_types import KINDS, Question, option, raw_of
from bot.sentences import in_form
from bot.text.literal import key_text

MAX_REASON, MAX_ANSWER = 2_000, 3_000
TYPED, CONFIRM = "typed", "confirm"
_WORDS, _TEXT = "words", "text"
ALWAYS, AGAIN = "always", "changes"
"""Whether a rejection also counts for later calls, and whether it asks for another proposal."""
_PERSON = "person"
_CHOICE = "reason"
_NOTE = "note"
_OPTION = "option"


def approval_inputs(call: Action) -> list[Block]:
    """Ask what the policy asks people before they approve: to type something, or to say once more that it may run."""
    if call.is_high_risk:
        typed = call.to_type
        hint = in_form.value_of(key_text(typed.name) if typed.name else "")
        element = {"type": "plain_text_input", "action_id": _TEXT, "max_length": 100}
        return [input_block(TYPED, in_form.type_value(typed.text), element, hint=hint)]
    return [tick(CONFIRM, run_title(call), in_form.RUN_IT, optional=False)] if asks_first(call) else []


def parse_typed(view: dict[str, Any]) -> str:
    """Read the value that was typed. Phones add a space behind a word."""
    return str(given(view, TYPED) or "").strip()


def reason_inputs(offered: Sequence[str]) -> list[Block]:
    """Ask for the reason, which may stay empty: one of those that the policy offers, words of one's own, or both."""
    own = words_input(in_form.OWN_REASON if offered else in_form.REASON, most=MAX_REASON, optional=True)
    if not offered:
        return [own]
    options = [option(reason, reason) for reason in offered]
    element = {"type": "static_select", "placeholder": plain(in_form.CHOOSE_REASON), "options": options}
    return [input_block(_CHOICE, in_form.REASON, element, optional=True), own]


def parse_reason(view: dict[str, Any]) -> str | None:
    """Read the reason that was chosen, typed, or both: `None` for neither."""
    return "\n".join(str(each) for each in (given(view, _CHOICE), parse_words(view)) if each) or None


def note_input() -> Block:
    """Ask for a note beside an approval, which may stay empty."""
    return words_input(in_form.NOTE, most=MAX_REASON, optional=True, name=_NOTE, action=_NOTE)


def parse_note(view: dict[str, Any]) -> str | None:
    """Read the note that was typed: `None` for nothing or only spaces."""
    return parse_words(view, _NOTE)


def words_input(label: str, *, most: int, optional: bool, name: str = _WORDS, action: str = _TEXT) -> Block:
    """Ask for words."""
    element = {"type": "plain_text_input", "action_id": action, "multiline": True, "max_length": most}
    return input_block(name, label, element, optional=optional)


def answer_inputs(action: Action) -> list[Block]:
    """Ask for an answer: one of those that the question offers, or words of one's own where it takes any."""
    offered = options_of(action)
    own = words_input(
        in_form.OTHER_ANSWER if offered else in_form.YOUR_ANSWER, most=MAX_ANSWER, optional=bool(offered)
    )
    if not offered:
        return [own]
    is_only = bool(only_options(action))
    drawn = KINDS["choice"].element(None, Question(options=offered))
    choice = input_block(_OPTION, in_form.YOUR_ANSWER, drawn, optional=not is_only)
    return [choice] if is_only else [choice, own]


def parse_answer(action: Action, view: dict[str, Any]) -> str | None:
    """Read the answer that was chosen or typed: `None` for neither, for both, and for a choice that is not offered."""
    chosen, typed, offered = given(view, _OPTION), parse_words(view), options_of(action)
    if not isinstance(chosen, str):
        return typed
    number = int(chosen) if chosen.isdecimal() else len(offered)
    return offered[number] if typed is None and number < len(offered) else None


def parse_words(view: dict[str, Any], name: str = _WORDS) -> str | None:
    """Read the words that were typed: `None` for nothing or only spaces."""
    found = given(view, name)
    return found if isinstance(found, str) and found.strip() else None


def person_input(label: str) -> Block:
    """Ask for a person of the workspace."""
    return input_block(_PERSON, label, {"type": "users_select", "placeholder": plain(in_form.CHOOSE_PERSON)})


def parse_person(view: dict[str, Any]) -> str:
    """Read the person who was chosen: an empty text when nobody was."""
    return str(given(view, _PERSON) or "")


def tick(name: str, label: str, text: str, *, optional: bool = True) -> Block:
    """Ask for one tick."""
    element = {"type": "checkboxes", "options": [option(text, "yes")]}
    return input_block(name, label, element, optional=optional)


def is_ticked(view: dict[str, Any], name: str) -> bool:
    """Tell whether this is ticked."""
    return bool(given(view, name))


def given(view: dict[str, Any], name: str) -> Raw:
    """Give what one input of a view holds: `None` for one that it does not have."""
    return next(map(raw_of, view["state"]["values"].get(name, {}).values()), None)
