"""What a card's thread shows of an approval for later calls: how wide it is, and every use of it."""

from bot.ids import REVOKE, action_id
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, actions, button, context, literal, section, when, who
from bot.rendering.rows import safe_name
from bot.rendering.text import clip, one_line
from bot.state import Action, ApprovalState
from bot.sticky import StickyApproval

SHOWN_USES = 20
_CALL = 160
_SAME = {"arguments": "with the same arguments", "tool": "whatever their arguments are"}
_REASONS = {
    "time": "its time is over",
    "uses": "it was used up",
    "went_back": "the server went back to an older state",
}


def call_words(action: Action) -> str:
    """Write a call's arguments in one line, as people may see them."""
    return clip(one_line("  ".join(argument_lines(action.shown(on_card=True)))), _CALL)


def ledger_text(state: ApprovalState, index: int) -> str:
    """Say what was approved for later calls, and how far it is used: bot words only."""
    approval = state.sticky[index]
    return f"{given_words(state, index)} {used_words(approval)}"


def ledger_blocks(state: ApprovalState, index: int) -> list[Block]:
    """Draw what was approved for later calls, every use of it, and how to revoke it."""
    approval = state.sticky[index]
    blocks = [section("given", given_words(state, index)), *name_blocks("name", state.actions[index])]
    blocks.append(context("used", used_words(approval)))
    blocks += _use_blocks(approval)
    if approval.ended is None:
        blocks.append(actions("revoke", [revoke_button(state, index)]))
    return blocks


def given_words(state: ApprovalState, index: int) -> str:
    """Say what was approved for later calls, and by whom."""
    approval, action = state.sticky[index], state.actions[index]
    grant, name = approval.grant, safe_name(action.request)
    tool = f"`{name}`" if name else "the tool named below"
    where = "in the same run" if grant.scope == "run" else f"in every run of agent `{state.interrupt.agent}`"
    recorded = state.recorded[index]
    by = who(recorded.decided_by) if recorded else "Somebody"
    return (
        f"{by} approved later calls of {tool}, too: {_SAME[grant.same]}, {where}, "
        f"until {when(approval.until)}, {_times(grant.uses)} at most."
    )


def used_words(approval: StickyApproval) -> str:
    """Say how far it is used, and whether it is over."""
    used = f"Used {len(approval.uses)} of {approval.grant.uses}." if approval.uses else "Not used yet."
    if (ended := approval.ended) is None:
        return used
    reason = _REASONS.get(ended.by) or f"revoked by {who(ended.by)}"
    return f"{used} *Over* since {when(ended.at)}: {reason}."


def _use_blocks(approval: StickyApproval) -> list[Block]:
    first = max(len(approval.uses) - SHOWN_USES, 0)
    shown = list(enumerate(approval.uses, 1))[first:]
    if not shown:
        return []
    lines = [
        f"{number}. {when(use.at)}" + (f", for {who(use.requested_by)}" if use.requested_by else "")
        for number, use in shown
    ]
    if first:
        lines.insert(0, f"{first} before them are not shown.")
    calls = [f"{number}. {use.call}" for number, use in shown if use.call]
    blocks = [section("uses", "\n".join(lines))]
    return [*blocks, literal("calls", "\n".join(calls))] if calls else blocks


def name_blocks(block_id: str, action: Action) -> list[Block]:
    """Draw a tool's name that does not look like one, as literal text."""
    return [] if safe_name(action.request) else [literal(block_id, one_line(action.request.name))]


def revoke_button(state: ApprovalState, index: int, *, place: int = 0) -> Block:
    """Draw the button that ends it; its place among others tells their ids apart."""
    return button(action_id(REVOKE, f"{index}.{place}"), "Revoke", state.id, style="danger")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
