"""Decisions, votes and proposals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Value
from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.audit import Facts
from bot.domain.messages import Remark
from bot.domain.press import Press
from bot.domain.standing import StandingTerms
from bot.domain.votes import Proposal
from bot.domain.waiting import circle_of_proposal
from bot.store.audit import FACTS
from bot.store.codec import dumped, milliseconds, place_field, proposal_field, unix_milliseconds
from bot.store.connected import Connected


class Outcome(StrEnum):
    """What became of one action's decision."""

    RECORDED = "recorded"
    COUNTED = "counted"
    """More people have to agree."""
    REPEAT = "repeat"
    """Recorded or counted already, by this very click."""
    TAKEN = "taken"
    """Somebody else decided first."""
    CLOSED = "closed"
    """The deadline has passed, or the record has ended in another way."""
    GONE = "gone"
    """It agrees with a proposal that another one has replaced."""
    DELETED = "deleted"
    """The message that was pressed is gone: its card was posted again, and is decided there."""
    JUDGE_AGAIN = "judge_again"
    """Nothing was recorded; judge the click again. It would be final with the vote of somebody who was not judged just now."""


@dataclass(frozen=True, slots=True)
class Voters:
    """The others who made the same decision, as they were judged just now."""

    allowed: frozenset[str] = frozenset()
    """The tokens of the votes that count."""
    refused: frozenset[str] = frozenset()
    """People who may not decide any more. Their votes are removed."""


class Votes(Connected):
    """Keeps what people decide about actions. The first decision wins."""

    async def record_decision(
        self,
        interrupt_id: str,
        decisions: Mapping[int, str],
        *,
        token: str,
        person: str,
        deadline: float,
        positions: Mapping[int, str],
        voters: Mapping[int, Voters],
        policies: Mapping[int, str],
        facts: Mapping[int, Facts],
        signed: str,
        standing: StandingTerms | None,
        press: Press,
    ) -> dict[int, Outcome]:
        """Record decisions, and give the outcome of each, by action index.

        Args:
            interrupt_id: The record.
            decisions: The decisions, as the record keeps them.
            token: The name of the click.
            person: Who clicked.
            deadline: Seconds that it may take.
            positions: What each decision says, where several people have to agree.
            voters: Whose votes may make each decision final.
            policies: The version of the rules by which each was judged.
            facts: What the audit says about each.
            signed: The signed statement about all of them; empty without a signing key.
            standing: Which later calls the decision approves as well.
            press: What was pressed. A second delivery of it records nothing, also when the person has decided otherwise since.

        Raises:
            StoreUnavailableError: when Redis has not answered within `deadline` seconds. It may have been recorded.
                            Press again with the same token to find out.
            NotConfirmedError: when it was recorded, and is not as durable yet as the operator asks.
        """
        words: list[Value] = []
        for index, text in decisions.items():
            judged, said = voters[index], facts[index]
            words += [index, positions[index], Private(text, f"d:{index}")]
            words += [" ".join(judged.allowed), " ".join(judged.refused), policies[index]]
            words += [Private(said.text, FACTS), said.message]
        given: dict[str, Value] = {
            "token": token,
            "person": person,
            "grant": Private(dumped(standing), "sticky_grant") if standing else None,
            "lifetime": milliseconds(standing.lasts) if standing else None,
            "uses": standing.uses if standing else None,
            "press": press.name,
            "pressed": press.message,
            "signed": signed,
        }
        recording = self.durable("record_decision", self._of(interrupt_id), words, **given)
        outcomes: Sequence[str] = await self._in_time(recording, deadline + self.durability.extra)
        return dict(zip(decisions, map(Outcome, outcomes), strict=True))

    async def propose(
        self,
        interrupt_id: str,
        index: int,
        proposal: Proposal,
        remark: Remark,
        *,
        place: Place | None,
        deadline: float,
        facts: Facts,
    ) -> Outcome:
        """Keep an edit that another rule decides about. It replaces an earlier one, and the votes on that.

        Args:
            interrupt_id: The record.
            index: The index of the action.
            proposal: What somebody proposes. Their earlier vote on the action no longer counts.
            remark: The message about it in the thread.
            place: The other place where it is asked; `None` when there is no other.
            deadline: Seconds that it may take.
            facts: What the audit says about it.

        Returns:
            `RECORDED`, `REPEAT`, `TAKEN` or `CLOSED`.

        Raises:
            StoreUnavailableError: when Redis has not answered within `deadline` seconds.
        """
        text = proposal_field(proposal, at=unix_milliseconds(datetime.now(UTC)))
        elsewhere, said = place_field(place) if place else "", dumped(remark)
        given: dict[str, Value] = {
            "index": index,
            "person": proposal.by,
            "name": proposal.name,
            "policy": proposal.policy,
            "proposal": Private(text, f"proposal:{index}", words=4),
            "mark": self._mark(interrupt_id, f"proposal:{index}", text),
            "place": elsewhere,
            "place_mark": self._mark(interrupt_id, "place", elsewhere),
            "remark": said,
            "remark_mark": self._mark(interrupt_id, "remark", said),
            "facts": Private(facts.text, FACTS),
            "message": facts.message,
            "waiting": circle_of_proposal(proposal),
        }
        proposing = self.durable("propose", self._of(interrupt_id), **given)
        return Outcome(await self._in_time(proposing, deadline + self.durability.extra))

    async def mark_read(self, state: Approval, call: Action, user: str, pages: int) -> None:
        """Note how many pages of an action, or of the call proposed instead, this person was shown, in order."""
        shown = f"{call.fingerprint}:{pages}"
        await self.scripts(
            "mark_read",
            self._of(state.id),
            index=call.index,
            user=user,
            pages=shown,
            mark=self._mark(state.id, f"seen:{call.index}:{user}", shown),
        )

    async def note_click(
        self,
        interrupt_id: str,
        user: str,
        *,
        event: Literal["click_refused", "click_failed"] = "click_refused",
        button: str,
        index: int | None = None,
        code: str,
    ) -> None:
        """Enter into the audit trail that somebody pressed, and that nothing was stored.

        Args:
            interrupt_id: The record.
            user: Who pressed.
            event: Whether it was refused, or could not be done.
            button: What they pressed, or the kind of their decision.
            index: The index of the action, if it is about one.
            code: Why.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        await self._within(
            "note_click", interrupt_id, event=event, user=user, button=button, index=index, code=code
        )

    async def mark_missed(self, interrupt_id: str) -> None:
        """Note that somebody tried to decide and could not. Silence then approves nothing of this record.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        await self._within("mark_missed", interrupt_id)
