"""One action of a card: the call as it will run, what the agent says about it, the buttons or what was decided."""

import re
from collections.abc import Sequence
from functools import lru_cache

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import ActionRequest, EditDecision, RejectDecision, RespondDecision
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import EXPIRED, Recorded
from bot.ids import STICKY, action_id
from bot.masks import Mask, hide, secrets_of
from bot.rendering.arguments import argument_lines, change_lines, key_text
from bot.rendering.blocks import (
    Block,
    actions,
    button,
    confirm,
    context,
    json_size,
    literal,
    literal_within,
    section,
    when,
    who,
)
from bot.rendering.cautions import TOOL, WORDS, caution_blocks, caution_lines
from bot.rendering.clock import place_name
from bot.rendering.text import clip, mrkdwn, one_line, visible
from bot.state import ORDINARY, PROPOSAL, Action, Admission, ApprovalState, Care, Place, Proposal, Written

CARD_ARGUMENTS = 3_600
"""JSON characters of arguments that a card shows whole."""
CARD_DESCRIPTION = 900
"""JSON characters of a description that a card shows whole."""

_HEAD = 1_200
# Characters of arguments whose text is kept for the next drawing.
_REMEMBERED = 16_384
_SHOWN_NAMES = 6
# Where a schema has one of these, its properties are not all that the tool takes.
_TAKES_MORE = {"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"}
# Two slashes would be an address, two colons a picture (`:name:`).
_NAME = re.compile(r"(?!.*//)(?!.*:.*:)[A-Za-z0-9_.:/-]{1,64}")
_BUTTONS = (
    ("approve", "Approve", "primary"),
    ("edit", "Edit", None),
    ("reject", "Reject", "danger"),
    ("respond", "Answer", None),
)
# One more than `_BUTTONS`, beside Approve: for every later call of this tool in the run.
ALWAYS = "approve_always"
# Opens the question for the code, in the place of Approve where the risk is high.
CONFIRM = "confirm"
# Opens what somebody wrote, for others to agree with.
AGREE = "agree"
_LOOK = "Look and agree…"
_SHOWS = f"*{_LOOK}* shows all of it, *Approve as asked* means the call above."
_RESEMBLES = (
    "*Look at the tool's name*: only its case or its letters' shape tells it from a name in another rule:"
)
_DONE = {
    "approve": "Approved",
    "edit": "Approved with changes",
    "reject": "Rejected",
    "respond": "Answered",
}
_VOID = {
    "approve": "Approved, not run",
    "edit": "Approved with changes, not run",
    "reject": "Rejected, not passed on",
    "respond": "Answered, not passed on",
}
_EFFECTS = {
    "reject_as_answer": "Reject: this agent's framework knows no rejection. "
    "The call does not run, and the model gets a sentence that says so as the tool's answer.",
    "answer_as_rejection": "Answer: the call does not run, and the model gets your words as the reason of a rejection.",
    "words_only": "The program that asks gets your decision, and only it knows what it does then.",
    "reject_drops_batch": "Reject: this agent's framework then runs no other call of this batch either, "
    "not even an approved one.",
}
_VOTED = {
    "approve": "approved",
    "edit": "approved with the same changes",
    "reject": "rejected",
    "respond": "gave the same answer",
}
_AGREED = "agreed with the proposal"
_VOTES = {
    "approve": "approvals",
    "edit": "approvals with the same changes",
    "reject": "rejections",
    "respond": "with the same answer",
}
_SHOWN_POSITIONS = 3
_FOLDED = 100
_FOLLOWS = {"edit": ". Asked (-) and decided (+):", "reject": ", because:", "respond": ":"}


def asked(interrupt: Interrupt, cares: Sequence[Care] = ()) -> tuple[Action, ...]:
    """Give the actions as they were asked, with nothing decided."""
    request = interrupt.request
    kept = cares or [ORDINARY] * len(request.action_requests)
    pairs = list(zip(request.action_requests, request.review_configs, kept, strict=True))
    secrets = secrets_of((action.args, care.masked) for action, _, care in pairs)
    return tuple(
        Action(index, action, config, "", None, care, secrets)
        for index, (action, config, care) in enumerate(pairs)
    )


def arguments_text(action: Action) -> str:
    """Write the arguments of a call as a person reads them on its card."""
    return _card_text(action)[0]


