"""*Why was this approved?*: the record of a card in words, with what was shown and what was allowed to run."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.audit_entry import AuditEntry
from bot.domain.masking import hide
from bot.domain.mentions import mention
from bot.domain.person import is_person
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, context, divider, json_size, literal, literal_within, section
from bot.rendering.calls import call_blocks
from bot.rendering.card.folded import decided_call
from bot.rendering.card.header import run_words
from bot.rendering.card.outcomes import is_edited, is_void, outcome_line, outcome_text
from bot.rendering.card.ran import outcome_blocks
from bot.rendering.modal.view import modal
from bot.sentences import in_why
from bot.text.literal import clip, mrkdwn, one_line, pieces, visible
from bot.text.names import plain_name

MOST_BLOCKS, MOST_JSON = 90, 200_000
"""Slack takes 100 blocks and 250 kB in one view."""
MOST_LINES = 60
_WORDS, _WHOLE = 1_500, 20_000
"""JSON characters of the words about a call, and of a call as it was changed."""
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OPERATOR = re.compile(r"[A-Za-z0-9_.-]{1,40}@[A-Za-z0-9_.-]{1,80}")
"""Who runs a command. Anything else could be words that somebody wrote into Redis, and these lines are the bot's."""
_NUMBER = re.compile(r"[0-9]{1,6}")


def render_why_view(
    interrupt_id: str,
    state: Approval | None,
    indices: Sequence[int],
    entries: Sequence[AuditEntry],
    channels: Collection[str] = (),
    names: Mapping[str, str] | None = None,
) -> Block:
    """Draw what happened to a request: what became of each call comes first.

    Args:
        interrupt_id: Which request.
        state: Its record, while there is one.
        indices: The actions that the message shows.
        entries: What the audit trail says about it, oldest first.
        channels: Where the person reads cards. Once the record is gone, only words that cards showed there are shown.
        names: What people call themselves now, as far as that is known.
    """
    if state:
        calls = [_call_blocks(state, state.actions[index]) for index in indices]
        blocks: list[Block] = []
    else:
        calls, blocks = _gone_calls(entries, channels), [section("gone", in_why.NOT_HELD)]
    happened = _happened(entries, names or {})
    fitting, left = _fitting(calls, MOST_BLOCKS - len(blocks) - len(happened))
    blocks += [block for call in fitting for block in call]
    if left:
        blocks.append(context("left", in_why.left_out(left, interrupt_id)))
    return modal("why", in_why.VIEW_TITLE, [*blocks, *happened], None)


def _call_blocks(state: Approval, action: Action) -> list[Block]:
    """Draw an action as its card showed it, and what was decided about it."""
    at, recorded = f"why:{action.index}", action.recorded
    blocks = [section(f"{at}:answer", _answer(state, action)), *call_blocks(action)]
    if words := outcome_text(action):
        blocks.append(literal_within(f"{at}:words", words, _WORDS))
    blocks += [*_changed_blocks(state, action, at), *outcome_blocks(state, action.index)]
    if recorded:
        said = [in_why.rule(_name(action.terms.rule), recorded.policy or state.admission.policy_version)]
        if recorded.decision.type == "approve" and not is_void(state):
            said.insert(0, in_why.AS_SHOWN)
        blocks.append(context(f"{at}:rule", " ".join(said)))
    return [*blocks, divider(f"{at}:end")]


def _answer(state: Approval, action: Action) -> str:
    """Say what became of a call: who decided it, and whether it ran."""
    said = f"{in_why.numbered(action.number_shown)}{outcome_line(state, action)}."
    # Of what is open, void or not signed, the line says all that is known.
    if state.status == "pending" or is_void(state) or action.index in state.unsigned:
        return said
    if not state.running([action.index]):
        # Some frameworks do not know all decisions, and do something else.
        return said if action.config.effects else f"{said} {in_why.DID_NOT_RUN}"
    if action.index in state.outcomes:
        return f"{said} {in_why.reported(state.outcomes[action.index].outcome.status)}"
    how = run_words(state, state.place_of(action.index))
    needs_care = state.stalled or state.claim_has_lapsed or state.is_untaken
    return " ".join([said, *(in_why.went_on(words, is_warning=bool(needs_care)) for words in how)])


