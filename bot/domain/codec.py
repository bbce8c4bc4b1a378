"""The two hashes of a record, read and written field by field. `contract.keys` lists the fields. Pure."""

import hashlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

from agent_adapter.contract.arguments import DIGEST_LENGTH, decode, encode
from agent_adapter.contract.hitl import WireModel
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.outcome import Reported
from agent_adapter.contract.record import (
    SIGNED,
    Fields,
    dump_decision,
    load_recorded,
    moment,
    read_reported,
    reading,
)
from agent_adapter.contract.trace import TraceContext
from agent_adapter.contract.wire import load_decision, load_interrupt, to_model
from agent_adapter.errors import InvalidRequestError
from bot.domain.admission import Admission, Terms
from bot.domain.approval import Approval, Assignment, CardStatus, Published
from bot.domain.errors import DamagedRecordError
from bot.domain.ids import MessageId, PostedMessage, Remark, Shown
from bot.domain.standing import Ended, StandingApproval, StandingTerms, Use
from bot.domain.votes import Proposal, Vote

_SHORT = 512
_NUMBERS = ("fence", "claim_until", "resumed")
_IN_PARTS = {"terms", "places", "steps"}
"""What of an admission has several fields."""
ADMISSION = frozenset({
    *Terms.model_fields, *Admission.model_fields.keys() - _IN_PARTS, "place", "step", "asked"
})  # fmt: skip
"""The kinds of fields that are fixed at admission."""


def read_state(req: Fields, card: Fields, *, now: int, known: Published | None = None) -> Published:
    """Read the two hashes of a record at this time of the store. The result is an `Approval` once it was admitted; the body of what is known is not parsed again.

    Raises:
        InvalidRequestError: when this version cannot read what is stored as an interrupt.
        UnreadableRecordError: when it cannot read another field: DamagedRecordError on the bot's side.
    """
    body = req["body"]
    if "asked" in card and card["asked"] != body_digest(body):
        # An agent may write its half of the record. What people were shown is what was there when they were asked.
        raise InvalidRequestError("what is asked has been changed since people were asked")
    if known and known.body == body:
        interrupt, fingerprints = known.interrupt, known.fingerprints
    else:
        known = None
        interrupt = load_interrupt(body)
        fingerprints = action_fingerprints(interrupt.request)
    # An agent may write its half, and nothing that it writes there is an error of ours.
    with reading(interrupt.id):
        # Changes compare these texts with the numbers that were read.
        if (
            any(str(int(req.get(name, 1))) != req.get(name, "1") for name in _NUMBERS)
            or req.get("fence") == "0"
        ):
            raise ValueError("a number is not written as clients write it")
        published = Published(
            interrupt=interrupt,
            status=card.get("status", "new"),  # type: ignore[arg-type]  # checked below
            created_at=moment(req["created"]),
            deadline=moment(card.get("deadline", req["deadline"])),
            now=moment(now),
            reason=card.get("reason") or None,
            code=card.get("code") or None,
            settled_at=moment(card["settled"]) if "settled" in card else None,
            resumed_at=moment(req["resumed"]) if "resumed" in req else None,
            withdraw_asked=req.get("withdraw"),
            stalled=_stalled(req),
            unused="unused" in req,
            claims=int(req.get("fence", 0)),
            outcomes=_outcomes(req),
            claimed_until=moment(until)
            if (until := int(req.get("claim_until", 0))) and "resumed" not in req
            else None,
            claim_has_lapsed=card.get("lapsed", "") == req.get("fence") and "resumed" not in req,
            untaken="untaken" in card and "resumed" not in req,
            notice=card.get("notice"),
            fingerprints=fingerprints,
            body=body,
            signature=req.get("signature", ""),
            trace=TraceContext.read(req),
            version=card.get("version", ""),
            size=size_of(req, card),
        )
    with reading(interrupt.id, DamagedRecordError):
        if published.status not in get_args(CardStatus):
            raise ValueError("no script writes this status")
        return _approval(published, card, known) if "policy_version" in card else published


def body_digest(body: str) -> str:
    """Return the digest of a question as it is stored, byte for byte."""
    return hashlib.sha256(body.encode()).hexdigest()[:DIGEST_LENGTH]


def _stalled(req: Fields) -> str | None:
    """Say why a run could not go on. Of a run that went on: with which error it ended then."""
    is_about_end = "resumed_by" in req and req.get("stalled_by") == req["resumed_by"]
    return req.get("stalled") if "resumed" not in req or is_about_end else None


def _outcomes(req: Fields) -> dict[int, Reported]:
    """Read what the agent has reported. What a newer version of the agent reports in another form is left out."""
    found = {}
    for index, text in sorted((int(index), text) for index, text in _prefixed(req, "outcome:")):
        with suppress(InvalidRequestError):
            found[index] = read_reported(text)
    return found


