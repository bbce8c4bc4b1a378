"""The record as the bot sees it: frozen, read once, with the views that drawing and deciding need."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from agent_adapter.contract.arguments import digest
from agent_adapter.contract.identity import action_fingerprints, slots
from agent_adapter.contract.interrupt import Interrupt, OnExpiry
from agent_adapter.contract.outcome import RUNS, Reported
from agent_adapter.contract.record import Recorded, kind_of_silence
from agent_adapter.contract.trace import TraceContext
from bot.domain.action import Action, only_options
from bot.domain.admission import Admission, Place, Terms, Told
from bot.domain.ids import MessageId, Remark, Shown, Stage
from bot.domain.masking import masked_digest, scrub_all, secrets_of
from bot.domain.standing import StandingApproval
from bot.domain.votes import Proposal, Vote, Written
from bot.sentences.words import Deadline

CardStatus = Literal["new", "pending", "decided", "expired", "withdrawn", "refused"]


_P = ParamSpec("_P")
_T = TypeVar("_T")
_OfRecord = Callable[Concatenate["Approval", _P], _T]


CLAIMED = "claimed"
"""The mark of somebody who is looking at a card."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Somebody said something about a card, such as that they are looking at it. Other people can still decide."""

    user: str
    since: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True)
class Published:
    """A record that was published and is not admitted yet: what the agent asks."""

    interrupt: Interrupt
    status: CardStatus
    created_at: datetime
    deadline: datetime
    """The deadline that counts: the earlier one of the agent's and the policy's."""
    now: datetime
    """The store's clock when this was read."""
    reason: str | None = None
    """Why it was withdrawn or refused."""
    code: str | None = None
    settled_at: datetime | None = None
    resumed_at: datetime | None = None
    withdraw_asked: str | None = None
    """The agent's reason for withdrawing it, while the withdrawal is not carried out yet."""
    stalled: str | None = None
    """Why the agent could not continue with the answer, in the agent's words."""
    unused: bool = False
    """Whether the agent could not use the answer at all, so that nothing ran."""
    claimed_until: datetime | None = None
    """When the claim on the run ends, or ended. `None` when the claim was given back or used."""
    claims: int = 0
    """How often a process of the agent took the answer."""
    untaken: bool = False
    """Whether no process of the agent took the answer for a long time."""
    outcomes: Mapping[int, Reported] = field(default_factory=dict)
    """What the agent has reported of its calls, by the index of the action. It may contain masked values."""
    claim_has_lapsed: bool = False
    """Whether that claim ran out: the run was not resumed in time, and the claim was not given back."""
    notice: str | None = None
    """The sentence that says to the waiting agents why nothing happens."""
    fingerprints: tuple[str, ...] = ()
    """The fingerprints of the actions, if they were computed when the record was read."""
    body: str = field(default="", compare=False, repr=False)
    """The interrupt as it is stored."""
    signature: str = field(default="", compare=False, repr=False)
    """The envelope in which its agent has signed it, or the seal of the HTTP API, which asks for agents without a key.
    Empty without either. Nothing has checked it yet."""
    trace: TraceContext | None = field(default=None, compare=False, repr=False)
    """Where it was asked in a trace. Anybody may have written it, and nothing depends on it."""
    version: str = field(default="", compare=False)
    """The name of what its bot's side has seen so far. It changes with each change that a person or the time makes."""
    size: int = field(default=0, compare=False)
    """How many characters the record has."""

    @property
    def id(self) -> str:
        return self.interrupt.id

    @property
    def agent(self) -> str:
        return self.interrupt.agent

    @property
    def is_past(self) -> bool:
        return self.now >= self.deadline

    @property
    def is_untaken(self) -> bool:
        """Whether no process of the agent goes on with the answer, and none has for a long time."""
        has_claim = self.claimed_until is not None and self.claimed_until > self.now
        return self.untaken and self.resumed_at is None and not has_claim

    @property
    def was_given_back(self) -> bool:
        """Whether a process of the agent took the answer and did not go on: it gave it back, or its claim ran out."""
        return self.claims > 0

    @property
    def stage(self) -> Stage:
        if self.resumed_at:
            return "resumed"
        return "open" if self.status in {"new", "pending"} else "ended"

    def admitted(self, admission: Admission) -> "Approval":
        """Give the record as an approval with this admission and without decisions."""
        nothing = (None,) * len(self.interrupt.request.action_requests)
        known = {each.name: getattr(self, each.name) for each in fields(Published)}
        return Approval(**{**known, "status": "pending"}, admission=admission, recorded=nothing)


