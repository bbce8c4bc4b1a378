"""How a stored record is read: the same for the agent and for the bot."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    Decision,
    KnownDecision,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
    WireModel,
)
from agent_adapter.contract.identity import action_fingerprint, action_fingerprints, slots
from agent_adapter.contract.interrupt import DecidedResume, DecisionRecord, Interrupt, Resume, Status
from agent_adapter.contract.outcome import Reported, load_outcome
from agent_adapter.contract.wire import LEFT_OUT, STEPS, to_model, trim
from agent_adapter.errors import (
    ConflictError,
    DecisionNotAllowedError,
    InterruptExpiredError,
    InterruptRefusedError,
    InterruptWithdrawnError,
    InvalidRequestError,
    UnreadableRecordError,
)

EXPIRED = "expired"
"""In place of a user id, when the deadline decided."""
SIGNED = "signed:"
"""Prefix of the fields that end with the token of a click: its signed statements, one a line."""
GRACE = timedelta(seconds=30)
"""How long after a deadline an agent waits for the bot to end the record; the default."""
EXPIRED_MESSAGE = "Nobody decided in time."
NO_ANSWER = "No person has answered: this text comes from the approval service."
"""What follows where the agent takes any text for a person's answer."""
NO_BOT = "No bot was running: start one with this agent's REDIS_URL and namespace."
NOT_COUNTED = "A stored decision does not count."

_R = TypeVar("_R", bound=Resume)

Fields = Mapping[str, str]
"""One Redis hash, decoded."""


class Recorded(WireModel):
    """One stored decision."""

    fingerprint: str
    """Of the action that was shown."""
    decision: Decision
    decided_by: str
    decided_at: datetime
    name: str = ""
    """What this person was called when they decided; empty when nobody said."""
    note: str | None = None
    """What the person wrote beside an approval."""
    changes: str | None = None
    """What the person wants changed. They rejected the call and asked for a new proposal."""
    policy: str | None = None
    """Version of the policy that allowed this person to decide."""
    agreed_by: tuple[str, ...] = ()
    """Everybody who agreed, including the last one; empty when one person was enough."""
    sticky: str | None = None
    """The earlier decision whose standing approval covers this call, as `<interrupt id>:<index>`.

    That person did not see this call.
    """

    @property
    def for_agent(self) -> DecisionRecord:
        """What the agent gets together with the decision."""
        return DecisionRecord(
            decided_by=self.decided_by,
            decided_at=self.decided_at,
            note=self.note,
            changes=self.changes,
            policy=self.policy,
            agreed_by=self.agreed_by,
            sticky=self.sticky,
        )


def dump_decision(decision: Decision) -> dict[str, Any]:
    """Return a decision as plain JSON values, without fields that have no value."""
    value = decision.model_dump(mode="python", exclude_none=decision.type == "reject")
    if value.get("always") is False:
        del value["always"]
    return value


def dump_recorded(
    decision: Decision,
    *,
    fingerprint: str,
    decided_by: str,
    name: str = "",
    note: str | None = None,
    changes: str | None = None,
    policy: str | None = None,
    sticky: str | None = None,
    standing: Mapping[str, Any] | None = None,
) -> str:
    """Write a decision as it is stored in field `d:<index>`; the store adds the time.

    `standing` says for which later calls it holds as well. It is in this text because the text is what is signed.
    """
    return encode(
        {
            "fingerprint": fingerprint,
            "decision": dump_decision(decision),
            "decided_by": decided_by,
            **({"name": name} if name else {}),
            "note": note,
            "policy": policy,
            **({"changes": changes} if changes else {}),
            **({"sticky": sticky} if sticky else {}),
            **({"standing": standing} if standing else {}),
        }
    )


def load_recorded(card: Fields, index: int) -> Recorded | None:
    """Read the decision of one action, `None` while it is open."""
    stored = _stored(card, index)
    return None if stored is None else to_model(Recorded.model_validate, stored, where=f"d:{index}")


def _stored(card: Fields, index: int) -> dict[str, Any] | None:
    """Return one stored decision as the fields of `Recorded`."""
    text = card.get(f"d:{index}")
    if text is None:
        return None
    value = decode(text)
    if not isinstance(value, dict) or not isinstance(value.get("decision"), dict):
        raise InvalidRequestError(f"d:{index}: the stored value is not a decision")
    value["decided_at"] = moment(card[f"at:{index}"])
    value["agreed_by"] = card.get(f"by:{index}", "").split()
    return value


