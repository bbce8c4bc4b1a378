"""Every sentence of a language, said with sample values."""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from bot.sentences.kinds import Lost
from bot.sentences.language import CATALOGUES, ENGLISH, Language


def modules(language: str) -> list[str]:
    return sorted(found.name for found in iter_modules(import_module(CATALOGUES[language]).__path__))


MODULES = modules(ENGLISH)
LANGUAGES: tuple[str, ...] = get_args(Language)
OTHERS = tuple(each for each in LANGUAGES if each != ENGLISH)

_TITLES = (
    *("in_answer.NOT_DONE", "in_answer.RECORDED", "in_answer.REVOKED", "in_home.TITLE", "in_list.TITLE"),
    *(
        "in_why.TITLE",
        "in_why.VIEW_TITLE",
        "in_form.REJECT_ALL",
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
    *("in_form.CONTINUE", "in_form.SEE_CHANGES", "in_form.ASK_FOR_CHANGES", "in_form.reject_several"),
    *("in_form.approve_several", "in_form.agree_several"),
)
_OPTIONS = (
    *("in_form.RUN_IT", "in_form.PROPOSE_AGAIN", "in_form.REJECT_LATER_CALLS", "in_form.SAME_ARGUMENTS"),
    *("in_form.ANY_ARGUMENTS", "in_form.THIS_RUN", "in_home.ALL_AGENTS", "in_home.ALL_TOOLS"),
)
LIMITS: Mapping[str, int] = {
    **dict.fromkeys((*_TITLES, *_VIEW_BUTTONS), 24),
    **dict.fromkeys(("on_card.approve", "on_card.agree", "on_card.NOT_YET", "on_action.APPROVE"), 30),
    **dict.fromkeys(
        (*_OPTIONS, "on_button.LABELS", "in_home.LISTS", "in_home.OPEN_CARD", "in_home.WHAT_HAPPENED"), 75
    ),
    **dict.fromkeys(("on_card.approve_calls", "on_card.agree_to_calls"), 100),
    "in_text.more_characters": 40,
}
"""How many characters Slack takes where a sentence stands alone: titles and buttons of views, answers to a question,
choices and buttons, and titles of questions; and where a text is cut."""

_DECISIONS = ("approve", "edit", "reject", "respond", "another one")
_LOST = tuple(
    Lost("<@UONE>", (0, 1), decision, is_vote) for decision in _DECISIONS for is_vote in (False, True)
)
_WORDS: Mapping[str, tuple[Any, ...]] = {
    "by": ("time", "uses", "went_back", "<@UBY>"),
    "decision": _DECISIONS,
    "decisions": (_LOST, [*_LOST] * 9),
    "ends": ({"decided": 2, "expired": 3, "withdrawn": 4, "refused": 5},),
    "event": ("claimed", "handed_over", "extended", "sticky_given", "sticky_ended", "uncounted", "published"),
    "facts": (
        {"limit": 1, "format": "email", "multiple_of": 7, "pattern": "«a+»", "types": ["null", "integer"]},
    ),
    "it": _LOST,
    "kind": (*_DECISIONS[:4], "proposal", "another one"),
    "offered": (_DECISIONS[:1], _DECISIONS[1:4]),
    "outcome": ("done", "failed", "another one"),
    "outcomes": ({"approve": 2, "edit": 1, "reject": 3, "changes": 4, "respond": 5, "expired": 6},),
    "same": ("arguments", "tool"),
    "status": ("done", "failed"),
    "total": (2_468,),
}
"""What callers choose from, by the name of the parameter."""
_WORDS_OF: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "in_answer.already_ended": {"status": ("expired", "withdrawn", "refused", "decided", "another one")},
    "in_answer.outsider": {"kind": ("bot", "stranger", "guest")},
    "in_digest.shares": {"kinds": ([("approve", 1_234), ("edit", 1)],)},
    "in_digest.standing": {"same": ("arguments",)},
    "in_field.not_allowed": {"kind": ("type", "minLength", "maximum", "pattern", "multipleOf", "format")},
    "in_field.type_words": {"name": ("string", "null", "another one", 5)},
    "in_text.is_of": {"char": ("л",)},
    "in_text.looks_like": {"char": ("л",)},
    "in_why.decided": {"how": ("click", "form", "standing", "silence", "")},
    "on_action.outcome": {"status": ("Approved",)},
    "on_action.outcome_by_silence": {"status": ("Approved",)},
    "on_action.outcome_by_standing": {"status": ("Approved",)},
    "on_action.folded": {"outcome": ("«outcome»",)},
    "on_card.calls": {"total": (1, 3, 7), "still": (1, 2, 7), "tools": (1, 3)},
}
"""The same, where a parameter of that name is another thing."""
_MOMENT = datetime(2026, 11, 23, 12, 10, tzinfo=UTC)


@cache
def module(language: str, name: str) -> ModuleType:
    return import_module(f"{CATALOGUES[language]}.{name}")


@cache
def names(language: str, name: str) -> tuple[str, ...]:
    """The public names of a module, without those that it imports."""
    tree = ast.parse(Path(inspect.getsourcefile(module(language, name)) or "").read_text(encoding="utf-8"))
    found = (name for node in tree.body for name in _named(node))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def _named(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (
                name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            )
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def said(language: str) -> Iterator[tuple[str, str]]:
    """Every sentence of a language, each with where it stands. Languages say the same things at the same places."""
    for name in MODULES:
        for sentence in names(language, name):
            yield from _said(f"{name}.{sentence}", getattr(module(language, name), sentence))


def _said(at: str, found: Any) -> Iterator[tuple[str, str]]:
    match found:
        case str():
            yield at, found
        case Mapping():
            for key, value in found.items():
                yield from _said(f"{at}[{key}]", value)
        case tuple():
            for place, value in enumerate(found):
                yield from _said(f"{at}[{place}]", value)
        case _ if callable(found):
            for number, arguments in enumerate(samples(at, found)):
                yield f"{at}({number})", found(**arguments)


def samples(at: str, sentence: Callable[..., str]) -> list[dict[str, Any]]:
    parameters = inspect.signature(sentence).parameters.values()
    offered = {each.name: _offered(at, each) for each in parameters}
    return [dict(zip(offered, values, strict=True)) for values in product(*offered.values())]


def _offered(at: str, parameter: inspect.Parameter) -> tuple[Any, ...]:
    words = {**_WORDS, **_WORDS_OF.get(at, {})}
    return words.get(parameter.name) or _of_type(parameter.name, parameter.annotation)


def _of_type(name: str, kind: Any) -> tuple[Any, ...]:
    if kind is int:
        return (1, 3, 12)
    if kind is type(None):
        return (None,)
    if kind is bool:
        return (True, False)
    if kind is str:
        return (f"«{name}»",)
    if kind is datetime:
        return (_MOMENT,)
    if kind is timedelta:
        return (timedelta(hours=25, minutes=1), timedelta(minutes=30))
    inner = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        return tuple(value for each in inner for value in _of_type(name, each))
    if get_origin(kind) is Literal:
        return inner
    if inner == (int,):
        return [0], [0, 1, 2, 6]
    if inner == (str,):
        return ["«a»"], ["«a»", "«b»"]
    if inner == (tuple[str, int],):
        return [], [("«t»", 3)]
    raise AssertionError(f"no sample of {name}: {kind}")
