"""What a tool checks before it runs an approved call. It needs the public keys, and no network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from agent_adapter.contract.arguments import decode
from agent_adapter.contract.receipt import Receipt
from agent_adapter.contract.record import moment
from agent_adapter.errors import InvalidRequestError, ReceiptError
from agent_adapter.receipts.ring import Opened, Ring
from agent_adapter.receipts.statement import ActionStatement, Statement, bytes_digest, run_of
from agent_adapter.receipts.used import Used, use
from agent_adapter.receipts.values import first_difference

TOLERANCE = timedelta(seconds=30)
"""By how much the clocks of the bot and the tool may differ."""
SILENCE = "silence:"
"""How a decision starts that nobody made."""
KEPT = 256
"""How many receipts are kept as they were checked."""

Difference = Callable[[str], str | None]
"""Takes the approved arguments as text, and returns the name of the first one that is not what the tool got."""


@dataclass(frozen=True, slots=True)
class Proven:
    """What a receipt proves about one call."""

    record: str
    """The id of the record."""
    index: int
    """The index of the call in its record."""
    tool: str
    kind: Literal["approve", "edit"]
    """With `edit`, the arguments are those that a person wrote."""
    args: str
    """The arguments as approved, in exactly these bytes."""
    people: tuple[str, ...]
    """The Slack user ids of all who agreed; who decided is the last."""
    how: str
    """How the last one decided: see `ActionStatement.how`."""
    at: datetime
    """When it was decided."""
    use_by: datetime
    """Until when the call may run."""
    key: str
    """The name of the key that signed the decision."""

    @property
    def id(self) -> str:
        """The key under which the call is used up: `<record>:<index>`, the same as `approval_key()`."""
        return f"{self.record}:{self.index}"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as approved. Each reading gives values of its own."""
        return dict(decode(self.args))


def verify_receipt(
    receipt: Receipt | None,
    *,
    keys: Ring | str | Path,
    audience: str,
    tool: str,
    args: bytes | str | Mapping[str, Any],
    namespace: str = "assent",
    used: Used | None = None,
    min_people: int = 0,
    run: str | None = None,
    now: datetime | None = None,
) -> Proven:
    """Check that people approved exactly this call, and use the approval up. After an error, nothing may run.

    Args:
        receipt: What came with the call.
        keys: The public keys that this tool trusts, or the path of their file. A tool that checks often loads them once,
            with `Ring.load`.
        audience: The name of the agent whose calls this tool takes.
        tool: The name of the tool, as people saw it.
        args: What the tool is about to run with. Bytes and text must be exactly those that were approved. In a mapping,
            `1`, `1.0`, `true` and `"1"` are four different values.
        namespace: The namespace of the bot in Redis.
        used: Remembers what was used: `SqliteUsed`, `PostgresUsed`, `RedisUsed` or a function. Without it, the same
            receipt is good for any number of calls until it expires.
        min_people: How many people must have agreed, even where the policy asks for fewer. With 1 or more, silence does
            not approve.
        run: The id of the run that this call must belong to, if the tool knows it.
        now: The time of the check.

    Returns:
        What was proven: who, when, which arguments.

    Raises:
        ReceiptError: when any check fails; `code` says which.
        InvalidRequestError: when the keys cannot be read.
    """
    proven = prove(
        receipt,
        keys=keys if isinstance(keys, Ring) else Ring.load(keys, where="keys"),
        audience=audience,
        tool=tool,
        difference=_difference_to(args),
        namespace=namespace,
        min_people=min_people,
        run=run,
        now=now,
    )
    if used is not None:
        use(used, proven.id, proven.use_by)
    return proven


def prove(
    receipt: Receipt | None,
    *,
    keys: Ring,
    audience: str,
    tool: str,
    difference: Difference,
    namespace: str = "assent",
    min_people: int = 0,
    run: str | None = None,
    now: datetime | None = None,
) -> Proven:
    """Check everything but whether the call was used before."""
    if receipt is None:
        raise ReceiptError(
            f"{tool}: there is no receipt for this call, so nobody has approved it here: run the tool through an "
            "integration, or pass the receipt with `using_receipt`",
            code="missing",
        )
    proven = _agreed(receipt, keys, keys.state, audience, tool, namespace, min_people, run)
    if (now or datetime.now(UTC)) - TOLERANCE >= proven.use_by:
        raise ReceiptError(
            f"{tool}: the approval of {proven.id} could be used until {proven.use_by:%Y-%m-%d %H:%M} UTC: ask again, or raise "
            "`use_within` in the policy",
            code="expired",
        )
    if (different := difference(receipt.args)) is not None:
        raise ReceiptError(
            f"{tool}: {different} is not what was approved for {proven.id}; ask again with the arguments that should run",
            code="arguments",
        )
    return proven


