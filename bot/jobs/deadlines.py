"""Everything that falls due. Scripts decide by the server's time, so any number of replicas can do this.

A record is in `due` once, never later than its earliest time. What is due is computed from the record.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Literal

from agent_adapter.errors import InvalidRequestError, LockedRecordError
from bot.domain.action import Action
from bot.domain.approval import Approval, Published
from bot.domain.errors import DamagedRecordError, PersonUnknownError, SlackError
from bot.domain.ids import Remark
from bot.domain.person import is_on_call
from bot.domain.policy import Policy
from bot.domain.schedule import Step
from bot.domain.transitions import end_standing, lapse, miss_taker, reach
from bot.domain.waiting import circle_of_steps
from bot.jobs.slack_watch import SlackWatch
from bot.sentences import to_agent
from bot.store.connected import Refused
from bot.store.records import ApprovalStore
from bot.use_cases.who_may_decide import VOTER_FRESH_FOR, Judge

logger = logging.getLogger(__name__)

UNREADABLE_AGAIN = 60_000
"""Milliseconds until an unreadable record is looked at again. By then it has ended."""
STALLED_AFTER = timedelta(minutes=10)
"""How long an agent may take to go on with an answer; the default."""
TOO_EARLY = 50
"""Milliseconds until a record is looked at again after another process has just moved its deadline."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Reminds and escalates, and ends interrupts at their deadline or when their agent withdraws them."""

    _store: ApprovalStore
    _why_not: Callable[[Approval], Awaitable[str]] | None = None
    """Says why silence approves nothing of a record. Without it, silence never approves."""
    _on_call: Callable[[str], Awaitable[frozenset[str]]] | None = None
    """Names the people whom an entry of a schedule means now. Without it, they are not mentioned."""

    async def on_due(self, interrupt_id: str) -> int | None:
        """Do what is due for this record. Returns the milliseconds until something else is due."""
        try:
            state = await self._store.load(interrupt_id)
        except (LockedRecordError, DamagedRecordError):
            raise
        except InvalidRequestError:
            # The presenter refuses it, and says so on its card.
            await self._store.queue_drawing(interrupt_id)
            return UNREADABLE_AGAIN
        if state is None:
            return await self._end(interrupt_id)
        if isinstance(state, Approval):
            await self._end_standing(state)
        if state.stage != "open":
            if isinstance(state, Approval):
                await self._note_lapse(state)
                await self._note_silence(state)
            return _until_first(times_after(state), state)
        if isinstance(state, Approval) and state.is_open and state.withdraw_asked is None:
            return await self._reach(state)
        return await self._end_open(state)

    async def _reach(self, state: Approval) -> int | None:
        steps = {
            number: await self._calling(remark) if remark else None
            for number, remark in due_steps(state).items()
        }
        # Also without a step: an assignment can be over, or people may extend the deadline from now on.
        taken = [state.admission.steps[number] for number, remark in steps.items() if remark]
        circle = circle_of_steps(state.admission, taken)
        reaching = partial(reach, steps=steps, circle=circle, at=datetime.now(UTC))
        if await self._store.update(state, reaching, is_told=False):
            logger.info("interrupt.reached", extra={"interrupt_id": state.id, "steps": list(steps)})
        newest = await self._store.admitted(state.id)
        return milliseconds_left(newest) if newest and newest.is_open else TOO_EARLY

    async def _calling(self, remark: Remark) -> Remark:
        """Give a remark that mentions those who are on call now, in place of their schedule."""
        called: list[str] = []
        for name in remark.mentions:
            people = await self._on_call(name) if self._on_call and is_on_call(name) else frozenset[str]()
            called += sorted(people) or [name]
        return remark.model_copy(update={"mentions": tuple(dict.fromkeys(called))})

    async def _end_open(self, state: Published) -> int | None:
        why_not = to_agent.NOT_LOOKED
        if isinstance(state, Approval) and state.is_past and self._why_not:
            why_not = await self._why_not(state)
        ended = await self._end(state.id, state.withdraw_asked, why_not)
        return ended or _until_first(standing_ahead(state), state)

    async def _note_lapse(self, state: Approval) -> None:
        has_lapsed = state.claimed_until is not None and state.claimed_until <= state.now
        if has_lapsed and await self._store.update(state, lapse, is_told=False):
            logger.warning("claim.lapsed", extra={"interrupt_id": state.id})

    async def _note_silence(self, state: Approval) -> None:
        at = stalls_at(state)
        missing = partial(miss_taker, after=STALLED_AFTER)
        if at and at <= state.now and await self._store.update(state, missing, is_told=False):
            logger.warning("answer.untaken", extra={"interrupt_id": state.id})

    async def _end_standing(self, state: Approval) -> None:
        for index, approval in state.standing.items():
            if approval.ended is None and approval.until <= state.now:
                ending = partial(end_standing, index=index, by="time")
                await self._store.update(state, ending, is_told=False)
                logger.info("standing.ended", extra={"interrupt_id": state.id, "index": index})

    async def _end(
        self, interrupt_id: str, withdrawn: str | None = None, why_not: str = to_agent.NOT_LOOKED
    ) -> int | None:
        """End a record: as withdrawn if its agent gave a reason, otherwise as expired."""
        status: Literal["expired", "withdrawn"] = "expired" if withdrawn is None else "withdrawn"
        outcome = await self._store.settle(interrupt_id, status, reason=withdrawn or "", why_not=why_not)
        if outcome == "early":
            return TOO_EARLY
        if outcome == "settled":
            logger.info("interrupt.ended", extra={"interrupt_id": interrupt_id})
        return None


