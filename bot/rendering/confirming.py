"""The question that Slack asks before a call is approved, where the policy says `confirm: true`."""

from bot.domain.action import Action
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, confirm
from bot.rendering.calls import safe_name
from bot.sentences import on_action
from bot.text.literal import units

_ROOM = 300
"""What Slack takes as the text of a question."""


def run_question(action: Action) -> Block:
    """Ask whether to run the call. Names the tool and its values, as its card shows them."""
    needed = action.terms.needed("approve")
    votes = on_action.one_vote_of(needed) if needed > 1 else ""
    return confirm(run_title(action), _values(action, votes), on_action.APPROVE)


def run_title(action: Action) -> str:
    return on_action.run(safe_name(action.request) or "")


def _values(action: Action, votes: str) -> str:
    """Write all values. Where some do not fit, write whole lines and say that more stands above."""
    lines = argument_lines(action.shown(on_card=True))
    whole = "\n".join([*lines, votes]).rstrip()
    if units(whole) <= _ROOM:
        return whole
    end = "\n".join(filter(None, (on_action.MORE_ABOVE, votes)))
    while lines and units("\n".join([*lines, end])) > _ROOM:
        lines.pop()
    return "\n".join([*lines, end])
