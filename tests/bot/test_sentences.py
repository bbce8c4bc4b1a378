"""Every sentence fits where Slack shows it."""

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module

import pytest

from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.sentences import on_button, on_card
from bot.text.literal import units

_TITLES = (
    *("in_answer.NOT_DONE", "in_answer.RECORDED", "in_answer.REVOKED", "in_home.TITLE", "in_list.TITLE"),
    *(
        "in_form.APPROVE_FROM_NOW_ON",
        "in_form.HAND_OVER",
        "in_form.NOTHING_TO_AGREE",
        "in_form.title",
    ),
    *("in_form.approve_title", "in_form.edit_title", "in_form.reject_title", "in_form.changes_title"),
    *("in_form.answer_title", "in_form.agree_title", "in_form.read_title", "in_form.check_title"),
    *("in_form.review_title", "in_form.read_several"),
)
_VIEW_BUTTONS = (
    *("in_form.CLOSE", "in_form.CANCEL", "in_form.APPROVE", "in_form.APPROVE_AS_ASKED"),
    *(
        "in_form.APPROVE_WITH_CHANGES",
        "in_form.PROPOSE_CHANGE",
        "in_form.AGREE",
        "in_form.REJECT",
        "in_form.ANSWER",
    ),
    *("in_form.SEE_CHANGES", "in_form.ASK_FOR_CHANGES", "in_form.reject_several"),
    *("in_form.approve_several", "in_form.agree_several"),
)
LIMITS: Mapping[str, int] = {
    **dict.fromkeys((*_TITLES, *_VIEW_BUTTONS), 24),
    **dict.fromkeys(("on_card.approve", "on_card.agree", "on_card.NOT_YET", "on_action.APPROVE"), 30),
    **dict.fromkeys(("on_card.approve_calls", "on_card.agree_to_calls"), 100),
    "in_text.more_characters": 40,
}
"""How many characters Slack takes where a sentence stands alone: titles and buttons of views, answers to a question, and
titles of questions; and where a text is cut."""


@pytest.mark.parametrize("name", LIMITS)
def test_a_sentence_fits_where_slack_has_little_room(name: str):
    assert [text for text in texts(name) if units(text) > LIMITS[name]] == []


def texts(name: str) -> list[str]:
    """A sentence with every number that it can have: a request has at most 50 actions, and 64 KB."""
    within, _, sentence = name.partition(".")
    found: str | Mapping[str, str] | Callable[..., str] = getattr(
        import_module(f"bot.sentences.{within}"), sentence
    )
    if isinstance(found, str):
        return [found]
    if isinstance(found, Mapping):
        return [*found.values()]
    (parameter,) = inspect.signature(found).parameters
    return [found(**{parameter: number}) for number in (1, 50, *([65_536] if within == "in_text" else []))]


BUTTONS = [found for found in vars(buttons).values() if isinstance(found, Button)]


def test_a_primary_button_has_at_most_24_characters():
    """Three buttons stand side by side on a phone."""
    assert on_button.LABELS.keys() == {button.verb for button in BUTTONS}
    others = [on_button.OPEN, *(on_button.beside_change(verb, "", "") for verb in ("approve", "confirm"))]
    some = [range(49), range(0, 50, 2), range(0, 8, 2)]
    said = (on_card.approve_all, on_card.agree_to_all, on_card.reject_some)
    several = [say(found, 50) for say in said for found in (range(50), *some)]
    primary = [button.label for button in BUTTONS if button.style == "primary"]
    assert all(units(label) <= 24 for label in [*primary, *others, *several])
