"""The two hashes of a record, read and written field by field: their names are spelt in `contract.keys`. Pure."""

from datetime import datetime, timedelta
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import WireModel
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.record import Fields, load_recorded, moment
from agent_adapter.contract.wire import dump_decision, load_decision, load_interrupt, to_model
from bot.ids import PartId
from bot.schedule import Extension, Remark, Step
from bot.state import Admission, ApprovalState, Care, Claim, Place, Proposal, Shown, Standing, Terms, Vote
from bot.sticky import Ended, Grant, Sticky, StickyApproval, Use

_SHORT = 512


def read_state(req: Fields, card: Fields, *, now: int, known: ApprovalState | None = None) -> ApprovalState:
    """Read the two hashes of a record. Times are the store's milliseconds.

    Args:
        req: The agent's side.
        card: The bot's side.
        now: The store's clock.
        known: The record as it was read before: its body never changes, so it is not read and checked again.

    Raises:
        InvalidRequestError: when what is stored is no interrupt that this version reads.
    """
    body = req["body"]
    if known and known.body == body:
        interrupt, fingerprints, kept = known.interrupt, known.fingerprints, known.kept
    else:
        kept = {}
        interrupt = load_interrupt(body)
        fingerprints = action_fingerprints(interrupt.request)
    return ApprovalState(
        interrupt=interrupt,
        status=card.get("status", "new"),  # type: ignore[arg-type]  # only our scripts write it
        created_at=moment(req["created"]),
        deadline=moment(card.get("deadline", req["deadline"])),
        now=moment(now),
        recorded=tuple(load_recorded(card, i) for i in range(len(interrupt.request.action_requests))),
        admission=_admission(card) if "policy" in card else None,
        reason=card.get("reason") or None,
        code=card.get("code") or None,
        settled_at=moment(card["settled"]) if "settled" in card else None,
        resumed_at=moment(req["resumed"]) if "resumed" in req else None,
        withdraw_asked=req.get("withdraw"),
        stalled=req.get("stalled") if "resumed" not in req else None,
        claimed_until=moment(until)
        if (until := int(req.get("claim_until", 0))) and "resumed" not in req
        else None,
        claim_has_lapsed=card.get("lapsed", "") == req.get("fence") and "resumed" not in req,
        notice=card.get("notice"),
        fingerprints=fingerprints,
        body=body,
        size=size_of(req, card),
        kept=kept,
        shown={PartId.parse(name): _shown(text) for name, text in _prefixed(card, "part:")},
        up={PartId.parse(name): moment(at) for name, at in _prefixed(card, "up:")},
        missed="missed" in card,
        gone=frozenset(_gone(line) for line in card.get("gone", "").split("\n") if line),
        begun=frozenset(PartId.parse(name) for name, _ in _prefixed(card, "lease:")),
        read={_reader(name): mark for name, mark in _prefixed(card, "seen:")},
        votes={int(index): _votes(text) for index, text in _prefixed(card, "votes:")},
        proposals={int(index): _proposal(text) for index, text in _prefixed(card, "proposal:")},
        reached=_reached(card),
        # A large hash gives its fields in no order.
        remarks=dict(
            sorted(
                (int(number), Remark.model_validate(decode(text)))
                for number, text in _prefixed(card, "remark:")
            )
        ),
        extended=int(card.get("extended", 0)),
        claims={int(place): _claim(text) for place, text in _prefixed(card, "claim:")},
        sticky={int(index): _sticky(card, index) for index, _ in _prefixed(card, "sticky_grant:")},
    )


def size_of(req: Fields, card: Fields) -> int:
    """Count the characters of what an agent and people wrote in a record; what the bot writes is short."""
    return len(req["body"]) + sum(len(text) for text in card.values() if len(text) > _SHORT)