@lru_cache(KEPT)
def _agreed(
    receipt: Receipt,
    keys: Ring,
    state: object,  # noqa: ARG001  # what was kept ends with the keys it was checked with
    audience: str,
    tool: str,
    namespace: str,
    min_people: int,
    run: str | None,
) -> Proven:
    """Check all that is the same whenever this receipt is used for this tool. It is kept, so the second check is fast."""
    opened = [keys.open_statement(each, namespace=namespace) for each in receipt.envelopes]
    if not opened:
        raise ReceiptError(f"{tool}: a receipt without a statement proves nothing", code="form")
    last = opened[-1].statement
    for each in opened:
        _check_place(each.statement, last.rec, audience, run)
    votes = [_vote(each, receipt.index) for each in opened]
    decided = votes[-1]
    if decided.tool != tool:
        raise ReceiptError(
            f"{tool}: the receipt is for the tool {decided.tool!r}: an approval is for one tool", code="tool"
        )
    people = _people(opened, votes)
    _check_people(tool, people, votes, min_people)
    if bytes_digest(receipt.args) != decided.runs:
        raise ReceiptError(
            f"{tool}: the arguments in the receipt are not those that were approved", code="arguments"
        )
    return Proven(
        record=last.rec,
        index=decided.i,
        tool=tool,
        kind="edit" if decided.kind == "edit" else "approve",
        args=receipt.args,
        people=people,
        how=decided.how,
        at=moment(last.at),
        use_by=moment(min(each.statement.use_by for each in opened)),
        key=opened[-1].key.kid,
    )


def _check_place(statement: Statement, record: str, audience: str, run: str | None) -> None:
    if statement.aud != audience:
        raise ReceiptError(
            f"{statement.rec} was asked by the agent {statement.aud!r}, and this tool takes calls of {audience!r}",
            code="audience",
        )
    if run is not None and statement.run != run_of(run):
        raise ReceiptError(f"{statement.rec} belongs to another run", code="run")
    if statement.rec != record:
        raise ReceiptError(f"a receipt mixes statements of {record} and {statement.rec}", code="record")


def _vote(opened: Opened, index: int) -> ActionStatement:
    found = opened.statement.of(index)
    if found is None:
        raise ReceiptError(
            f"{opened.statement.rec}: a statement says nothing about action {index}", code="action"
        )
    if found.kind not in {"approve", "edit"} or found.runs is None:
        raise ReceiptError(
            f"{opened.statement.rec}:{index} ({found.tool}) was decided with {found.kind!r}: it may not run",
            code="kind",
        )
    return found


def _people(opened: Sequence[Opened], votes: Sequence[ActionStatement]) -> tuple[str, ...]:
    """Return who agreed. The last statement names the earlier ones that the bot counted."""
    decided = votes[-1]
    for each, vote in zip(opened[:-1], votes[:-1], strict=True):
        is_same = (vote.position, vote.tool, vote.runs) == (decided.position, decided.tool, decided.runs)
        if each.digest not in decided.counts or not is_same:
            raise ReceiptError(
                f"{opened[-1].statement.rec}: the deciding statement does not count the one of {vote.by}",
                code="people",
            )
    return tuple(dict.fromkeys([vote.by for vote in votes if vote.by != decided.by] + [decided.by]))


def _check_people(tool: str, people: Sequence[str], votes: Sequence[ActionStatement], least: int) -> None:
    needed = max(least, *(vote.quorum for vote in votes))
    if len(people) < needed:
        raise ReceiptError(
            f"{tool}: the receipt names {len(people)} of {needed} people who have to agree", code="people"
        )
    if least and any(vote.how.startswith(SILENCE) for vote in votes):
        raise ReceiptError(f"{tool}: nobody decided it, and this tool needs a person", code="people")


def _difference_to(args: bytes | str | Mapping[str, Any]) -> Difference:
    if isinstance(args, Mapping):
        return lambda approved: first_difference(approved_values(approved), args)
    given = args.encode(errors="surrogatepass") if isinstance(args, str) else args
    return lambda approved: None if approved.encode(errors="surrogatepass") == given else "args"


@lru_cache(KEPT)
def approved_values(text: str) -> dict[str, Any]:
    """Read the arguments of a receipt. Do not change the values: they are kept."""
    try:
        values = decode(text)
    except InvalidRequestError as error:
        raise ReceiptError(
            f"the arguments in the receipt cannot be read: {error}", code="arguments"
        ) from error
    if type(values) is not dict:
        raise ReceiptError("the arguments in the receipt are not a JSON object", code="arguments")
    return values