def _approval(published: Published, card: Fields, known: Published | None) -> Approval:
    count = len(published.interrupt.request.action_requests)
    admission = _admission(card, count)
    before = known if isinstance(known, Approval) and known.admission == admission else None
    if before:
        # What is kept for an admission is looked up by it.
        admission = before.admission
    approval = Approval(
        **vars(published),
        admission=admission,
        recorded=tuple(load_recorded(card, index) for index in range(count)),
        kept=before.kept if before else {},
        shown={MessageId.parse(name): _shown(text) for name, text in _prefixed(card, "part:")},
        up={MessageId.parse(name): moment(at) for name, at in _prefixed(card, "up:")},
        missed="missed" in card,
        gone=frozenset(
            (line.split(" ")[0], line.split(" ")[1]) for line in card.get("gone", "").splitlines()
        ),
        begun={MessageId.parse(name): lease for name, lease in _prefixed(card, "lease:")},
        read={_reader(name): mark for name, mark in _prefixed(card, "seen:")},
        tokens={int(index): tuple(text.split()) for index, text in _prefixed(card, "t:")},
        presses={name: frozenset(map(int, text.split())) for name, text in _prefixed(card, "press:")},
        votes=_votes(card),
        waiting=card.get("waiting", ""),
        reached=_reached(card),
        remarks={number: Remark.model_validate(decode(text)) for number, text in _numbered(card, "remark:")},
        extended=int(card.get("extended", 0)),
        marks=_marks(card),
        standing={int(index): _standing(card, index) for index, _ in _prefixed(card, "sticky_grant:")},
    )
    proposals = {int(index): _proposal(text) for index, text in _prefixed(card, "proposal:")}
    approval = replace(approval, proposals=proposals) if proposals else approval
    _check_numbers(approval)
    return approval


def _check_numbers(approval: Approval) -> None:
    """Refuse fields that name an action or a place that is not there, or a standing approval that nobody gave."""
    admission, standing = approval.admission, approval.standing
    actions = {*approval.votes, *approval.proposals, *standing}
    actions.update(index for place in admission.places for index in place.actions)
    actions.update(index for step in admission.steps for index in step.actions)
    actions.update(index for remark in approval.remarks.values() for index in remark.actions)
    places = {part.place for part in approval.shown}.union(*approval.marks.values())
    if not actions <= {*range(len(approval.recorded))} or not places <= {*range(len(admission.places))}:
        raise LookupError("a field names an action or a place that is not there")
    if not all(approval.recorded[index] for index in standing):
        raise LookupError("a standing approval has no decision")


def size_of(req: Fields, card: Fields) -> int:
    """Count the characters that an agent and people wrote in a record. What the bot writes is short and not counted."""
    told = sum(len(text) for name, text in req.items() if name.startswith("outcome:"))
    written = (text for name, text in card.items() if not name.startswith(SIGNED))
    return len(req["body"]) + told + sum(len(text) for text in written if len(text) > _SHORT)


def admission_fields(admission: Admission) -> dict[str, str]:
    """Write an admission as fields of the card: each of its attributes that has no usual value as JSON under its name."""
    # Redis keeps a hash in its compact form only while every value has at most 64 bytes.
    shared = admission.terms[0]
    fields = _spread(admission, without=_IN_PARTS) | _spread(shared)
    for index, own in enumerate(admission.terms):
        if own != shared:
            fields |= _spread(own, f":{index}")
    fields |= {f"place:{number}": dumped(place) for number, place in enumerate(admission.places)}
    return fields | {f"step:{number}": dumped(step) for number, step in enumerate(admission.steps)}


def _spread(model: WireModel, of: str = "", *, without: Collection[str] = ()) -> dict[str, str]:
    given = model.model_dump(mode="json", exclude_defaults=True, exclude={*without})
    return {f"{name}{of}": encode(value) for name, value in given.items()}


def _gathered(model: type[WireModel], card: Fields, of: str = "") -> dict[str, Any]:
    return {name: decode(card[f"{name}{of}"]) for name in model.model_fields if f"{name}{of}" in card}


def _admission(card: Fields, count: int) -> Admission:
    shared = Terms.model_validate(_gathered(Terms, card))
    owns = [f":{index}" if f"approvers:{index}" in card else "" for index in range(count)]
    admission = Admission.model_validate(
        {
            "pages": [0] * count,
            **_gathered(Admission, card),
            "terms": [Terms.model_validate(_gathered(Terms, card, of)) if of else shared for of in owns],
            "places": [decode(text) for _, text in _numbered(card, "place:")],
            "steps": [decode(text) for _, text in _numbered(card, "step:")],
        }
    )
    if len(admission.pages) != count:
        raise LookupError("its pages are not those of its actions")
    for number, happened in _reached(card).items():
        if happened:
            admission = admission.escalated(admission.steps[number])
    return admission


