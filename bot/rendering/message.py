"""The card of an interrupt: which messages it takes, and what each of them shows."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import EXPIRED
from bot.ids import LEDGER, REMARK, PartId, action_id
from bot.masks import scrub, scrub_all
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import (
    Block,
    actions,
    button,
    confirm,
    context,
    divider,
    header,
    is_person,
    json_size,
    literal,
    literal_within,
    section,
    when,
    who,
)
from bot.rendering.cautions import caution_blocks
from bot.rendering.clock import claim_blocks, clock_blocks, place_name, remark_text
from bot.rendering.ledger import ledger_blocks, ledger_text
from bot.rendering.rows import (
    action_blocks,
    approver_names,
    asked,
    button_blocks,
    call_blocks,
    home,
    is_mixed,
    needs_reading,
    outcome_text,
    proposal_deciders,
    proposal_text,
    safe_name,
    status_of,
    votes_text,
)
from bot.rendering.text import clip, visible
from bot.state import Action, ApprovalState, Care, Place

BUDGET = 9_000
"""JSON characters of blocks in one message: Slack stops somewhere above 11,000 (`msg_blocks_too_long`)."""
MAX_BLOCKS = 45

# What a message takes besides its actions, at the most: header, context line, bulk buttons or reason, notes; and a part.
_FRAME, _PART_FRAME, _FRAME_BLOCKS = 2_200, 1_800, 9
# The line that tells who is looking, and the buttons about time.
_CLOCK, _CLOCK_BLOCKS = 900, 2
# The line that tells who decided, and the least that is shown of the words that go with it.
_OUTCOME, _OUTCOME_TEXT = 300, 300
# The most that is shown of a proposal.
_PROPOSAL = 1_500
_CONTEXT = 1_000
_REASON = 700
_SHOWN_APPROVERS = 8
_SHOWN_PLACES = 4
# Those who decide different actions of a card in parts.
_CALLED_ONCE, _MOST_NUMBERS = 20, 40
# The line that tells who decides an action, on a card where that differs.
_WHO_DECIDES = 350
# The lines that count votes, with the button to agree, and the line about silence.
_VOTES, _SILENCE = 950, 160
# The line that warns of a tool's name.
_LOOK_ALIKE = 1_500


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a card, as it should be."""

    id: PartId
    channel: str
    thread_ts: str | None
    parent: PartId | None
    """The message in whose thread it goes, for the numbered parts."""
    text: str
    """What notifications and screen readers say."""
    blocks: list[dict[str, Any]]
    actions: tuple[int, ...]

    @property
    def digest(self) -> str:
        """Name what is shown: equal digests look equal."""
        return hashlib.sha256(encode([self.text, self.blocks]).encode()).hexdigest()[:24]


def plan_parts(
    interrupt: Interrupt,
    actions: Sequence[int] | None = None,
    *,
    mixed: bool = False,
    cares: Sequence[Care] = (),
    timed: bool = False,
) -> tuple[tuple[int, ...], ...]:
    """Divide the actions of a place into the messages that they take, whatever is decided later.

    Args:
        interrupt: what is asked.
        actions: the indices asked in this place; all of them by default.
        mixed: whether different people decide them, which each action then says.
        cares: with how much care each action of the interrupt is decided.
        timed: whether people may claim it, get more time, or be asked elsewhere as well.

    Returns:
        Nothing when one message holds all; else the actions of each numbered part.
    """
    costs = {
        action.index: _cost(action, interrupt.id, _WHO_DECIDES * mixed + _votes_cost(action.care))
        for action in asked(interrupt, cares)
        if actions is None or action.index in actions
    }
    secrets = asked(interrupt, cares)[0].secrets
    frame = _FRAME + json_size(_agent_blocks(interrupt, secrets)) + (_CLOCK if timed else 0)
    if _fits(costs.values(), frame, _FRAME_BLOCKS + (_CLOCK_BLOCKS if timed else 0)):
        return ()
    parts: list[list[int]] = [[]]
    for index in costs:
        if parts[-1] and not _fits([costs[other] for other in [*parts[-1], index]], _PART_FRAME):
            parts.append([])
        parts[-1].append(index)
    return tuple(tuple(part) for part in parts)


