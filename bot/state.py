"""The record as the bot sees it: frozen, read once, with the views that drawing and deciding need."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    Decision,
    EditDecision,
    RespondDecision,
    ReviewConfig,
    WireModel,
)
from agent_adapter.contract.identity import action_fingerprints, digest
from agent_adapter.contract.interrupt import Interrupt, OnExpiry
from agent_adapter.contract.record import Recorded
from bot.ids import PartId
from bot.masks import Mask, code_of, hide, named_in, plain, scrub, secrets_of
from bot.schedule import Extension, Remark, Step
from bot.sticky import Sticky, StickyApproval

Stage = Literal["open", "ended", "resumed"]
"""How far an interrupt has come, as people in the channel see it."""
CardStatus = Literal["new", "pending", "decided", "expired", "withdrawn", "refused"]


class Place(WireModel):
    """Somewhere the actions are asked."""

    channel: str
    thread_ts: str | None = None
    actions: tuple[int, ...]
    """Indices of the actions asked there."""
    parts: tuple[tuple[int, ...], ...] = ()
    """Empty while one message holds all; else the actions of each numbered part in the card's thread."""
    opened_by: int | None = None
    """The step that has it asked here, too; from the beginning when `None`."""
    claim: timedelta | None = None
    """How long somebody may say that they are looking at it; nobody when `None`."""
    proposed: bool = False
    """Whether it is asked here, too, since somebody proposed what another rule is about."""

    @property
    def is_extra(self) -> bool:
        """Whether it is asked elsewhere as well, so that people can decide without this place."""
        return self.proposed or self.opened_by is not None


class Care(WireModel):
    """With how much care an action is decided, and what of it is shown."""

    quorum: int = Field(1, ge=1)
    """How many people have to agree on the same decision."""
    reject_quorum: int = Field(1, ge=1)
    """How many have to reject."""
    risk: Literal["low", "normal", "high"] = "normal"
    """High: nothing in bulk, nothing for later calls, and whoever approves types a code from the card."""
    by_silence: bool = False
    """Whether the deadline approves what nobody decided."""
    mask: tuple[str, ...] = ()
    """Names of arguments, at any depth, whose values nobody is shown."""
    mask_random: tuple[str, ...] = ()
    """Likewise, of values that are random: a fingerprint tells them apart."""
    mask_key: str = ""
    """Of the fingerprints on this interrupt's cards."""
    modal_only: tuple[str, ...] = ()
    """Names of arguments, at any depth, that are shown in a modal only, which has to be read before approving."""
    sticky: Sticky | None = None
    """For which later calls it may be approved at once; for none when `None`."""
    resembles: str = ""
    """The name in another rule that the tool's name looks like, and that rule."""

    @property
    def masked(self) -> Mask:
        """Give the names of all masked arguments, and what is shown in their place."""
        random = tuple(name for name in self.mask_random if name not in self.mask)
        return Mask((*self.mask, *random), random, self.mask_key)

    def needed(self, decision: str) -> int:
        """Tell how many people a decision takes."""
        return self.reject_quorum if decision == "reject" else self.quorum

    @property
    def needs_votes(self) -> bool:
        """Whether one person is not enough for everything."""
        return max(self.quorum, self.reject_quorum) > 1


ORDINARY = Care()


class Terms(Care):
    """On what terms an action is decided."""

    approvers: tuple[str, ...] = Field(min_length=1)
    """Slack user ids (`U…`, `W…`), user group ids (`S…`), or `channel` for its members."""
    requester_may_decide: bool = False
    decisions: tuple[str, ...] | None = None
    """Which of the agent's allowed decisions are offered; all of them when `None`."""
    allow_always: bool = True
    """Whether a decision may hold for later calls, where the agent can keep it."""

    def narrow(self, config: ReviewConfig) -> ReviewConfig:
        """Give what is offered of what the agent allows."""
        may_hold = self.allow_always and not self.needs_votes and self.risk != "high"
        if self.decisions is None and (may_hold or not config.allow_always):
            return config
        allowed = config.allowed_decisions
        offered = tuple(d for d in allowed if self.decisions is None or d in self.decisions)
        allow_always = config.allow_always and may_hold
        return config.model_copy(update={"allowed_decisions": offered, "allow_always": allow_always})