def needs_reading(action: Action) -> bool:
    """Tell whether the arguments are not all on the card, so that approving comes at the end of a reading."""
    return _is_long(action) or bool(action.named(action.care.modal_only))


def _is_long(action: Action) -> bool:
    if "is_long" not in action.kept:
        action.kept["is_long"] = _card_text(action)[1] > CARD_ARGUMENTS
    return bool(action.kept["is_long"])


def _card_text(action: Action) -> tuple[str, int]:
    encoded = encode(action.request.args)
    # Long ones would fill the memory.
    draw = _drawn if len(encoded) <= _REMEMBERED else _drawn.__wrapped__
    text, size = draw(encoded, action.care.masked, action.care.modal_only)
    action.kept["is_long"] = size > CARD_ARGUMENTS
    return text, size


@lru_cache(maxsize=256)
def _drawn(encoded: str, mask: Mask, modal_only: tuple[str, ...]) -> tuple[str, int]:
    """Give the text of some arguments and what it takes; a card asks several times at each drawing."""
    text = "\n".join(argument_lines(hide(decode(encoded), mask, modal_only)))
    return text, json_size(literal("a:00:arguments", text))


def safe_name(request: ActionRequest) -> str | None:
    """Give the tool's name where it looks like one, so that it can stand among bot words."""
    return request.name if _NAME.fullmatch(request.name) else None


def action_blocks(state: ApprovalState, action: Action) -> list[Block]:
    """Draw one action, without the text that goes with a decision."""
    return [*call_blocks(action), *_foot(state, action)]


def call_blocks(action: Action) -> list[Block]:
    """Draw what is asked: the same at every moment of an interrupt."""
    at, request = f"a:{action.index}", action.request
    text = arguments_text(action)
    whole = literal(f"{at}:arguments", text)
    blocks = title_blocks(action)
    if _is_long(action):
        blocks += [
            literal_within(f"{at}:arguments", text, _HEAD),
            context(
                f"{at}:unread",
                f"*Only the beginning is shown*, of {len(text):,} characters in all. "
                "Whoever approves or edits reads all of it first.",
            ),
        ]
    else:
        blocks.append(whole)
    if told := [*_unknown(action), *_unshown(action), *mask_words(action), *_care_words(action)]:
        blocks.append(context(f"{at}:care", "\n".join(told)))
    blocks += caution_blocks(
        f"{at}:",
        [(TOOL, action.request.name), ("", action.shown(on_card=True)), (WORDS, action.description)],
    )
    if request.description:
        blocks += [
            context(f"{at}:says", "The agent says:"),
            literal_within(f"{at}:description", visible(action.description), CARD_DESCRIPTION),
        ]
    return blocks


def mask_words(action: Action) -> list[str]:
    """Say which arguments nobody is shown."""
    masked = _named(action, action.care.masked.names)
    return [f"Masked: {masked}. The call runs with what the agent wrote there."] if masked else []


def _unknown(action: Action) -> list[str]:
    """Say which arguments the tool does not take: many tools drop them without a word."""
    args, schema = action.request.args, action.config.args_schema or {}
    taken = schema.get("properties")
    if not isinstance(taken, dict) or schema.get("additionalProperties") or schema.keys() & _TAKES_MORE:
        return []
    names = [name for name in args if name not in taken]
    what = "Not an argument" if len(names) == 1 else "Not arguments"
    told = f"⚠️ *{what} of this tool by its schema*: {_code_spans(names)}. It may run without."
    return [told] if names else []


def _unshown(action: Action) -> list[str]:
    names = _named(action, action.care.modal_only)
    reads = "" if _is_long(action) else " Whoever approves or edits reads all of it first."
    return [f"Shown in _Read all_ only: {names}.{reads}"] if names else []


def _care_words(action: Action) -> list[str]:
    told = []
    if action.has_code:
        told.append(f"⚠️ *High risk*: whoever approves types *{action.code}*.")
    if action.care.needs_votes:
        told.append(_people_words(action.care))
    return told


def _people_words(care: Care) -> str:
    if care.quorum == 1:
        return f"*{care.reject_quorum} people* have to reject; to approve, one is enough."
    rejecting = "one is enough" if care.reject_quorum == 1 else f"it takes {care.reject_quorum}"
    return f"*{care.quorum} people* have to agree; to reject, {rejecting}."


