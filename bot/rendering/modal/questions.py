"""The questions that several forms ask, each beside the reading of its answer."""

from collections.abc import Sequence
from typing import Any

from bot.domain.action import Action
from bot.domain.care import ToType
from bot.domain.options import only_options, options_of
from bot.rendering.blocks import Block, plain
from bot.rendering.confirming import run_title
from bot.rendering.modal.field_types import Question
from bot.rendering.modal.inputs import element, raw_of
from bot.sentences import in_form
from bot.text.literal import key_text

MAX_REASON, MAX_ANSWER = 2_000, 3_000
TYPED, CONFIRM = "typed", "confirm"
_WORDS, _TEXT = "words", "text"
_ALWAYS = "always"
_PERSON = "person"
_CHOICE = "reason"
_NOTE = "note"
_CHANGES = "changes"
_OPTION = "option"


def approval_inputs(call: Action) -> list[Block]:
    """Ask what people are asked before they approve: to type something, or to say once more that it may run.

    The policy asks for it.
    """
    if call.is_high_risk:
        return [_typed_input(call.to_type)]
    return [confirm_input(run_title(call))] if call.terms.confirm else []


def _typed_input(typed: ToType) -> Block:
    return {
        "type": "input",
        "block_id": TYPED,
        "label": plain(in_form.type_value(typed.text)),
        "hint": plain(in_form.value_of(key_text(typed.name) if typed.name else "")),
        "element": {"type": "plain_text_input", "action_id": _TEXT, "max_length": 100},
        "optional": False,
    }


def confirm_input(label: str) -> Block:
    """Ask once more whether something may run."""
    box = {"text": plain(in_form.RUN_IT), "value": "yes"}
    return {
        "type": "input",
        "block_id": CONFIRM,
        "label": plain(label),
        "element": {"type": "checkboxes", "action_id": CONFIRM, "options": [box]},
        "optional": False,
    }


def parse_confirm(view: dict[str, Any]) -> bool:
    """Tell whether a person said once more that the call may run."""
    return bool(view["state"]["values"].get(CONFIRM, {}).get(CONFIRM, {}).get("selected_options"))


def parse_typed(view: dict[str, Any]) -> str:
    """Read the value that was typed. Phones add a space behind a word."""
    value = view["state"]["values"].get(TYPED, {}).get(_TEXT, {}).get("value")
    return str(value or "").strip()


def reason_inputs(offered: Sequence[str]) -> list[Block]:
    """Ask for the reason, which may stay empty: one of those that the policy offers, words of one's own, or both."""
    own = words_input(in_form.OWN_REASON if offered else in_form.REASON, most=MAX_REASON, optional=True)
    return [_choice_input(offered), own] if offered else [own]


def _choice_input(offered: Sequence[str]) -> Block:
    options = [{"text": plain(reason), "value": reason} for reason in offered]
    element = {
        "type": "static_select",
        "action_id": _CHOICE,
        "placeholder": plain(in_form.CHOOSE_REASON),
        "options": options,
    }
    return {
        "type": "input",
        "block_id": _CHOICE,
        "label": plain(in_form.REASON),
        "element": element,
        "optional": True,
    }


def parse_reason(view: dict[str, Any]) -> str | None:
    """Read the reason that was chosen, typed, or both: `None` for neither."""
    chosen = view["state"]["values"].get(_CHOICE, {}).get(_CHOICE, {}).get("selected_option") or {}
    return "\n".join(filter(None, (chosen.get("value"), parse_words(view)))) or None


def note_input() -> Block:
    """Ask for a note beside an approval, which may stay empty."""
    return _words_input(_NOTE, in_form.NOTE, most=MAX_REASON, optional=True)


def parse_note(view: dict[str, Any]) -> str | None:
    """Read the note that was typed: `None` for nothing or only spaces."""
    return _typed(view, _NOTE, _NOTE)


def words_input(label: str, *, most: int, optional: bool) -> Block:
    """Ask for words."""
    return _words_input(_WORDS, label, most=most, optional=optional, action=_TEXT)


def _words_input(name: str, label: str, *, most: int, optional: bool, action: str = "") -> Block:
    element = {"type": "plain_text_input", "action_id": action or name, "multiline": True, "max_length": most}
    return {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


def answer_inputs(action: Action) -> list[Block]:
    """Ask for an answer: one of those that the question offers, or words of one's own where it takes any."""
    offered = options_of(action)
    own = words_input(
        in_form.OTHER_ANSWER if offered else in_form.YOUR_ANSWER, most=MAX_ANSWER, optional=bool(offered)
    )
    if not offered:
        return [own]
    is_only = bool(only_options(action))
    choice = {
        "type": "input",
        "block_id": _OPTION,
        "label": plain(in_form.YOUR_ANSWER),
        "element": element("choice", Question(options=offered), _OPTION, None),
        "optional": not is_only,
    }
    return [choice] if is_only else [choice, own]


def parse_answer(action: Action, view: dict[str, Any]) -> str | None:
    """Read the answer that was chosen or typed: `None` for neither, for both, and for a choice that is not offered."""
    chosen = raw_of(view["state"]["values"].get(_OPTION, {}).get(_OPTION, {}))
    typed, offered = parse_words(view), options_of(action)
    if not isinstance(chosen, str):
        return typed
    number = int(chosen) if chosen.isdecimal() else len(offered)
    return offered[number] if typed is None and number < len(offered) else None


def parse_words(view: dict[str, Any]) -> str | None:
    """Read the words that were typed: `None` for nothing or only spaces."""
    return _typed(view, _WORDS, _TEXT)


def _typed(view: dict[str, Any], block: str, action: str) -> str | None:
    value = view["state"]["values"].get(block, {}).get(action, {}).get("value")
    return value if value and value.strip() else None


def always_input() -> Block:
    """Ask whether a rejection also counts for later calls."""
    return _tick(_ALWAYS, in_form.LATER_CALLS, in_form.REJECT_LATER_CALLS)


def parse_always(view: dict[str, Any]) -> bool:
    """Tell whether the decision also counts for later calls."""
    return _is_ticked(view, _ALWAYS)


def changes_input() -> Block:
    """Ask whether a rejection asks for another proposal."""
    return _tick(_CHANGES, in_form.WHAT_THEN, in_form.PROPOSE_AGAIN)


def parse_changes(view: dict[str, Any]) -> bool:
    """Tell whether a rejection asks for another proposal."""
    return _is_ticked(view, _CHANGES)


def person_input(label: str) -> Block:
    """Ask for a person of the workspace."""
    element = {"type": "users_select", "action_id": _PERSON, "placeholder": plain(in_form.CHOOSE_PERSON)}
    return {"type": "input", "block_id": _PERSON, "label": plain(label), "element": element}


def parse_person(view: dict[str, Any]) -> str:
    """Read the person who was chosen: an empty text when nobody was."""
    return view["state"]["values"].get(_PERSON, {}).get(_PERSON, {}).get("selected_user") or ""


def _tick(name: str, label: str, text: str) -> Block:
    box = {"text": plain(text), "value": "yes"}
    return {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": {"type": "checkboxes", "action_id": name, "options": [box]},
        "optional": True,
    }


def _is_ticked(view: dict[str, Any], name: str) -> bool:
    return bool(view["state"]["values"].get(name, {}).get(name, {}).get("selected_options"))