def render_card(state: ApprovalState) -> tuple[Part, ...]:
    """Draw every message of an interrupt's card, in each place where it is asked.

    Nothing is drawn before the interrupt was admitted.
    """
    return tuple(draw_parts(state))


def draw_parts(state: ApprovalState, only: PartId | None = None) -> Iterator[Part]:
    """Draw the messages of an interrupt's card one after the other, or that one."""
    for number, place in state.places.items():
        if only is None or only == PartId(number, 0):
            yield _render_place(state, number, place)
        for part in range(1, len(place.parts) + 1):
            if only is None or only == PartId(number, part):
                yield _render_part(state, PartId(number, 0), place, part)
    beside = (*_render_remarks(state), *_render_ledgers(state))
    yield from (part for part in beside if only in {None, part.id})


def _render_remarks(state: ApprovalState) -> Iterator[Part]:
    for number, remark in state.remarks.items():
        text = remark_text(remark)
        for place in remark.places:
            yield _beside(state, place, REMARK + number, text, [section("remark", text)])


def _render_ledgers(state: ApprovalState) -> Iterator[Part]:
    for index in state.sticky:
        place = next(number for number, place in state.places.items() if index in place.actions)
        yield _beside(state, place, LEDGER + index, ledger_text(state, index), ledger_blocks(state, index))


def _beside(state: ApprovalState, number: int, part: int, text: str, blocks: list[Block]) -> Part:
    """Give a message in the thread of a card that is none of its parts."""
    place = state.places[number]
    # A reply in a thread has no thread of its own.
    parent = None if place.thread_ts else PartId(number, 0)
    return Part(PartId(number, part), place.channel, place.thread_ts, parent, text, blocks, ())


def calls_on(state: ApprovalState, part: PartId) -> tuple[int, ...]:
    """Give the actions that one message of a card shows: none for the message above numbered parts."""
    place = state.places.get(part.place)
    if place is None or part.number > len(place.parts):
        return ()
    if part.number == 0:
        return () if place.parts else place.actions
    return place.parts[part.number - 1]


def bulk_actions(state: ApprovalState, indices: Iterable[int], decision: str) -> tuple[int, ...]:
    """Give the open actions of these that may be decided together.

    What has to be read first is not approved in bulk, nor that for which somebody proposes something else; and what is
    of high risk is decided one by one.
    """
    return tuple(
        index
        for index in indices
        if state.is_open_at(index)
        and state.actions[index].allows(decision)
        and not state.actions[index].has_code
        and not (decision == "approve" and _is_apart(state.actions[index]))
    )


def _is_apart(action: Action) -> bool:
    """Whether an action is not approved together with others."""
    return needs_reading(action) or action.proposal is not None


def _render_place(state: ApprovalState, number: int, place: Place) -> Part:
    text = f"{_headline(state, place)}: {_names(state, place)} (agent {state.interrupt.agent})"
    top = [*_top_blocks(state, place), *claim_blocks(state, number)]
    frame = [*top, *_agent_blocks(state.interrupt, _secrets(state)), *_reason_blocks(state)]
    parent = PartId(number, 0)
    bulk = [*_bulk_blocks(state, parent), *clock_blocks(state, number)]
    if not place.parts:
        blocks = [*frame, *_filled(state, place.actions, [*frame, *bulk]), *bulk]
        return Part(parent, place.channel, place.thread_ts, None, text, blocks, place.actions)
    blocks = [*frame, _summary_block(state, place), *bulk]
    return Part(parent, place.channel, place.thread_ts, None, text, blocks, ())


