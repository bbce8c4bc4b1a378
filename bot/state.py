"""The record as the bot sees it: frozen, read once, with the views that drawing and deciding need."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal

from pydantic import Field

from agent_adapter.contract.hitl import ActionRequest, ReviewConfig, WireModel
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.interrupt import Interrupt, OnExpiry
from agent_adapter.contract.record import Recorded
from bot.ids import PartId
from bot.schedule import Extension, Remark, Step

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


class Terms(WireModel):
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
        if self.decisions is None and (self.allow_always or not config.allow_always):
            return config
        allowed = config.allowed_decisions
        offered = tuple(d for d in allowed if self.decisions is None or d in self.decisions)
        allow_always = config.allow_always and self.allow_always
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
class Action:
    """One action with everything known about it."""

    index: int
    request: ActionRequest
    config: ReviewConfig
    """As it is offered: what the agent allows, narrowed by the policy."""
    fingerprint: str
    recorded: Recorded | None

    @property
    def number(self) -> int:
        """Its number on the card, from 1."""
        return self.index + 1

    def allows(self, decision: str) -> bool:
        return decision in self.config.allowed_decisions


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
    notice: str | None = None
    """What whoever waits was told about why nothing happens."""
    fingerprints: tuple[str, ...] = ()
    """Of the actions, where whoever read the record knows them already."""
    shown: Mapping[PartId, Shown] = field(default_factory=dict)
    begun: frozenset[PartId] = frozenset()
    """Messages about which a call to Slack was begun and its end not noted."""
    read: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """(index, user) -> `<fingerprint>:<pages read in order>`."""
    reached: Mapping[int, bool] = field(default_factory=dict)
    """Steps whose time has come, and whether they did anything: nobody is reminded of what is decided."""
    remarks: Mapping[int, Remark] = field(default_factory=dict)
    """Messages in the threads of its cards, by number from 1."""
    extended: int = 0
    """How often people have given themselves more time."""
    claims: Mapping[int, Claim] = field(default_factory=dict)
    """By place; also those that are over."""

    @property
    def id(self) -> str:
        return self.interrupt.id

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        request = self.interrupt.request
        return tuple(
            Action(
                index,
                action,
                self.admission.terms(index).narrow(config) if self.admission else config,
                fingerprint,
                recorded,
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
    def on_expiry(self) -> OnExpiry:
        """What an open action becomes at the deadline: the policy's word goes before the agent's."""
        return (self.admission and self.admission.on_timeout) or self.interrupt.on_expiry

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
        messages = [len(place.parts) + 1 for place in self.places.values()]
        remarks = [len(remark.places) for remark in self.remarks.values()]
        return bool(messages) and len(self.shown) == sum(messages) + sum(remarks)

    def claim_at(self, number: int) -> Claim | None:
        """Give who is looking at what is asked in a place, here or where some of it is asked as well."""
        here = set(self.places[number].actions)
        for other, claim in self.claims.items():
            if other in self.places and here & set(self.places[other].actions) and self._holds(other, claim):
                return claim
        return None

    def _holds(self, place: int, claim: Claim) -> bool:
        """Whether a claim still stands: it ends with its time, and with its holder's decision."""
        decided = (self.recorded[index] for index in self.places[place].actions)
        is_done = any(
            found and found.decided_by == claim.user and found.decided_at >= claim.since for found in decided
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

    def pages_read(self, index: int, user: str) -> int:
        """How many pages of this action, from the first in order, this person was shown."""
        fingerprint, _, pages = self.read.get((index, user), "").rpartition(":")
        return int(pages) if fingerprint == self.actions[index].fingerprint else 0
