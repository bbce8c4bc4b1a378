"""The question that Slack asks before a call is approved, where the policy says `confirm: true` or its text misleads."""

from textwrap import indent

from bot.domain.action import Action
from bot.rendering.arguments import Argument, arguments_of
from bot.rendering.blocks import Block, confirm
from bot.rendering.calls import ordered, safe_name
from bot.rendering.cautions import misleads
from bot.sentences import in_text, on_action
from bot.text.literal import units

_ROOM = 300
"""What Slack takes as the text of a question."""


def asks_first(action: Action) -> bool:
    """Tell whether one press is not enough to approve a call."""
    return action.terms.confirm or misleads(action)


def run_question(action: Action) -> Block:
    """Ask whether to run the call. Names the tool and its values, as its card shows them."""
    needed = action.terms.needed("approve")
    after = on_action.one_vote_of(needed) if needed > 1 else ""
    after = _lines(after, in_text.MISLEADS if misleads(action) else "")
    return confirm(run_title(action), _values(action, after), on_action.APPROVE)


def run_title(action: Action) -> str:
    return on_action.run(safe_name(action.request) or "")


def _values(action: Action, after: str) -> str:
    """Write all values, those of the headline first, before this sentence. Where some do not fit, say where they stand."""
    shown = [_written(argument) for argument in arguments_of(ordered(action))] or [in_text.NO_ARGUMENTS]
    whole = _lines(*shown, after)
    while shown and units(whole) > _ROOM:
        shown.pop()
        whole = _lines(*shown, on_action.MORE_ABOVE, after)
    return whole


def _lines(*found: str) -> str:
    return "\n".join(filter(None, found))


def _written(argument: Argument) -> str:
    if "\n" not in argument.text:
        return f"{argument.name}: {argument.text}"
    # Without the indent, what an object has inside would read as arguments of the call.
    return f"{argument.name}:\n{indent(argument.text, '  ')}"
