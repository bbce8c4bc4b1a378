"""*Why was this approved?*: the record of a card in words, with what was shown and what was allowed to run."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.audit_entry import AuditEntry
from bot.domain.mentions import mention
from bot.domain.person import is_person
from bot.rendering.blocks import Block, context, divider, json_size, literal, literal_within, section
from bot.rendering.calls import call_blocks
from bot.rendering.card.outcomes import is_void, outcome_line, outcome_text
from bot.rendering.card.ran import outcome_blocks
from bot.rendering.modal.view import modal
from bot.sentences import in_why
from bot.text.literal import clip, mrkdwn, one_line, pieces, visible
from bot.text.names import plain_name

MOST_BLOCKS, MOST_JSON = 90, 200_000
"""Slack takes 100 blocks and 250 kB in one view."""
MOST_LINES = 60
_WORDS = 1_500
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def render_why_view(
    interrupt_id: str,
    state: Approval | None,
    indices: Sequence[int],
    entries: Sequence[AuditEntry],
    channels: Collection[str] = (),
) -> Block:
    """Draw why something was approved.

    Args:
        interrupt_id: Which request.
        state: Its record, while there is one.
        indices: The actions that the message shows.
        entries: What the audit trail says about it, oldest first.
        channels: Where the person reads cards. Once the record is gone, only words that cards showed there are shown.
    """
    if state:
        calls = [_call_blocks(state, state.actions[index]) for index in indices]
        blocks: list[Block] = []
    else:
        calls, blocks = _gone_calls(entries, channels), [section("gone", in_why.NOT_HELD)]
    happened = _happened(entries)
    fitting, left = _fitting(calls, MOST_BLOCKS - len(blocks) - len(happened))
    blocks += [block for call in fitting for block in call]
    if left:
        blocks.append(context("left", in_why.left_out(left, interrupt_id)))
    return modal("why", in_why.TITLE, [*blocks, *happened], None)


def _call_blocks(state: Approval, action: Action) -> list[Block]:
    """Draw an action as its card showed it, and what was decided about it."""
    at, recorded = f"why:{action.index}", action.recorded
    blocks = [*call_blocks(action), context(f"{at}:outcome", outcome_line(state, action))]
    if recorded:
        said = [in_why.rule(_name(action.terms.rule), recorded.policy or state.admission.policy_version)]
        if recorded.decision.type == "approve" and not is_void(state):
            said.append(in_why.AS_SHOWN)
        blocks.append(context(f"{at}:rule", " ".join(said)))
    if words := outcome_text(action):
        blocks.append(literal_within(f"{at}:words", words, _WORDS))
    return [*blocks, *outcome_blocks(state, action.index), divider(f"{at}:end")]


def _gone_calls(entries: Iterable[AuditEntry], channels: Collection[str]) -> list[list[Block]]:
    """Draw what the audit trail knows about the decision of each action."""
    decided = {entry["index"]: entry for entry in entries if entry["event"] == "decided"}
    return [_gone_call(index, entry, channels) for index, entry in decided.items() if index.isdecimal()]


def _gone_call(index: str, entry: AuditEntry, channels: Collection[str]) -> list[Block]:
    at, tool = f"why:{index}", entry["tool"]
    is_plain = _TOOL.fullmatch(tool) is not None
    blocks = [section(f"{at}:tool", in_why.tool(int(index) + 1, tool if is_plain else ""))]
    if tool and not is_plain:
        blocks.append(literal(f"{at}:name", one_line(clip(tool, 300))))
    said = [in_why.rule(_name(entry["rule"]), _digest(entry["policy"]))]
    if asked := _digest(entry["asked"]):
        said.append(in_why.digests(asked, _digest(entry["decided"])))
    blocks.append(context(f"{at}:rule", " ".join(said)))
    if words := _words_for(entry, channels):
        blocks.append(literal_within(f"{at}:words", visible(words), _WORDS))
    return blocks


def _words_for(entry: AuditEntry, channels: Collection[str]) -> str:
    """Give the reason or the note of a decision, where one of the channels was asked about this call."""
    is_shown = any(channel in channels for _, asked in entry.asked_in for channel in asked)
    return (entry["reason"] or entry["note"]) if is_shown else ""


def _fitting(calls: Sequence[list[Block]], room: int) -> tuple[list[list[Block]], int]:
    """Give the first calls that there is room for, and how many are left out."""
    size = 0
    for number, call in enumerate(calls):
        room, size = room - len(call), size + json_size(call)
        if room < 0 or size > MOST_JSON:
            return list(calls[:number]), len(calls) - number
    return list(calls), 0


def _happened(entries: Sequence[AuditEntry]) -> list[Block]:
    """Draw what happened, line by line."""
    if not entries:
        return []
    several = len({entry["index"] for entry in entries} - {""}) > 1
    lines = [_line(entry, several=several) for entry in entries[:MOST_LINES]]
    blocks = [section("happened", in_why.HAPPENED)]
    blocks += [
        context(f"happened:{number}", piece) for number, piece in enumerate(pieces("\n".join(lines), 2_000))
    ]
    if more := len(entries) - len(lines):
        blocks.append(context("happened:left", in_why.left_out(more, entries[0]["id"])))
    return blocks


def _line(entry: AuditEntry, *, several: bool) -> str:
    index = entry["index"]
    number = int(index) + 1 if several and index.isdecimal() else None
    return in_why.line(entry.at, number, _words(entry))


def _words(entry: AuditEntry) -> str:
    waited = entry.said.get("waited")
    after = timedelta(milliseconds=waited) if isinstance(waited, int) else None
    match entry["event"]:
        case "admitted":
            return in_why.asked(_digest(entry["policy"]))
        case "decided":
            return in_why.decided(_who(entry), entry["decision"], entry["how"], after)
        case "counted":
            return in_why.voted(_who(entry), entry["decision"], after)
        case "proposed":
            return in_why.proposed(_who(entry))
        case "reported":
            return in_why.reported(entry["outcome"])
        case event:
            return in_why.other(event, _who(entry), mention(entry["to"]) if entry["to"] else "")


def _who(entry: AuditEntry) -> str:
    by = entry["by"].split()
    people = [mention(name) for name in by if is_person(name)]
    if not people:
        return mention(entry["by"]) if entry["by"] else ""
    return " ".join([*people[:-1], in_why.named(people[-1], plain_name(entry["name"]))])


def _name(rule: str) -> str:
    return f"*{mrkdwn(clip(one_line(rule), 80))}*" if rule else ""


def _digest(text: str) -> str:
    """Give a digest or a version; nothing where it is another text."""
    return text if _TOOL.fullmatch(text) else ""