def _named(action: Action, names: Sequence[str]) -> str:
    return _code_spans(action.named(names))


def _code_spans(names: Sequence[str]) -> str:
    found = [_code_span(key_text(name)) for name in names]
    more = f" and {len(found) - _SHOWN_NAMES} more" if len(found) > _SHOWN_NAMES else ""
    return clip(", ".join(found[:_SHOWN_NAMES]), 300) + more


def _code_span(text: str) -> str:
    # A backtick would end it.
    spelled = text.replace("`", "\\u{60}")
    return f"`{mrkdwn(spelled)}`"


def title_blocks(action: Action) -> list[Block]:
    """Draw number and tool; a name that is not one stands alone, as literal text."""
    at, name = f"a:{action.index}", safe_name(action.request)
    if name:
        return [section(f"{at}:title", f"*{action.number}.* `{name}`")]
    return [
        section(f"{at}:title", f"*{action.number}.* A tool with an unusual name:"),
        literal(f"{at}:name", one_line(action.request.name)),
    ]


def button_blocks(action: Action, value: str) -> list[Block]:
    """Draw the buttons that this action allows; what has to be read first is approved and edited there."""
    unread = needs_reading(action)
    offered = [
        (CONFIRM, "Approve…", style) if verb == "approve" and action.has_code else (verb, label, style)
        for verb, label, style in _BUTTONS
        if action.allows(verb) and not (unread and verb in {"approve", "edit"})
    ]
    if action.proposal:
        offered = [(AGREE, _LOOK, "primary"), *map(_as_asked, offered)]
    # Nothing is approved for later calls while somebody proposes something else for this one.
    alone = not unread and not action.proposal
    if action.allows("approve") and action.config.allow_always and alone:
        offered.insert(1, (ALWAYS, "Approve for this run", None))
    if action.sticky and alone:
        offered.insert(1, (STICKY, "Approve from now on…", None))
    if unread or _description_is_cut(action):
        offered.append(("read", "Read all", None))
    name = safe_name(action.request)
    subject = f"action {action.number}" + (f": {name}" if name else "")
    buttons = [
        button(
            action_id(verb, action.index),
            label,
            value,
            style=style,
            says=f"{label} {subject}"[:75],
            asks=_asks_always(subject) if verb == ALWAYS else None,
        )
        for verb, label, style in offered
    ]
    blocks = [actions(f"a:{action.index}:buttons", buttons)] if buttons else []
    return [*blocks, *_effect_blocks(action)]


def _asks_always(subject: str) -> Block:
    return confirm(
        "Approve for this run?",
        f"This is {subject}. It runs as this message shows it, and every later call of the same tool in this run "
        "goes ahead without asking, whatever its arguments are.",
        "Approve for this run",
    )


def _as_asked(offered: tuple[str, str, str | None]) -> tuple[str, str, str | None]:
    """Have a button that approves say that it does not mean what somebody proposes."""
    verb, label, style = offered
    return (
        (verb, label.replace("Approve", "Approve as asked"), None)
        if verb in {"approve", CONFIRM}
        else (verb, label, style)
    )


def _effect_blocks(action: Action) -> list[Block]:
    """Say what a decision really does, where this agent's framework does not know it."""
    told = [_EFFECTS[effect] for effect in action.config.effects if effect in _EFFECTS]
    return [context(f"a:{action.index}:effects", "\n".join(told))] if told else []


def status_of(state: ApprovalState, action: Action) -> str:
    """Say in a few words how an action stands."""
    if action.recorded is not None:
        words = _VOID if is_void(state) else _DONE
        decision = action.recorded.decision
        later = " for this run" if getattr(decision, "always", False) else ""
        return words.get(decision.type, "Decided otherwise") + later
    if state.is_open:
        return "Open"
    match state.status:
        case "withdrawn":
            return "Withdrawn"
        case "refused":
            return "Refused"
        case "expired" if state.on_expiry == "reject" and "reject" in _allowed_by_agent(state, action):
            return f"Rejected: {votes_text(action) or 'nobody decided'} in time"
        case _:
            votes = votes_text(action)
            return f"Not decided in time: {votes}" if votes else "Not decided in time"


def _allowed_by_agent(state: ApprovalState, action: Action) -> tuple[str, ...]:
    # Silence rejects wherever the agent takes that, also where the policy has no button for it.
    return state.interrupt.request.review_configs[action.index].allowed_decisions


