"""What the person for whom an agent acts reads: how it ended, and the words of those who said no.

No argument is in it: they may be in a place where the call itself was not shown.
"""

from agent_adapter.contract.hitl import RejectDecision
from bot.domain.action import Action
from bot.domain.admission import Told
from bot.domain.approval import Approval
from bot.domain.masking import scrub
from bot.domain.mentions import mention
from bot.rendering.blocks import Block, context, literal_within, quote, section
from bot.rendering.card.outcomes import not_run_words
from bot.rendering.card.title import title
from bot.sentences import in_thread, on_card, words
from bot.text.literal import visible, without_marks
from bot.text.set_apart import mrkdwn_line

_MOST_REASONS = 5
# JSON characters of the words of one person.
_WORDS = 1_200


def told_text(state: Approval, told: Told) -> str:
    """Say in a notification how it ended."""
    return without_marks(_ended(state, told))


def told_blocks(state: Approval, told: Told) -> list[Block]:
    """Draw how it ended. Words of people are shown to the person alone, and not in a thread that others read."""
    where = [
        words.place_name(place.channel)
        for place in state.places.values()
        if not place.channel.startswith("D")
    ]
    blocks = [
        section("told", _ended(state, told)),
        context("where", in_thread.asked_by(state.interrupt.agent, where)),
    ]
    if told.thread_ts is None:
        said = [(action, text) for action in state.actions if (text := _words(action))]
        for action, text in said[:_MOST_REASONS]:
            blocks.append(literal_within(f"a:{action.index}:words", visible(text), _WORDS, quote))
    return blocks


def _ended(state: Approval, told: Told) -> str:
    """Say how it ended. An expiry mentions the person, since nobody else does anything about it."""
    # Two places may ask the same.
    titles = dict.fromkeys(
        mrkdwn_line(title(state, place, has_values=False)) for place in state.places.values()
    )
    called = mention(told.person) if state.status == "expired" else ""
    none_ran = all(not_run_words(state, place) for place in state.places.values())
    return in_thread.told([*titles], called, on_card.not_run(len(state.actions)) if none_ran else "")


def _words(action: Action) -> str:
    recorded = action.recorded
    if recorded is None or not isinstance(recorded.decision, RejectDecision):
        return ""
    return scrub(recorded.changes or recorded.decision.message or "", action.secrets)
