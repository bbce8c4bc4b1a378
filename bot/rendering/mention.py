"""What the author of a reply that mentions the app is asked, in a message that only they see. Pure."""

from collections.abc import Sequence

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.rendering.blocks import Block, actions, literal, section
from bot.rendering.buttons import IN_SIGHT, SEND_CHANGES, value_of
from bot.rendering.calls import safe_name
from bot.sentences import in_mention, on_action
from bot.text.literal import head

Call = tuple[Approval, Action]
"""The record and the action."""
_BUTTON = 75


def can_choose(calls: Sequence[Call]) -> bool:
    """Whether a button for each call fits, and nobody could take one for another."""
    return len(calls) <= IN_SIGHT and len(set(map(_label, calls))) == len(calls)


def words_shown(words: str) -> tuple[str, str]:
    """Give what a button shows besides its call: the words of the reply. They are kept in Redis until it is pressed."""
    return "reply", words


def render_mention(event_id: str, words: str, calls: Sequence[Call], *, has_files: bool) -> list[Block]:
    """Show the words as they would be sent, with a button for each call that they may be about.

    Args:
        event_id: Names the words.
        words: Of the person.
        calls: Those that are open.
        has_files: Whether files are attached to the reply, which are not sent.
    """
    buttons = [
        SEND_CHANGES.drawn(
            f"{action.index}.{event_id}",
            value_of(state, [action.index], *words_shown(words)),
            _label((state, action)) if len(calls) > 1 else "",
        )
        for state, action in calls
    ]
    return [
        section("mention", in_mention.nothing_yet(has_files=has_files)),
        literal("words", words),
        actions("send", buttons),
    ]


def _label(call: Call) -> str:
    _, action = call
    return head(on_action.send_for(action.index, safe_name(action.request) or ""), _BUTTON)
