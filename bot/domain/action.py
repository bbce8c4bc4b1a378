"""One action with everything known about it: the call, its terms, its votes and its decision.

What is computed from a call is kept with it: a card is drawn again and again, and most of it stays the same.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ActionRequest, Decision, EditDecision, RespondDecision, ReviewConfig
from agent_adapter.contract.numbers import Number
from agent_adapter.contract.record import Recorded
from bot.domain.admission import Terms
from bot.domain.masking import hide, named_in, scrub
from bot.domain.standing import StandingLimits
from bot.domain.subject import Facts, facts_of
from bot.domain.votes import Proposal, Vote, Written, kind_of, position_of
from bot.text.literal import clip, one_line

LONGEST = 24
_TEXT = re.compile(r"(?=.{3,24}\Z)[!-_a-~]( ?[!-_a-~])+")
"""3 to 24 printable ASCII characters. Spaces at an end or in a row would be lost, other letters may look alike, and a
backtick would end the code in which a card shows it."""
_NUMBER = re.compile(r"-?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_LONGEST_NAME = 60

_P = ParamSpec("_P")
_T = TypeVar("_T")
_OfAction = Callable[Concatenate["Action", _P], _T]


def once(compute: _OfAction[_P, _T]) -> _OfAction[_P, _T]:
    """Compute something once from a call and its terms. It may not depend on what people decide, vote or propose."""

    @wraps(compute)
    def found(action: "Action", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        kept, name = action.kept, (compute, args, *kwargs.items()) if kwargs else (compute, args)
        if name not in kept:
            kept[name] = compute(action, *args, **kwargs)
        return kept[name]  # type: ignore[no-any-return]

    return found


def once_as_asked(compute: _OfAction[_P, _T]) -> _OfAction[_P, _T]:
    """Do so while a call runs as it was asked; of what people do, it may depend on a change of the call only."""
    keeping = once(compute)

    @wraps(compute)
    def found(action: "Action", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return (keeping if action.after is action else compute)(action, *args, **kwargs)

    return found


@dataclass(frozen=True, slots=True)
class ToType:
    """What a person types to approve a call of high risk."""

    text: str
    """As the form shows it."""
    name: str = ""
    """The argument that has this value; empty for the name of the tool."""
    is_number: bool = False

    def is_typed(self, text: str) -> bool:
        """Whether this is it: a text exactly, a number with as many decimals and separators as somebody likes."""
        if self.is_number and _NUMBER.fullmatch(text):
            return Decimal(text.replace(",", "")) == Decimal(self.text)
        return bool(text) and text == self.text


def to_type(tool: str, values: Iterable[tuple[str, Any]]) -> ToType:
    """Choose what is typed: the first of these named values that can be typed, the best first, else the name of the tool."""
    found = (_value(name, value) for name, value in values)
    return next(filter(None, found), ToType(clip(one_line(tool), _LONGEST_NAME).replace("`", "'").strip()))


def _value(name: str, value: Any) -> ToType | None:
    if type(value) in {int, float, Number}:
        drawn = encode(value)
        return ToType(drawn, name, is_number=True) if len(drawn) <= LONGEST else None
    return ToType(value, name) if isinstance(value, str) and _TEXT.fullmatch(value) else None


@dataclass(frozen=True, slots=True)
class Action:
    """One action with everything known about it."""

    index: int
    request: ActionRequest
    config: ReviewConfig
    """As it is offered: what the agent allows, narrowed by the policy."""
    fingerprint: str
    recorded: Recorded | None
    terms: Terms
    pages: int
    """How many pages a person has to read before approving or editing it; 0 where its card shows all of it."""
    secrets: tuple[str, ...] = ()
    """The masked texts of all actions of the batch. They are removed from everything that the agent says."""
    votes: tuple[Vote, ...] = ()
    """The votes while it is open, oldest first."""
    stricter: Proposal | None = None
    """An edit that another rule decides about."""
    is_alone: bool = False
    """Whether its request has no other action. A card of several has no room for every button of each."""
    kept: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was computed from call and terms: see `once`. Decisions do not change it."""

    @once
    def shown(self, *, on_card: bool = False) -> Any:
        """Give the arguments as people may see them."""
        return hide(self.request.args, self.terms.masked, self.terms.modal_only if on_card else ())

    def named(self, names: Collection[str]) -> tuple[str, ...]:
        """Give those of the names that its arguments have, at any depth."""
        return tuple(name for name in names if name in self._unshown()) if names else ()

    @once
    def _unshown(self) -> set[str]:
        return named_in(self.request.args, {*self.terms.masked, *self.terms.modal_only})

    @property
    @once
    def facts(self) -> Facts:
        """The arguments that a person may see on a card, those that matter first."""
        return facts_of(self.shown(on_card=True), self.config.args_schema)

    @property
    def description(self) -> str:
        """What the agent says about it, as people may see it."""
        return scrub(self.request.description or "", self.secrets)

    @property
    def headline(self) -> tuple[str, ...]:
        """The arguments that are the subject of the call: those that the policy names, or else those that the agent names."""
        return self.terms.headline or self.config.headline

    def voters(self, position: str) -> tuple[str, ...]:
        """Name the people who voted for this position."""
        return tuple(vote.user for vote in self.votes if vote.position == position)

    @property
    def proposal(self) -> Written | None:
        """What others can agree with: the stricter edit, or else the edit or answer with the most votes, the oldest first."""
        if found := self.stricter:
            return self._proposed_by(found)
        if not self.votes:
            return None
        written = [vote for vote in self.votes if isinstance(vote.decision, EditDecision | RespondDecision)]
        vote = max(written, key=lambda vote: len(self.voters(vote.position)), default=None)
        return self._written_by(vote) if vote else None

    def written(self, name: str) -> Written | None:
        """Give what somebody wrote, by its name; `None` when it is gone."""
        if self.stricter and self.stricter.name == name:
            return self.proposal
        return next((self._written_by(vote) for vote in self.votes if vote.name == name), None)

    def _written_by(self, vote: Vote) -> Written:
        return Written(vote.name, vote.user, vote.decision, vote.position, self.terms, vote.position)

    def _proposed_by(self, found: Proposal) -> Written:
        return Written(
            found.name, found.by, found.decision, found.position, found.terms, found.fingerprint, found.pages
        )

    def voted(self, decision: Decision) -> Written | None:
        """Give what was written with this decision, if anybody voted for it. `None` when nobody did."""
        position = position_of(decision)
        return next((self._written_by(vote) for vote in self.votes if vote.position == position), None)

    @property
    def proposed(self) -> "Action":
        """The call as the stricter edit would run it, on the terms of that edit."""
        assert self.stricter
        return self.as_written(self._proposed_by(self.stricter))

    def as_written(self, found: Written) -> "Action":
        """The call as an edit that somebody wrote would run it, on the terms of that edit."""
        assert isinstance(found.decision, EditDecision)
        return replace(
            self,
            request=self.request.model_copy(update={"args": found.decision.edited_action.args}),
            config=found.terms.narrow(self.config),
            kept={},
            fingerprint=found.fingerprint,
            terms=found.terms,
            pages=found.pages or 0,
            votes=(),
            stricter=None,
        )

    def agreed(self, found: Written) -> "Action":
        """The call as what somebody wrote would run it."""
        return self.as_decided(found.decision) if found.is_vote else self.as_written(found)

    def needed(self, position: str) -> int:
        """How many people have to vote for this position."""
        if self.stricter and position == self.stricter.position:
            return self.stricter.terms.quorum
        return self.terms.needed(kind_of(position))

    @property
    def number(self) -> int:
        """Its number on the card, from 1."""
        return self.index + 1

    @property
    def number_shown(self) -> int | None:
        """Its number, where a request has several."""
        return None if self.is_alone else self.number

    def allows(self, decision: str) -> bool:
        return decision in self.config.allowed_decisions

    @property
    def must_read(self) -> bool:
        """Whether a person has to read it page by page before approving it, because its card does not show all of it."""
        return self.pages > 0

    @property
    def to_type(self) -> ToType:
        """What a person types to approve it: the policy's argument, else the first that matters, else the name of the tool."""
        shown = self.shown(on_card=True)
        # An agent's own headline chooses nothing here.
        names = (self.terms.type, *self.terms.headline)
        named = ((name, shown.get(name)) for name in names if name)
        facts = ((".".join(fact.path), fact.value) for fact in self.facts.shown)
        return to_type(self.request.name, (*named, *facts))

    def edited(self, args: dict[str, Any]) -> "Action":
        """The call with other arguments, on the same terms."""
        return replace(self, request=self.request.model_copy(update={"args": args}), kept={})

    def as_decided(self, decision: Decision) -> "Action":
        """The call as this decision would run it."""
        return self.edited(decision.edited_action.args) if isinstance(decision, EditDecision) else self

    @property
    def as_it_ran(self) -> "Action":
        """The call as it was decided: an edit with its changes, on the terms of that edit; any other as it was asked."""
        decision = self.recorded.decision if self.recorded else None
        if not isinstance(decision, EditDecision):
            return self
        found = self.stricter
        terms = found.terms if found and found.decision == decision else self.terms
        return replace(self.as_decided(decision), terms=terms, pages=0)

    @property
    def after(self) -> "Action":
        """The call as it was decided, or while it is open as somebody proposes to run it."""
        if self.recorded is None and (found := self.proposal) and isinstance(found.decision, EditDecision):
            return self.as_written(found)
        return self.as_it_ran

    @property
    def standing(self) -> StandingLimits | None:
        """The widest standing approval that can be given with it. `None` when there can be none, as during a proposal."""
        return self.terms.standing if self.allows("approve") and not self.proposal else None

    @property
    def allows_for_run(self) -> bool:
        """Whether later calls of its tool in the run can be approved with it. Not while somebody proposes something else."""
        return self.config.allow_always and not self.proposal

    @property
    def is_high_risk(self) -> bool:
        """Whether a person has to type a value of the call to approve it."""
        return self.terms.risk == "high"


