"""How records end, and what falls due after it."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.record import (
    EXPIRED,
    EXPIRED_MESSAGE,
    by_silence,
    dump_recorded,
    unix_milliseconds,
)
from agent_adapter.errors import InvalidRequestError, UnreadableRecordError
from agent_adapter.redis.change import LONGEST_SILENCE, clock_was_set
from bot.domain import transitions
from bot.domain.action import Action
from bot.domain.approval import Approval, Published
from bot.domain.audit import facts_of_silence
from bot.domain.errors import KeyUnfitError, StoreUnavailableError
from bot.domain.ids import MessageId
from bot.domain.statement import said_by_silence
from bot.domain.transitions import ANYTHING, Change, Silent
from bot.sentences import to_agent
from bot.store.commits import ATTEMPTS, Committing
from bot.store.work import WorkLeases

logger = logging.getLogger(__name__)

CHANGED_LATELY = 30_000
"""Milliseconds after a change of the server: it may lack what somebody has rejected."""
KEPT_UNRESUMED, KEPT_RESUMED = timedelta(days=30), timedelta(days=7)
"""How long the keys of a record are kept, without and with an agent that went on."""
Ending = Literal["expired", "withdrawn", "refused"]


class Endings(Committing, WorkLeases):
    """Ends records."""

    async def settle(
        self,
        interrupt_id: str,
        status: Ending,
        *,
        reason: str = "",
        code: str = "",
        why_not: str = to_agent.NOT_LOOKED,
    ) -> str:
        """End a record. Returns `settled`, `early`, `unknown`, or the status with which it has ended already.

        Args:
            interrupt_id: The record.
            status: How it ends.
            reason: Why it was withdrawn or refused.
            code: The code of the refusal.
            why_not: Why silence approves nothing at the deadline. Empty when it was checked that silence may approve.
        """
        for _ in range(ATTEMPTS):
            try:
                state = await self.load(interrupt_id)
            except InvalidRequestError:
                if outcome := await self._end_unreadable(interrupt_id, status, reason, code):
                    return outcome
                continue
            if state is None:
                await self._guarded(self._redis.zrem(self.keys.due, interrupt_id))
                return "unknown"
            silent = await self._by_silence(state, why_not) if status == "expired" else {}
            outcome, change = transitions.end(state, status, reason=reason, code=code, silent=silent)
            if change is None or await self.commit(state, change, is_told=False) is None:
                return outcome
        raise StoreUnavailableError("others kept changing this record")

    async def _end_unreadable(self, interrupt_id: str, status: Ending, reason: str, code: str) -> str:
        """End a record that cannot be read, by its status, its deadline and for whom it waits. Empty when others changed it meanwhile."""
        names, key = (
            ("status", "deadline", "version", "waiting", "policy_version"),
            self.keys.card(interrupt_id),
        )
        try:
            stored = await self._guarded(self._redis.hmget(key, *names))
            known, deadline, version, waiting, policy = (text or "" for text in stored)
            if known not in {"", "pending"}:
                return known
            if status == "expired" and await self._is_early(interrupt_id, deadline):
                return "early"
            change = transitions.ended(status, reason=reason, code=code, policy=policy.strip('"'))
            return "settled" if await self.write(interrupt_id, version, waiting, change) is None else ""
        except UnreadableRecordError:
            # The answer is the record, as it is then.
            return ""

    async def _is_early(self, interrupt_id: str, deadline: str) -> bool:
        asked = self._redis.hget(self.keys.req(interrupt_id), "deadline")
        until = deadline or await self._guarded(asked) or "0"
        return await self._now() < int(until)

    async def _by_silence(self, state: Published, why_not: str) -> Mapping[int, Silent]:
        """Give what the deadline decides: something only when the agent still waits, and approvals only when people could answer."""
        if not isinstance(state, Approval) or state.claims or not open_to_silence(state):
            return {}
        watched = await self._watched(state)
        if watched is None:
            return {}
        silent = decided_by_silence(state, why_not if watched else to_agent.UNWATCHED)
        try:
            return self._signed(state, silent)
        except KeyUnfitError as error:
            logger.warning("silence.not_signed", extra={"interrupt_id": state.id, "reason": str(error)})
            return decided_by_silence(state, to_agent.NOT_SIGNED)

    async def _watched(self, state: Approval) -> bool | None:
        """Whether people could answer all the time, and this server has answered for a while. `None` where its clock may be wrong."""
        since_and_heard, noted, changed = await self._together(
            ("HMGET", self.keys.watched, "since", "heard"),
            ("GET", self.keys.clock),
            ("HGET", self.keys.server, "since"),
        )
        seen = self._redis.zrange(self.keys.bots, 0, 0, desc=True, withscores=True)
        bots = [word for bot in await self._guarded(seen) for word in bot]
        at = await self._now()
        if clock_was_set(at, at - unix_milliseconds(state.created_at), at, noted, bots):
            return None
        since, heard = (int(each or 0) for each in since_and_heard or (0, 0))
        is_heard = 0 < since <= unix_milliseconds(state.silent_from) and at - heard <= LONGEST_SILENCE
        return is_heard and at - int(changed or 0) >= CHANGED_LATELY

    def _signed(self, state: Approval, silent: Mapping[int, Silent]) -> Mapping[int, Silent]:
        if not (signing := self.signing):
            return silent
        said = {index: said_by_silence(state, index, each) for index, each in silent.items()}
        return {
            index: replace(each, statement=signing.sign_alone(state, said[index]))
            for index, each in silent.items()
        }

    async def refuse_rewound(self, state: Approval, part: MessageId, *, code: str, reason: str) -> None:
        """End a record that knows less than this message of it shows. The message stays as it is."""
        ending = partial(transitions.rewound, part=part, code=code, reason=reason)
        await self.update(state, ending, is_told=False)

    async def start_retention(
        self, interrupt_id: str, state: Published | None = None, due: datetime | None = None
    ) -> None:
        """Let the keys of a record expire that has ended, and whose card says so.

        Args:
            interrupt_id: The record.
            state: The record as it was drawn; `None` for one that cannot be read.
            due: When something still falls due.
        """
        resumed = state.resumed_at if state else None
        judged = {}
        if state:
            judged["fence"] = str(state.claims or "")
            judged["resumed"] = str(unix_milliseconds(resumed)) if resumed else ""
        change = Change({}, judged=judged, is_drawn=False, due=due)
        kept = KEPT_RESUMED if resumed else KEPT_UNRESUMED
        if await self.write(interrupt_id, ANYTHING, "", change, kept=kept):
            await self.queue_drawing(interrupt_id)


def open_to_silence(state: Approval) -> list[Action]:
    """Give the actions that nobody has decided and that silence may approve."""
    return [
        action
        for action in state.actions
        if action.index not in state.tokens and state.is_approved_by_silence(action.index)
    ]


def decided_by_silence(state: Approval, why_not: str) -> dict[int, Silent]:
    """Give the decisions for the actions that silence may approve, if people saw them for as long as the rule says.

    Args:
        state: The record, whose deadline has passed.
        why_not: Why silence approves nothing. Empty when it was checked that silence may approve.
    """
    if state.missed:
        why_not = to_agent.MISSED
    elif not state.is_shown_since(state.silent_from):
        why_not = to_agent.SHOWN_TOO_SHORT
    found = {}
    for action in open_to_silence(state):
        config = state.interrupt.request.review_configs[action.index]
        decision = by_silence(config, f"{EXPIRED_MESSAGE} {why_not}") if why_not else ApproveDecision()
        if decision:
            text = dump_recorded(
                decision,
                fingerprint=action.fingerprint,
                decided_by=EXPIRED,
                policy=state.admission.policy_version,
            )
            found[action.index] = Silent(decision, text, facts_of_silence(action, decision))
    return found