def is_void(state: ApprovalState) -> bool:
    """Tell whether nothing that was decided will be run or passed on."""
    raised = state.status == "expired" and state.on_expiry == "raise"
    return raised or state.status in {"withdrawn", "refused"}


def outcome_text(action: Action) -> str:
    """Give the words that go with a decision: what was changed, why it was rejected, what was answered."""
    if action.recorded is None:
        return ""
    return "\n".join(
        text for text in (_told(action, action.recorded), visible(action.recorded.note or "")) if text
    )


def _has_words(recorded: Recorded) -> bool:
    match recorded.decision:
        case EditDecision():
            return True
        case RejectDecision(message=message) | RespondDecision(message=message):
            return bool(message or recorded.note)
        case _:
            return bool(recorded.note)


def _told(action: Action, recorded: Recorded) -> str:
    match recorded.decision:
        case EditDecision(edited_action=edited):
            care = action.care
            lines = change_lines(action.request.args, edited.args, care.masked, care.modal_only)
            after = hide(edited.args, care.masked, care.modal_only)
            return "\n".join([*caution_lines(after, action.shown(on_card=True)), *lines])
        case RejectDecision(message=message) | RespondDecision(message=message):
            return visible(message or "")
        case _:
            return ""


def _foot(state: ApprovalState, action: Action) -> list[Block]:
    if state.is_open_at(action.index):
        return [*_standing_blocks(state, action), *button_blocks(action, state.id)]
    return [context(f"a:{action.index}:outcome", _outcome(state, action))]


def _standing_blocks(state: ApprovalState, action: Action) -> list[Block]:
    """Say who decides this one, where that differs within a card, who has voted, and what silence does."""
    told = [*_approver_words(state, action), *_vote_words(state, action), *_proposal_words(state, action)]
    if action.care.resembles:
        told.append(f"{_RESEMBLES} {mrkdwn(one_line(clip(action.care.resembles, 200)))}.")
    if state.is_approved_by_silence(action.index):
        told.append("*Approved at the deadline* unless somebody decides before.")
    return [context(f"a:{action.index}:approvers", "\n".join(told))] if told else []


def _approver_words(state: ApprovalState, action: Action) -> list[str]:
    place = place_of(state, action.index)
    # Where they stand in messages of their own, the first one has called everybody once.
    if state.admission is None or place is None or place.parts or not is_mixed(state.admission, place):
        return []
    approvers = state.admission.terms(action.index).approvers
    return [f"To be decided by {approver_names(approvers, at_most=3, channel=home(state, action.index))}"]


def _vote_words(state: ApprovalState, action: Action) -> list[str]:
    """Count the votes for each decision, and say who may still join."""
    if not action.votes:
        return []
    positions = list(dict.fromkeys(v.position for v in action.votes if not v.position.startswith(PROPOSAL)))
    told = [
        f"*{tally(action, position)}*: {approver_names(action.voters(position), at_most=3)}"
        for position in positions[:_SHOWN_POSITIONS]
    ]
    if len(positions) > _SHOWN_POSITIONS:
        told.append(f"and {len(positions) - _SHOWN_POSITIONS} other proposals")
    voters = {vote.user for vote in action.votes}
    approvers = state.admission.terms(action.index).approvers if state.admission else ()
    left = [name for name in approvers if name not in voters]
    names = approver_names(left, at_most=3, channel=home(state, action.index))
    return [*told, f"Not heard yet: {names}"] if left and positions else told


def tally(action: Action, position: str) -> str:
    """Say how many people say the same, of how many it takes: 1 of 2 approved."""
    kind = position.partition(":")[0]
    said = _AGREED if position.startswith(PROPOSAL) else _VOTED.get(kind, "decided")
    return f"{len(action.voters(position))} of {action.needed(position)} {said}"


def votes_text(action: Action) -> str:
    """Say how far people came who were too few: 1 of 2 approvals; nothing where nobody voted."""
    positions = list(dict.fromkeys(vote.position for vote in action.votes))
    told = [
        f"{len(action.voters(position))} of {action.needed(position)} "
        + (_AGREED if position.startswith(PROPOSAL) else _VOTES.get(position.partition(":")[0], "votes"))
        for position in positions[:_SHOWN_POSITIONS]
    ]
    more = len(positions) - _SHOWN_POSITIONS
    return ", ".join([*told, *([f"{more} other votes"] if more > 0 else [])])