def milliseconds_left(state: Approval) -> int | None:
    """Compute in how many milliseconds something is due for an open record."""
    return _until_first(times_ahead(state), state)


def _until_first(times: Iterable[datetime], state: Published) -> int | None:
    """Give the milliseconds until the first of these times, `None` when there is none."""
    first = min(times, default=None)
    return None if first is None else max(1, int((first - state.now).total_seconds() * 1000))


def times_ahead(state: Approval) -> Iterator[datetime]:
    """Give every time at which an open record, or its card, changes."""
    yield state.deadline
    yield from standing_ahead(state)
    for step in _steps_ahead(state).values():
        yield step.due(state.created_at, state.now)
    marks = [mark.until for marked in state.marks.values() for mark in marked.values()]
    ahead = [state.extend_from, *marks]
    yield from (time for time in ahead if time and time > state.now)


def times_after(state: Published) -> list[datetime]:
    """Give every time at which a record that has ended changes."""
    ahead = [state.claimed_until, stalls_at(state)]
    return [*standing_ahead(state), *(time for time in ahead if time and time > state.now)]


def stalls_at(state: Published) -> datetime | None:
    """Give when its card says that nobody goes on with its answer; `None` if somebody has, or there is nothing to run."""
    is_going_on = state.resumed_at or state.outcomes
    if state.settled_at is None or is_going_on or state.untaken or not has_run_ahead(state):
        return None
    return state.settled_at + STALLED_AFTER


def next_after(state: Published) -> datetime | None:
    """Give when something falls due for a record that has ended."""
    claimed = None if state.claim_has_lapsed else state.claimed_until
    ahead = [claimed, stalls_at(state), *standing_ahead(state)]
    return min((time for time in ahead if time), default=None)


def has_run_ahead(state: Published) -> bool:
    """Whether the agent has approved calls to run."""
    return isinstance(state, Approval) and bool(state.running(range(len(state.recorded))))


def standing_ahead(state: Published) -> list[datetime]:
    """Give the times at which its standing approvals end."""
    if not isinstance(state, Approval):
        return []
    return [approval.until for approval in state.standing.values() if approval.is_live(state.now)]


def due_steps(state: Approval) -> dict[int, Remark | None]:
    """Give the steps whose time has come, in order, each with its remark; `None` for a step without one.

    Several reminders that were missed become one.
    """
    due = [
        (number, step)
        for number, step in _steps_ahead(state).items()
        if step.due(state.created_at, state.now) <= state.now
    ]
    last = {step.actions: number for number, step in due if step.kind == "remind"}
    return {
        number: _remark(state, number, step)
        if step.kind == "escalate" or last[step.actions] == number
        else None
        for number, step in due
    }


def _steps_ahead(state: Approval) -> dict[int, Step]:
    return {number: step for number, step in enumerate(state.admission.steps) if number not in state.reached}