class Admission(Terms):
    """What was fixed before the first drawing, and judges every click afterwards.

    Its own terms hold for every action that has none in `own`.
    """

    policy_version: str
    own: Mapping[int, Terms] = {}
    """By the index of an action."""
    places: tuple[Place, ...] = Field(min_length=1)
    on_timeout: Literal["reject", "raise"] | None = None
    """What open actions become at the deadline; as the agent says when `None`."""
    time_limit: timedelta | None = Field(None, exclude=True)
    """The policy's own; what is kept is the deadline that follows from it."""

    requested_by: str | None = None
    """For whom the agent acts, where the operator says it; else the agent's word holds."""
    requester_known: bool = False
    """Whether somebody else than the agent vouches for that."""
    thread_author: str | None = None
    """Who began the thread that the run came from."""
    steps: tuple[Step, ...] = ()
    """What happens while nobody has decided, by time."""
    extension: Extension | None = None

    def terms(self, index: int) -> Terms:
        """Give the terms of one action."""
        return self.own.get(index, self)

    def escalated(self, step: Step) -> "Admission":
        """Let those decide whom a step asks as well."""
        own = {index: _with_approvers(self.terms(index), step.approvers) for index in step.actions}
        return self.model_copy(update={"own": {**self.own, **own}}) if step.approvers else self


def _with_approvers(terms: Terms, more: tuple[str, ...]) -> Terms:
    approvers = tuple(dict.fromkeys([*terms.approvers, *more]))
    return Terms(**{**{name: getattr(terms, name) for name in Terms.model_fields}, "approvers": approvers})


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody said that they are looking at a card. It keeps nobody else from deciding."""

    user: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """What Slack shows of one part."""

    channel: str
    ts: str
    digest: str
    stage: "Stage" = "open"


@dataclass(frozen=True, slots=True)
class Standing:
    """One message of ours as a record has it."""

    interrupt_id: str
    part: PartId
    thread_ts: str | None
    shown: Shown
    is_open: bool


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person said about an action that takes several; their last word."""

    user: str
    position: str
    """What it agrees with: see `position_of`."""
    decision: Decision
    at: str = ""

    @property
    def name(self) -> str:
        """Tell it from every other one, also of this person, without saying anything of its content."""
        return f"{self.user} {self.at}"


def position_of(decision: Decision) -> str:
    """Name what a decision says, so that equal names agree: edits by the bytes of their arguments, answers by their words."""
    match decision:
        case EditDecision(edited_action=edited):
            return f"edit:{digest('vote', edited.name, encode(edited.args))}"
        case RespondDecision(message=message):
            return f"respond:{digest('vote', message)}"
        case _:
            return f"{decision.type}:always" if getattr(decision, "always", False) else decision.type


class Proposal(WireModel):
    """An edit that another rule is about. It is asked beside the call itself, on terms of its own."""

    name: str
    """Of the edited call and its terms: the same name is the same proposal, whoever makes it."""
    fingerprint: str
    """Of the edited call."""
    decision: EditDecision
    by: str
    policy: str
    """Version of the rules that it met."""
    rule: str
    """Name of the rule, for people."""
    terms: Terms
    """Of each term the stricter one: of the action, and of that rule."""
    channel: str
    """Where that rule asks: its members are meant by the approver `channel`."""

    @property
    def position(self) -> str:
        """What whoever agrees with it says."""
        return f"{PROPOSAL}{self.name}"


PROPOSAL = "proposal:"
"""How the positions of those begin who agree with a proposal."""


