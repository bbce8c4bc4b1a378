"""The two hashes of a record, read and written field by field: their names are spelt in `contract.keys`. Pure."""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import WireModel
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import Fields, load_recorded, moment
from agent_adapter.contract.wire import load_decision, load_interrupt
from bot.ids import PartId
from bot.schedule import Extension, Remark, Step
from bot.state import Admission, ApprovalState, Care, Claim, Place, Shown, Terms, Vote
from bot.sticky import Ended, Grant, Sticky, StickyApproval, Use

REMEMBERED = 2_000
"""Records kept as they were last read: the cards that people look at now."""


def read_state(req: Fields, card: Fields, *, now: int) -> ApprovalState:
    """Read the two hashes of a record. Times are the store's milliseconds.

    Raises:
        InvalidRequestError: when what is stored is no interrupt that this version reads.
    """
    interrupt, fingerprints = _asked(req["body"])
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
        notice=card.get("notice"),
        fingerprints=fingerprints,
        shown={PartId.parse(name): _shown(text) for name, text in _prefixed(card, "part:")},
        begun=frozenset(PartId.parse(name) for name, _ in _prefixed(card, "lease:")),
        read={_reader(name): mark for name, mark in _prefixed(card, "seen:")},
        votes={int(index): _votes(text) for index, text in _prefixed(card, "votes:")},
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


# What is remembered of a record is not read and checked again: its body never changes.
@lru_cache(maxsize=REMEMBERED)
def _asked(body: str) -> tuple[Interrupt, tuple[str, ...]]:
    interrupt = load_interrupt(body)
    return interrupt, action_fingerprints(interrupt.request)


def admission_fields(admission: Admission) -> list[str]:
    """Write an admission as fields of the card: name, value, name, value, …"""
    # Redis keeps a hash compactly while no value is over 64 bytes.
    fields = {"policy": admission.policy_version, **_terms_fields(admission)}
    for index, own in admission.own.items():
        fields |= _terms_fields(own, f":{index}")
    if admission.on_timeout:
        fields["on_timeout"] = admission.on_timeout
    for number, place in enumerate(admission.places):
        fields[f"place:{number}"] = encode([place.channel, place.thread_ts, place.actions, place.parts,
                                            *_later(place)])  # fmt: skip
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
    if care.by_silence:
        fields[f"silence{of}"] = "1"
    if care.sticky:
        fields[f"sticky{of}"] = dumped(care.sticky)
    names = {"mask": care.mask, "modal_only": care.modal_only}
    return fields | {f"{name}{of}": encode(found) for name, found in names.items() if found}


def _later(place: Place) -> list[dict[str, Any]]:
    """Write what few places have; records of before have nothing here."""
    given = place.model_dump(mode="json", include={"opened_by", "claim"}, exclude_none=True)
    return [given] if given else []


def _admission(card: Fields) -> Admission:
    places = sorted((int(number), decode(text)) for number, text in _prefixed(card, "place:"))
    steps = sorted((int(number), text) for number, text in _prefixed(card, "step:"))
    admission = Admission(
        **_terms(card),
        own={int(index): Terms(**_terms(card, f":{index}")) for index, _ in _prefixed(card, "approvers:")},
        policy_version=card["policy"],
        on_timeout=card.get("on_timeout"),
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
        "mask": tuple(decode(card.get(f"mask{of}", "[]"))),
        "modal_only": tuple(decode(card.get(f"modal_only{of}", "[]"))),
        "sticky": Sticky.model_validate(decode(card[f"sticky{of}"])) if f"sticky{of}" in card else None,
    }


def _votes(text: str) -> tuple[Vote, ...]:
    return tuple(_vote(line) for line in text.split("\n"))


def _vote(line: str) -> Vote:
    user, position, _token, at, text = line.split(" ", 4)
    return Vote(user, position, load_decision(decode(text)["decision"]), at)


def _shown(text: str) -> Shown:
    channel, ts, stage, digest = text.split(" ")
    return Shown(channel, ts, digest, stage)  # type: ignore[arg-type]  # only we write it


def _prefixed(card: Fields, prefix: str) -> list[tuple[str, str]]:
    return [(name.removeprefix(prefix), text) for name, text in card.items() if name.startswith(prefix)]


def _reader(name: str) -> tuple[int, str]:
    index, _, user = name.partition(":")
    return int(index), user
