"""What stands beside a card: standing approvals with their uses, remarks, and what the person for whom an agent acts reads.

That person reads no argument: it may be in a place where the call itself was not shown.
"""

from dataclasses import replace

from agent_adapter.contract.hitl import RejectDecision
from bot.domain.action import Action
from bot.domain.admission import Place, Told
from bot.domain.approval import Approval
from bot.domain.masking import scrub
from bot.domain.mentions import mention
from bot.domain.messages import Remark
from bot.domain.standing import StandingApproval
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, actions, context, literal, literal_within, quote, section
from bot.rendering.buttons import REVOKE, value_of
from bot.rendering.calls import safe_name
from bot.rendering.card.outcomes import not_run_words
from bot.rendering.card.title import title
from bot.rendering.subject import subject_of
from bot.sentences import in_thread, on_card, words
from bot.text.literal import clip, one_line, visible, without_marks
from bot.text.set_apart import mrkdwn_line

SHOWN_USES = 20
_CALL = 160
_MOST_REASONS = 5
# JSON characters of the words of one person.
_WORDS = 1_200


def call_words(action: Action) -> str:
    return clip(one_line("  ".join(argument_lines(action.shown(on_card=True)))), _CALL)


def standing_text(state: Approval, index: int) -> str:
    return without_marks(f"{given_words(state, index)} {used_words(state.standing[index])}")


def standing_blocks(state: Approval, index: int) -> list[Block]:
    """Draw what was approved for later calls, every use of it, and how to revoke it."""
    approval = state.standing[index]
    blocks = [section("given", given_words(state, index)), *name_blocks("name", state.actions[index])]
    blocks.append(context("used", used_words(approval)))
    first = max(len(approval.uses) - SHOWN_USES, 0)
    shown = list(enumerate(approval.uses, 1))[first:]
    lines = [in_thread.earlier_uses(first)] if first else []
    for number, use in shown:
        lines.append(in_thread.use(number, use.at, mention(use.requested_by) if use.requested_by else ""))
    if lines:
        blocks.append(section("uses", "\n".join(lines)))
    if calls := [f"{number}. {use.call}" for number, use in shown if use.call]:
        blocks.append(literal("calls", "\n".join(calls)))
    if approval.ended is None:
        blocks.append(actions("revoke", [revoke_button(state, index)]))
    return blocks


def given_words(state: Approval, index: int) -> str:
    approval, action = state.standing[index], state.actions[index]
    terms, name = approval.terms, safe_name(action.request)
    recorded = state.recorded[index]
    is_one_run = terms.scope == "run"
    return in_thread.standing_given(
        mention(recorded.decided_by) if recorded else words.SOMEBODY,
        f"`{name}`" if name else in_thread.TOOL_BELOW,
        terms.same,
        in_thread.SAME_RUN if is_one_run else in_thread.in_every_run(state.interrupt.agent),
        approval.until,
        terms.uses,
    )


def used_words(approval: StandingApproval) -> str:
    used = in_thread.used(len(approval.uses), approval.terms.uses)
    if (ended := approval.ended) is None:
        return used
    return f"{used} {in_thread.ended(ended.at, ended.by, mention(ended.by))}"


def name_blocks(block_id: str, action: Action) -> list[Block]:
    """Draw a tool's name that does not look like one, as literal text."""
    return [] if safe_name(action.request) else [literal(block_id, one_line(action.request.name))]


def revoke_button(state: Approval, index: int, *, place: int = 0) -> Block:
    """Draw the button that ends it; its place among others tells their ids apart."""
    return REVOKE.drawn(f"{index}.{place}", value_of(state, [index]))


def told_text(state: Approval, told: Told) -> str:
    return without_marks(_ended(state, told))


def told_blocks(state: Approval, told: Told) -> list[Block]:
    """Draw how it ended. Words of people are shown to the person alone, and not in a thread that others read."""
    channels = [place.channel for place in state.places.values() if not place.channel.startswith("D")]
    where = in_thread.asked_by(state.interrupt.agent, [*map(words.place_name, channels)])
    blocks = [section("told", _ended(state, told)), context("where", where)]
    if told.thread_ts is None:
        said = [(action, text) for action in state.actions if (text := _words(action))]
        for action, text in said[:_MOST_REASONS]:
            blocks.append(literal_within(f"a:{action.index}:words", visible(text), _WORDS, quote))
    return blocks


def _ended(state: Approval, told: Told) -> str:
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


def remark_text(state: Approval, place: Place, remark: Remark) -> str:
    """Write a remark as mrkdwn. It names what a place shows of the calls, as they were asked: it is never changed."""
    named = [index for index in remark.actions if index in place.actions] or place.actions
    calls = [replace(state.actions[index], recorded=None, votes=(), stricter=None) for index in named]
    about = mrkdwn_line(subject_of(calls))
    person = mention(remark.by) if remark.by else words.SOMEBODY
    called = [mention(name) for name in remark.mentions]
    match remark.kind:
        case "remind":
            return in_thread.reminder(about, called)
        case "escalate":
            return in_thread.escalated(about, called, remark.also_in)
        case "propose":
            return in_thread.proposed(person, about, called, remark.also_in)
        case "extend":
            return in_thread.extended(person, about, remark.until)
        case "hand_over":
            return in_thread.handed_over(person, about, called)