TEXTS = ("question", "prompt", "message", "text")
_MOST = 1_000
"""The most answers of a choice. Of more, none is offered, and any answer is typed."""
OPTIONS = ("options", "choices")
"""The arguments in which a question offers answers."""


def question_name(action: Action) -> str | None:
    """Name the argument that holds the text of a question: by its name, or the first text. `None` where people decide otherwise."""
    if not action.allows("respond") or action.allows("approve") or action.allows("edit"):
        return None
    args = action.shown(on_card=True)
    return next(
        (name for name in (*TEXTS, *args) if isinstance(text := args.get(name), str) and text.strip()), None
    )


def question_of(action: Action) -> str | None:
    """Give the text that a call asks people, as the agent wrote it; `None` where people do more than answer."""
    name = question_name(action)
    return None if name is None else str(action.shown(on_card=True)[name])


def options_of(action: Action) -> tuple[str, ...]:
    """Give the answers that a question offers, as the agent wrote them: different texts. Empty where it offers none."""
    args = action.shown(on_card=True) if question_name(action) else {}
    return only_options(action) or _texts(next((args[name] for name in OPTIONS if name in args), None))


def only_options(action: Action) -> tuple[str, ...]:
    """Give the only answers that a question takes, by the `enum` of `answer` in its schema. Empty where it takes any."""
    match action.config.args_schema if question_name(action) else None:
        case {"properties": {"answer": {"enum": offered}}}:
            return _texts(offered)
    return ()


def _texts(offered: Any) -> tuple[str, ...]:
    are_texts = isinstance(offered, list) and all(isinstance(each, str) and each.strip() for each in offered)
    return tuple(offered) if are_texts and 1 < len({*offered}) == len(offered) <= _MOST else ()