def _changed_blocks(state: Approval, action: Action, at: str) -> list[Block]:
    """Draw the whole call as it was allowed to run, where somebody changed it."""
    if not is_edited(action) or not state.running([action.index]):
        return []
    args, terms = decided_call(action)
    whole = "\n".join(argument_lines(hide(args, terms.masked, terms.modal_only)))
    return [context(f"{at}:whole:label", in_why.WHOLE), literal_within(f"{at}:whole", whole, _WHOLE)]


def _gone_calls(entries: Iterable[AuditEntry], channels: Collection[str]) -> list[list[Block]]:
    """Draw what the audit trail knows about the decision of each action."""
    decided = {entry["index"]: entry for entry in entries if entry["event"] == "decided"}
    return [
        _gone_call(index, entry, channels) for index, entry in decided.items() if _NUMBER.fullmatch(index)
    ]


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


def _happened(entries: Sequence[AuditEntry], names: Mapping[str, str]) -> list[Block]:
    """Draw what happened, line by line."""
    if not entries:
        return []
    several = len({entry["index"] for entry in entries} - {""}) > 1
    reported = next((at for at, entry in enumerate(entries) if entry["event"] == "reported"), len(entries))
    lines = [
        _line(entry, names, several=several, has_reported=at > reported)
        for at, entry in enumerate(entries[:MOST_LINES])
    ]
    blocks = [section("happened", in_why.HAPPENED)]
    blocks += [
        context(f"happened:{number}", piece) for number, piece in enumerate(pieces("\n".join(lines), 2_000))
    ]
    if more := len(entries) - len(lines):
        blocks.append(context("happened:left", in_why.left_out(more, entries[0]["id"])))
    return blocks


def _line(entry: AuditEntry, names: Mapping[str, str], *, several: bool, has_reported: bool) -> str:
    index = entry["index"]
    number = int(index) + 1 if several and _NUMBER.fullmatch(index) else None
    # Many agents report while they hold the answer, and give it back when they are done. So they took it before.
    is_finish = has_reported and entry["event"] == "resumed"
    return in_why.line(entry.at, number, in_why.FINISHED if is_finish else _words(entry, names))


def _words(entry: AuditEntry, names: Mapping[str, str]) -> str:
    waited = entry.said.get("waited")
    after = timedelta(milliseconds=waited) if isinstance(waited, int) else None
    match entry["event"]:
        case "admitted":
            return in_why.asked(_digest(entry["policy"]))
        case "decided":
            return in_why.decided(_who(entry, names), entry["decision"], entry["how"], after)
        case "counted":
            return in_why.voted(_who(entry, names), entry["decision"], after)
        case "proposed":
            return in_why.proposed(_who(entry, names))
        case "reported":
            return in_why.reported(entry["outcome"])
        case "erased":
            return in_why.erased(entry["by"] if _OPERATOR.fullmatch(entry["by"]) else "")
        case event:
            return in_why.other(event, _who(entry, names), mention(entry["to"]) if entry["to"] else "")


def _who(entry: AuditEntry, names: Mapping[str, str]) -> str:
    by = entry["by"].split()
    people = [mention(name) for name in by if is_person(name)]
    if not people:
        return mention(entry["by"]) if entry["by"] else ""
    # Slack shows what people call themselves now.
    then, now = plain_name(entry["name"]), plain_name(names.get(by[-1], ""))
    return " ".join([*people[:-1], in_why.named(people[-1], then if then != now else "")])


def _name(rule: str) -> str:
    return f"*{mrkdwn(clip(one_line(rule), 80))}*" if rule else ""


def _digest(text: str) -> str:
    """Give a digest or a version; nothing where it is another text."""
    return text if _TOOL.fullmatch(text) else ""
