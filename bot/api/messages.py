"""What callers send and what they get back."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_adapter.contract.hitl import Decision, WireModel, first_problem
from agent_adapter.contract.interrupt import Context, DecisionRecord, Link, OnExpiry, Status
from agent_adapter.contract.names import Claim
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import MAX_LIFE, MIN_LIFE
from agent_adapter.dialects import DIALECTS
from agent_adapter.errors import InvalidRequestError
from bot.policy.values import meant

_Model = TypeVar("_Model", bound=BaseModel)

Name = Annotated[str, Field(min_length=1, max_length=200)]
"""An id that the caller's framework gave."""
EXAMPLE = {
    "actionRequests": [{"name": "send_email", "args": {"to": "dana@example.com", "subject": "Your invoice"}}],
    "reviewConfigs": [{"actionName": "send_email", "allowedDecisions": ["approve", "edit", "reject"]}],
}


class Body(BaseModel):
    """What a caller sends. A misspelt field is an error, since leaving it out could matter."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class AskLink(Link):
    """A link with a label, shown as text."""

    model_config = ConfigDict(extra="forbid")


class AskContext(Context):
    """Who asks and why. Shown on the card."""

    model_config = ConfigDict(extra="forbid")
    links: tuple[AskLink, ...] = ()


class Ask(Body):
    """One pause of an agent, to be decided by people."""

    payload: Any = Field(examples=[EXAMPLE])
    """The pause's value, as the framework gave it; or an own request in LangChain's form, with `action_requests` and
    `review_configs`."""
    dialect: str | None = Field(None, json_schema_extra={"enum": [*DIALECTS, None]})
    """Its form, if its keys do not show it."""
    run: Name | None = None
    """Identity of the run, such as a thread id. The same `run` and `pause` find the same interrupt."""
    pause: Name | None = None
    """The framework's id of the pause. It belongs to `run`; without both, every call asks again."""
    channel: str | None = None
    """Slack channel id. Without one, the bot's settings decide."""
    thread_ts: str | None = None
    """Ask in this thread of the channel."""
    context: AskContext = AskContext()
    expires_in: float = Field(3600, ge=MIN_LIFE.total_seconds(), le=MAX_LIFE.total_seconds(), strict=True)
    """Seconds that people have."""
    on_expiry: OnExpiry = "reject"
    """What an open action becomes at the deadline: `raise` leaves it open, and nothing may be resumed."""


def read_as(model: type[_Model], value: object) -> _Model:
    """Read what a caller sends.

    Raises:
        InvalidRequestError: with the first problem as one sentence, and its place.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidRequestError(_sentence(model, error)) from error


def _sentence(model: type[BaseModel], error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    *around, field = first["loc"] or ("",)
    kind = AskLink if "links" in around else AskContext if around else model
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in around)
    known = [*kind.model_fields]
    match first["type"]:
        case "missing":
            return f"body{place} has no {field!r}: add it"
        case "extra_forbidden":
            return f"body{place} has no {field!r}: {meant(field, known, 'there are ' + ', '.join(known))}"
    return first_problem(error, where="body")


class Claiming(Body):
    """The right to resume a run, for one of several processes."""

    claim: Claim
    """A name of the caller's own choice for this attempt. The same name renews."""
    seconds: float = Field(60, ge=0, le=3600, strict=True)
    """How long it holds unless renewed. 0 gives it back."""


class Resumed(Body):
    """Says that the run went on."""

    claim: Claim | None = None
    """The name under which it was claimed, if somebody claimed it."""


class Report(Body):
    """Says what became of an approved call."""

    index: int = Field(ge=0, strict=True)
    """The position of the action."""
    status: Literal["done", "failed"]
    text: str = Field("", examples=["paid as tr_1"])
    """The result, or the error. Shown on the card, without masked values. Of a longer text, the first 2,000 characters
    are kept."""
    claim: Claim | None = None
    """The name under which the run was claimed. With a name, that claim has to be the current one."""


class ReportedOutcome(WireModel):
    """What became of an approved call."""

    status: Literal["done", "failed"]
    text: str
    length: int | None
    """How many characters the whole text has, if only its beginning is kept."""
    reported_at: datetime


class State(WireModel):
    """An interrupt as it is now."""

    id: str
    status: Literal["pending"] | Status
    decisions: tuple[Decision | None, ...]
    """By action, in LangChain's words; `null` where nobody has decided."""
    records: tuple[DecisionRecord | None, ...]
    """Who decided each, and when."""
    resume: Any
    """The answer in the dialect of the pause, to be handed to the framework as it is. `null` while the interrupt is
    pending. It stays `null` when the interrupt ended without an answer: then nothing may be resumed."""
    reason: str | None
    """Why it was withdrawn or refused."""
    code: str | None
    """Short machine-readable reason of a refusal."""
    notice: str | None
    """Why nothing happens with it, while something is wrong with the workspace."""
    deadline: datetime
    """Until when people may decide."""
    outcomes: tuple[ReportedOutcome | None, ...]
    """What became of each action, as the agent reported it first; `null` where it reported nothing."""
    resumed_at: datetime | None
    """When the agent said that its run went on."""
    claim_lapsed_at: datetime | None
    """When the claim of the process that took the answer lapsed, if no process has said since then that the run went on
    or has claimed it again. The process may have died in the middle, and what was approved may have run."""

    def dump(self) -> dict[str, Any]:
        """Give it as plain JSON values."""
        decisions = [decision and dump_decision(decision) for decision in self.decisions]
        # What is handed back to a framework is JSON already, in the exact text of its numbers.
        return {**self.model_dump(mode="json"), "decisions": decisions, "resume": self.resume}


class DecisionEvent(WireModel):
    """One decision, as soon as it was made."""

    index: int
    """Of the action."""
    decision: Decision


class Problem(WireModel):
    """What is wrong with a request."""

    code: str
    """For programs."""
    message: str
    """For people: the place, and what to do."""


class Failure(WireModel):
    """The one form of every error."""

    error: Problem
