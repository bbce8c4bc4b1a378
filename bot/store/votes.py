"""Decisions, votes and proposals."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, islice
from typing import Literal

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.identity import digest
from agent_adapter.contract.keys import Named
from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Value, read_hashes
from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.audit import Facts
from bot.domain.errors import NotConfirmedError, TooEarlyError
from bot.domain.messages import Remark
from bot.domain.standing import StandingTerms
from bot.domain.votes import Proposal, kind_of
from bot.domain.waiting import circle_of_proposal
from bot.store.accepted import Accepted, Loss
from bot.store.audit import FACTS
from bot.store.codec import dumped, milliseconds, place_field, proposal_field, unix_milliseconds
from bot.store.connected import Connected
from bot.store.deliveries import NO_DELIVERY, NOTHING, Delivery

_KEPT = {"recorded", "counted"}
"""The outcomes that the script writes."""
_FIRST_ACTION, _PER_ACTION = 2, 4
"""Where the words of the first action begin in what the script returns, and how many words each action has: outcome, when,
when its person had voted before, the name of the click."""
_LAST = "last"
"""What the script says of a click after which nothing of the request is open."""
_FOLLOWS = "f:"
"""How the fields begin that name a process which takes each decision."""
_VOTED = "voted"
"""What the script says for a vote that was there already."""
_WRITTEN_AGAIN = {*_KEPT, "repeat", _VOTED}
"""The outcomes of decisions and votes that are written again after a failover."""


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
    """Nothing was recorded; judge the click again. It would be final with the vote of somebody who was not judged just now,
    or another process was handling the same click."""


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
        positions: Mapping[int, str] | None = None,
        voters: Mapping[int, Voters] | None = None,
        policies: Mapping[int, str] | None = None,
        facts: Mapping[int, Facts] | None = None,
        signed: str = "",
        asked: str = "",
        losses: int = 0,
        standing: StandingTerms | None = None,
        delivery: Delivery | None = None,
    ) -> dict[int, Outcome]:
        """Record decisions, and give the outcome of each, by action index.

        Args:
            interrupt_id: The record.
            decisions: The decisions, as the record keeps them.
            token: The name of the click.
            person: Who clicked.
            deadline: Seconds that it may take.
            positions: What each decision says, where several people have to agree. Without it, nobody can agree.
            voters: Whose votes may make each decision final. Without it, the votes of everybody who was allowed to vote.
            policies: The version of the rules by which each was judged. Without it, the version of the card.
            facts: What the audit says about each.
            signed: The signed statement about all of them; empty without a signing key.
            asked: The digest of the question. After a failover, the same id can ask something else.
            losses: How often the record said, when this was judged, that a decision is lost.
            standing: Which later calls the decision approves as well.
            delivery: The click, if the same script notes it. Nothing is recorded when another process handles it.

        Raises:
            HandledBeforeError: when the same click was handled before.
            StoreUnavailableError: when Redis has not answered within `deadline` seconds. It may have been recorded.
                            Press again with the same token to find out.
            TooEarlyError: when what was decided before a failover may still be written again, or be found to be lost.
            NotConfirmedError: when it was recorded, and is not as durable yet as the operator asks.
        """
        named, judged, rules, said = positions or {}, voters or {}, policies or {}, facts or {}
        slots: dict[int, tuple[Value, ...]] = {
            index: (
                index,
                named.get(index) or digest("vote", text),
                Private(text, f"d:{index}"),
                *_judged(judged.get(index)),
                rules.get(index, ""),
                *_audited(said.get(index)),
            )
            for index, text in decisions.items()
        }
        given: dict[str, Value] = {
            "token": token,
            "person": person,
            "grant": Private(dumped(standing), "sticky_grant") if standing else None,
            "lifetime": milliseconds(standing.lasts) if standing else None,
            "uses": standing.uses if standing else None,
            "answer": NOTHING,
            "pressed": delivery.pressed if delivery else None,
            "signed": signed,
            "asked": asked,
            "losses": losses,
            **(delivery.names if delivery else NO_DELIVERY),
        }
        names = self._of(interrupt_id)
        async with self.deciding_about(interrupt_id):
            if self.is_unsettled and any(each.allowed for each in judged.values()):
                # Somebody may have replaced one of these votes, and the bot that knows it has not written it again yet.
                raise TooEarlyError(self.scripts.journal.settles_in)
            recording = self._recorded(interrupt_id, names, slots, given)
            reply = await self._in_time(recording, deadline + self.durability.extra)
        if delivery and not delivery.is_ours(reply):
            await delivery.begin()
            # Waiting took a while, so everything is judged again.
            return dict.fromkeys(decisions, Outcome.JUDGE_AGAIN)
        words = reply[_FIRST_ACTION::_PER_ACTION]
        if delivery:
            delivery.is_answered = not _KEPT.isdisjoint(words)
        outcomes = (Outcome.REPEAT if word == _VOTED else Outcome(word) for word in words)
        return dict(zip(slots, outcomes, strict=True))

    async def lost(self, click: Sequence[Accepted]) -> Loss | None:
        """Give what Redis does not have any more of a click that it had taken; `None` while it has nothing of the request.

        What this very server says already is not among it. After another failover, it may have to be said again.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            ValueError: when something else has overwritten the votes.
        """
        interrupt_id = click[0].interrupt_id
        req, card, _ = await read_hashes(self.scripts, self.keys.lane_for(interrupt_id), interrupt_id)
        if not req:
            return None
        is_followed = any(name.startswith(_FOLLOWS) for name in req)
        lost = [accepted for accepted in click if not accepted.is_in(card)]
        is_told = bool(lost) and f"lost:{lost[0].token}:{lost[0].at}" in card
        return Loss([] if is_told else lost, is_followed)

    async def tell_lost(
        self,
        lost: Sequence[Accepted],
        remark: Remark | None,
        still: Collection[int],
        tools: Mapping[int, str],
        *,
        sentence: str,
        code: str = "",
    ) -> str:
        """Say once that a click is lost: in the audit trail, and with a remark also on the card and to the agents that wait.

        Returns:
            `told`, `repeat`, `unknown`, or `changed` when somebody has decided meanwhile.

        Args:
            lost: What is lost of the click.
            remark: The message about it in the thread; `None` where nobody has to know.
            still: The actions of it that nobody has decided.
            tools: The name of the tool by action, where it is known.
            sentence: What the agents hear.
            code: With it, the request is refused as well, and `sentence` says why.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        first, said = lost[0], dumped(remark) if remark else ""
        outcome = await self.scripts(
            "tell_lost",
            self._of(first.interrupt_id),
            list(
                chain.from_iterable(
                    (
                        each.index,
                        _kind(each) if each.index in still else "",
                        each.decision,
                        _named_tool(tools.get(each.index, "")),
                    )
                    for each in lost
                )
            ),
            token=first.token,
            at=first.at,
            by=first.person,
            remark=said,
            remark_mark=self._mark(first.interrupt_id, "remark", said) if said else None,
            sentence=sentence,
            code=code,
            reason=Private(sentence, "reason") if code else None,
            mark=self._mark(first.interrupt_id, "reason", sentence) if code else None,
        )
        return str(outcome)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.deciding += 1
        try:
            yield
        finally:
            self.deciding -= 1

    async def _recorded(
        self,
        interrupt_id: str,
        names: Named,
        slots: Mapping[int, tuple[Value, ...]],
        given: Mapping[str, Value],
    ) -> Sequence[str]:
        """Run the script, and keep what it has written."""
        outages = self.scripts.journal.outages
        closed, flat = await self.scripts.closed(names, given, chain.from_iterable(slots.values()))
        words = iter(flat)
        parts = [tuple(islice(words, len(slot))) for slot in slots.values()]
        calls = chain.from_iterable((*part, "", "", "") for part in parts)
        try:
            with self._counted():
                reply: Sequence[str] = await self.durable("record_decision", names, calls, **closed)
        except NotConfirmedError as error:
            self._note_accepted(interrupt_id, slots, given, error.answer)
            await self._keep(names, parts, closed, error.answer, outages)
            raise
        self._note_accepted(interrupt_id, slots, given, reply)
        await self._keep(names, parts, closed, reply, outages)
        return reply

    def _note_accepted(
        self,
        interrupt_id: str,
        slots: Mapping[int, tuple[Value, ...]],
        given: Mapping[str, Value],
        reply: Sequence[str],
    ) -> None:
        handled, *said = reply
        if handled != "first":
            return
        goes_on, *words = said
        outcomes = (words[at : at + _PER_ACTION] for at in range(0, len(words), _PER_ACTION))
        for (index, (_, position, *_)), (outcome, when, _, token) in zip(
            slots.items(), outcomes, strict=True
        ):
            if outcome in _WRITTEN_AGAIN:
                is_vote = outcome in {Outcome.COUNTED, _VOTED}
                self.accepted.add(
                    Accepted(
                        interrupt_id,
                        index,
                        person=str(given["person"]),
                        token=token,
                        at=int(when),
                        is_vote=is_vote,
                        decision=_decided(str(position)),
                        may_have_run=bool(goes_on) and not is_vote,
                        was_last=goes_on == _LAST and not is_vote,
                        asked=str(given["asked"]),
                    )
                )

    async def _keep(
        self,
        names: Named,
        parts: Sequence[tuple[Value, ...]],
        given: Mapping[str, Value],
        reply: Sequence[str],
        outages: int,
    ) -> None:
        if reply[0] != "first":
            return
        replies = [reply[at : at + _PER_ACTION] for at in range(_FIRST_ACTION, len(reply), _PER_ACTION)]
        by_token: dict[str, list[Value]] = {}
        for part, (outcome, when, over, token) in zip(parts, replies, strict=True):
            if outcome in _WRITTEN_AGAIN:
                # A vote that was there already stands under the name of the click that gave it.
                by_token.setdefault(token, []).extend((*part, outcome, when, over))
        for token, again in by_token.items():
            await self.scripts.keep(
                "record_decision", names, again, outages=outages, **{**given, "token": token}
            )

    async def propose(
        self,
        interrupt_id: str,
        index: int,
        proposal: Proposal,
        remark: Remark,
        *,
        place: Place | None,
        deadline: float,
        asked: str = "",
        facts: Facts | None = None,
    ) -> Outcome:
        """Keep an edit that another rule decides about. It replaces an earlier one, and the votes on that.

        Args:
            interrupt_id: The record.
            index: The index of the action.
            proposal: What somebody proposes. Their earlier vote on the action no longer counts.
            remark: The message about it in the thread.
            place: The other place where it is asked; `None` when there is no other.
            deadline: Seconds that it may take.
            asked: As in `record_decision`.
            facts: What the audit says about it.

        Returns:
            `RECORDED`, `REPEAT`, `TAKEN` or `CLOSED`.

        Raises:
            StoreUnavailableError: when Redis has not answered within `deadline` seconds.
            TooEarlyError: as `record_decision`.
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
            "facts": Private(facts.text, FACTS) if facts else None,
            "message": facts.message if facts else None,
            "waiting": circle_of_proposal(proposal),
            "asked": asked,
        }
        async with self.deciding_about(interrupt_id):
            proposing = self._proposed(interrupt_id, given)
            return Outcome(await self._in_time(proposing, deadline + self.durability.extra))

    async def _proposed(self, interrupt_id: str, given: Mapping[str, Value]) -> str:
        """Run the script, and keep what it has written."""
        names = self._of(interrupt_id)
        reply: Sequence[str]
        outages = self.scripts.journal.outages
        closed, _ = await self.scripts.closed(names, given, ())
        try:
            with self._counted():
                reply = await self.durable("propose", names, first="", **closed)
        except NotConfirmedError as error:
            await self._keep_proposal(interrupt_id, closed, error.answer, outages)
            raise
        await self._keep_proposal(interrupt_id, closed, reply, outages)
        return reply[0]

    async def _keep_proposal(
        self, interrupt_id: str, given: Mapping[str, Value], reply: Sequence[str], outages: int
    ) -> None:
        _, *said = reply
        # A repeated call of the same person finds what the first one wrote, whose answer was lost.
        if said:
            self.accepted.add(
                Accepted(
                    interrupt_id,
                    int(str(given["index"])),
                    person=str(given["person"]),
                    token=str(given["name"]),
                    at=int(said[0]),
                    is_vote=True,
                    decision="edit",
                    asked=str(given["asked"]),
                )
            )
            await self.scripts.keep(
                "propose", self._of(interrupt_id), outages=outages, first=said[0], **given
            )

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
            age=0,
        )

    async def note_click(
        self,
        interrupt_id: str,
        user: str,
        *,
        event: Literal["click_refused", "click_failed"] = "click_refused",
        button: str,
        index: int | None = None,
        code: str = "",
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


def _decided(position: str) -> str:
    """Give what a position decides. Who agrees with a proposal changes the call."""
    kind = kind_of(position)
    return "edit" if kind == "proposal" else kind


def _kind(lost: Accepted) -> str:
    return "vote" if lost.is_vote else "decision"


def _named_tool(tool: str) -> Private | str:
    return Private(encode({"tool": tool}), FACTS) if tool else ""


def _audited(facts: Facts | None) -> tuple[Private | str, str]:
    return (Private(facts.text, FACTS), facts.message) if facts else ("", "")


def _judged(voters: Voters | None) -> tuple[str, str]:
    """Write whose votes may make a decision final, and whose votes are removed."""
    return ("*", "") if voters is None else (" ".join(voters.allowed), " ".join(voters.refused))
