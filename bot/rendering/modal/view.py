"""What views have in common: the ids that they carry, the call that they are about, and the view that only says something."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from agent_adapter.contract.hitl import EditDecision
from bot.domain.action import Action
from bot.domain.approval import Approval, named_arguments, question
from bot.domain.masking import hide
from bot.domain.votes import Written
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, context, literal, plain, section, words_apart
from bot.rendering.buttons import Button, Scope
from bot.rendering.calls import caution_blocks, mask_words, safe_name
from bot.rendering.pages import PAGE_SIZE
from bot.rendering.subject import LONG, subject
from bot.sentences import in_form
from bot.text.literal import one_line, pieces, units

_MOST_BLOCKS, _MOST_BYTES = 100, 250_000
HOME = "home"
"""The `callback_id` of a person's lists, and the verb of the buttons that turn their pages."""


@dataclass(frozen=True, slots=True)
class ViewMeta:
    """What a view carries in `private_metadata`: ids, and the name of what it asks."""

    id: str
    """Of the interrupt."""
    index: int = 0
    """Of the action; of the place, where all of a place are rejected, or it is handed over."""
    page: int = 0
    vote: str = ""
    """The name of the vote that somebody is asked to agree with."""
    step: str = ""
    """Of a form with several steps; empty for its inputs."""
    shown: str = ""
    """The digest of the arguments that the last step of an edit shows."""
    part: int = 0
    """The numbered part that a review is about; 0 for a whole place."""
    calls: tuple[int, ...] = ()
    """The actions that a review leads through."""
    pieces: tuple[tuple[int, int], ...] = ()
    """The actions that this page of a review shows, each with which of its pages."""
    named: tuple[int, ...] = ()
    """The actions that the end of a review approves."""
    review: str = ""
    """What the review carries from which this view was opened."""
    channel: str = ""
    """Where the button was pressed."""
    ts: str = ""
    listed: str = ""
    """What the list showed on top of which this view was opened."""
    question: str = ""
    """What it asks, by `question_in`."""

    def dump(self) -> str:
        """Write it for Slack to carry."""
        carried = {name: value for name, value in asdict(self).items() if value or name == "index"}
        return json.dumps(carried, separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> "ViewMeta":
        """Read what Slack carried back."""
        return _META.validate_json(text)


_META = TypeAdapter(ViewMeta)


def asking(state: Approval, button: Button, index: int, **more: Any) -> ViewMeta:
    """Give what the view of a button carries, with what it asks now. The index is as the button's scope says."""
    meta = ViewMeta(state.id, index, **more)
    return replace(meta, question=question_in(state, button.scope, meta))


def question_in(state: Approval, scope: Scope, meta: ViewMeta) -> str:
    """Name what a view asks: the calls that it is about, and what it shows besides."""
    match scope:
        case "message":
            return question(state, meta.calls)
        case "place":
            return question(state, state.admission.places[meta.index].actions)
    shown = ["edit", meta.shown] if meta.shown else []
    match state.actions[meta.index].written(meta.vote):
        case Written(decision=EditDecision(edited_action=edited), name=name, terms=terms):
            shown = ["agree", name, named_arguments(edited.name, edited.args, terms), *shown]
        case Written(name=name, position=position):
            shown = ["agree", name, position, *shown]
    return question(state, [meta.index], *shown)


def pressed_at(view: Mapping[str, Any], channel: str, ts: str, review: str = "", listed: str = "") -> Block:
    """Have a view carry where its button was pressed: the message, the review, the list."""
    if "private_metadata" not in view:
        return dict(view)
    meta = ViewMeta.load(view["private_metadata"])
    meta = replace(meta, channel=channel, ts=ts, review=review, listed=listed)
    return {**view, "private_metadata": meta.dump()}


def which_call_blocks(action: Action) -> list[Block]:
    """Draw which call a form is about, where it does not show it whole: its subject. An unusual name stands below it."""
    cautions = caution_blocks("", action.request.name, action.shown(on_card=True))
    name = [] if safe_name(action.request) else [literal("name", one_line(action.request.name))]
    return [words_apart("subject", subject(action, LONG)), *name, *cautions]


def whole_call_blocks(args: dict[str, Any], mask: Collection[str], room: int = PAGE_SIZE) -> list[Block]:
    """Draw the whole call as an edit would have it run, if it fits: on a phone the form covers the card."""
    whole = "\n".join(argument_lines(hide(args, mask)))
    if units(whole) > room:
        return [context("whole:label", in_form.OTHER_ARGUMENTS)]
    return [context("whole:label", in_form.WHOLE_CALL), literal("whole", whole)]


def fits(view: Block) -> bool:
    """Whether Slack takes so large a view. The SDK writes JSON in ASCII, so this is what travels."""
    return len(view["blocks"]) <= _MOST_BLOCKS and len(json.dumps(view)) <= _MOST_BYTES


def render_notice_view(title: str, text: str) -> Block:
    """Draw a view that says something and closes. The title is cut, and words of others in the mrkdwn are escaped already."""
    blocks = [section(f"notice:{number}", piece) for number, piece in enumerate(pieces(text, 2_800))]
    return modal("notice", title, blocks, None)


def call_cautions(action: Action, *, as_json: bool = False) -> list[Block]:
    return caution_blocks("", action.request.name, action.shown(), action.description, as_json=as_json)


def care_blocks(action: Action) -> list[Block]:
    """Say which arguments nobody is shown."""
    words = mask_words(action)
    return [context("masked", words[0])] if words else []


def call_view(
    state: Approval,
    button: Button,
    index: int,
    verb: str,
    blocks: list[Block],
    submit: str | None = None,
    **carried: Any,
) -> Block:
    """Draw the view of one call that a button opens. Its title says which call, where there are several."""
    title = in_form.title(verb, index if len(state.actions) > 1 else None)
    return modal(button.verb, title, blocks, asking(state, button, index, **carried), submit=submit)


def modal(
    kind: str, title: str, blocks: list[Block], meta: ViewMeta | None, *, submit: str | None = None
) -> Block:
    view: Block = {
        "type": "modal",
        "callback_id": kind,
        "title": plain(title[:24]),
        "close": plain(in_form.CANCEL if submit else in_form.CLOSE),
        "blocks": blocks,
    }
    if meta:
        view["private_metadata"] = meta.dump()
    if submit:
        view["submit"] = plain(submit)
    return view
