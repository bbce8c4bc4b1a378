"""What a bot signs about one click: who decided what, about which bytes, and until when it may be used."""

import hashlib
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import WireModel
from agent_adapter.contract.interrupt import OnExpiry
from agent_adapter.contract.numbers import whole
from agent_adapter.contract.wire import to_model
from agent_adapter.errors import InvalidRequestError, ReceiptError

RECEIPT = "application/vnd.assent.receipt.v1+json"
"""The payload type of a statement."""
VERSION: Final = 1
LONGEST_USE = timedelta(days=30)
"""How long after the deadline an approved call may run at most."""
KEPT = 1024
"""How many digests of runs and of pauses are kept in memory: a record is read again at every click."""

Whole = Annotated[int, BeforeValidator(whole)]
Moment = Annotated[Whole, Field(ge=0, le=253_402_300_799_999)]
"""Unix milliseconds, until the end of the year 9999."""
Kind = Literal["approve", "edit", "reject", "respond"]


class Requester(WireModel):
    """For whom the agent acts."""

    model_config = ConfigDict(extra="forbid")

    user: str
    vouched_by: str = ""
    """Who says so and may be believed, such as `key billing-1`; empty when only the agent says so."""


class ActionStatement(WireModel):
    """What one click decides about one action."""

    model_config = ConfigDict(extra="forbid")

    i: Whole = Field(ge=0)
    """The index of the action in its record."""
    pause: str
    """The digest of the framework's pause, and of the action's position in it: `pause_of`."""
    tool: str
    asked: str
    """The SHA-256 of the bytes of the arguments that were shown, in hex."""
    runs: str | None = None
    """The SHA-256 of the bytes of the arguments that may run. Only an approval and an edit have it."""
    stored: str
    """The SHA-256 of the decision as the record keeps it: with its message, note, edit, and what holds for later calls."""
    kind: Kind
    position: str
    """What it votes for. Several people agree when their positions are equal."""
    by: str
    """The Slack user id of who decided. With silence, it is `expired`."""
    how: str
    """`click`, `form`, `typed` (a code or a value), `standing:<record>:<index>` or `silence:<rule>`."""
    quorum: Whole = Field(ge=1)
    """How many people have to agree before the decision counts."""
    rule: str = ""
    """The name of the rule that judged the person."""
    counts: tuple[str, ...] = ()
    """The digests of the earlier statements, of other people, that count for this action. Each of them was judged again."""


class Statement(WireModel):
    """One click, as the bot judged it. It is signed before anything is recorded."""

    model_config = ConfigDict(extra="forbid")

    v: Annotated[Literal[1], BeforeValidator(whole)] = VERSION
    kid: str
    """The name of the key that signs it."""
    ns: str
    """The namespace in Redis."""
    team: str
    """The id of the Slack workspace."""
    rec: str
    """The id of the record."""
    run: str
    """The digest of the agent's run: `run_of`."""
    aud: str
    """The name of the agent."""
    body: str
    """The SHA-256 of the whole question as it was stored when people were asked, before it is encrypted, in hex."""
    policy: str
    """The version of the policy."""
    requester: Requester | None = None
    message: str = ""
    """The digest of what the message or form showed that was pressed: its button carried it. Empty where nothing was shown,
    as with a standing approval."""
    at: Moment
    """When it was decided, in Unix milliseconds of the bot's clock."""
    deadline: Moment
    """Until when people could decide, in Unix milliseconds."""
    use_by: Moment
    """Until when an approved call may run, in Unix milliseconds."""
    silence: OnExpiry = "reject"
    """What the deadline does with the actions that are open then: with `raise`, nothing runs."""
    actions: tuple[ActionStatement, ...] = Field(min_length=1)

    def of(self, index: int) -> ActionStatement | None:
        """Return what it says about one action; `None` when it does not name it."""
        return next((each for each in self.actions if each.i == index), None)


def dump_statement(statement: Statement) -> bytes:
    """Write a statement as the bytes to sign."""
    return encode(statement.model_dump(mode="json", exclude_defaults=True) | {"v": statement.v}).encode()


def load_statement(payload: bytes) -> Statement:
    """Read the bytes of a statement whose signature was checked."""
    try:
        fields: Any = decode(payload)
        version = whole(fields["v"])
    except (InvalidRequestError, LookupError, TypeError) as error:
        raise ReceiptError("a receipt does not contain a statement", code="form") from error
    if version not in {None, VERSION}:
        raise ReceiptError(
            f"a receipt has version {version}, and this version of Assent knows {VERSION}: update Assent here",
            code="version",
        )
    try:
        statement = to_model(Statement.model_validate, fields, where="receipt")
    except InvalidRequestError as error:
        raise ReceiptError(f"a receipt does not contain a statement: {error}", code="form") from error
    indices = [each.i for each in statement.actions]
    if len(set(indices)) < len(indices):
        raise ReceiptError("a receipt names one action twice", code="form")
    return statement


def bytes_digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def continuation_field(body: str) -> str:
    """Give what a continuation is bound to when it is encrypted: the question that was asked, as it is stored."""
    return f"continuation {bytes_digest(body)}"


def arguments_digest(args: Any) -> str:
    """Return the digest of arguments, by the bytes in which they are shown and stored."""
    return bytes_digest(encode(args))


@lru_cache(KEPT)
def run_of(run: str) -> str:
    """Return the digest of the id of a run."""
    return _named("run", run)


@lru_cache(KEPT)
def pause_of(pause: str, position: int) -> str:
    """Return the digest of an action's place: the framework's own id of its pause, and its position in that pause."""
    return _named("pause", pause, position)


def _named(kind: str, *parts: object) -> str:
    return bytes_digest(encode([f"assent/{kind}/v1", *parts]))
