"""What an agent believes of the decisions in Redis: what signed statements prove about its own question, and nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import ActionRequest
from agent_adapter.contract.identity import slots
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.outcome import RUNS
from agent_adapter.contract.receipt import Receipt
from agent_adapter.contract.record import EXPIRED, SIGNED, Fields
from agent_adapter.errors import InvalidRequestError, ReceiptError
from agent_adapter.receipts.ring import Opened, Ring
from agent_adapter.receipts.statement import ActionStatement, bytes_digest, pause_of, run_of

TOLERANCE = 30_000
"""Milliseconds by which the clocks of bot and agent may differ."""
MOST_STATEMENTS = 64
"""How many statements about one action are read, the newest ones. More only cost time."""
_LONGEST_TIME = 15
"""Digits of a time in milliseconds."""
_DECIDED = ("d:", "t:", "at:", "by:", SIGNED)
"""Prefixes of the fields that say what was decided."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """What an agent asks of a decision."""

    ring: Ring
    namespace: str
    min_people: int = 0
    """How many people must have agreed before a call runs, even where the policy asks for fewer. With 1, silence is not enough."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the card of a record proves."""

    fields: Fields
    """The card with the decisions that are proven. It is only decided if all of them are."""
    receipts: tuple[Receipt | None, ...] = ()
    """What proves that each call may run; `None` for one that may not."""
    faults: Mapping[int, ReceiptError] = field(default_factory=dict)
    """Why the other decisions count for nothing, by the index of the action."""


@dataclass(frozen=True, slots=True)
class _Decided:
    """One proven decision."""

    fields: Fields
    receipt: Receipt | None = None
    deadline: int = 0
    """Until when people could decide, as it was signed. 0 where nothing is signed."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one signed statement says about one action."""

    text: str
    opened: Opened
    action: ActionStatement


def proven(interrupt: Interrupt, card: Fields, verifier: Verifier, *, body: str, now: int) -> Proof:
    """Give the card of a record as far as signed statements prove it.

    A decision that is not proven is left out, so the action counts as open. A person who can write to Redis can neither
    end a wait nor keep a later genuine decision from being taken. The stored `body` has to be what people were asked, word by
    word.
    """
    fields = {name: text for name, text in card.items() if not name.startswith(_DECIDED)}
    found: list[_Decided | None] = []
    faults = {}
    shown = bytes_digest(body)
    asked = zip(interrupt.request.action_requests, slots(interrupt.pauses), strict=True)
    for index, (call, place) in enumerate(asked):
        each = None
        if f"d:{index}" in card:
            try:
                each = _decided(_Own.of(interrupt, index, call, place, shown), card, verifier, now)
                fields |= each.fields
            except ReceiptError as error:
                faults[index] = error
        found.append(each)
    if fields.get("status") == "decided" and None in found:
        del fields["status"]
    if deadline := max((each.deadline for each in found if each), default=0):
        fields |= _until(deadline, fields, now)
    return Proof(fields, tuple(each.receipt if each else None for each in found), faults)


def _until(signed: int, fields: Fields, now: int) -> Fields:
    """Give the end of a request of which something is decided: people have the rest of their time for the rest of it.

    Otherwise, somebody who can write to Redis could end an open request early: what was approved would run, the rest would be rejected.
    """
    is_early = fields.get("status") == "expired" and now + TOLERANCE < signed
    stored = fields.get("deadline", "0")
    is_a_time = stored.isdecimal() and len(stored) <= _LONGEST_TIME
    until = {"deadline": str(max(signed, int(stored) if is_a_time else 0))}
    return until | {"status": "pending"} if is_early else until


@dataclass(frozen=True, slots=True)
class _Own:
    """One action as this agent asked it."""

    interrupt: Interrupt
    index: int
    call: ActionRequest
    pause: str
    """The digest of its place."""
    args: str
    """The bytes of its arguments, as people were shown them."""
    asked: str
    """Their digest."""
    body: str
    """The digest of the whole question."""

    @classmethod
    def of(
        cls, interrupt: Interrupt, index: int, call: ActionRequest, place: tuple[str, int], body: str
    ) -> Self:
        args = encode(call.args)
        return cls(interrupt, index, call, pause_of(*place), args, bytes_digest(args), body)

    @property
    def field(self) -> str:
        return f"d:{self.index}"

    @property
    def place(self) -> str:
        return f"{self.interrupt.id}: decision {self.index + 1} ({self.call.name})"


def _decided(own: _Own, card: Fields, verifier: Verifier, now: int) -> _Decided:
    """Prove the decision about one action."""
    said, faults = _read(own, _envelopes(own, card), verifier, now)
    if not said and not faults:
        raise ReceiptError(
            f"{own.place} is not signed: start the bot with a signing key, or let people decide again",
            code="unsigned",
        )
    # The newest statement that is about this action says best what is wrong.
    because = []
    for last in reversed(said):
        try:
            return _proven_by(last, said, own, card, verifier)
        except ReceiptError as error:
            because.append(error)
    raise (because or faults)[0]


