"""What a card's thread shows of an approval for later calls: how wide it is, and every use of it."""

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.standing import StandingApproval
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, actions, context, literal, section
from bot.rendering.buttons import REVOKE, value_of
from bot.rendering.calls import safe_name
from bot.sentences import in_thread, words
from bot.text.literal import clip, one_line, without_marks

SHOWN_USES = 20
_CALL = 160


def call_words(action: Action) -> str:
    """Write a call's arguments in one line, as people may see them."""
    return clip(one_line("  ".join(argument_lines(action.shown(on_card=True)))), _CALL)


def standing_text(state: Approval, index: int) -> str:
    """Say what was approved for later calls, and how far it is used: bot words only."""
    return without_marks(f"{given_words(state, index)} {used_words(state.standing[index])}")


def standing_blocks(state: Approval, index: int) -> list[Block]:
    """Draw what was approved for later calls, every use of it, and how to revoke it."""
    approval = state.standing[index]
    blocks = [section("given", given_words(state, index)), *name_blocks("name", state.actions[index])]
    blocks.append(context("used", used_words(approval)))
    blocks += _use_blocks(approval)
    if approval.ended is None:
        blocks.append(actions("revoke", [revoke_button(state, index)]))
    return blocks


def given_words(state: Approval, index: int) -> str:
    """Say what was approved for later calls, and by whom."""
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
    """Say how far it is used, and whether it has ended."""
    used = in_thread.used(len(approval.uses), approval.terms.uses)
    if (ended := approval.ended) is None:
        return used
    return f"{used} {in_thread.ended(ended.at, ended.by, mention(ended.by))}"


def _use_blocks(approval: StandingApproval) -> list[Block]:
    first = max(len(approval.uses) - SHOWN_USES, 0)
    shown = list(enumerate(approval.uses, 1))[first:]
    if not shown:
        return []
    lines = [
        in_thread.use(number, use.at, mention(use.requested_by) if use.requested_by else "")
        for number, use in shown
    ]
    if first:
        lines.insert(0, in_thread.earlier_uses(first))
    calls = [f"{number}. {use.call}" for number, use in shown if use.call]
    blocks = [section("uses", "\n".join(lines))]
    return [*blocks, literal("calls", "\n".join(calls))] if calls else blocks


def name_blocks(block_id: str, action: Action) -> list[Block]:
    """Draw a tool's name that does not look like one, as literal text."""
    return [] if safe_name(action.request) else [literal(block_id, one_line(action.request.name))]


def revoke_button(state: Approval, index: int, *, place: int = 0) -> Block:
    """Draw the button that ends it; its place among others tells their ids apart."""
    return REVOKE.drawn(f"{index}.{place}", value_of(state, [index]))
