"""What is fixed before a card is drawn for the first time: the terms of each action, and where it is asked."""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from agent_adapter.contract.hitl import ReviewConfig, WireModel
from bot.domain.masking import Mask
from bot.domain.rules import USE_WITHIN
from bot.domain.schedule import Extension, Step
from bot.domain.standing import StandingLimits


class Place(WireModel):
    """Somewhere the actions are asked."""

    channel: str
    thread_ts: str | None = None
    actions: tuple[int, ...]
    """Indices of the actions asked there."""
    parts: tuple[tuple[int, ...], ...] = ()
    """The actions of each numbered part in the card's thread. Empty when one message holds all of them."""
    rows: bool = False
    """Whether its card shows the actions as rows of one table."""
    opened_by: int | None = None
    """The step after which it is asked here as well. `None`: it is asked here from the beginning."""
    assign: timedelta | None = None
    """How long a person can be assigned here. `None`: nobody can."""
    proposed: bool = False
    """Whether it is asked here as well because of a proposal that another rule decides about."""

    @property
    def is_extra(self) -> bool:
        """Whether people can decide without this place, because it is asked elsewhere as well."""
        return self.proposed or self.opened_by is not None


class Told(WireModel):
    """Where the person for whom the agent acts reads the outcome."""

    person: str
    channel: str
    thread_ts: str | None = None
    """`None` in a direct message."""


class Terms(WireModel):
    """The terms on which an action is decided, and what of it is shown. What is not explained here is as in `bot.policy.keys`."""

    approvers: tuple[str, ...] = Field(min_length=1)
    """Slack user ids (`U…`, `W…`), user group ids (`S…`), or `channel` for its members."""
    named_only: dict[str, str] = Field({})
    """Approvers who are named and not mentioned, so that Slack does not notify them: their names, by id. An empty name was
    not to be had from Slack.
    """
    on_call: dict[str, tuple[str, ...]] = Field({})
    """Who was on call when it was asked, by the entry of the schedule: the card mentions them. Who may decide is looked up
    at every click.
    """
    requester_may_decide: bool = False
    decisions: tuple[str, ...] | None = None
    """Which of the agent's allowed decisions are offered; all of them when `None`."""
    allow_always: bool = True
    """Whether a person may decide "always", if the agent can keep such a decision."""
    quorum: int = Field(1, ge=1)
    reject_quorum: int = Field(1, ge=1)
    risk: Literal["low", "normal", "high"] = "normal"
    confirm: bool = False
    type: str = ""
    """With a high risk: the argument whose value is typed. Empty, or where it cannot be typed: the first that matters."""
    by_silence: bool = False
    """Whether the deadline approves the action when nobody has decided."""
    mask: tuple[str, ...] = ()
    mask_random: tuple[str, ...] = ()
    mask_key: str = ""
    """The key of the fingerprints on the cards of this interrupt. Where something is masked, it also hides the values in the names
    of questions, which everybody in the channel can read. Slack never sees it."""
    modal_only: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    title: str = ""
    reject_reasons: tuple[str, ...] = ()
    tell_approvers: bool = True
    """Whether those who approved it are called when it fails, is not started, or nobody knows what became of it."""
    use_within: timedelta = USE_WITHIN
    standing: StandingLimits | None = None
    """The widest standing approval that can be given with it. `None`: there can be none."""
    resembles: str = ""
    """The name in another rule that the tool's name looks like, and that rule."""
    matched: str = ""
    """The glob by which its rule is about the tool. Empty where the rule names the tool itself."""
    rule: str = ""
    """The name of the rule, for people. A proposal names its rule itself."""

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The approvers whom Slack notifies."""
        return tuple(name for name in self.approvers if name not in self.named_only)

    @property
    def masked(self) -> Mask:
        """Give the names of all masked arguments, and what is shown in their place."""
        if not self.mask_random:
            return Mask(self.mask, key=self.mask_key)
        random = tuple(name for name in self.mask_random if name not in self.mask)
        return Mask((*self.mask, *random), random, self.mask_key)

    def naming(self, names: dict[str, str], on_call: dict[str, tuple[str, ...]]) -> "Terms":
        """Give these terms with the names of people and groups by id, and with who is on call now."""
        named = {entry: names[entry] for entry in self.named_only}
        return self.model_copy(update={"named_only": named, "on_call": on_call})

    def needed(self, decision: str) -> int:
        """Give how many people have to agree on a decision."""
        return self.reject_quorum if decision == "reject" else self.quorum

    @property
    def needs_votes(self) -> bool:
        """Whether one person is not enough for everything."""
        return max(self.quorum, self.reject_quorum) > 1

    def joined_by(self, more: tuple[str, ...]) -> "Terms":
        """Give these terms with more approvers."""
        approvers = tuple(dict.fromkeys([*self.approvers, *more]))
        # Who is asked because nobody has decided is notified of it.
        named_only = {entry: name for entry, name in self.named_only.items() if entry not in more}
        return self.model_copy(update={"approvers": approvers, "named_only": named_only})

    def narrow(self, config: ReviewConfig) -> ReviewConfig:
        """Give the decisions that people are offered: those that the agent allows and these terms offer."""
        may_hold = self.allow_always and not self.needs_votes and self.risk != "high"
        if self.decisions is None and (may_hold or not config.allow_always):
            return config
        allowed = config.allowed_decisions
        offered = tuple(d for d in allowed if self.decisions is None or d in self.decisions)
        allow_always = config.allow_always and may_hold
        return config.model_copy(update={"allowed_decisions": offered, "allow_always": allow_always})


class Admission(WireModel):
    """What was fixed before the first drawing. Every click is judged by it."""

    policy_version: str
    terms: tuple[Terms, ...]
    """The terms of each action."""
    pages: tuple[int, ...] = ()
    """How many pages of each action have to be read before approving or editing it; 0 where its card shows all of it.

    Empty until the card is laid out.
    """
    places: tuple[Place, ...] = Field(min_length=1)
    on_timeout: Literal["reject", "raise"] | None = None
    """What becomes of open actions at the deadline. `None`: what the agent says."""
    time_limit: timedelta | None = Field(None, exclude=True)
    """The time limit of the policy. It is not stored, because the deadline is."""

    requested_by: str | None = None
    """The person for whom the agent acts, if the operator says so. `None`: the person that the agent names."""
    requester_known: bool = False
    """Whether somebody other than the agent vouches for that."""
    agent_verified: bool = False
    """Whether a key of the agent has signed the question, or a key of the HTTP API has asked it."""
    told: Told | None = None
    """Where the requester reads the outcome. `None`: nowhere."""
    thread_author: str | None = None
    """Who began the thread that the run came from."""
    steps: tuple[Step, ...] = ()
    """What happens while nobody has decided, in order of time."""
    extension: Extension | None = None
    unsigned: bool = False
    """Whether the bot that asked had no key to sign decisions with. Cards of high risk say so."""

    def place_of(self, index: int) -> Place:
        """Give the place where an action was asked first."""
        return next(place for place in self.places if index in place.actions and not place.proposed)

    def escalated(self, step: Step) -> "Admission":
        """Give this admission with the approvers of a step added."""
        terms = tuple(
            own.joined_by(step.approvers) if index in step.actions else own
            for index, own in enumerate(self.terms)
        )
        return self.model_copy(update={"terms": terms})
