"""A question to people: a call that they can only answer. What it asks, and which answers it offers. Pure."""

from typing import Any

from bot.domain.action import Action

TEXTS = ("question", "prompt", "message", "text")
_MOST = 1_000
"""The most answers of a choice. Of more, none is offered, and any answer is typed."""
OPTIONS = ("options", "choices")
"""The arguments in which a question offers answers."""


def question_args(action: Action) -> dict[str, Any]:
    """Give the arguments of a question as a card shows them. A program's own pause has all of them in one, `value`."""
    args = action.shown(on_card=True)
    inner = args.get("value")
    return inner if len(args) == 1 and isinstance(inner, dict) else args


def question_name(action: Action) -> str | None:
    """Name the argument that holds the text of a question: by its name, or the first text. `None` where people decide otherwise."""
    if not action.allows("respond") or action.allows("approve") or action.allows("edit"):
        return None
    args = question_args(action)
    return next(
        (name for name in (*TEXTS, *args) if isinstance(text := args.get(name), str) and text.strip()), None
    )


def question_of(action: Action) -> str | None:
    """Give the text that a call asks people, as the agent wrote it; `None` where people do more than answer."""
    name = question_name(action)
    return None if name is None else str(question_args(action)[name])


def options_of(action: Action) -> tuple[str, ...]:
    """Give the answers that a question offers, as the agent wrote them: different texts. Empty where it offers none."""
    args = question_args(action) if question_name(action) else {}
    return only_options(action) or _texts(next((args[name] for name in OPTIONS if name in args), None))


def only_options(action: Action) -> tuple[str, ...]:
    """Give the only answers that a question takes, by the `enum` of `answer` in its schema. Empty where it takes any."""
    match action.config.args_schema if question_name(action) else None:
        case {"properties": {"answer": {"enum": offered}}}:
            return _texts(offered)
    return ()


def _texts(offered: Any) -> tuple[str, ...]:
    are_texts = isinstance(offered, list) and all(isinstance(each, str) and each.strip() for each in offered)
    return tuple(offered) if are_texts and 1 < len({*offered}) == len(offered) <= _MOST else ()
