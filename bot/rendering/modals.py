"""The views behind the buttons: reading, editing, rejecting, answering."""

import json
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.ids import PAGE, action_id
from bot.masks import hide
from bot.rendering import labels
from bot.rendering.arguments import argument_lines, change_lines, text_lines
from bot.rendering.blocks import (
    Block,
    actions,
    button,
    context,
    literal,
    plain,
    section,
    who,
)
from bot.rendering.cautions import ANSWER, TOOL, WORDS, Shown, caution_blocks
from bot.rendering.forms import form_blocks, form_of, schema_problem
from bot.rendering.message import bulk_actions, numbers
from bot.rendering.rows import approver_names, mask_words, title_blocks
from bot.rendering.text import clip, pieces, units
from bot.state import Action, ApprovalState, Proposal, Written

MAX_REASON = 2_000
MAX_ANSWER = 3_000
PAGE_SIZE = 20_000
"""Units of text on one page of a reading."""

_ABOVE_INPUT = 8_000
_WORDS, _TEXT = "words", "text"
_ALWAYS = "always"
CODE = "code"
_BESIDE_RISK = "The four characters that stand on the card, beside High risk."
_BESIDE_PROPOSAL = "The four characters that stand on the card, beside the proposal."
_PERSON = "person"
_LATER_TOO: Block = {
    "type": "input",
    "block_id": _ALWAYS,
    "label": plain("Later calls"),
    "element": {
        "type": "checkboxes",
        "action_id": _ALWAYS,
        "options": [{"text": plain("Reject every later call of this tool in this run too"), "value": "yes"}],
    },
    "optional": True,
}


@dataclass(frozen=True, slots=True)
class ViewMeta:
    """What a view carries in `private_metadata`: ids, and nothing else."""

    id: str
    """Of the interrupt."""
    index: int = 0
    """Of the action; of the place, where all of a place are rejected, or it is handed over."""
    page: int = 0
    vote: str = ""
    """The name of the vote that somebody is asked to agree with."""
    channel: str = ""
    """Where the button was pressed."""
    ts: str = ""

    def dump(self) -> str:
        """Write it for Slack to carry."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> "ViewMeta":
        """Read what Slack carried back."""
        return cls(**json.loads(text))


def render_edit_view(state: ApprovalState, index: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw the form that changes an action's arguments."""
    action = state.actions[index]
    args, schema = action.request.args, action.config.args_schema
    fields = form_of(args, schema, action.care.masked)
    problem = schema_problem(schema)
    blocks = [*title_blocks(action), context("about", _about_form(problem)), *care_blocks(action)]
    blocks += _cautions(action, as_json=True)
    blocks += form_blocks(fields)
    if missing := set(args) - {name for field in fields for name in field.path[:1] or args}:
        blocks.append(
            context("more", f"{len(missing)} more arguments do not fit here; they stay exactly as they are.")
        )
    meta = ViewMeta(state.id, index, channel=channel, ts=ts)
    submit = "Approve with changes" if any(field.is_input for field in fields) else None
    if submit and action.has_code:
        blocks.append(_code_input())
    return modal("edit", f"Edit action {action.number}", blocks, meta, submit=submit)