def _remark(state: Approval, number: int, step: Step) -> Remark | None:
    still = tuple(index for index in step.actions if state.is_open_at(index))
    if not still:
        return None
    beside = tuple(number for number, place in state.places.items() if {*place.actions} & {*still})
    if step.kind == "remind":
        return Remark(kind="remind", places=beside, actions=still, mentions=who_is_left(state, still))
    opened = next((place.channel for place in state.admission.places if place.opened_by == number), None)
    if not opened and not step.approvers:
        # Nobody can be reached there now.
        return None
    # In the other place, a card of its own mentions them.
    called = () if opened else step.approvers
    return Remark(kind="escalate", places=beside, actions=still, mentions=called, also_in=opened)


def who_is_left(state: Approval, actions: tuple[int, ...]) -> tuple[str, ...]:
    """Give the approvers who can still decide one of these actions. People who voted, or who may not decide, are left out."""
    found = []
    for index in actions:
        terms = state.admission.terms[index]
        done = {"channel", *(vote.user for vote in state.votes.get(index, ()))}
        done |= state.kept_out(terms)
        proposal = state.proposals.get(index)
        asked = (terms, proposal.terms) if proposal else (terms,)
        found += [name for each in asked for name in each.mentioned if name not in done]
    return tuple(dict.fromkeys(found))


# --- Whether silence may approve ----------------------------------------------------------------------------------------

LOOK_WITHIN = 8.0
"""Seconds for all questions to Slack. After half a minute the agent continues by itself, as if rejected."""
PEOPLE_AT_MOST = 20
"""The most people that are checked for one entry of an approver list."""


@dataclass(frozen=True, slots=True)
class SilenceCheck:
    """Checks that the card is in Slack and that somebody could have objected. In doubt silence approves nothing."""

    slack_watch: SlackWatch
    judge: Judge
    refused: Refused
    """The calls that somebody refused. A person who can write to Redis can hide their answer there, but not here."""
    rules: Callable[[], Policy] | None = None
    """Gives the rules that hold now, for a bot that signs. It signs nothing that only the record in Redis says."""

    async def why_not(self, state: Approval) -> str:
        """Say why silence approves nothing of a record whose deadline has come; empty when it may."""
        silent = [
            action
            for action in state.actions
            if not action.recorded and state.is_approved_by_silence(action.index)
        ]
        if not silent:
            return ""
        if any(self.refused.has(state.id, action.index) for action in silent):
            return to_agent.WAS_REFUSED
        if self.slack_watch.health.slack_fault:
            # Slack will not answer now, and other deadlines should not wait for it.
            return to_agent.NOT_LOOKED
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                # Another server may answer, and no bot may have met it yet.
                await self.slack_watch.restore_guard.beat()
                if not await self.slack_watch.sees(state):
                    return to_agent.CARD_GONE
                if self.rules and (sentence := _unproven(state, silent, self.rules())):
                    return sentence
                for action in silent:
                    if not await self._has_a_decider(state, action):
                        return to_agent.NOBODY_LEFT
        except (SlackError, PersonUnknownError, TimeoutError) as error:
            logger.warning("silence.not_looked", extra={"interrupt_id": state.id, "reason": str(error)})
            return to_agent.NOT_LOOKED
        return ""

    async def _has_a_decider(self, state: Approval, action: Action) -> bool:
        for entry in state.admission.terms[action.index].approvers:
            channel = state.place_of(action.index).channel
            people = await self.judge.directory.members(entry, channel, within=VOTER_FRESH_FOR)
            for user in islice(people, PEOPLE_AT_MOST):
                verdicts = await self.judge.may_decide(
                    state, user, [action.index], "reject", within=VOTER_FRESH_FOR
                )
                if verdicts[action.index].allowed:
                    return True
        return False


def _unproven(state: Approval, silent: Sequence[Action], rules: Policy) -> str:
    """Say why the rules and Slack do not prove that silence approves now; empty when they do.

    What the record says of its terms and times is in Redis, where somebody may have changed it. When a message was
    posted, its `ts` says in seconds, and it was just looked up in Slack.
    """
    if not (asked_by := state.asked_by):
        return to_agent.SHOWN_TOO_SHORT
    shown_for = timedelta(seconds=time.time() - max(float(shown.ts) for shown in asked_by.values()))
    for action in silent:
        rule = rules.rule_for(state.agent, action.request.name, action.request.args)
        if not rule.approves_silently or rule.time is None:
            return to_agent.NOT_BY_RULES
        if shown_for < 0.9 * rule.time:
            return to_agent.SHOWN_TOO_SHORT
    return ""
