"""What a deadline decides when nobody has decided."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_adapter.contract.hitl import ApproveDecision, Decision
from agent_adapter.contract.record import EXPIRED, EXPIRED_MESSAGE, by_silence, dump_recorded
from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Value
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.audit import facts_of_silence
from bot.domain.codec import unix_milliseconds
from bot.domain.statement import said_by_silence
from bot.runtime.statements import Signing
from bot.sentences import to_agent
from bot.store.audit import FACTS


@dataclass(frozen=True, slots=True)
class Silent:
    """What the deadline decides about one action; nothing where the agent accepts no rejection."""

    decision: Decision | None = None
    text: str = ""
    """As the record keeps it."""
    facts: str = ""
    """What the audit says about it."""
    statement: str = ""
    """As it is signed; empty without a signing key."""

    def parts(self, index: int) -> tuple[Value, ...]:
        """What the script takes for the action of this index."""
        return Private(self.text, f"d:{index}"), Private(self.facts, FACTS), self.statement

    async def signed(self, state: Approval, index: int, signing: Signing) -> "Silent":
        """Give it with a signed statement."""
        if self.decision is None:
            return self
        said = said_by_silence(state, index, self.decision, self.text)
        return replace(self, statement=await signing.sign_alone(state, said))


@dataclass(frozen=True, slots=True)
class SilentAction:
    """What the deadline decides about one action, depending on whether a bot was running all the time."""

    message: str
    """The message that asks."""
    watched: Silent
    unwatched: Silent


@dataclass(frozen=True, slots=True)
class SilentDecisions:
    """The decisions of a deadline for actions that silence may approve."""

    since: int
    """Since when a bot must have been running, in the server's milliseconds."""
    decided: Mapping[int, SilentAction]
    """By the index of the action."""

    @property
    def parts(self) -> list[Value]:
        """What the script takes: of each action its index, the message that asks, and the two decisions."""
        return [
            part
            for index, each in self.decided.items()
            for part in (str(index), each.message, *each.watched.parts(index), *each.unwatched.parts(index))
        ]

    async def signed(self, state: Approval, signing: Signing) -> "SilentDecisions":
        """Give the same with signed statements.

        Raises:
            SigningError: when the key has not signed in time.
        """
        decided = {
            index: replace(
                each,
                watched=await each.watched.signed(state, index, signing),
                unwatched=await each.unwatched.signed(state, index, signing),
            )
            for index, each in self.decided.items()
        }
        return replace(self, decided=decided)


NO_DECISIONS = SilentDecisions(0, {})


def decided_by_silence(state: Approval, why_not: str) -> SilentDecisions:
    """Give the decisions for the actions that silence may approve, if people saw them for as long as the rule says.

    Args:
        state: The record, whose deadline has passed.
        why_not: Why silence approves nothing. Empty when it was checked that silence may approve.
    """
    noted = to_agent.MISSED if state.missed else ""
    if not state.is_shown_since(state.silent_from):
        noted = to_agent.SHOWN_TOO_SHORT
    decided = {}
    for action in state.actions:
        if state.is_approved_by_silence(action.index) and not action.recorded:
            watched = (
                _rejected(state, action, noted or why_not)
                if noted or why_not
                else _ended(state, action, ApproveDecision())
            )
            unwatched = _rejected(state, action, noted or to_agent.UNWATCHED)
            decided[action.index] = SilentAction(str(state.message_of(action.index)), watched, unwatched)
    return SilentDecisions(unix_milliseconds(state.silent_from), decided)


def _rejected(state: Approval, action: Action, why: str) -> Silent:
    """Write the rejection of an action that silence does not approve."""
    config = state.interrupt.request.review_configs[action.index]
    decision = by_silence(config, f"{EXPIRED_MESSAGE} {why}")
    return _ended(state, action, decision) if decision else Silent()


def _ended(state: Approval, action: Action, decision: Decision) -> Silent:
    recorded = dump_recorded(
        decision,
        fingerprint=action.fingerprint,
        decided_by=EXPIRED,
        policy=state.admission.policy_version,
    )
    return Silent(decision, recorded, facts_of_silence(action, decision))