def load_reported(req: Fields, index: int) -> Reported | None:
    """Read what the agent has reported about one action, `None` if it has not."""
    text = req.get(f"outcome:{index}")
    return None if text is None else read_reported(text)


def read_reported(text: str) -> Reported:
    """Read an outcome as the store keeps it: its time in milliseconds, then the outcome."""
    at, _, outcome = text.partition(" ")
    return Reported(load_outcome(outcome), moment(at))


@contextmanager
def reading(
    interrupt_id: str, malformed: type[UnreadableRecordError] = UnreadableRecordError
) -> Iterator[None]:
    """Turn any error that the body raises about stored fields into one of ours; `malformed` fields may have another."""
    try:
        yield
    except UnreadableRecordError:
        raise
    except InvalidRequestError as error:
        raise UnreadableRecordError(f"{interrupt_id} cannot be read: {error}") from error
    except (
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        AttributeError,
        RecursionError,
        OSError,
    ) as error:
        raise malformed(
            f"{interrupt_id} cannot be read, because its fields are not as they are written ({type(error).__name__}): "
            "look for what else writes to this Redis"
        ) from error


def expect_written(interrupt_id: str, req: Fields) -> None:
    """Refuse a record without the fields that `publish` writes in one command."""
    if missing := [name for name in ("body", "created", "deadline") if name not in req]:
        raise UnreadableRecordError(
            f"{interrupt_id} cannot be read, because its {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing: look for what else writes to this Redis"
        )


def moment(milliseconds: str | int) -> datetime:
    """Read a time as the store writes it, in milliseconds."""
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)


def milliseconds(duration: timedelta) -> int:
    """Write a duration as the scripts take it."""
    return duration // timedelta(milliseconds=1)


def unix_milliseconds(at: datetime) -> int:
    """Write a time as the scripts keep it."""
    return round(at.timestamp() * 1000)


def read_resume(
    interrupt: Interrupt,
    card: Fields,
    *,
    deadline: int,
    now: int,
    grace: int,
    faults: Mapping[int, object] | None = None,
) -> Resume | None:
    """Read the answer from a record; `None` while it is open.

    When the deadline has passed by more than the grace, the record counts as expired even if no bot runs: nothing is
    recorded after a deadline. Times are in the store's milliseconds. `faults` says why stored decisions do not count, by
    the index of the action.
    """
    status = _status(card, deadline=deadline, now=now, grace=grace)
    if status is None:
        return None
    configs = interrupt.request.review_configs
    stored = [_stored(card, index) for index in range(len(configs))]
    for index, (each, own) in enumerate(zip(stored, action_fingerprints(interrupt.request), strict=True)):
        if each and each.get("fingerprint") != own:
            raise DecisionNotAllowedError(
                f"{_place(interrupt.id, configs, index)} was made about another call; nothing was resumed"
            )
    resume = _resume(interrupt.id, configs, stored, status, card)
    faults, because = faults or {}, ""
    if status == "expired" and faults:
        resume = resume.model_copy(update={"reason": f"{NOT_COUNTED} {next(iter(faults.values()))}"})
    elif card.get("status") != status:
        # No bot has ended the record: the agent itself found that the time is over.
        resume = resume.model_copy(update={"reason": NO_BOT})
        because = NO_BOT
    if status != "expired" or card.get("on_timeout", interrupt.on_expiry) == "raise":
        return resume
    ended = DecisionRecord(
        decided_by=EXPIRED, decided_at=moment(card.get("deadline", deadline)), policy=card.get("policy")
    )
    # A fault can quote the stored decision, and a program with write access to Redis may have written that for the model.
    reasons = [NOT_COUNTED if index in faults else because for index in range(len(configs))]
    silent = [
        by_silence(config, f"{EXPIRED_MESSAGE} {reason}".rstrip())
        for config, reason in zip(configs, reasons, strict=True)
    ]
    return resume.model_copy(
        update={
            "decisions": tuple(d or s for d, s in zip(resume.decisions, silent, strict=True)),
            "records": tuple(
                r or (ended if s else None) for r, s in zip(resume.records, silent, strict=True)
            ),
        }
    )