def _render_part(state: ApprovalState, parent: PartId, place: Place, number: int) -> Part:
    shown = place.parts[number - 1]
    title = f"Part {number} of {len(place.parts)}"
    which = f"{'action' if len(shown) == 1 else 'actions'} {numbers(shown)}"
    id = PartId(parent.place, number)
    top = [header("part", f"{title}: {which}"), context("who", " · ".join(_who_and_when_above(state, shown)))]
    bulk = _bulk_blocks(state, id)
    blocks = [*top, *_filled(state, shown, [*top, *bulk]), *bulk]
    return Part(id, place.channel, place.thread_ts, parent, f"{title}: {which}", blocks, shown)


def _filled(state: ApprovalState, indices: Iterable[int], frame: list[Block]) -> list[Block]:
    """Draw actions, sharing the room that is left among the words that go with their decisions."""
    shown = [state.actions[index] for index in indices]
    drawn = {action.index: _one(state, action) for action in shown}
    open_ones = [action for action in shown if state.is_open_at(action.index)]
    told, proposed = (
        {action.index: text for action in which if (text := words_of(action))}
        for which, words_of in ((shown, outcome_text), (open_ones, proposal_text))
    )
    used = json_size(frame) + sum(json_size(blocks) for blocks in drawn.values())
    room = (BUDGET - used) // max(len(told) + len(proposed), 1)
    for index, text in told.items():
        drawn[index].append(literal_within(f"a:{index}:told", text, max(room, _OUTCOME_TEXT)))
    for index, text in proposed.items():
        # Without room for it here, all of it is behind the button that agrees.
        if room >= _OUTCOME_TEXT:
            _before_buttons(drawn[index], literal_within(f"a:{index}:proposal", text, min(room, _PROPOSAL)))
    return [block for blocks in drawn.values() for block in blocks]


def _before_buttons(blocks: list[Block], added: Block) -> None:
    at = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    blocks.insert(at, added)


def _one(state: ApprovalState, action: Action) -> list[Block]:
    return [divider(f"a:{action.index}:divider"), *action_blocks(state, action)]


def _cost(action: Action, value: str, who_decides: int) -> tuple[int, int]:
    """Bound what an action takes at any time: JSON characters and blocks."""
    call = [divider(f"a:{action.index}:divider"), *call_blocks(action)]
    foot = max(who_decides + json_size(button_blocks(action, value)), _OUTCOME + _OUTCOME_TEXT)
    return json_size(call) + foot, len(call) + 3 + bool(who_decides)


def _votes_cost(care: Care) -> int:
    warns = bool(care.resembles)
    return _VOTES * care.needs_votes + _SILENCE * care.by_silence + _LOOK_ALIKE * warns


def _fits(costs: Collection[tuple[int, int]], frame: int, frame_blocks: int = _FRAME_BLOCKS) -> bool:
    size = frame + sum(size for size, _ in costs)
    return size <= BUDGET and frame_blocks + sum(count for _, count in costs) <= MAX_BLOCKS


def _headline(state: ApprovalState, place: Place) -> str:
    if state.is_open:
        total = len(place.actions)
        still = sum(state.is_open_at(index) for index in place.actions)
        if not still:
            return "All decided here — waiting for the others"
        which = f"{still} {'action' if still == 1 else 'actions'}"
        if still < total:
            which = f"{still} of {total} actions"
        parts = "1 part" if len(place.parts) == 1 else f"{len(place.parts)} parts"
        where = f", in {parts}" if place.parts else ""
        return f"{which} {'needs' if still == 1 else 'need'} approval{where}"
    ended = {
        "decided": "All decided",
        "expired": _expired(state, place),
        "withdrawn": "Withdrawn by the agent",
        "refused": "Over: the server went back to an older state"
        if state.code == "went_back"
        else "Refused: this could not be asked",
    }.get(state.status, "Time is up")
    if state.resumed_at is not None:
        return f"{ended} — the agent has resumed"
    if state.claim_has_lapsed:
        return f"{ended} — the agent took the answer and did not finish"
    if state.stalled:
        return f"{ended} — the agent could not go on"
    return f"{ended} — waiting for the agent" if state.status == "decided" else ended