@dataclass(frozen=True, slots=True)
class Written:
    """What somebody wrote and others can agree with."""

    name: str
    """Tells it from everything that was written before or after it."""
    by: str
    decision: Decision
    position: str
    care: Care
    """With how much care somebody agrees with it."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action with everything known about it."""

    index: int
    request: ActionRequest
    config: ReviewConfig
    """As it is offered: what the agent allows, narrowed by the policy."""
    fingerprint: str
    recorded: Recorded | None
    care: Care = ORDINARY
    secrets: tuple[str, ...] = ()
    """Texts of masked values, of any action of the batch: nothing that the agent says may show them."""
    votes: tuple[Vote, ...] = ()
    """While it is open, oldest first."""
    stricter: Proposal | None = None
    """An edit that another rule is about."""
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was found out about call and description once, by name: it stays true whatever is decided."""

    def shown(self, *, on_card: bool = False) -> Any:
        """Give the arguments as people may see them."""
        return hide(self.request.args, self.care.masked, self.care.modal_only if on_card else ())

    def named(self, names: Collection[str]) -> tuple[str, ...]:
        """Give those of the names in `care` that arguments have, at any depth."""
        if "named" not in self.kept:
            self.kept["named"] = named_in(self.request.args, {*self.care.masked, *self.care.modal_only})
        return tuple(name for name in names if name in self.kept["named"])

    @property
    def description(self) -> str:
        """What the agent says about it, as people may see it."""
        return scrub(self.request.description or "", self.secrets)

    def voters(self, position: str) -> tuple[str, ...]:
        """Name the people who say the same."""
        return tuple(vote.user for vote in self.votes if vote.position == position)

    @property
    def proposal(self) -> Written | None:
        """What others can agree with: what another rule is about; else of edits and answers the one with most people, then the oldest."""
        if found := self.stricter:
            return Written(found.name, found.by, found.decision, found.position, found.terms)
        written = [vote for vote in self.votes if isinstance(vote.decision, EditDecision | RespondDecision)]
        vote = max(written, key=lambda vote: len(self.voters(vote.position)), default=None)
        return Written(vote.name, vote.user, vote.decision, vote.position, self.care) if vote else None

    @property
    def proposed(self) -> "Action":
        """The call as it would run by the edit that another rule is about, on the terms of that."""
        assert self.stricter
        return replace(
            self,
            request=self.request.model_copy(update={"args": self.stricter.decision.edited_action.args}),
            config=self.stricter.terms.narrow(self.config),
            kept={},
            fingerprint=self.stricter.fingerprint,
            care=self.stricter.terms,
            votes=(),
            stricter=None,
        )

    def needed(self, position: str) -> int:
        """How many people have to say so."""
        if self.stricter and position == self.stricter.position:
            return self.stricter.terms.quorum
        return self.care.needed(position.partition(":")[0])

    @property
    def number(self) -> int:
        """Its number on the card, from 1."""
        return self.index + 1

    def allows(self, decision: str) -> bool:
        return decision in self.config.allowed_decisions

    @property
    def code(self) -> str:
        """What is typed to approve it. Nothing of what is masked can be learned from it."""
        args = self.request.args
        masked = self.care.masked.names
        if not self.named(masked):
            return code_of(self.fingerprint)
        return code_of(digest("masked", self.request.name, encode(plain(hide(args, masked)))))

    @property
    def sticky(self) -> Sticky | None:
        """For which later calls it may be approved at once, too; for none where it cannot be approved at all."""
        return self.care.sticky if self.allows("approve") else None

    @property
    def has_code(self) -> bool:
        """Whether approving it takes the code on its card."""
        return self.care.risk == "high"


@dataclass(frozen=True)
class ApprovalState:
    """One interrupt's record at one moment."""

    interrupt: Interrupt
    status: CardStatus
    created_at: datetime
    deadline: datetime
    """Effective: the earlier of the agent's and the policy's."""
    now: datetime
    """The store's clock when this was read."""
    recorded: tuple[Recorded | None, ...]
    admission: Admission | None = None
    reason: str | None = None
    """Why it was withdrawn or refused."""
    code: str | None = None
    settled_at: datetime | None = None
    resumed_at: datetime | None = None
    withdraw_asked: str | None = None
    """The agent's reason for a withdrawal that is not applied yet."""
    stalled: str | None = None
    """Why the agent could not go on with the answer, in its words."""
    claimed_until: datetime | None = None
    """Until when somebody holds the right to resume the run, or held it; `None` when it was given back or used."""
    claim_has_lapsed: bool = False
    """Whether whoever held that right has neither gone on with the run in time nor given it back."""
    notice: str | None = None
    """What whoever waits was told about why nothing happens."""
    fingerprints: tuple[str, ...] = ()
    """Of the actions, where whoever read the record knows them already."""
    body: str = field(default="", compare=False, repr=False)
    """The interrupt as it is stored."""
    size: int = field(default=0, compare=False)
    """Characters of the record."""
    kept: dict[Any, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)
    """What was found out about each action; of the same record as it is read again and again."""
    shown: Mapping[PartId, Shown] = field(default_factory=dict)
    up: Mapping[PartId, datetime] = field(default_factory=dict)
    """Since when each of these messages is there."""
    missed: bool = False
    """Whether somebody tried to decide something of it and could not."""
    begun: frozenset[PartId] = frozenset()
    """Messages about which a call to Slack was begun and its end not noted."""
    gone: frozenset[tuple[str, str]] = frozenset()
    """(channel, ts) of messages that were deleted and posted anew: nothing is decided on them."""
    read: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """(index, user) -> `<fingerprint>:<pages read in order>`."""
    votes: Mapping[int, tuple[Vote, ...]] = field(default_factory=dict)
    """By the index of an action that takes several people."""
    proposals: Mapping[int, Proposal] = field(default_factory=dict)
    """By the index of an action."""
    reached: Mapping[int, bool] = field(default_factory=dict)
    """Steps whose time has come, and whether they did anything: nobody is reminded of what is decided."""
    remarks: Mapping[int, Remark] = field(default_factory=dict)
    """Messages in the threads of its cards, by number from 1."""
    extended: int = 0
    """How often people have given themselves more time."""
    claims: Mapping[int, Claim] = field(default_factory=dict)
    """By place; also those that are over."""
    sticky: Mapping[int, StickyApproval] = field(default_factory=dict)
    """By the index of the action that was approved for later calls, too; also those that are over."""

    @property
    def id(self) -> str:
        return self.interrupt.id

    @property
    def agent(self) -> str:
        return self.interrupt.agent

    @property
    def actions(self) -> tuple[Action, ...]:
        # Not a `cached_property`: on Python 3.11 all records would wait for the one that is read beside the loop.
        found: tuple[Action, ...] | None = self.__dict__.get("_actions")
        if found is None:
            found = self.__dict__["_actions"] = self._read_actions()
        return found

    def _read_actions(self) -> tuple[Action, ...]:
        request = self.interrupt.request
        cares = [
            self.admission.terms(index) if self.admission else ORDINARY for index in range(len(self.recorded))
        ]
        secrets = secrets_of(
            (action.args, care.masked) for action, care in zip(request.action_requests, cares, strict=True)
        )
        return tuple(
            Action(
                index,
                action,
                self.admission.terms(index).narrow(config) if self.admission else config,
                fingerprint,
                recorded,
                cares[index],
                secrets,
                self.votes.get(index, ()),
                self.proposals.get(index),
                self.kept.setdefault((index, cares[index].masked, cares[index].modal_only, len(secrets)), {}),
            )
            for index, (action, config, fingerprint, recorded) in enumerate(
                zip(
                    request.action_requests,
                    request.review_configs,
                    self.fingerprints or action_fingerprints(request),
                    self.recorded,
                    strict=True,
                )
            )
        )

    @property
    def requested_by(self) -> str | None:
        """For whom the agent acts, as far as anybody says it."""
        named = self.admission.requested_by if self.admission else None
        return named or self.interrupt.context.requested_by

    def kept_out(self, terms: Terms) -> frozenset[str]:
        """Name the people who on these terms may reject and nothing else, because it is done for them."""
        if self.admission is None or terms.requester_may_decide:
            return frozenset()
        return frozenset(filter(None, (self.requested_by, self.admission.thread_author)))

    @property
    def decided(self) -> frozenset[int]:
        """Which of its actions are decided."""
        return frozenset(index for index, recorded in enumerate(self.recorded) if recorded)

    @property
    def on_expiry(self) -> OnExpiry:
        """What an open action becomes at the deadline: the policy's word goes before the agent's."""
        return (self.admission and self.admission.on_timeout) or self.interrupt.on_expiry

    def is_approved_by_silence(self, index: int) -> bool:
        """Whether the deadline approves this action when nobody decides it: not while somebody proposes something else."""
        action = self.actions[index]
        return (
            action.care.by_silence
            and not action.stricter
            and action.allows("approve")
            # Silence says nothing where nobody could have objected.
            and action.allows("reject")
            and self.on_expiry != "raise"
        )

    @property
    def places(self) -> Mapping[int, Place]:
        """Where it is asked now, by number: a later step may ask in more places."""
        places = enumerate(self.admission.places if self.admission else ())
        return {
            n: place for n, place in places if place.opened_by is None or self.reached.get(place.opened_by)
        }

    @property
    def is_shown(self) -> bool:
        """Whether every message of its cards is there."""
        messages = [len(place.parts) + 1 for place in self.places.values() if not self.is_covered(place)]
        remarks = [len(remark.places) for remark in self.remarks.values()]
        shown = sum(not part.is_ledger for part in self.shown)
        return bool(messages) and shown == sum(messages) + sum(remarks)

    def is_shown_since(self, start: datetime) -> bool:
        """Whether every message is there, and those with which it was asked at first have been since then."""
        return self.is_shown and all(part in self.up and self.up[part] <= start for part in self.asked_by)

    @property
    def asked_by(self) -> Mapping[PartId, Shown]:
        """The messages with which it was asked at first."""
        asked = {n for n, place in self.places.items() if not place.is_extra and not self.is_covered(place)}
        return {
            part: shown for part, shown in self.shown.items() if part.place in asked and not part.is_remark
        }

    @property
    def silent_from(self) -> datetime:
        """From when on people have to be able to object for the deadline to approve: nine tenths of the time they have."""
        added = (
            self.admission.extension.by * self.extended
            if self.admission and self.admission.extension
            else timedelta()
        )
        return self.deadline - 0.9 * (self.deadline - self.created_at - added)

    def is_covered(self, place: Place) -> bool:
        """Whether nothing is asked in a place: all of it was approved before, for calls like these."""
        recorded = [self.recorded[index] for index in place.actions]
        return all(found and found.sticky for found in recorded)

    def claim_at(self, number: int) -> Claim | None:
        """Give who is looking at what is asked in a place, here or where some of it is asked as well."""
        here = set(self.places[number].actions)
        for other, claim in self.claims.items():
            if other in self.places and here & set(self.places[other].actions) and self._holds(other, claim):
                return claim
        return None

    def _holds(self, place: int, claim: Claim) -> bool:
        """Whether a claim still stands: it ends with its time, and with its holder's decision or vote."""
        since = claim.since.timestamp() * 1000
        is_done = any(
            (found and found.decided_by == claim.user and found.decided_at >= claim.since)
            or any(vote.user == claim.user and int(vote.at) >= since for vote in self.votes.get(index, ()))
            for index in self.places[place].actions
            for found in (self.recorded[index],)
        )
        return self.is_open and self.now < claim.until and not is_done

    @property
    def extend_from(self) -> datetime | None:
        """From when people may give themselves more time; `None` when they may not any more."""
        extension = self.admission and self.admission.extension
        if not extension or self.extended >= extension.times:
            return None
        return extension.offered_from(self.created_at, self.deadline)

    @property
    def may_extend(self) -> bool:
        start = self.extend_from
        return self.is_open and start is not None and self.now >= start

    @property
    def is_past(self) -> bool:
        return self.now >= self.deadline

    @property
    def stage(self) -> Stage:
        if self.resumed_at:
            return "resumed"
        return "open" if self.status in {"new", "pending"} else "ended"

    @property
    def is_open(self) -> bool:
        """Whether decisions are still taken."""
        return self.status == "pending" and not self.is_past

    def is_open_at(self, index: int) -> bool:
        return self.is_open and self.recorded[index] is None

    def pages_read(self, index: int, user: str, call: Action | None = None) -> int:
        """How many pages of an action, or of the call that is proposed in its place, this person was shown, in order."""
        fingerprint, _, pages = self.read.get((index, user), "").rpartition(":")
        return int(pages) if fingerprint == (call or self.actions[index]).fingerprint else 0

    def joined(self, index: int) -> frozenset[str]:
        """Name who may decide an action because nobody had for a while."""
        steps = self.admission.steps if self.admission else ()
        reached = (steps[number] for number, happened in self.reached.items() if happened)
        return frozenset(name for step in reached if index in step.actions for name in step.approvers)