def once_read(compute: _OfRecord[_P, _T]) -> _OfRecord[_P, _T]:
    """Compute something once from a record as it was read. A copy with changes computes it anew."""

    @wraps(compute)
    def found(state: "Approval", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        # Not a field, which a copy would have. Not a `cached_property` either: on Python 3.11 that has one lock for all
        # records, so one that a thread reads would block all.
        kept, name = state.__dict__.setdefault("_once_read", {}), (compute, args, *kwargs.items())
        if name not in kept:
            kept[name] = compute(state, *args, **kwargs)
        return kept[name]  # type: ignore[no-any-return]

    return found


@dataclass(frozen=True, kw_only=True)
class Approval(Published):
    """A record that was admitted: people are asked, and the terms of their decisions are fixed."""

    admission: Admission
    recorded: tuple[Recorded | None, ...]
    kept: dict[int, tuple[Terms, dict[str, Any]]] = field(default_factory=dict, compare=False, repr=False)
    """What was computed from each action on its terms, by its index. It is kept while the record is read again."""
    shown: Mapping[MessageId, Shown] = field(default_factory=dict)
    up: Mapping[MessageId, datetime] = field(default_factory=dict)
    """Since when each of its messages has been there."""
    missed: bool = False
    """Whether somebody tried to decide about it and could not."""
    begun: Mapping[MessageId, str] = field(default_factory=dict)
    """Messages with a call to Slack that has begun and whose end is not noted, each with its lease as it is stored."""
    gone: frozenset[tuple[str, str]] = frozenset()
    """(channel, ts) of messages that were deleted and posted again. A click on one of them decides nothing."""
    read: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """(index, user) -> `<fingerprint>:<pages read in order>`."""
    tokens: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The clicks that made each decision, by the index of the action."""
    presses: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """For which actions a press is recorded, by its name."""
    votes: Mapping[int, tuple[Vote, ...]] = field(default_factory=dict)
    """The votes on each action that needs several people, by its index."""
    proposals: Mapping[int, Proposal] = field(default_factory=dict)
    """The proposal for each action that has one, by the index of the action."""
    waiting: str = ""
    """For whom it waits: circles of people, groups and channels."""
    reached: Mapping[int, bool] = field(default_factory=dict)
    """Steps whose time has come, and whether they did anything. Nobody is reminded of a decided action."""
    remarks: Mapping[int, Remark] = field(default_factory=dict)
    """Messages in the threads of its cards, by number from 1."""
    extended: int = 0
    """How often people have extended the deadline."""
    marks: Mapping[str, Mapping[int, Assignment]] = field(default_factory=dict)
    """What people said about each place that holds until a time, by its name in the audit trail; also when it is over."""
    unsigned: frozenset[int] = frozenset()
    """The indices of actions with a stored decision that is not signed. It counts for nothing, and hides no other."""
    unsigned_votes: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """The people in whose name there is a vote that is not signed, by the index of the action."""
    standing: Mapping[int, StandingApproval] = field(default_factory=dict)
    """The standing approvals given here, by the index of the action; also those that have ended."""
    quiet: frozenset[str] = frozenset()
    """The standing approvals whose givers are not mentioned in what is drawn now. It is not stored."""

    @property
    def actions(self) -> tuple[Action, ...]:
        found: tuple[Action, ...] | None = self.__dict__.get("_actions")
        if found is None:
            found = self.__dict__["_actions"] = self._read_actions()
        return found

    def _read_actions(self) -> tuple[Action, ...]:
        request = self.interrupt.request
        terms = self.admission.terms
        secrets = secrets_of(
            (action.args, own.masked) for action, own in zip(request.action_requests, terms, strict=True)
        )
        return tuple(
            Action(
                index,
                action,
                own.narrow(config),
                fingerprint,
                recorded,
                own,
                pages,
                secrets,
                self.votes.get(index, ()),
                self.proposals.get(index),
                len(terms) == 1,
                self._kept(index, own),
            )
            for index, (action, config, own, pages, fingerprint, recorded) in enumerate(
                zip(
                    request.action_requests,
                    request.review_configs,
                    terms,
                    self.admission.pages,
                    self.fingerprints or action_fingerprints(request),
                    self.recorded,
                    strict=True,
                )
            )
        )

    def _kept(self, index: int, terms: Terms) -> dict[str, Any]:
        on_terms, kept = self.kept.get(index, (None, {}))
        if on_terms is not terms:
            _, kept = self.kept[index] = terms, {}
        return kept

    @property
    def requested_by(self) -> str | None:
        """The person for whom the agent acts, if anybody says so."""
        return self.admission.requested_by or self.interrupt.context.requested_by

    def kept_out(self, terms: Terms) -> frozenset[str]:
        """Name the people who may only reject, because the agent acts for them."""
        if terms.requester_may_decide:
            return frozenset()
        return frozenset(filter(None, (self.requested_by, self.admission.thread_author)))

    @property
    def decided(self) -> frozenset[int]:
        """Which of its actions are decided."""
        return frozenset(index for index, recorded in enumerate(self.recorded) if recorded)

    @property
    def on_expiry(self) -> OnExpiry:
        """What becomes of an open action at the deadline. The policy goes before the agent."""
        return self.admission.on_timeout or self.interrupt.on_expiry

    @property
    def raises_at_deadline(self) -> bool:
        """Whether the deadline is an error for the agent, which then resumes nothing: as asked, or for an open action without any no."""
        left = zip(self.recorded, self.interrupt.request.review_configs, strict=True)
        return self.on_expiry == "raise" or any(
            recorded is None and kind_of_silence(config) is None for recorded, config in left
        )

    def at_deadline(self, indices: Iterable[int]) -> Deadline:
        """Say what the deadline does with those of these actions that are open then."""
        if self.raises_at_deadline:
            return "raises"
        still = [index for index in indices if self.is_open_at(index)]
        approved = {self.is_approved_by_silence(index) for index in still}
        if True in approved:
            return "as_said" if False in approved else "approves"
        configs = self.interrupt.request.review_configs
        return "rejects" if {kind_of_silence(configs[index]) for index in still} == {"reject"} else "tells"

    def is_approved_by_silence(self, index: int) -> bool:
        """Whether the deadline approves this action when nobody decides it. Not while there is a proposal for it."""
        action = self.actions[index]
        return (
            action.terms.by_silence
            and not action.stricter
            and action.allows("approve")
            # Silence approves nothing when nobody could have objected.
            and action.allows("reject")
            and not self.raises_at_deadline
        )

    def place_of(self, index: int) -> Place:
        """Give the place where an action was asked first. The approver `channel` means the members of that channel."""
        return self.admission.place_of(index)

    def message_of(self, index: int) -> MessageId:
        """Name the message that shows an action where it was asked first."""
        first = self.admission.place_of(index)
        number, place = next((n, place) for n, place in enumerate(self.admission.places) if place is first)
        shown = (part for part, actions in enumerate(place.parts, 1) if index in actions)
        return MessageId(number, "part", part) if (part := next(shown, 0)) else MessageId(number)

    @property
    def places(self) -> Mapping[int, Place]:
        """The places where it is asked now, by number. A later step may add places."""
        places = enumerate(self.admission.places)
        return {
            n: place for n, place in places if place.opened_by is None or self.reached.get(place.opened_by)
        }

    def calls_on(self, message: MessageId) -> tuple[int, ...]:
        """Give the actions that one message of a card shows: none for the message above numbered parts."""
        place = self.places.get(message.place)
        if place is None:
            return ()
        if message.kind == "card":
            return () if place.parts else place.actions
        is_there = message.kind == "part" and message.number <= len(place.parts)
        return place.parts[message.number - 1] if is_there else ()

    def posted_calls(self, number: int) -> tuple[int, ...]:
        """Give the actions of a place whose messages are there: a button above the parts can be pressed before they are."""
        place = self.admission.places[number]
        if not place.parts:
            return place.actions
        messages = zip(MessageId(number).parts(len(place.parts)), place.parts, strict=True)
        return tuple(index for message, part in messages if message in self.shown for index in part)

    @property
    def is_shown(self) -> bool:
        """Whether every message of its cards is in Slack."""
        messages = [len(place.parts) + 1 for place in self.places.values() if not self.is_preapproved(place)]
        remarks = [len({*remark.places} & self.places.keys()) for remark in self.remarks.values()]
        shown = sum(part.kind not in {"standing", "told", "outcomes"} for part in self.shown)
        return bool(messages) and shown == sum(messages) + sum(remarks)

    def showing(self, part: MessageId, shown: Shown) -> "Approval":
        """Give the record after a call to Slack about one of its messages."""
        begun = {each: lease for each, lease in self.begun.items() if each != part}
        found = replace(self, shown={**self.shown, part: shown}, begun=begun)
        # The actions stay the same, and to read large ones again takes long.
        found.__dict__["_actions"] = self.actions
        return found

    def is_shown_since(self, start: datetime) -> bool:
        """Whether every message is in Slack, and its first messages have been there since then."""
        return self.is_shown and all(part in self.up and self.up[part] <= start for part in self.asked_by)

    @property
    def asked_by(self) -> Mapping[MessageId, Shown]:
        """The messages of the places where it is asked from the beginning."""
        asked = {
            n for n, place in self.places.items() if not place.is_extra and not self.is_preapproved(place)
        }
        return {
            part: shown for part, shown in self.shown.items() if part.place in asked and not part.is_beside
        }

    @property
    def silent_from(self) -> datetime:
        """From when on people must have been able to object for silence to approve: the last nine tenths of their time."""
        extension = self.admission.extension
        added = extension.by * self.extended if extension else timedelta()
        return self.deadline - 0.9 * (self.deadline - self.created_at - added)

    def is_preapproved(self, place: Place) -> bool:
        """Whether a place asks nothing, because standing approvals approved all of its actions."""
        recorded = [self.recorded[index] for index in place.actions]
        return all(found and found.sticky for found in recorded)

    @property
    def told(self) -> Told | None:
        """Where the requester reads the outcome, once there is one that people or the deadline decided."""
        is_asked = any(not self.is_preapproved(place) for place in self.admission.places)
        return self.admission.told if self.status in {"decided", "expired"} and is_asked else None

    def running(self, actions: Iterable[int]) -> tuple[int, ...]:
        """Give those of these actions whose call runs: they were approved, and the approval holds."""
        if self.status != "decided" and not (self.status == "expired" and not self.raises_at_deadline):
            return ()
        recorded = ((index, self.recorded[index]) for index in actions)
        return tuple(index for index, found in recorded if found and found.decision.type in RUNS)

    def mark_at(self, number: int, name: str) -> Assignment | None:
        """Give what somebody said about a place, there or in another place that asks some of the same actions."""
        here = set(self.places[number].actions)
        for other, assignment in self.marks.get(name, {}).items():
            if (
                other in self.places
                and here & set(self.places[other].actions)
                and self._holds(other, assignment)
            ):
                return assignment
        return None

    def assignment_at(self, number: int) -> Assignment | None:
        """Give who is looking at a place."""
        return self.mark_at(number, CLAIMED)

    def _holds(self, place: int, assignment: Assignment) -> bool:
        """Whether an assignment is still active: it ends with its time, and with its holder's decision or vote."""
        since = assignment.since.timestamp() * 1000
        is_done = any(
            (found and found.decided_by == assignment.user and found.decided_at >= assignment.since)
            or any(
                vote.user == assignment.user and int(vote.at) >= since for vote in self.votes.get(index, ())
            )
            for index in self.places[place].actions
            for found in (self.recorded[index],)
        )
        return self.is_open and self.now < assignment.until and not is_done

    @property
    def extend_from(self) -> datetime | None:
        """From when on people may extend the deadline; `None` when they may not any more."""
        extension = self.admission.extension
        if not extension or self.extended >= extension.times:
            return None
        return extension.offered_from(self.created_at, self.deadline)

    @property
    def may_extend(self) -> bool:
        start = self.extend_from
        return self.is_open and start is not None and self.now >= start

    @property
    def is_open(self) -> bool:
        """Whether people can still decide."""
        return self.status == "pending" and self.now < self.deadline

    def is_open_at(self, index: int) -> bool:
        return self.recorded[index] is None and self.is_open and index not in self.unsigned

    def pages_read(self, call: Action, user: str) -> int:
        """How many pages of an action, or of the call proposed instead, this person was shown, in order."""
        fingerprint, _, pages = self.read.get((call.index, user), "").rpartition(":")
        return int(pages) if fingerprint == call.fingerprint else 0

    def has_read(self, call: Action, user: str) -> bool:
        """Whether this person was shown all of an action, or of the call proposed instead."""
        return self.pages_read(call, user) >= call.pages

    def has_read_written(self, index: int, found: Written, user: str) -> bool:
        """Whether this person was shown all of the call of an action as an edit that was voted for would run it."""
        shown, _, read = self.read.get((index, user), "").rpartition(":")
        fingerprint, _, pages = shown.rpartition("/")
        return fingerprint == found.fingerprint and int(read) >= int(pages)

    def joined(self, index: int) -> frozenset[str]:
        """Name the approvers of an action whom a step added."""
        reached = (self.admission.steps[number] for number, happened in self.reached.items() if happened)
        return frozenset(name for step in reached if index in step.actions for name in step.approvers)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text of the calls that is masked or kept off the card, as they were asked and as they ran."""
        masked = []
        for action in self.actions:
            proposal = action.stricter
            terms = [action.terms, *([proposal.terms] if proposal else [])]
            for args in (action.request.args, action.as_it_ran.request.args):
                masked += [(args, {*own.masked, *own.modal_only}) for own in terms]
        return secrets_of(masked)


# --- What people are asked, as one short name -------------------------------------------------------------------------
#
# A button carries it, so a click counts only for what was drawn. Slack brings a button back as it was drawn, and nobody who
# can write to Redis can change it there. So the name says what the person saw, and it is compared with what the record asks now.

DRAWN_AS = 1
"""Goes up when a new version shows the same call so differently that a click on an older card could mean something else."""
QUESTION_LENGTH = 22
"""How many characters the name of a question has."""


def question(state: Approval, indices: Iterable[int], *shown: object) -> str:
    """Name what people are asked about these actions: the calls, the terms on which they are decided, and what was shown besides.

    Votes are no part of it, so two people who click at once both count. Nor is what time changes: the deadline, the steps that
    were reached, and who looks at it.
    """
    named = sorted({*indices})
    if len(named) == 1 and not shown:
        return _names(state, named[0])[1]
    return _name(state, [[index, _names(state, index)[0]] for index in named], *shown)


def _name(state: Approval, asked: list[list[object]], *shown: object) -> str:
    name = digest("question", DRAWN_AS, state.id, asked, *shown)
    return urlsafe_b64encode(bytes.fromhex(name)).rstrip(b"=").decode()


def named_arguments(tool: str, args: dict[str, Any], terms: Terms) -> str:
    """Name arguments in what Slack carries. Everybody there could try masked values until one has the same name, so a key hides them."""
    return masked_digest(tool, args, () if terms.mask_key else terms.masked)


def _names(state: Approval, index: int) -> tuple[str, str]:
    """Name what is asked about an action: as a part of a question about several, and as the question about it alone."""
    action = state.actions[index]
    interrupt, admission, *names = action.kept.get("asked", (None, None))
    if interrupt is not state.interrupt or admission is not state.admission:
        name = _of_action(state, action, _of_record(state))
        names = [name, _name(state, [[index, name]])]
        action.kept["asked"] = (state.interrupt, state.admission, *names)
    return names[0], names[1]


def _of_record(state: Approval) -> str:
    """Name what all actions of a record have in common."""
    first = state.actions[0]
    interrupt, admission, name = first.kept.get("asked by record", (None, None, ""))
    if interrupt is not state.interrupt or admission is not state.admission:
        interrupt, admission = state.interrupt, state.admission
        context = interrupt.context.model_dump(mode="json", exclude={"traceparent"}, exclude_defaults=True)
        name = digest(
            "asked-by-record",
            interrupt.run,
            scrub_all(context, first.secrets),
            [state.requested_by, admission.requester_known, admission.thread_author],
            [admission.policy_version, state.on_expiry],
            [admission.agent_verified, admission.unsigned],
        )
        first.kept["asked by record"] = (interrupt, admission, name)
    return str(name)


def _of_action(state: Approval, action: Action, of_record: str) -> str:
    config = action.config.model_dump(mode="json", exclude={"args_schema"}, exclude_defaults=True)
    steps = [step for step in state.admission.steps if action.index in step.actions]
    terms, call = action.terms, action.fingerprint
    if not terms.mask_key and action.named(terms.masked):
        call = named_arguments(action.request.name, action.request.args, terms)
    return digest(
        "asked",
        of_record,
        slots(state.interrupt.pauses)[action.index],
        call,
        action.description,
        sorted(config.items()),
        action.pages,
        _terms(terms, later={name for step in steps for name in step.approvers}),
        [step.model_dump(mode="json") for step in steps],
        _places(state, action.index),
        # The name covers the schema only as far as buttons offer answers from it.
        *only_options(action),
    )


def _terms(terms: Terms, later: Collection[str]) -> list[tuple[str, Any]]:
    """Give the terms as they were when people were asked: without those who are asked later, whom the steps name."""
    # Who is notified and what people are called is no part of it, as in the name of a proposal.
    found = terms.model_dump(mode="json", exclude_defaults=True, exclude={"named_only", "on_call"})
    found["approvers"] = [name for name in terms.approvers if name not in later]
    return sorted(found.items())


def _places(state: Approval, index: int) -> list[list[object]]:
    """Give where an action is asked and how its messages are laid out. Proposals add places later."""
    return [
        [place.channel, place.opened_by, place.rows, place.actions, place.parts]
        for place in state.admission.places
        if index in place.actions and not place.proposed
    ]


# --- Which actions one button decides together --------------------------------------------------------------------------


def decided_together(approval: Approval, indices: Iterable[int], decision: str) -> tuple[int, ...]:
    """Give the open actions of these that may be decided together: none of high risk, to be read first, or with a proposal."""
    return tuple(
        index
        for index in indices
        if approval.is_open_at(index)
        and (action := approval.actions[index]).allows(decision)
        and not action.is_high_risk
        and not (decision == "approve" and (action.must_read or action.proposal))
    )


def reviewed(approval: Approval, indices: Iterable[int], user: str) -> tuple[int, ...]:
    """Give the open actions of these that somebody may approve together at the end of a review, which showed all of each."""
    return tuple(
        index
        for index in indices
        if approval.is_open_at(index)
        and (action := approval.actions[index]).allows("approve")
        and not action.is_high_risk
        and action.proposal is None
        and approval.pages_read(action, user) >= max(action.pages, 1)
    )


def put_to_vote(approval: Approval, indices: Iterable[int]) -> list[int]:
    """Give the actions of these that do not run yet when one more person approves them."""
    found = (approval.actions[index] for index in indices)
    return [each.index for each in found if each.terms.quorum - len(each.voters("approve")) > 1]


def with_proposal(approval: Approval, indices: Iterable[int]) -> list[int]:
    """Give the open actions of these that could be approved and for which somebody proposes something else."""
    found = (approval.actions[index] for index in indices if approval.is_open_at(index))
    return [action.index for action in found if action.allows("approve") and action.proposal]