def render_reject_view(state: ApprovalState, index: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw the question why an action is rejected; the answer may stay empty."""
    action = state.actions[index]
    blocks = [*_call_blocks(action), _reason_input(), *([_LATER_TOO] if action.config.allow_always else [])]
    meta = ViewMeta(state.id, index, channel=channel, ts=ts)
    return modal("reject", f"Reject action {action.number}", blocks, meta, submit="Reject")


def render_reject_all_view(state: ApprovalState, place: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw the question why all open actions of a place are rejected."""
    assert state.admission is not None
    rejected = bulk_actions(state, state.admission.places[place].actions, "reject")
    if not rejected:
        return render_notice_view("Reject all", "Nothing is left to reject.")
    subject = "action" if len(rejected) == 1 else "actions"
    blocks = [section("about", f"To be rejected: {subject} {numbers(rejected)}."), _reason_input()]
    meta = ViewMeta(state.id, place, channel=channel, ts=ts)
    return modal("reject_all", "Reject all", blocks, meta, submit=f"Reject {len(rejected)}")


def render_confirm_view(state: ApprovalState, index: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw a call of high risk, and below it the question for the code that stands on its card."""
    action = state.actions[index]
    about = section("about", "The risk of this call is high. It runs exactly as shown here:")
    meta = ViewMeta(state.id, index, channel=channel, ts=ts)
    blocks = [*title_blocks(action), about, *_whole_call_blocks(action), _code_input()]
    return modal("confirm", f"Approve action {action.number}", blocks, meta, submit=_approve_label(action))


def render_agree_view(state: ApprovalState, index: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw what somebody wrote, for others to agree with: all of it, or nothing to agree with."""
    action = state.actions[index]
    found = action.proposal
    if found is None or not state.is_open_at(index):
        return render_notice_view("Nothing to agree with", "This proposal was withdrawn or decided.")
    told, label = _proposed(action, found)
    people = action.voters(found.position) or (found.by,)
    call = action.proposed if action.stricter else action
    blocks = [
        *title_blocks(action),
        section("about", f"{approver_names(people, at_most=8)} {label}"),
    ]
    blocks += [*care_blocks(call), literal("proposal", clip(told, PAGE_SIZE)), *_whole_blocks(found)]
    blocks += caution_blocks("proposal:", [(TOOL, action.request.name), *_words_of(found)])
    if units(told) > PAGE_SIZE:
        blocks.append(context("too-long", "This is too long to be agreed with here."))
        return modal("agree", f"Action {action.number}", blocks, None)
    if call.has_code and found.decision.type == "edit":
        blocks.append(_code_input(_BESIDE_PROPOSAL if action.stricter else _BESIDE_RISK))
    meta = ViewMeta(state.id, index, vote=found.name, channel=channel, ts=ts)
    return modal("agree", f"Agree: action {action.number}", blocks, meta, submit="Agree")


def _whole_blocks(found: Written) -> list[Block]:
    """Draw the whole call as an edit would have it run: on a phone the form covers the card."""
    if not isinstance(found.decision, EditDecision):
        return []
    whole = "\n".join(argument_lines(hide(found.decision.edited_action.args, found.care.masked)))
    if units(whole) > PAGE_SIZE:
        return [context("whole:label", "All other arguments run as they were asked.")]
    return [context("whole:label", "The whole call, as it would run:"), literal("whole", whole)]


def _words_of(found: Written) -> Shown:
    match found.decision:
        case EditDecision(edited_action=edited):
            return [("", hide(edited.args, found.care.masked))]
        case RespondDecision(message=message):
            return [(ANSWER, message)]
        case _:
            return []


def _call_blocks(action: Action) -> list[Block]:
    """Draw which call a form is about, where its arguments are not in it."""
    return [*title_blocks(action), *caution_blocks("", [(TOOL, action.request.name)])]


def _proposed(action: Action, found: Written) -> tuple[str, str]:
    """Write a proposal so that all of it is seen, and say what agreeing with it means."""
    match found.decision:
        case EditDecision(edited_action=edited):
            lines = change_lines(action.request.args, edited.args, found.care.masked)
            label = "would approve the call with these changes (- was asked, + would run):"
        case RespondDecision(message=message):
            lines = text_lines(message)
            label = "would give this answer in the tool's place, and the call would not run:"
        case _:
            lines, label = [], "decided otherwise."
    return "\n".join(lines), label


def render_hand_over_view(state: ApprovalState, place: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw the question who looks at a place from now on."""
    element = {"type": "users_select", "action_id": _PERSON, "placeholder": plain("Choose a person")}
    blocks = [
        section("about", "They are called in the thread. Whoever may decide still can."),
        {"type": "input", "block_id": _PERSON, "label": plain("Who looks at this now"), "element": element},
    ]
    meta = ViewMeta(state.id, place, channel=channel, ts=ts)
    return modal("hand_over", "Hand over", blocks, meta, submit="Hand over")


def render_respond_view(state: ApprovalState, index: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw the question, and room for an answer in the tool's place."""
    action = state.actions[index]
    answer = _words_input("Answer in the tool's place", most=MAX_ANSWER, optional=False)
    meta = ViewMeta(state.id, index, channel=channel, ts=ts)
    blocks = [*title_blocks(action), *_whole_call_blocks(action), answer]
    return modal("respond", f"Answer action {action.number}", blocks, meta, submit="Answer")


def _whole_call_blocks(action: Action) -> list[Block]:
    """Draw arguments and description above an input; only what has to be read page by page before is longer."""
    blocks = [*care_blocks(action), *_cautions(action)]
    for name, lines in _sections(action):
        text = clip("\n".join(lines), _ABOVE_INPUT)
        blocks += [context(f"{name}:label", _LABELS[name]), literal(name, text)]
    return blocks


def render_reading_view(
    state: ApprovalState,
    index: int,
    page: int,
    *,
    pages_read: int,
    proposal: Proposal | None = None,
    channel: str = "",
    ts: str = "",
) -> Block:
    """Draw one page (from 1) of everything an action says.

    Args:
        state: the record.
        index: the action.
        page: which page; beyond the last is the last.
        pages_read: how many pages, from the first in order, this person was shown before this one.
        proposal: of the call as it would run by this proposal, whose reading ends with agreeing.
        channel: where the button was pressed.
        ts: of the message where it was pressed.

    Returns:
        A view whose submit approves, on the last page, for a person who was shown all others.
    """
    action = state.actions[index].proposed if proposal else state.actions[index]
    pages = _pages(action)
    page = min(max(page, 1), len(pages))
    blocks = [*title_blocks(action), context("page", f"Page {page} of {len(pages)}"), *care_blocks(action)]
    blocks += _cautions(action)
    if proposal:
        blocks.append(context("proposed", f"As {who(proposal.by)} proposes to run it."))
    for name, lines in pages[page - 1]:
        blocks += [context(f"{name}:label", _LABELS[name]), literal(name, "\n".join(lines))]
    done = page == len(pages) and pages_read >= page - 1 and state.is_open_at(index)
    may_edit = done and action.allows("edit") and not proposal
    if may_edit and not _has_inputs(action):
        blocks.append(
            context("no-form", "These arguments are too long for a form, so they cannot be edited here.")
        )
    if turns := _turns(state, action, page, len(pages), may_edit=may_edit and _has_inputs(action)):
        blocks.append(actions("turns", turns))
    meta = ViewMeta(state.id, index, page, proposal.name if proposal else "", channel=channel, ts=ts)
    submit = "Agree" if proposal else _approve_label(action) if action.allows("approve") else None
    submit = submit if done else None
    if submit and action.has_code:
        blocks.append(_code_input(_BESIDE_PROPOSAL if proposal else _BESIDE_RISK))
    return modal("read", f"Read action {action.number}", blocks, meta, submit=submit)


def _approve_label(action: Action) -> str:
    return "Approve as asked" if action.proposal else "Approve"


def page_count(state: ApprovalState, index: int, call: Action | None = None) -> int:
    """Tell how many pages a reading of this action has, or of the call that is proposed in its place."""
    action = call or state.actions[index]
    if "pages" not in action.kept:
        action.kept["pages"] = len(_pages(action))
    return int(action.kept["pages"])


def render_notice_view(title: str, text: str) -> Block:
    """Draw a view that says something and closes.

    Args:
        title: cut to what Slack takes.
        text: mrkdwn; words of others in it are escaped already.
    """
    blocks = [section(f"notice:{number}", piece) for number, piece in enumerate(pieces(text, 2_800))]
    return modal("notice", title, blocks, None)


def parse_words(view: dict[str, Any]) -> str | None:
    """Read the reason or the answer that was typed, `None` when there is none."""
    value = view["state"]["values"].get(_WORDS, {}).get(_TEXT, {}).get("value")
    return value if value and value.strip() else None


def parse_code(view: dict[str, Any]) -> str:
    """Read the code that was typed, as the card writes it."""
    value = view["state"]["values"].get(CODE, {}).get(_TEXT, {}).get("value")
    return str(value or "").strip().upper()


def parse_person(view: dict[str, Any]) -> str:
    """Read the person who was chosen, empty when nobody was."""
    return view["state"]["values"].get(_PERSON, {}).get(_PERSON, {}).get("selected_user") or ""


def parse_always(view: dict[str, Any]) -> bool:
    """Tell whether the decision is meant for later calls too."""
    return bool(view["state"]["values"].get(_ALWAYS, {}).get(_ALWAYS, {}).get("selected_options"))


_LABELS = {"arguments": "Arguments:", "description": "The agent says:"}
_Page = list[tuple[str, list[str]]]


def _sections(action: Action) -> list[tuple[str, list[str]]]:
    sections = [("arguments", argument_lines(action.shown()))]
    if action.description:
        sections.append(("description", text_lines(action.description)))
    return sections


def _pages(action: Action) -> list[_Page]:
    lines = [(name, line) for name, lines in _sections(action) for line in lines]
    pages: list[list[tuple[str, str]]] = [[]]
    size = 0
    for name, line in lines:
        size += units(line) + 1
        if pages[-1] and size > PAGE_SIZE:
            pages.append([])
            size = units(line) + 1
        pages[-1].append((name, line))
    return [
        [(name, [line for _, line in found]) for name, found in groupby(page, lambda pair: pair[0])]
        for page in pages
    ]


def _turns(state: ApprovalState, action: Action, page: int, last: int, *, may_edit: bool) -> list[Block]:
    buttons = []
    if page > 1:
        buttons.append(button(action_id(PAGE, page - 1), "Previous", state.id))
    if page < last:
        buttons.append(button(action_id(PAGE, page + 1), "Next", state.id))
    if may_edit:
        buttons.append(button(action_id("edit", action.index), "Edit…", state.id))
    return buttons


def _cautions(action: Action, *, as_json: bool = False) -> list[Block]:
    shown = [(TOOL, action.request.name), ("", action.shown()), (WORDS, action.description)]
    return caution_blocks("", shown, as_json=as_json)


def _has_inputs(action: Action) -> bool:
    fields = form_of(action.request.args, action.config.args_schema, action.care.masked)
    return any(field.is_input for field in fields)


def care_blocks(action: Action) -> list[Block]:
    """Say which arguments nobody is shown."""
    told = mask_words(action)
    return [context("masked", told[0])] if told else []


def _about_form(problem: str | None) -> str:
    text = "The tool stays the same; what you change runs in place of what was asked. Untouched fields stay exact."
    return (
        f"{text} The tool's schema is not used ({problem}), so only the kind of each value is checked."
        if problem
        else text
    )


def _code_input(hint: str = _BESIDE_RISK) -> Block:
    return {
        "type": "input",
        "block_id": CODE,
        "label": plain(labels.CODE),
        "hint": plain(hint),
        "element": {"type": "plain_text_input", "action_id": _TEXT, "max_length": 20},
        "optional": False,
    }


def _reason_input() -> Block:
    return _words_input("Reason, for the agent", most=MAX_REASON, optional=True)


def _words_input(label: str, *, most: int, optional: bool) -> Block:
    element = {"type": "plain_text_input", "action_id": _TEXT, "multiline": True, "max_length": most}
    return {
        "type": "input",
        "block_id": _WORDS,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


def modal(
    kind: str, title: str, blocks: list[Block], meta: ViewMeta | None, *, submit: str | None = None
) -> Block:
    view: Block = {
        "type": "modal",
        "callback_id": kind,
        "title": plain(title[:24]),
        "close": plain("Cancel" if submit else "Close"),
        "blocks": blocks,
    }
    if meta:
        view["private_metadata"] = meta.dump()
    if submit:
        view["submit"] = plain(submit)
    return view
