"""Every language says the same: nothing is missing, nothing is dropped, and everything fits where Slack shows it."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.sentences import on_button, on_card
from bot.sentences.language import CATALOGUES, ENGLISH, kept_for_each_language, language_of, speaking
from bot.text.literal import units
from tests.bot.sentences.catalogue import LANGUAGES, LIMITS, MODULES, OTHERS, module, modules, names, said

ENGLISH_WORDS = re.compile(
    r"\b(approved?|edited|rejected?|respond|withdrawn|expired|decided?|proposal|the|with|of)\b"
)
SAME_IN = {"de": {"Code", "(null)", "null", "«label» · JSON"}}
"""Words that are the same in English and in that language."""
_MARKED = re.compile(r"«.*?»|<[^>]*>")
_TIME_OR_LINK = re.compile(r"<(?:!date\^)?([^|>^]+)[^>]*\|[^>]*>")


def facts(text: str) -> list[str]:
    """What a sentence says of its values: the numbers, and what is marked in the samples."""
    text = _TIME_OR_LINK.sub(r"«\1»", text)
    apart = re.sub(r"(?<=\d)[.,](?=\d{3})", "", text)
    return sorted([*_MARKED.findall(text), *re.findall(r"\d+", _MARKED.sub("", apart))])


def own_words(text: str) -> str:
    """A sentence without the values in it."""
    return re.sub(r"`[^`]*`|\d", "", _MARKED.sub("", text))


def test_every_language_that_a_policy_may_name_has_a_catalogue():
    assert {*LANGUAGES} <= CATALOGUES.keys()


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_the_same_modules(language: str):
    assert modules(language) == MODULES


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_the_same_names_of_the_same_kinds(language: str, name: str):
    assert names(language, name) == names(ENGLISH, name)
    for each in names(ENGLISH, name):
        assert shape(getattr(module(language, name), each)) == shape(getattr(module(ENGLISH, name), each)), (
            each
        )


def shape(found: Any) -> Any:
    """What callers rely on: keys, lengths, parameters and their types; not the words."""
    match found:
        case str():
            return str
        case Mapping():
            return {key: shape(value) for key, value in found.items()}
        case tuple():
            return tuple(map(shape, found))
        case _ if callable(found):
            return [
                (each.name, each.kind, each.annotation, each.default is inspect.Parameter.empty)
                for each in inspect.signature(found).parameters.values()
            ]
    return found


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_drops_or_adds_a_value(language: str):
    """What English says of people, channels, tools, numbers and times, every language says."""
    english, other = dict(said(ENGLISH)), dict(said(language))
    assert english.keys() == other.keys()
    different = {at: (english[at], text) for at, text in other.items() if facts(text) != facts(english[at])}
    assert different == {}


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_is_translated(language: str):
    english = dict(said(ENGLISH))
    same = {
        at: text
        for at, text in said(language)
        if text == english[at] and text not in SAME_IN[language] and re.search("[A-Za-z]{2}", own_words(text))
    }
    assert {at for at in same if not at.startswith("in_digest.standing")} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_a_decision_is_never_called_by_its_english_word(language: str):
    found = {at: text for at, text in said(language) if ENGLISH_WORDS.search(own_words(text))}
    assert {at for at in found if not at.startswith(("in_digest.standing", "in_why.left_out"))} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_a_piece_begins_and_ends_as_it_does_in_english(language: str):
    """Pieces are joined: a space or a comma that is missing would run two words together."""
    english = dict(said(ENGLISH))
    edges = [(at, edge(text), edge(english[at])) for at, text in said(language)]
    assert [found for found in edges if found[1] != found[2]] == []


def edge(text: str) -> tuple[bool, ...]:
    return text[:1].isspace(), text[-1:].isspace(), text.startswith(","), text.endswith(":")


@pytest.mark.parametrize("mark", ["*", "`", "\n"])
@pytest.mark.parametrize("language", OTHERS)
def test_a_sentence_has_the_same_markup(language: str, mark: str):
    english = dict(said(ENGLISH))
    counts = [(at, text.count(mark), english[at].count(mark)) for at, text in said(language)]
    assert [found for found in counts if found[1] != found[2]] == []


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_fits_where_slack_has_little_room(language: str, name: str):
    assert [text for text in texts(language, name) if units(text) > LIMITS[name]] == []


def texts(language: str, name: str) -> list[str]:
    """A sentence with every number that it can have: a request has at most 50 actions, and 64 KB."""
    within, _, sentence = name.partition(".")
    found: str | Mapping[str, str] | Callable[..., str] = getattr(module(language, within), sentence)
    if isinstance(found, str):
        return [found]
    if isinstance(found, Mapping):
        return [*found.values()]
    (parameter,) = inspect.signature(found).parameters
    return [found(**{parameter: number}) for number in (1, 50, *([65_536] if within == "in_text" else []))]


BUTTONS = [found for found in vars(buttons).values() if isinstance(found, Button)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_primary_button_has_at_most_24_characters(language: str):
    """Three buttons stand side by side on a phone."""
    with speaking(language):
        assert on_button.LABELS.keys() == {button.verb for button in BUTTONS}
        others = [*on_button.AS_ASKED.values(), on_button.READ_AND_DECIDE, on_button.ONE_BY_ONE]
        some = [range(49), range(0, 50, 2), range(0, 8, 2)]
        said = (on_card.approve_all, on_card.agree_to_all, on_card.reject_some)
        several = [say(found, 50) for say in said for found in (range(50), *some)]
        several.append(on_card.review(50))
        primary = [button.label for button in BUTTONS if button.style == "primary"]
        assert all(units(label) <= 24 for label in [*primary, *others, *several])


@pytest.mark.parametrize(
    ("locale", "expected"), [("de-DE", "de"), ("de-AT", "de"), ("fr-FR", "en"), ("", "en")]
)
def test_a_locale_that_nobody_translated_reads_english(locale: str, expected: str):
    assert language_of(locale) == expected


def test_what_is_kept_for_a_language_is_in_that_language():
    """Also when Slack says who the reader is while it is written."""
    answers = iter(["en", "de", "de", "de"])

    @kept_for_each_language(maxsize=4)
    def said(_: int) -> str:
        return on_button.LABELS["approve"]

    with speaking(lambda: next(answers)):
        assert said(1) == "Approve"
    with speaking("en"):
        assert said(1) == "Approve"
    with speaking("de"):
        assert said(1) == "Freigeben"