def _proposal_words(state: ApprovalState, action: Action) -> list[str]:
    """Say who proposes something, and who decides about it where others do than about the call itself."""
    if (found := action.proposal) is None:
        return []
    what = "an answer" if found.decision.type == "respond" else "changes"
    says = f"{who(found.by)} proposes {what}"
    if (stricter := action.stricter) is None:
        return [f"{says}. {_SHOWS}"]
    rule = mrkdwn(clip(one_line(stricter.rule), 80))
    names = proposal_deciders(state, stricter, at_most=3)
    tells = (
        f"{says} (*{tally(action, stricter.position)}*). The rule “{rule}” decides about them, by {names}."
    )
    told = [f"{tells} {_SHOWS}"]
    if action.proposed.has_code:
        told.append(f"⚠️ *High risk*: whoever agrees types *{action.proposed.code}*.")
    return told


def proposal_deciders(state: ApprovalState, proposal: Proposal, *, at_most: int) -> str:
    """Mention who decides about a proposal."""
    channel = place_name(proposal.channel) if len(state.places) > 1 else ""
    return approver_names(proposal.terms.approvers, at_most=at_most, channel=channel)


def proposal_text(action: Action) -> str:
    """Write what somebody proposes, as far as a card shows it."""
    match action.proposal:
        case Written(decision=EditDecision(edited_action=edited), care=care):
            lines = change_lines(action.request.args, edited.args, care.masked, care.modal_only)
            return "\n".join(_folded(lines))
        case Written(decision=RespondDecision(message=message)):
            return visible(message)
        case _:
            return ""


def _folded(lines: Sequence[str]) -> list[str]:
    """Put a short change on one line: amount: 5 -> 7."""
    folded, left = [], list(lines)
    while left:
        path, was, becomes, after = [*left[:4], "", "", ""][:4]
        alone = was.startswith("- ") and becomes.startswith("+ ") and not after.startswith(("- ", "+ "))
        line = f"{path} {was[2:]} -> {becomes[2:]}"
        # A value that has an arrow of its own stays on a line of its own.
        if alone and path.endswith(":") and len(line) <= _FOLDED and line.count("->") == 1:
            folded.append(line)
            left = left[3:]
        else:
            folded.append(left.pop(0))
    return folded


def place_of(state: ApprovalState, index: int) -> Place | None:
    """Give the place where an action is asked."""
    places = state.admission.places if state.admission else ()
    return next((place for place in places if index in place.actions), None)


def is_mixed(admission: Admission, place: Place) -> bool:
    """Tell whether the actions of a place are decided by different people."""
    return bool(admission.own) and len({admission.terms(i).approvers for i in place.actions}) > 1


def home(state: ApprovalState, index: int) -> str:
    """Name the channel whose members may decide an action, where it is asked in others as well; else nothing."""
    place = place_of(state, index)
    return place_name(place.channel) if place and len(state.places) > 1 else ""


def approver_names(approvers: Sequence[str], *, at_most: int, channel: str = "") -> str:
    """Mention who may decide; a longer list is counted."""
    anyone = f"anyone in {channel or 'this channel'}"
    names = [anyone if name == "channel" else who(name) for name in approvers]
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + more


def _outcome(state: ApprovalState, action: Action) -> str:
    status = status_of(state, action)
    recorded = action.recorded
    if recorded is None:
        return f"*{status}*"
    if recorded.decided_by == EXPIRED:
        return f"*{status}: nobody decided in time*"
    follows = _FOLLOWS.get(recorded.decision.type, ":") if _has_words(recorded) else ""
    people = approver_names(recorded.agreed_by or (recorded.decided_by,), at_most=20)
    if recorded.sticky:
        return f"*{status}* without asking, as {people} said before, {when(recorded.decided_at)}"
    return f"*{status}* by {people} {when(recorded.decided_at)}{follows}"


def _description_is_cut(action: Action) -> bool:
    if "is_cut" not in action.kept:
        text = visible(action.description)
        # JSON takes no fewer characters than its text.
        action.kept["is_cut"] = len(text) > CARD_DESCRIPTION or (
            bool(text) and json_size(literal("a:00:description", text)) > CARD_DESCRIPTION
        )
    return bool(action.kept["is_cut"])
