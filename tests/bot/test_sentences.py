"""Every sentence gets its words, and every green button fits on a phone."""

import ast
from importlib import import_module
from pathlib import Path
from string import Formatter

from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.sentences import in_answer, in_form, on_button, on_card
from bot.text.literal import units
from tests.support import sources


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
    others = [
        on_button.OPEN,
        *(on_button.beside_proposal(verb, "", "", answers=True) for verb in ("agree", "approve", "confirm")),
    ]
    some = [range(49), range(0, 50, 2), range(0, 8, 2)]
    verbs = (in_form.APPROVE, in_form.AGREE_TO, in_form.REJECT)
    several = [on_card.several(verb, found, 50) for verb in verbs for found in (range(50), *some)]
    primary = [button.label for button in BUTTONS if button.style == "primary"]
    assert all(units(label) <= 24 for label in [*primary, *others, *several])


def test_the_titles_of_what_only_one_person_reads_fit_into_slack():
    """24 characters. Every other title is on a view that a test draws."""
    assert all(units(title) <= 24 for title in (in_answer.NOT_DONE, in_answer.RECORDED))