def _expired(state: ApprovalState, place: Place) -> str:
    """Say how much people had decided when the time was up, and whether silence approved the rest."""
    recorded = [found for index in place.actions if (found := state.recorded[index])]
    decided = sum(found.decided_by != EXPIRED for found in recorded)
    silent = any(found.decided_by == EXPIRED and found.decision.type == "approve" for found in recorded)
    total = len(place.actions)
    if decided == total:
        return "Expired: decided here, but not everywhere"
    ended = "Time is up" if silent else "Expired"
    if decided:
        return f"{ended}: {decided} of {total} decided"
    if silent:
        return "Time is up: nobody objected"
    votes = [told for index in place.actions if (told := votes_text(state.actions[index]))]
    if not votes:
        return "Expired: nobody decided in time"
    return f"Expired: {votes[0] if total == 1 else f'0 of {total} decided'}"


def _names(state: ApprovalState, place: Place) -> str:
    names = [
        safe_name(state.actions[index].request) or "a tool with an unusual name" for index in place.actions
    ]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _top_blocks(state: ApprovalState, place: Place) -> list[Block]:
    return [header("top", _headline(state, place)), context("who", " · ".join(_who_and_when(state, place)))]


def _who_and_when(state: ApprovalState, place: Place) -> list[str]:
    requester = state.requested_by
    asks = f" for {who(requester)}" if requester and is_person(requester) else ""
    words = [f"Agent `{state.interrupt.agent}` asks{asks}"]
    if state.is_open and not requester:
        words.append("*requester unknown*")
    if state.is_open:
        words += [
            _until(state, place.actions),
            *_deciders(state, place),
        ]
        words += _asked_also(state, place)
    elif state.settled_at is not None:
        words.append(f"closed {when(state.settled_at)}")
    return words


def _who_and_when_above(state: ApprovalState, shown: Iterable[int]) -> list[str]:
    """Say on a part who asks, and until when what it shows is open.

    The card above mentions the person for whom it is asked; each mention in a message would call them once more.
    """
    asks = " for the person named on the card above" if state.requested_by else ""
    words = [f"Agent `{state.interrupt.agent}` asks{asks}"]
    still = [index for index in shown if state.is_open_at(index)]
    if still and not state.requested_by:
        words.append("*requester unknown*")
    return [*words, _until(state, still)] if still else words


def _until(state: ApprovalState, indices: Iterable[int]) -> str:
    """Say until when these are open, and what the deadline does with what is open then."""
    until = f"open until {when(state.deadline)}"
    approved = {state.is_approved_by_silence(index) for index in indices if state.is_open_at(index)}
    if approved == {True}:
        return f"{until}, then *approved*"
    if True in approved:
        return f"{until}, then approved or rejected as each action says"
    return f"{until}, then rejected" if state.on_expiry == "reject" else until


def _asked_also(state: ApprovalState, place: Place) -> list[str]:
    """Say where else the same actions are asked."""
    others = [
        other for other in state.places.values() if other != place and {*other.actions} & {*place.actions}
    ]
    names = ", ".join(dict.fromkeys(place_name(other.channel) for other in others[:_SHOWN_PLACES]))
    more = f" and {len(others) - _SHOWN_PLACES} more" if len(others) > _SHOWN_PLACES else ""
    return [f"also asked in {names}{more}"] if others else []


