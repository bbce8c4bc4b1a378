"""The buttons: what each is about, what it says, and when a card offers it.

For example `REJECT` is about one action, says "Reject" in red, and appears where the agent accepts a rejection.
`bot/listeners/actions.py` says what a click on it does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.domain.action import Action, only_options
from bot.domain.approval import Approval, question
from bot.domain.ids import action_id, button_value
from bot.rendering.blocks import Block, actions, context, menu
from bot.rendering.blocks import button as block_button
from bot.rendering.calls import asks_first, description_is_cut, options_in_sight, run_question, safe_name
from bot.rendering.changes import one_value
from bot.sentences import on_action, on_button, on_card, words

Scope = Literal["action", "message", "place", "card", "standing", "page"]
"""What a button is about: an action; the actions of one message, or of one place; the whole request; a standing
approval; a page of a reading."""


@dataclass(frozen=True, slots=True)
class Button:
    """One button, the same on every card."""

    verb: str
    """Names it in Slack's ids. Open cards have this name, so it never changes."""
    scope: Scope
    style: Literal["primary", "danger"] | None = None
    decision: str = ""
    """Which decision it leads to, at once or at the end of its form."""
    says: str = ""

    @property
    def label(self) -> str:
        return self.says or on_button.LABELS[self.verb]

    def drawn(
        self,
        subject: int | str,
        value: str,
        label: str = "",
        *,
        says: str | None = None,
        asks: Block | None = None,
    ) -> Block:
        name, text = action_id(self.verb, subject), label or self.label
        return block_button(name, text, value, style=self.style, says=says, asks=asks)


APPROVE = Button("approve", "action", "primary", decision="approve")
CONFIRM = Button("confirm", "action", "primary", decision="approve")
"""Replaces Approve where the risk is high: it asks for a value of the call."""
NOTE = Button("approve_note", "action", decision="approve")
STANDING = Button("sticky", "action", decision="approve")
"""Also approves later calls like this one, within the limits of its form."""
FOR_RUN = Button("for_run", "action", decision="approve")
"""Also approves every later call of this tool in the run. Its form says so."""
AGREE = Button("agree", "action", "primary")
"""Shows what somebody proposes, to agree with it. It may be any decision."""
EDIT = Button("edit", "action", decision="edit")
REJECT = Button("reject", "action", "danger", decision="reject")
CHANGES = Button("changes", "action", decision="reject")
"""Rejects the call with words that ask the model for another one."""
RESPOND = Button("respond", "action", decision="respond")
OPTION = Button("option", "action", decision="respond")
"""`option:<index>.<number>`: an answer that the question offers, by its number from 0. The record has its text."""
READ = Button("read", "action")
FINISH = Button("finish", "page", "primary", decision="approve")
"""At the end of a reading: approves the call, or agrees with the proposal, that was read. Its action is in the view."""
PAGE = Button("page", "page")
"""`page:<number>`: its action is in the view."""
FORM = Button("form", "page")
"""`form:<what>`: changes what the form of an edit shows, and decides nothing. Its action is in the view."""
APPROVE_ALL = Button("approve_all", "message", "primary", decision="approve")
"""`approve_all:<place>`, and on a part `approve_all:<place>.<part>`."""
REVIEW = Button("review", "message", "primary")
"""Leads through the calls of a message page by page: `review:<place>`, and on a part `review:<place>.<part>`. In a list it is
`review:<place>.<row>`, and its value names the calls."""
TURN = Button("turn", "message")
"""`turn:<place>.<page>`: another page of a review."""
REJECT_ALL = Button("reject_all", "place", "danger", decision="reject")
ASSIGN = Button("claim", "place")
HAND_OVER = Button("hand_over", "place")
EXTEND = Button("extend", "card")
"""`extend:<how often it was extended>`, so that a second press gives no more time."""
REVOKE = Button("revoke", "standing", "danger")
"""`revoke:<index of the action>.<row>`: the row makes the ids in a list different."""

OF_ACTION: Mapping[Button, Callable[[Action], bool]] = {
    AGREE: lambda action: action.proposal is not None,
    CONFIRM: lambda action: _may_be_approved(action) and action.is_high_risk,
    APPROVE: lambda action: _may_be_approved(action) and not action.is_high_risk,
    EDIT: lambda action: action.allows("edit") and not action.must_read,
    REJECT: lambda action: action.allows("reject"),
    RESPOND: lambda action: action.allows("respond"),
    READ: lambda action: action.must_read or description_is_cut(action),
    # On a card of several actions, the form to reject asks whether the agent is to propose the call again.
    CHANGES: lambda action: action.allows("reject") and action.is_alone,
    NOTE: lambda action: _may_be_approved(action) and not action.is_high_risk,
    STANDING: lambda action: _may_be_approved(action) and action.standing is not None,
    # The policy's way to approve later calls goes before that of the agent.
    FOR_RUN: lambda action: _may_be_approved(action) and action.allows_for_run and action.standing is None,
}
"""The buttons of an action, and when each is offered. `offered` gives their order."""

IN_SIGHT = 3
"""How many buttons stand side by side. The menu behind them takes five."""
_ASIDE = {NOTE.verb, STANDING.verb, FOR_RUN.verb, CHANGES.verb}


def _may_be_approved(action: Action) -> bool:
    # A call that has to be read first is approved at the end of its reading.
    return action.allows("approve") and not action.must_read