def _resume(
    interrupt_id: str,
    configs: Sequence[ReviewConfig],
    stored: Sequence[dict[str, Any] | None],
    status: Status,
    card: Fields,
) -> Resume:
    """Read the stored decisions. The caller has checked that they are about what was asked."""
    # In one validation: an agent waits for this, and starting one costs more than the validation itself.
    answer = {
        "interrupt_id": interrupt_id,
        "status": status,
        "decisions": [each and each["decision"] for each in stored],
        "records": stored,
        "reason": card.get("reason") or None,
        "code": card.get("code") or None,
    }
    resume = to_model(Resume.model_validate, answer, where=interrupt_id)
    for index, decision in enumerate(resume.decisions):
        if decision:
            check_decision(decision, configs[index], where=_place(interrupt_id, configs, index))
    return resume


def by_silence(config: ReviewConfig, message: str = EXPIRED_MESSAGE) -> Decision | None:
    """Return the decision when nobody decides: the kind of no that the action allows, or `None` when it allows none."""
    match kind_of_silence(config):
        case "reject":
            return RejectDecision(message=message)
        case "respond":
            return RespondDecision(message=f"{message} {NO_ANSWER}")
    return None


def kind_of_silence(config: ReviewConfig) -> Literal["reject", "respond"] | None:
    """Name the kind of that decision."""
    if "reject" in config.allowed_decisions:
        return "reject"
    # A program that reads plain words would take any words as a person's answer.
    answerable = "respond" in config.allowed_decisions and "words_only" not in config.effects
    return "respond" if answerable else None


def _status(card: Fields, *, deadline: int, now: int, grace: int) -> Status | None:
    match card.get("status"):
        case "decided" | "expired" | "withdrawn" | "refused" as status:
            return status
        case _:
            return "expired" if now > deadline + grace else None


def _place(interrupt_id: str, configs: Sequence[ReviewConfig], index: int) -> str:
    return f"{interrupt_id}: decision {index + 1} ({configs[index].action_name})"


def check_decision(decision: Any, config: ReviewConfig, *, where: str) -> None:
    """Refuse a decision that the action does not allow, or an edit that changes the tool."""
    if decision.type not in config.allowed_decisions:
        allowed = ", ".join(config.allowed_decisions)
        raise DecisionNotAllowedError(f"{where}: {decision.type} is not one of {allowed}")
    if getattr(decision, "always", False) and not config.allow_always:
        raise DecisionNotAllowedError(f"{where}: it may be decided for this call only, not for later ones")
    if decision.type == "edit" and decision.edited_action.name != config.action_name:
        raise DecisionNotAllowedError(
            f"{where}: an edit may not change the tool to {decision.edited_action.name!r}"
        )


def matching_actions(record: Interrupt, asked: Interrupt) -> list[int]:
    """Return the index of each of our actions in the record. Each must be the same there."""
    if record.run != asked.run:
        raise ConflictError(f"{record.id} belongs to another run: look for what else writes to this Redis")
    places = {slot: index for index, slot in enumerate(slots(record.pauses))}
    known, shown = action_fingerprints(record.request), record.request.review_configs
    own = zip(slots(asked.pauses), asked.request.action_requests, asked.request.review_configs, strict=True)
    indices = []
    for index, (slot, action, config) in enumerate(own):
        found = places.get(slot)
        if found is None or known[found] != _own_fingerprint(action, config, shown[found]):
            raise ConflictError(
                f"{record.id} was published with a different action at position {index + 1} "
                f"({action.name}): a pause may not change once it is asked. To ask anew, withdraw it first"
            )
        indices.append(found)
    return indices


def _own_fingerprint(action: ActionRequest, own: ReviewConfig, shown: ReviewConfig) -> str:
    """Return the fingerprint of our action, without its schema if that was left out in the record."""
    if own.args_schema is not None and shown.args_schema == LEFT_OUT:
        own = own.model_copy(update={"args_schema": LEFT_OUT})
    try:
        return action_fingerprint(action, own)
    except (TypeError, ValueError, RecursionError):
        # What is not JSON was not asked.
        return ""