def _deciders(state: ApprovalState, place: Place) -> list[str]:
    """Say who decides the calls as they were asked, and who decides what somebody proposes instead."""
    stricter = [
        (index, proposal)
        for index in place.actions
        if state.is_open_at(index) and (proposal := state.proposals.get(index))
    ]
    asked = f"to be decided by {_approvers(state, place)}"
    if not stricter:
        return [asked]
    if len(stricter) > 1:
        return [f"as asked, {asked}", "as proposed, by those whom each proposal names"]
    (index, proposal), *_ = stricter
    which = f"action {index + 1} " if len(place.actions) > 1 else ""
    proposed = f"{which}as {who(proposal.by)} proposes"
    names = proposal_deciders(state, proposal, at_most=_SHOWN_APPROVERS)
    if place.proposed:
        # Those who decide the call itself were called where it was asked.
        there = home(state, index)
        return [f"{proposed}, to be decided by {names}", f"as asked, by those named in {there}"]
    return [f"as asked, {asked}", f"{proposed}, by {names}"]


def _approvers(state: ApprovalState, place: Place) -> str:
    assert state.admission is not None
    first = place.actions[0]
    if not is_mixed(state.admission, place):
        approvers = state.admission.terms(first).approvers
        return approver_names(approvers, at_most=_SHOWN_APPROVERS, channel=home(state, first))
    if not place.parts:
        return "different people, named at each action"
    decides: dict[str, list[int]] = {}
    for index in place.actions:
        for approver in dict.fromkeys(state.admission.terms(index).approvers):
            decides.setdefault(approver, []).append(index)
    names = [
        f"{approver_names([name], at_most=1, channel=home(state, first))} ({_few_numbers(indices)})"
        for name, indices in decides.items()
    ]
    more = f" and {len(names) - _CALLED_ONCE} more" if len(names) > _CALLED_ONCE else ""
    return ", ".join(names[:_CALLED_ONCE]) + more


def _secrets(state: ApprovalState) -> tuple[str, ...]:
    return state.actions[0].secrets


def _agent_blocks(interrupt: Interrupt, secrets: Sequence[str]) -> list[Block]:
    """Draw what the agent tells about the run: all of it untrusted."""
    told = interrupt.context
    requester = told.requested_by
    facts: dict[str, Any] = {
        "title": told.title,
        "requested_by": None if requester and is_person(requester) else requester,
        "subagent": told.subagent,
        "links": [{link.label: link.url} for link in told.links],
    }
    facts = {name: fact for name, fact in facts.items() if fact}
    if not facts:
        return []
    said = scrub_all(facts, secrets)
    text = "\n".join(argument_lines(said)) if isinstance(said, dict) else said
    blocks = [context("says", "The agent says about this run:"), literal_within("run", text, _CONTEXT)]
    return [*blocks, *caution_blocks("run:", [("", said)])]


_LAPSED = (
    "A process of the agent took the answer to go on with its run, and has not said since that it did. It may have died "
    "in the middle: *what was approved may have run, or a part of it.* Look there before you ask again. "
    "If a process goes on with the run, this card says so."
)


def _reason_blocks(state: ApprovalState) -> list[Block]:
    if state.claim_has_lapsed:
        return [context("lapsed", _LAPSED)]
    reason = state.reason if state.status in {"withdrawn", "refused"} else state.stalled
    if not reason:
        return []
    told = visible(scrub(reason, _secrets(state)))
    return [context("because", "Reason:"), literal_within("reason", told, _REASON)]


def _summary_block(state: ApprovalState, place: Place) -> Block:
    part_of = {index: number for number, part in enumerate(place.parts, 1) for index in part}
    rows = [(state.actions[index], f"part {part_of.get(index, '?')}") for index in place.actions]
    names = [clip(safe_name(action.request) or "(unusual name)", 40) for action, _ in rows]
    width = max(map(len, names))
    lines = [
        f"{action.number:>2}  {name:<{width}}  {', '.join([part, *_standing(state, action)])}"
        for (action, part), name in zip(rows, names, strict=True)
    ]
    return literal("summary", "\n".join(lines))


def _standing(state: ApprovalState, action: Action) -> list[str]:
    if not state.is_open_at(action.index):
        return [status_of(state, action)]
    return ["to be read first"] if needs_reading(action) else []