def offered(action: Action, *, in_view: bool = False) -> list[Button]:
    """Give the buttons of an action, the most important first. Only the first one is primary.

    A card of several actions has no room for all of them, a view has.
    """
    left_out = [] if in_view or action.is_alone else [NOTE]
    if options := () if in_view else options_in_sight(action):
        left_out += [RESPOND] if only_options(action) else []
    found = [
        button for button, is_offered in OF_ACTION.items() if button not in left_out and is_offered(action)
    ]
    leading = _leading(action)
    # Somebody wants other changes already: rejecting is the likelier third way.
    # What the card cuts is opened from there, and nobody looks for that in a menu.
    edits_last = bool(action.proposal) or description_is_cut(action)
    found.sort(key=lambda button: (button != leading, button != READ, edits_last and button == EDIT))
    if options:
        found = [replace(each, says=on_button.OTHER_ANSWER) if each == RESPOND else each for each in found]
    return [_as_offered(button, action, is_first=place == 0) for place, button in enumerate(found)]


def _leading(action: Action) -> Button:
    """Name the button that does what is asked for first: to finish what colleagues began, to read, or to answer."""
    if action.proposal:
        return AGREE
    if action.must_read and (action.allows("approve") or action.allows("edit")):
        return READ
    return APPROVE if action.allows("approve") else RESPOND


def _as_offered(button: Button, action: Action, *, is_first: bool) -> Button:
    says = button.says
    if action.proposal:
        # The label says which of the two is approved.
        old, new = one_value(action) or ("", "")
        answers = action.proposal.decision.type == "respond"
        says = on_button.beside_proposal(button.verb, old, new, answers=answers) or says
    if button == READ:
        says = on_button.OPEN
    if button.verb == APPROVE.verb and asks_first(action):
        # Slack asks before it is recorded.
        says = f"{says or button.label}…"
    style = button.style if button.style == "danger" else "primary" if is_first else None
    return replace(button, says=says, style=style)


def value_of(state: Approval, indices: Iterable[int], *shown: object, named: Iterable[int] = ()) -> str:
    """Write what a button carries, so that a click counts only while its record asks the same about these actions.

    It may show something besides them. Where its question in Slack names actions, the click decides no others.
    """
    return button_value(state.id, named, question(state, indices, *shown))


def value_within(state: Approval) -> str:
    return button_value(state.id)


def button_blocks(
    action: Action, value: str, *, in_view: bool = False, is_numbered: bool = False, has_menu: bool = True
) -> list[Block]:
    """Draw the buttons of an action, and say what they really do where the label does not say it."""
    found = [each for each in offered(action, in_view=in_view) if has_menu or each.verb not in _ASIDE]
    number = action.number if is_numbered else 0
    drawn = [
        _drawn(each, action, value, on_card.of_call(each.label, number) if number else "") for each in found
    ]
    in_sight = _in_sight(found) if has_menu else len(found)
    shown, behind = drawn[:in_sight], drawn[in_sight:]
    if behind:
        shown.append(menu(action_id("menu", action.index), _named(action), behind))
    options = [
        OPTION.drawn(f"{action.index}.{number}", value, option, says=f"{OPTION.label}: {option}")
        for number, option in enumerate(() if in_view else options_in_sight(action))
    ]
    blocks = [actions(f"a:{action.index}:buttons", [*options, *shown])] if options or shown else []
    # What a decision really does, where this agent's framework does not know it.
    if said := [known for each in action.config.effects if (known := on_action.EFFECTS.get(each))]:
        blocks.append(context(f"a:{action.index}:effects", "\n".join(said)))
    return blocks


def _in_sight(found: Sequence[Button]) -> int:
    """Count the buttons that stand side by side. A phone has no room beside them for the long ones that come last."""
    return min([IN_SIGHT, *(place for place, button in enumerate(found) if button.verb == CHANGES.verb)])


def _drawn(button: Button, action: Action, value: str, label: str = "") -> Block:
    asks = run_question(action) if button.verb == APPROVE.verb and asks_first(action) else None
    needed = action.terms.needed(button.decision) if button.decision else 1
    if button.verb == AGREE.verb and action.proposal:
        needed = action.needed(action.proposal.position)
    votes = f", {on_action.one_of(needed)}" if needed > 1 else ""
    # A screen reader says what the button does, whether that is only a vote, and to which action.
    named = safe_name(action.request) or "" if label else _named(action)
    says = f"{label or button.label}{votes} {named}".rstrip()
    return button.drawn(action.index, value, label, says=says, asks=asks)


def _named(action: Action) -> str:
    return on_action.named(action.number_shown, safe_name(action.request) or "")


def clock_blocks(state: Approval, place: int) -> list[Block]:
    """Draw the buttons of a place that decide nothing: to say who is looking, to hand it over, to get more time."""
    found, extension, drawn = state.places[place], state.admission.extension, []
    if found.assign and any(map(state.is_open_at, found.actions)):
        button = HAND_OVER if state.assignment_at(place) else ASSIGN
        drawn.append(button.drawn(place, value_of(state, found.actions)))
    if extension and state.may_extend:
        label = on_card.extend_by(words.duration_words(extension.by))
        drawn.append(EXTEND.drawn(state.extended, value_of(state, range(len(state.actions))), label))
    return [actions("clock", drawn)] if drawn else []
