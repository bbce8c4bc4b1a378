"""Every sentence fits where Slack shows it."""

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest

from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.sentences import in_form, on_button, on_card
from bot.text.literal import units
from tests.support import sources

_TITLES = (
    *("in_answer.NOT_DONE", "in_answer.RECORDED", "in_home.TITLE", "in_home.LISTS"),
    *("in_form.APPROVE_FROM_NOW_ON", "in_form.HAND_OVER", "in_form.NOTHING_TO_AGREE", "in_form.title"),
    "in_form.several",
)
_VIEW_BUTTONS = (
    *("in_form.CLOSE", "in_form.CANCEL", "in_form.APPROVE", "in_form.APPROVE_AS_ASKED"),
    *("in_form.APPROVE_WITH_CHANGES", "in_form.PROPOSE_CHANGE", "in_form.AGREE", "in_form.REJECT"),
    *("in_form.ANSWER", "in_form.SEE_CHANGES", "in_form.ASK_FOR_CHANGES"),
)
_VERBS = (
    "APPROVE",
    "AGREE_TO",
    "REJECT",
    "ANSWER",
    "CHANGES_TO",
    "EDIT",
    "READ",
    "REVIEW",
    "RUN",
    "DETAILS_OF",
)
LIMITS: Mapping[str, int] = {
    **dict.fromkeys((*_TITLES, *_VIEW_BUTTONS), 24),
    **dict.fromkeys(("on_card.NOT_YET", "on_action.APPROVE"), 30),
    "in_text.more_characters": 40,
}
"""How many characters Slack takes where a sentence stands alone: titles and buttons of views, and answers to a question; and
where a text is cut."""


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
    verbs = [[getattr(in_form, verb)] for verb in _VERBS] if within == "in_form" else [[]]
    numbers = (1, 50, *([65_536] if within == "in_text" else []))
    return [found(*verb, number) for verb in verbs for number in numbers]


def gaps(sentence: object) -> int | None:
    """How many words a sentence with gaps needs: `None` for another one."""
    template = getattr(sentence, "__self__", None)
    if not isinstance(template, str):
        return None
    names = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    return len(set(names)) if names[0] else len(names)


def test_every_sentence_with_gaps_gets_as_many_words():
    """A type checker does not count them."""
    wrong = []
    for file in Path("bot").rglob("*.py"):
        tree = sources.parsed(file.read_text())
        imported = {
            each.asname or each.name: getattr(import_module(node.module or "bot"), each.name, None)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("bot.sentences")
            for each in node.names
        }
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=within), attr=name)):
                    sentence = getattr(imported.get(within), name, None)
                case ast.Call(func=ast.Name(id=name)):
                    sentence = imported.get(name)
                case _:
                    continue
            if any(isinstance(each, ast.Starred) for each in node.args):
                continue
            if gaps(sentence) not in {None, len(node.args)} or (gaps(sentence) and node.keywords):
                wrong.append(f"{file}:{node.lineno}")

    assert wrong == []


BUTTONS = [found for found in vars(buttons).values() if isinstance(found, Button)]


def test_a_primary_button_has_at_most_24_characters():
    """Three buttons stand side by side on a phone."""
    assert on_button.LABELS.keys() == {button.verb for button in BUTTONS}
    voted = ("agree", "approve", "confirm")
    others = [on_button.OPEN, *(on_button.beside_proposal(verb, "", "", answers=True) for verb in voted)]
    some = [range(49), range(0, 50, 2), range(0, 8, 2)]
    verbs = (in_form.APPROVE, in_form.AGREE_TO, in_form.REJECT)
    several = [on_card.several(verb, found, 50) for verb in verbs for found in (range(50), *some)]
    primary = [button.label for button in BUTTONS if button.style == "primary"]
    assert all(units(label) <= 24 for label in [*primary, *others, *several])