def check_same_words(record: Interrupt, asked: Interrupt, indices: Sequence[int]) -> None:
    """Refuse a record that people were asked with in other words than ours: what `matching_actions` does not compare.

    How long people may take, the subagent, why it is asked again, and the trace are not compared: they may differ when a question is asked again.
    """
    # In a batch that was too large, everything is cut by the same step.
    differences = (_other_words(record, trim(asked, most), indices) for most in STEPS)
    if (first := next(differences)) and all(differences):
        raise ConflictError(
            f"{record.id} is stored with another {first} than this process asks with, so people may have been shown "
            "something else. To ask anew, withdraw it first; if nothing has changed here, look for what else writes to this Redis"
        )


def _other_words(record: Interrupt, asked: Interrupt, indices: Sequence[int]) -> str:
    """Name the first words in which a record differs from what is asked; empty when there are none."""
    known, own, there, here = record.context, asked.context, record.request, asked.request
    compared: list[tuple[str, object, object]] = [
        ("context.requested_by", known.requested_by, own.requested_by),
        ("context.title", known.title, own.title),
        ("context.links", known.links, own.links),
        ("route", record.route, asked.route),
        ("on_expiry", record.on_expiry, asked.on_expiry),
    ]
    for position, index in enumerate(indices):
        first, second = there.action_requests[index], here.action_requests[position]
        shown, config = there.review_configs[index], here.review_configs[position]
        compared += [
            (f"description of action {position + 1}", first.description, second.description),
            (f"review config of action {position + 1}", shown, config),
        ]
    return next((name for name, stored, ours in compared if stored != ours), "")


def in_order(resume: _R, indices: Sequence[int]) -> _R:
    """Return the answers to these actions of a record, in this order."""
    return resume.model_copy(
        update={
            "decisions": tuple(resume.decisions[i] for i in indices),
            "records": tuple(resume.records[i] for i in indices),
            "receipts": tuple(resume.receipt(i) for i in indices) if resume.receipts else (),
            "indices": tuple(indices),
        }
    )


def decided(interrupt: Interrupt, resume: Resume) -> DecidedResume:
    """Return the answer to resume a run with.

    Raises:
        InterruptEndedError: when an action has no decision; the subclass says how the interrupt ended.
        DecisionNotAllowedError: when a decision is of a kind that this version cannot carry out.
    """
    match resume.status:
        case "refused":
            raise InterruptRefusedError(
                f"{interrupt.id} was refused: {resume.reason}", code=resume.code or "refused"
            )
        case "withdrawn":
            raise InterruptWithdrawnError(
                f"{interrupt.id} was withdrawn: {resume.reason or 'no reason given'}"
            )
        case "expired" if None in resume.decisions:
            sentence = _silence(interrupt, resume)
            # Some frameworks show a model what an error says, so here, too, nothing is quoted.
            because = [each for each in (NO_BOT, NOT_COUNTED) if (resume.reason or "").startswith(each)]
            raise InterruptExpiredError(". ".join([sentence, *because]))
    configs = interrupt.request.review_configs
    for index, decision in enumerate(resume.decisions):
        if not isinstance(decision, KnownDecision):
            kind = decision.type if decision else "nothing"
            raise DecisionNotAllowedError(
                f"{_place(interrupt.id, configs, index)}: {kind} is not a decision that this version can carry out; "
                "nothing was resumed"
            )
    # Everything was checked when it was read; a second validation would only take time.
    return DecidedResume.model_construct(**dict(resume))


def _silence(interrupt: Interrupt, resume: Resume) -> str:
    """Say which actions nobody decided, and why silence is not a rejection for them."""
    configs = interrupt.request.review_configs
    left = [index for index, decision in enumerate(resume.decisions) if decision is None]
    actions = " and ".join(f"action {index + 1} ({configs[index].action_name})" for index in left)
    what = f"{interrupt.id}: nobody decided {actions} in time"
    if interrupt.on_expiry == "raise" or any(by_silence(configs[index]) for index in left):
        return f"{what}, and silence is an error here (on_expiry, or on_timeout in the policy): nothing was resumed"
    first = configs[left[0]]
    return (
        f"{what}, and silence cannot be a rejection: {first.action_name} allows only "
        f"{', '.join(first.allowed_decisions)}. Nothing was resumed; allow reject, or catch this error"
    )