def _reached(card: Fields) -> dict[int, bool]:
    return {number: text != "-" for number, text in _numbered(card, "reached:")}


def _standing(card: Fields, index: str) -> StandingApproval:
    ended = card.get(f"sticky_ended:{index}", "").split()
    return StandingApproval(
        StandingTerms.model_validate(decode(card[f"sticky_grant:{index}"])),
        moment(card[f"sticky_until:{index}"]),
        tuple(_use(line) for line in card.get(f"sticky_uses:{index}", "").split("\n") if line),
        Ended(moment(ended[0]), ended[1]) if ended else None,
    )


def _use(line: str) -> Use:
    at, kept = line.split(" ", 1)
    value = decode(kept)
    return Use.model_validate({**(value if isinstance(value, dict) else {}), "at": moment(at)})


def _marks(card: Fields) -> dict[str, dict[int, Assignment]]:
    found: dict[str, dict[int, Assignment]] = {}
    for of, text in _prefixed(card, "mark:"):
        name, _, place = of.partition(":")
        since, until, user = text.split(" ")
        found.setdefault(name, {})[int(place)] = Assignment(user, moment(since), moment(until))
    return found


def dumped(model: WireModel) -> str:
    """Write a part of a record as its field keeps it."""
    return encode(model.model_dump(mode="json", exclude_defaults=True))


def _votes(card: Fields) -> dict[int, tuple[Vote, ...]]:
    """Read the votes on each action, the oldest first."""
    found: dict[int, list[Vote]] = {}
    for name, stored in _prefixed(card, "vote:"):
        index, _, user = name.partition(":")
        at, position, token, text = stored.split(" ", 3)
        vote = Vote(user, position, load_decision(decode(text)["decision"]), at, token, text)
        found.setdefault(int(index), []).append(vote)
    return {index: tuple(sorted(votes, key=lambda vote: int(vote.at))) for index, votes in found.items()}


def proposal_field(proposal: Proposal, *, at: int) -> str:
    """Write a proposal as its field keeps it: name, number of people, version and time before its content."""
    kept = encode(
        {
            **proposal.model_dump(mode="json", include={"fingerprint", "by", "rule", "channel", "pages"}),
            "decision": dump_decision(proposal.decision),
            "terms": proposal.terms.model_dump(mode="json", exclude_defaults=True),
        }
    )
    return f"{proposal.name} {proposal.terms.quorum} {proposal.policy} {at} {kept}"


def _proposal(text: str) -> Proposal:
    name, _quorum, policy, _at, kept = text.split(" ", 4)
    value = decode(kept)
    known = value if isinstance(value, dict) else {}
    return to_model(Proposal.model_validate, {**known, "name": name, "policy": policy}, where="proposal")


def _shown(text: str) -> Shown:
    channel, ts, stage, digest = text.split(" ")
    return Shown(channel, ts, digest, stage)  # type: ignore[arg-type]  # only we write it


def shown_field(shown: Shown) -> str:
    """Write what Slack shows of a message as its field keeps it."""
    return f"{shown.channel} {shown.ts} {shown.stage} {shown.digest}"


def read_posted(interrupt_id: str, card: Fields) -> list[PostedMessage]:
    """Read from a few fields of a card which messages it has in Slack. Fields that this version does not write raise a ValueError."""
    places = {int(number): decode(text) for number, text in _prefixed(card, "place:")}
    messages = {MessageId.parse(name): _shown(text) for name, text in _prefixed(card, "part:")}
    found = []
    for part, shown in messages.items():
        # A message that could not be posted has no ts of digits. One that is being drawn will soon match its record.
        if part.is_beside or not shown.ts[0].isdigit() or f"lease:{part}" in card:
            continue
        parent = messages.get(part.card) if part.kind != "card" else None
        thread_ts: str | None = places[part.place].get("thread_ts") or (parent.ts if parent else None)
        status = card["status"]
        is_untaken = status not in {"pending", "refused"} and "resumed" not in card
        found.append(PostedMessage(interrupt_id, part, thread_ts, shown, status == "pending", is_untaken))
    return found


def _prefixed(card: Fields, prefix: str) -> list[tuple[str, str]]:
    return [(name.removeprefix(prefix), text) for name, text in card.items() if name.startswith(prefix)]


def _numbered(card: Fields, prefix: str) -> list[tuple[int, str]]:
    """Give the fields of this kind in order: Redis returns those of a large hash in any."""
    return sorted((int(number), text) for number, text in _prefixed(card, prefix))


def _reader(name: str) -> tuple[int, str]:
    index, _, user = name.partition(":")
    return int(index), user
