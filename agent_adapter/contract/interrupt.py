"""The two envelopes: what travels from the agent to the bot, and what comes back."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from agent_adapter.contract.hitl import (
    Decision,
    EditedAction,
    HITLRequest,
    KnownDecision,
    WireModel,
    WrittenModel,
)
from agent_adapter.contract.names import AgentName, MaybeName, PlainName

SCHEMA_VERSION = 1
CONTINUATION_FORMAT = 1

Status = Literal["decided", "expired", "withdrawn", "refused"]
OnExpiry = Literal["reject", "raise", "approve"]


class Link(WrittenModel):
    """A labelled address, shown as text."""

    label: str
    url: str


class Context(WrittenModel):
    """Who asks and why. Shown on the card; everything here is untrusted text."""

    # An empty name names nobody, also in a record that was written without a look at it.
    requested_by: Annotated[str | None, AfterValidator(lambda named: named or None)] = None
    """Slack id of the person for whom the agent acts; by default they may not approve their own request."""
    title: str | None = None
    links: tuple[Link, ...] = ()
    subagent: str | None = None
    traceparent: str | None = None
    """W3C trace context, carried and not shown."""


class Route(WireModel):
    """Where to ask. Without a channel the bot's settings decide."""

    channel: str | None = None
    thread_ts: str | None = None


class Source(WireModel):
    """A pause as its framework sent it."""

    dialect: str
    payload: Any


class Continuation(WrittenModel):
    """What a worker needs to go on with a run when its process is gone."""

    format: int = CONTINUATION_FORMAT
    """Version of this form."""
    framework: PlainName
    name: PlainName
    """Of the agent in a worker's registry."""
    version: PlainName
    """Of the agent's definition, as its owner counts."""
    state_schema: MaybeName = ""
    """Version of the state's form, where the framework has one."""
    sdk: str = ""
    """The framework's package and version that wrote the state: told to operators, compared by nobody."""
    state: str
    """The framework's own JSON of the paused run, or how to find it in the framework's own store; or that, encrypted."""

    @property
    def needs(self) -> str:
        """What a worker must have to go on with it, in one line."""
        return needs_of(self.framework, self.name, self.version, self.state_schema)


def needs_of(framework: str, name: str, version: str, state_schema: str = "") -> str:
    """Write what a worker must have, in one line."""
    return f"{framework}/{name}@{version}" + (f" schema {state_schema}" if state_schema else "")


class Interrupt(WrittenModel):
    """One pause of an agent, sent for review."""

    id: str
    """`<agent>.<key>`: see `contract.identity`."""
    schema_version: int = SCHEMA_VERSION
    agent: AgentName
    request: HITLRequest
    pauses: tuple[str, ...]
    """The framework's own id of each action's pause, parallel to the actions."""
    run: str
    """Identity of the run: a thread id, or a random id that the run keeps."""
    context: Context = Context()
    route: Route = Route()
    expires_in: timedelta = timedelta(hours=1)
    """How long people have; the store turns it into a deadline, and a repeated publish keeps the first."""
    on_expiry: OnExpiry = "reject"
    """What an open action becomes at the deadline."""
    continuation: Continuation | None = None
    """What a worker needs to resume the run when this process is gone. Stored beside the rest; no bot reads it."""
    source: Source | None = None
    """The pause itself, where the answer is written in its dialect by somebody else than the agent: the HTTP API."""


class DecisionRecord(WireModel):
    """Who decided an action, when, and what they noted beside it."""

    decided_by: str
    """Slack user id, or `expired` where the deadline decided."""
    decided_at: datetime
    policy: str | None = None
    """Version of the rules by which it was decided; `None` where nobody had fixed any before it ended."""
    note: str | None = None
    agreed_by: tuple[str, ...] = ()
    """Everybody who agreed, `decided_by` as the last; empty where one person was enough."""
    sticky: str | None = None
    """The earlier decision from which this one follows, as `<interrupt id>:<index>`; that person did not see this call."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision as it was made, and the index of its action. Unpacks into both."""

    index: int
    decision: Decision

    def __iter__(self) -> Iterator[Any]:
        return iter((self.index, self.decision))

    @property
    def type(self) -> str:
        return self.decision.type

    @property
    def edited_action(self) -> EditedAction | None:
        """What runs in place of what was asked, for an edit."""
        return getattr(self.decision, "edited_action", None)

    @property
    def message(self) -> str | None:
        """Why it was rejected, or the answer."""
        return getattr(self.decision, "message", None)


class Resume(WireModel):
    """The answer to an interrupt: one decision per action, in action order."""

    interrupt_id: str
    status: Status
    decisions: tuple[Decision | None, ...]
    """`None` where an action was left open (only when nothing may be resumed)."""
    records: tuple[DecisionRecord | None, ...]
    reason: str | None = None
    """Why it was withdrawn or refused."""
    code: str | None = None
    """Short machine-readable reason of a refusal."""
    indices: tuple[int, ...] = ()
    """Places in the record of the actions that are answered, where they are not all of them in order."""

    def key(self, position: int) -> str:
        """Name one decided call of this answer: the same name in every attempt to run it."""
        return f"{self.interrupt_id}:{self.indices[position] if self.indices else position}"


class DecidedResume(Resume):
    """The answer that a run resumes with: every action has a decision of a known kind."""

    status: Literal["decided", "expired"]
    """`expired` when the deadline decided what people had left open."""
    decisions: tuple[KnownDecision, ...]
    records: tuple[DecisionRecord, ...]