def _bulk_blocks(state: ApprovalState, part: PartId) -> list[Block]:
    """Draw the buttons that decide several actions.

    The one that approves stands on the message that shows all it approves, and nowhere else; the one that rejects
    stands on the card itself, for all of its place.
    """
    asked = calls_on(state, part) or state.places[part.place].actions
    still = [index for index in asked if state.is_open_at(index)]
    buttons = [*_approve_all(state, part, still), *_reject_all(state, part, still)]
    told = _alone_words(state, still)
    blocks = [context("unread", " ".join(told))] if told else []
    if buttons:
        blocks += [divider("bulk:divider"), actions("bulk", buttons)]
    return blocks


def _approve_all(state: ApprovalState, part: PartId, still: Sequence[int]) -> list[Block]:
    ready = bulk_actions(state, calls_on(state, part), "approve")
    if len(ready) < 2:
        return []
    label = (
        f"Approve all {len(ready)}" if len(ready) == len(still) else f"Approve {len(ready)} of {len(still)}"
    )
    subject = f"{part.place}.{part.number}" if part.number else part.place
    asks = _confirm(state, ready, still)
    return [button(action_id("approve_all", subject), label, state.id, style="primary", asks=asks)]


def _reject_all(state: ApprovalState, part: PartId, still: Sequence[int]) -> list[Block]:
    rejectable = bulk_actions(state, still, "reject")
    if part.number or len(rejectable) < 2:
        return []
    is_all = len(rejectable) == len(still)
    label = "Reject all" if is_all else f"Reject {len(rejectable)} of {len(still)}"
    return [button(action_id("reject_all", part.place), label, state.id, style="danger")]


def _alone_words(state: ApprovalState, still: Sequence[int]) -> list[str]:
    """Say which actions are not decided together with others, and why."""
    if len(still) < 2:
        return []
    unread, alone = _unread(state, still), [index for index in still if state.actions[index].has_code]
    told = [f"To be read before approving: {numbers(unread)}."] if unread else []
    if proposed := with_proposal(state, still):
        told.append(f"With a proposal, approved one by one: {numbers(proposed)}.")
    return [*told, f"High risk, decided one by one: {numbers(alone)}."] if alone else told


def _unread(state: ApprovalState, indices: Iterable[int]) -> list[int]:
    found = (state.actions[index] for index in indices)
    return [action.index for action in found if action.allows("approve") and needs_reading(action)]


def with_proposal(state: ApprovalState, indices: Iterable[int]) -> list[int]:
    """Give the open actions of these that could be approved and for which somebody proposes something else."""
    found = (state.actions[index] for index in indices if state.is_open_at(index))
    return [action.index for action in found if action.allows("approve") and action.proposal]


def _confirm(state: ApprovalState, ready: Sequence[int], still: Sequence[int]) -> Block:
    by_tool: dict[str, list[int]] = {}
    for index in ready:
        name = safe_name(state.actions[index].request) or "a tool with an unusual name"
        by_tool.setdefault(clip(name, 60), []).append(index)
    which = ", ".join(f"{numbers(indices)} ({name})" for name, indices in by_tool.items())
    text = f"As this message shows them: actions {which}."
    if proposed := with_proposal(state, still):
        text = f"Not approved with them, because somebody proposes something else: {_few_numbers(proposed)}. {text}"
    if unread := _unread(state, still):
        text = f"Not approved with them, because they have to be read first: {_few_numbers(unread)}. {text}"
    return confirm(f"Approve {len(ready)} calls?", clip(text, 300), f"Approve {len(ready)}")


def _few_numbers(indices: Sequence[int]) -> str:
    text = numbers(indices)
    return text if len(text) <= _MOST_NUMBERS else f"{len(indices)} actions"


def numbers(indices: Iterable[int]) -> str:
    """Write action numbers as people do: 1 to 3, 5, 8."""
    runs: list[list[int]] = []
    for number in sorted(index + 1 for index in indices):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