def admission_fields(admission: Admission) -> list[str]:
    """Write an admission as fields of the card: name, value, name, value, …"""
    # Redis keeps a hash compactly while no value is over 64 bytes.
    fields = {"policy": admission.policy_version, **_terms_fields(admission)}
    for index, own in admission.own.items():
        fields |= _terms_fields(own, f":{index}")
    if admission.requested_by:
        fields["requested_by"] = admission.requested_by
    if admission.requester_known:
        fields["requester_known"] = "1"
    if admission.thread_author:
        fields["thread_author"] = admission.thread_author
    if admission.on_timeout:
        fields["on_timeout"] = admission.on_timeout
    for number, place in enumerate(admission.places):
        fields[f"place:{number}"] = place_field(place)
    for number, step in enumerate(admission.steps):
        fields[f"step:{number}"] = dumped(step)
    if admission.extension:
        fields["extend"] = dumped(admission.extension)
    return [part for field in fields.items() for part in field]


def _terms_fields(terms: Terms, of: str = "") -> dict[str, str]:
    fields = {f"approvers{of}": " ".join(terms.approvers)}
    if terms.requester_may_decide:
        fields[f"requester{of}"] = "1"
    if terms.decisions is not None:
        fields[f"decisions{of}"] = " ".join(terms.decisions)
    if not terms.allow_always:
        fields[f"once{of}"] = "1"
    return fields | _care_fields(terms, of)


def _care_fields(care: Care, of: str) -> dict[str, str]:
    numbers = {"quorum": care.quorum, "reject_quorum": care.reject_quorum}
    # An action's own number always stands there, since the one for all holds where it does not.
    fields = {f"{name}{of}": str(number) for name, number in numbers.items() if of or number > 1}
    if care.risk != "normal":
        fields[f"risk{of}"] = care.risk
    if care.resembles:
        fields[f"resembles{of}"] = care.resembles
    if care.by_silence:
        fields[f"silence{of}"] = "1"
    if care.sticky:
        fields[f"sticky{of}"] = dumped(care.sticky)
    if care.mask_key:
        fields[f"mask_key{of}"] = care.mask_key
    names = {"mask": care.mask, "mask_random": care.mask_random, "modal_only": care.modal_only}
    return fields | {f"{name}{of}": encode(found) for name, found in names.items() if found}


def place_field(place: Place) -> str:
    """Write a place as one field of the card keeps it."""
    return encode([place.channel, place.thread_ts, place.actions, place.parts, *_later(place)])


def _later(place: Place) -> list[dict[str, Any]]:
    """Write what few places have; records of before have nothing here."""
    given = place.model_dump(mode="json", include={"opened_by", "claim", "proposed"}, exclude_defaults=True)
    return [given] if given else []


def _admission(card: Fields) -> Admission:
    places = sorted((int(number), decode(text)) for number, text in _prefixed(card, "place:"))
    steps = sorted((int(number), text) for number, text in _prefixed(card, "step:"))
    admission = Admission(
        **_terms(card),
        own={int(index): Terms(**_terms(card, f":{index}")) for index, _ in _prefixed(card, "approvers:")},
        policy_version=card["policy"],
        on_timeout=card.get("on_timeout"),
        requested_by=card.get("requested_by"),
        requester_known="requester_known" in card,
        thread_author=card.get("thread_author"),
        places=tuple(
            Place(
                channel=channel,
                thread_ts=thread_ts,
                actions=actions,
                parts=parts,
                **(more[0] if more else {}),
            )
            for _, (channel, thread_ts, actions, parts, *more) in places
        ),
        steps=tuple(Step.model_validate(decode(text)) for _, text in steps),
        extension=Extension.model_validate(decode(card["extend"])) if "extend" in card else None,
    )
    for number, happened in _reached(card).items():
        if happened:
            admission = admission.escalated(admission.steps[number])
    return admission


def _reached(card: Fields) -> dict[int, bool]:
    return dict(sorted((int(number), text != "-") for number, text in _prefixed(card, "reached:")))


def _sticky(card: Fields, index: str) -> StickyApproval:
    ended = card.get(f"sticky_ended:{index}", "").split()
    return StickyApproval(
        Grant.model_validate(decode(card[f"sticky_grant:{index}"])),
        moment(card[f"sticky_until:{index}"]),
        tuple(_use(line) for line in card.get(f"sticky_uses:{index}", "").split("\n") if line),
        Ended(moment(ended[0]), ended[1]) if ended else None,
    )


def _use(line: str) -> Use:
    at, kept = line.split(" ", 1)
    value = decode(kept)
    return Use.model_validate({**(value if isinstance(value, dict) else {}), "at": moment(at)})