def statements_about(
    interrupt: Interrupt, index: int, texts: Iterable[str], verifier: Verifier, *, body: str, now: int
) -> list[Said]:
    """Give those of these statements that are signed, and about this action as it was asked."""
    call, place = interrupt.request.action_requests[index], slots(interrupt.pauses)[index]
    own = _Own.of(interrupt, index, call, place, bytes_digest(body))
    return _read(own, texts, verifier, now)[0]


def _read(
    own: _Own, texts: Iterable[str], verifier: Verifier, now: int
) -> tuple[list[Said], list[ReceiptError]]:
    said, faults = [], []
    for text in texts:
        try:
            said.append(_said(own, text, verifier, now))
        except ReceiptError as error:
            faults.append(error)
    return said, faults


def _envelopes(own: _Own, card: Fields) -> list[str]:
    """Give the statements that are stored with a decision, in the order of the clicks."""
    tokens = dict.fromkeys(card.get(f"t:{own.index}", "").split())
    return [text for token in tokens for text in card.get(SIGNED + token, "").split()][-MOST_STATEMENTS:]


def _said(own: _Own, text: str, verifier: Verifier, now: int) -> Said:
    """Read a statement, and compare it with the action that this agent asked about."""
    opened = verifier.ring.open_statement(text, namespace=verifier.namespace)
    statement, interrupt = opened.statement, own.interrupt
    action = statement.of(own.index)
    if statement.rec != interrupt.id or action is None:
        raise ReceiptError(
            f"{own.place}: a statement about another question was put beside it", code="record"
        )
    if statement.aud != interrupt.agent:
        raise ReceiptError(f"{own.place}: it was signed for the agent {statement.aud!r}", code="audience")
    if statement.run != run_of(interrupt.run):
        raise ReceiptError(f"{own.place}: it was signed for another run", code="run")
    if (action.pause, action.tool, action.asked) != (own.pause, own.call.name, own.asked):
        raise ReceiptError(
            f"{own.place}: people were shown another call than the one that was asked", code="action"
        )
    if statement.body != own.body:
        raise ReceiptError(
            f"{own.place}: the question is stored with other words than people were asked with: "
            "look for what else writes to this Redis",
            code="body",
        )
    if now - TOLERANCE >= statement.use_by:
        raise ReceiptError(
            f"{own.place}: its approval could be used for a time that is over: ask again, or raise `use_within` in the policy",
            code="expired",
        )
    return Said(text, opened, action)


def _proven_by(last: Said, all_said: Iterable[Said], own: _Own, card: Fields, verifier: Verifier) -> _Decided:
    """Prove the decision by the statement of the person who decided, and by those that it counts."""
    text, action = card[own.field], last.action
    if action.stored != bytes_digest(text):
        raise ReceiptError(f"{own.place} is stored with other words than were signed", code="stored")
    others = {
        each.action.by: each
        for each in all_said
        if each.action.by != action.by
        and (each.action.position, each.action.runs) == (action.position, action.runs)
        and each.opened.digest in action.counts
    }
    agreed = [*others.values(), last]
    needed = max(each.action.quorum for each in agreed)
    if action.kind in RUNS:
        needed = max(needed, verifier.min_people)
        if verifier.min_people and action.by == EXPIRED:
            raise ReceiptError(f"{own.place}: nobody agreed, and this agent wants a person", code="people")
    if len(agreed) < needed:
        raise ReceiptError(f"{own.place}: {len(agreed)} agreed, and it takes {needed} people", code="people")
    args = _args_that_run(text, action, own)
    fields = {
        own.field: text,
        f"t:{own.index}": card[f"t:{own.index}"],
        f"at:{own.index}": str(last.opened.statement.at),
        # What becomes of the rest of the batch is part of what was decided.
        "on_timeout": last.opened.statement.silence,
        **({f"by:{own.index}": " ".join(each.action.by for each in agreed)} if others else {}),
    }
    deadline = last.opened.statement.deadline
    if args is None:
        return _Decided(fields, deadline=deadline)
    return _Decided(fields, Receipt(tuple(each.text for each in agreed), own.index, args), deadline)


def _args_that_run(text: str, action: ActionStatement, own: _Own) -> str | None:
    """Give the bytes of the arguments that may run; `None` when nothing may."""
    try:
        stored: Any = decode(text)
        decision, by = stored["decision"], stored["decided_by"]
        kind = decision["type"]
        args = encode(decision["edited_action"]["args"]) if kind == "edit" else own.args
    except (InvalidRequestError, LookupError, TypeError) as error:
        raise ReceiptError(f"{own.place} cannot be read", code="stored") from error
    if (kind, by) != (action.kind, action.by):
        raise ReceiptError(f"{own.place} says something else than was signed", code="stored")
    if kind not in RUNS:
        return None
    if action.runs != bytes_digest(args):
        raise ReceiptError(
            f"{own.place}: the arguments that would run are not those that were approved", code="arguments"
        )
    return args
