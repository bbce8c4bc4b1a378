"""The two envelopes: what travels from the agent to the bot, and what comes back."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from agent_adapter.contract.hitl import (
    Decision,
    EditedAction,
    HITLRequest,
    KnownDecision,
    WireModel,
    WrittenModel,
)
from agent_adapter.contract.names import AgentName, MaybeName, PlainName
from agent_adapter.contract.receipt import Receipt

SCHEMA_VERSION = 1
"""It fixes the defaults, too: what a stored interrupt leaves out means the default of its version."""
CONTINUATION_FORMAT = 1

Status = Literal["decided", "expired", "withdrawn", "refused"]
OnExpiry = Literal["reject", "raise", "approve"]


class Link(WrittenModel):
    """A link with a label, shown as text."""

    label: str
    url: str


class Context(WrittenModel):
    """Who asks and why. Shown on the card; everything here is untrusted text."""

    # An empty name means nobody, also in a stored record that nobody checked.
    requested_by: Annotated[str | None, AfterValidator(lambda named: named or None)] = None
    """Slack id of the person for whom the agent acts; by default they may not approve their own request."""
    title: str | None = None
    links: tuple[Link, ...] = ()
    subagent: str | None = None
    again: str | None = None
    """Why it is asked again. The library sets it where an answer could not be used."""
    traceparent: str | None = None
    """In which trace it is asked, in the form of W3C Trace Context, if that is not the program's own. It is not shown."""


class Route(WireModel):
    """Where to ask. Without a channel, the bot's settings decide."""

    channel: str | None = None
    thread_ts: str | None = None


class Source(WireModel):
    """A pause as its framework sent it."""

    dialect: str
    payload: Any


class Continuation(WrittenModel):
    """What a worker needs to resume a run when its process is gone."""

    format: int = CONTINUATION_FORMAT
    """Version of this format."""
    framework: PlainName
    name: PlainName
    """Name of the agent in a worker's registry."""
    version: PlainName
    """Version of the agent's definition, as its owner counts it."""
    state_schema: MaybeName = ""
    """Version of the state's schema, if the framework has one."""
    sdk: str = ""
    """The framework's package and version that wrote the state. Operators can read it; nothing compares it."""
    state: str
    """The framework's JSON of the paused run, or where to find it in the framework's own store; it may be encrypted."""

    @property
    def needs(self) -> str:
        """What a worker must have to resume the run, in one line."""
        return needs_of(self.framework, self.name, self.version, self.state_schema)


def needs_of(framework: str, name: str, version: str, state_schema: str = "") -> str:
    """Return what a worker must have, in one line: `langgraph/billing@1`."""
    return f"{framework}/{name}@{version}" + (f" schema {state_schema}" if state_schema else "")


class Interrupt(WrittenModel):
    """One pause of an agent, sent for review."""

    id: str
    """`<agent>.<key>`: see `contract.identity`."""
    schema_version: int = SCHEMA_VERSION
    agent: AgentName
    request: HITLRequest
    pauses: tuple[str, ...]
    """The framework's own pause id for each action, in the order of the actions."""
    run: str
    """The id of the run: a thread id, or a random id that the run keeps."""
    context: Context = Field(default_factory=Context)
    route: Route = Field(default_factory=Route)
    expires_in: timedelta = timedelta(hours=1)
    """How long people may take. The store makes a deadline of it; if the interrupt is published again, the first one is kept."""
    on_expiry: OnExpiry = "reject"
    """What happens to an open action at the deadline."""
    continuation: Continuation | None = None
    """What a worker needs to resume the run when this process is gone. It is stored separately; no bot reads it."""
    source: Source | None = None
    """The pause itself, for the HTTP API, which writes the answer in the pause's dialect for the agent."""


class DecisionRecord(WireModel):
    """Who decided an action, when, and their note."""

    decided_by: str
    """Slack user id, or `expired` when the deadline decided."""
    decided_at: datetime
    policy: str | None = None
    """Version of the policy that applied; `None` if the interrupt ended before a bot had read it."""
    note: str | None = None
    """What the person wrote beside an approval."""
    changes: str | None = None
    """What the person wants changed. They rejected the call and asked for a new proposal."""
    agreed_by: tuple[str, ...] = ()
    """Everybody who agreed, `decided_by` last; empty when one person was enough."""
    sticky: str | None = None
    """The earlier decision whose standing approval covers this call, as `<interrupt id>:<index>`; that person did not see this call."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision and the index of its action. It unpacks: `index, decision = decided`."""

    index: int
    decision: Decision

    def __iter__(self) -> Iterator[Any]:
        return iter((self.index, self.decision))

    @property
    def type(self) -> str:
        return self.decision.type

    @property
    def edited_action(self) -> EditedAction | None:
        """For an edit: the call that runs instead."""
        return getattr(self.decision, "edited_action", None)

    @property
    def message(self) -> str | None:
        """For a rejection, its reason; for a response, its text."""
        return getattr(self.decision, "message", None)


class Resume(WireModel):
    """The answer to an interrupt: one decision per action, in action order."""

    interrupt_id: str
    status: Status
    decisions: tuple[Decision | None, ...]
    """One for each action; `None` where an action was left open, in which case nothing may be resumed."""
    records: tuple[DecisionRecord | None, ...]
    reason: str | None = None
    """Why it was withdrawn or refused."""
    code: str | None = None
    """Short machine-readable reason of a refusal, such as `policy`."""
    indices: tuple[int, ...] = ()
    """The positions of the answered actions in the record, if these are not all actions in order."""
    receipts: tuple[Receipt | None, ...] = Field((), exclude=True, repr=False)
    """The receipt of each call that may run; empty where nothing is signed."""

    def receipt(self, position: int) -> Receipt | None:
        """Return what a tool checks before it runs one call; `None` when the call may not run, or nothing is signed."""
        return self.receipts[position] if self.receipts else None

    def key(self, position: int) -> str:
        """Return the idempotency key of one decided call; it is the same in every attempt to run it."""
        return f"{self.interrupt_id}:{self.indices[position] if self.indices else position}"


class DecidedResume(Resume):
    """The answer that a run resumes with: every action has a decision of a known kind."""

    status: Literal["decided", "expired"]
    """`expired` when the deadline decided what people had left open."""
    decisions: tuple[KnownDecision, ...]
    records: tuple[DecisionRecord, ...]
    claim: str = Field("", exclude=True, repr=False)
    """The owner name of the claim under which it was read. `report` takes it."""
    is_repeated: bool = Field(False, exclude=True, repr=False)
    """Whether it was claimed before, so that the run may have had it."""