def _claim(text: str) -> Claim:
    since, until, user = text.split(" ")
    return Claim(user, moment(since), moment(until))


def dumped(model: WireModel) -> str:
    """Write a part of a record as one field keeps it."""
    return encode(model.model_dump(mode="json", exclude_defaults=True))


def milliseconds(duration: timedelta) -> int:
    """Write a duration as the scripts take it."""
    return int(duration.total_seconds() * 1000)


def unix_milliseconds(at: datetime) -> int:
    """Write a time as the scripts keep it."""
    return round(at.timestamp() * 1000)


def _terms(card: Fields, of: str = "") -> dict[str, Any]:
    decisions = card.get(f"decisions{of}")
    return {
        "approvers": tuple(card[f"approvers{of}"].split()),
        "requester_may_decide": f"requester{of}" in card,
        "decisions": None if decisions is None else tuple(decisions.split()),
        "allow_always": f"once{of}" not in card,
        "quorum": int(card.get(f"quorum{of}") or card.get("quorum", "1")),
        "reject_quorum": int(card.get(f"reject_quorum{of}") or card.get("reject_quorum", "1")),
        "risk": card.get(f"risk{of}", "normal"),
        "by_silence": f"silence{of}" in card,
        "resembles": card.get(f"resembles{of}", ""),
        "mask": tuple(decode(card.get(f"mask{of}", "[]"))),
        "mask_random": tuple(decode(card.get(f"mask_random{of}", "[]"))),
        "mask_key": card.get(f"mask_key{of}", ""),
        "modal_only": tuple(decode(card.get(f"modal_only{of}", "[]"))),
        "sticky": Sticky.model_validate(decode(card[f"sticky{of}"])) if f"sticky{of}" in card else None,
    }


def _votes(text: str) -> tuple[Vote, ...]:
    return tuple(_vote(line) for line in text.split("\n"))


def _vote(line: str) -> Vote:
    user, position, _token, at, text = line.split(" ", 4)
    return Vote(user, position, load_decision(decode(text)["decision"]), at)


def proposal_field(proposal: Proposal) -> str:
    """Write a proposal as its field keeps it; the script puts name, number of people, version and time before it."""
    return encode(
        {
            **proposal.model_dump(mode="json", include={"fingerprint", "by", "rule", "channel"}),
            "decision": dump_decision(proposal.decision),
            "terms": proposal.terms.model_dump(mode="json", exclude_defaults=True),
        }
    )


def _proposal(text: str) -> Proposal:
    name, _quorum, policy, _at, kept = text.split(" ", 4)
    value = decode(kept)
    found = {**(value if isinstance(value, dict) else {}), "name": name, "policy": policy}
    return to_model(Proposal.model_validate, found, where="proposal")


def _shown(text: str) -> Shown:
    channel, ts, stage, digest = text.split(" ")
    return Shown(channel, ts, digest, stage)  # type: ignore[arg-type]  # only we write it


def _gone(line: str) -> tuple[str, str]:
    channel, ts = line.split(" ")
    return channel, ts


def read_standing(interrupt_id: str, card: Fields) -> list[Standing]:
    """Read where the messages of a card stand, of the few fields that say so.

    Raises:
        ValueError: when they are not as this version writes them.
    """
    places = {int(number): decode(text) for number, text in _prefixed(card, "place:")}
    messages = {PartId.parse(name): _shown(text) for name, text in _prefixed(card, "part:")}
    found = []
    for part, shown in messages.items():
        # A message that could not be posted has no digits for its ts; one that is being drawn will soon be as the record.
        if part.is_remark or not shown.ts[0].isdigit() or f"lease:{part}" in card:
            continue
        parent = messages.get(PartId(part.place, 0)) if part.number else None
        thread_ts: str | None = places[part.place][1] or (parent.ts if parent else None)
        found.append(Standing(interrupt_id, part, thread_ts, shown, card["status"] == "pending"))
    return found


def _prefixed(card: Fields, prefix: str) -> list[tuple[str, str]]:
    return [(name.removeprefix(prefix), text) for name, text in card.items() if name.startswith(prefix)]


def _reader(name: str) -> tuple[int, str]:
    index, _, user = name.partition(":")
    return int(index), user
