"""Plain functions: each call of a gated function waits for a person's decision."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, NoReturn, ParamSpec, Self, TypeAlias, TypeVar, Unpack, cast

from agent_adapter.asking import Asking, check_asking
from agent_adapter.client import ApprovalClient, answered, expect_client
from agent_adapter.contract.hitl import (
    KNOWN_DECISIONS,
    ActionRequest,
    ApproveDecision,
    EditDecision,
    HITLRequest,
    RejectDecision,
    RespondDecision,
)
from agent_adapter.contract.interrupt import DecidedResume, Resume
from agent_adapter.contract.outcome import RUNS, Outcome
from agent_adapter.contract.record import EXPIRED
from agent_adapter.errors import (
    DecisionNotAllowedError,
    InvalidRequestError,
    RejectedError,
    WrongArgumentError,
)
from agent_adapter.expected import expect, kind_of
from agent_adapter.function_schema import Inputs, Values
from agent_adapter.gating import Gate, InterruptOnConfig
from agent_adapter.idempotency import running
from agent_adapter.sync import SyncApprovalClient

P = ParamSpec("P")
T = TypeVar("T")
Describe: TypeAlias = str | Callable[[ActionRequest], str]
_HOW = ("allowed_decisions", "description", "when", "on_reject")
_GATED = "__assent_gated__"
"""The mark of a gated function. Decorators that use `functools.wraps` keep it."""
OnReject: TypeAlias = Callable[[RejectedError], Any]
"""Returns what the caller gets instead of the error: `str` for its sentence, `lambda rejected: None` for `None`."""


@dataclass(frozen=True)
class Call:
    """One call of a function: its arguments as they run, and as they are shown."""

    inputs: Inputs
    values: Values
    shown: Values

    @classmethod
    def of(cls, function: Callable[..., Any] | Inputs, arguments: Mapping[str, Any]) -> Self:
        """Read the arguments of a call, by parameter, as Python values or as JSON."""
        inputs = function if isinstance(function, Inputs) else Inputs.of(function)
        return cls(inputs, *inputs.read(arguments))


def to_request(call: Call, gate: Gate) -> HITLRequest | None:
    """Return the question about a call; `None` when the gate lets it run.

    Raises:
        InvalidRequestError: when a `description` callable raises an error or does not return a string.
    """
    name = call.inputs.name
    review = gate.review([ActionRequest(name=name, args=call.shown)], schemas={name: call.inputs.schema})
    return review and review.request


def to_resume(resume: Resume, call: Call, *, on_reject: OnReject | None = None) -> Callable[[], Any]:
    """Turn the decision into a function without arguments, to be called instead.

    Args:
        resume: The answer; it has one decision, about this call.
        call: The same as for `to_request`.
        on_reject: Gets the `RejectedError`, and returns what the caller gets instead of it.

    Returns:
        A function. It runs the approved or edited call, returns the reviewer's answer, or raises `RejectedError`.

    Raises:
        DecisionNotAllowedError: when the decision does not fit.
    """
    name = call.inputs.name
    if resume.status not in {"decided", "expired"} or len(resume.decisions) != 1:
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id}: {len(resume.decisions)} decisions ({resume.status}) cannot answer one call; "
            "nothing was run"
        )
    (decision,), (record,) = resume.decisions, resume.records
    decided_by = record.decided_by if record else EXPIRED
    match decision:
        case ApproveDecision():
            return call.inputs.call_with(call.values)
        case EditDecision():
            try:
                values = call.inputs.edited(call.values, call.shown, decision.edited_action.args)
            except InvalidRequestError as error:
                raise DecisionNotAllowedError(f"the edit does not fit: {error}; nothing was run") from error
            return call.inputs.call_with(values)
        case RespondDecision() if decided_by != EXPIRED:
            return partial(str, decision.message)
        case RejectDecision() | RespondDecision():
            rejected = RejectedError(name, reason=decision.message, decided_by=decided_by)
            return partial(on_reject or _raise, rejected)
        case _:
            raise DecisionNotAllowedError(f"{resume.interrupt_id}: {name} has no decision; nothing was run")


def _raise(error: RejectedError) -> NoReturn:
    raise error


class CallOptions(Asking, total=False):
    """Where, for whom and how long to ask; and the key of the question."""

    key: str
    """Identifies this one call: a program that starts again finds its question by it. Without one, each call asks again."""


_asking: ContextVar[CallOptions | None] = ContextVar("asking", default=None)


@contextmanager
def asking(**options: Unpack[CallOptions]) -> Iterator[None]:
    """Set options for the calls in a `with` block: who asks, where, under which key.

        with asking(key="order-17", context=Context(requested_by="U0123ABCD")):
            await pay(order=17)

    They replace the options of the decorator. They also apply in tasks and `asyncio.to_thread` calls that start in the block.

    Raises:
        InvalidRequestError: when there is no such option, or its value is of the wrong kind.
    """
    _check_options(options, "key")
    token = _asking.set({**_asked(), **options})
    try:
        yield
    finally:
        _asking.reset(token)


@dataclass
class _Attempt:
    """What became of a decided call. Its question is used up, even if the function failed: no second try."""

    result: Any = None
    failure: BaseException | None = None

    @contextmanager
    def running(self, approvals: ApprovalClient, resume: DecidedResume) -> Iterator[None]:
        """Keep the error of the body, and report what became of the call, if it ran."""
        try:
            with running(resume.key(0), resume.receipt(0)):
                yield
        except BaseException as error:  # noqa: BLE001  # raised in came_of_it
            self.failure = error
        if resume.decisions[0].type in RUNS:
            outcome = Outcome.failed(self.failure) if self.failure else Outcome.done(self.result)
            approvals.report_later(resume.key(0), outcome, claim=resume.claim)

    def came_of_it(self) -> Any:
        if self.failure is not None:
            raise self.failure
        return self.result


@dataclass(frozen=True)
class _GatedFunction:
    """A function, and how its calls are reviewed."""

    inputs: Inputs
    gate: Gate
    on_reject: OnReject | None

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        allowed_decisions: Sequence[str] | None,
        description: Describe | None,
        when: Callable[[ActionRequest], bool] | None,
        on_reject: OnReject | None,
    ) -> Self:
        inputs = Inputs.of(function)
        if getattr(function, _GATED, False):
            raise WrongArgumentError(
                f"{inputs.name} is gated already: people would be asked twice about a call"
            )
        impossible = {"edit": not inputs.types, "respond": not inputs.returns_text}
        given = {"allowed_decisions": allowed_decisions, "description": description, "when": when}
        config = {key: value for key, value in given.items() if value is not None}
        gate = Gate(
            {inputs.name: cast("InterruptOnConfig", config)},
            decisions=[decision for decision in KNOWN_DECISIONS if not impossible.get(decision)],
        )
        if on_reject is not None and (not callable(on_reject) or inspect.iscoroutinefunction(on_reject)):
            raise InvalidRequestError(
                f"{inputs.name}: on_reject: {on_reject!r} is not a plain callable; pass one that takes the RejectedError, "
                "such as str"
            )
        return cls(inputs, gate, on_reject)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call.of(self.inputs, self.inputs.signature.bind(*args, **kwargs).arguments)

    async def ask(self, call: Call, approvals: ApprovalClient, options: CallOptions) -> Any:
        request = to_request(call, self.gate)
        if request is None:
            return await _done(call, call.inputs.call_with(call.values))
        attempt = _Attempt()
        async with _reviewing(approvals, request, call, options) as resume:
            decided = to_resume(resume, call, on_reject=self.on_reject)
            with attempt.running(approvals, resume):
                attempt.result = await _done(call, decided)
        return attempt.came_of_it()

    def ask_and_block(self, call: Call, approvals: SyncApprovalClient, options: CallOptions) -> Any:
        request = to_request(call, self.gate)
        if request is None:
            return call.inputs.call_with(call.values)()
        attempt = _Attempt()
        with approvals.inside(_reviewing(approvals.client, request, call, options)) as resume:
            decided = to_resume(resume, call, on_reject=self.on_reject)
            with attempt.running(approvals.client, resume):
                attempt.result = decided()
        return attempt.came_of_it()


def requires_approval(
    approvals: ApprovalClient | SyncApprovalClient,
    *,
    allowed_decisions: Sequence[str] | None = None,
    description: Describe | None = None,
    when: Callable[[ActionRequest], bool] | None = None,
    on_reject: OnReject | None = None,
    **options: Unpack[Asking],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Gate a function: each call waits for a person's decision.

        @requires_approval(approvals, channel="C0123ABCD")
        async def pay(order: int, amount: Decimal) -> None: ...

    The function gets values that are built from what was shown, or typed in an edit, in the annotated types. A response is
    returned to the caller instead of a result, so people can respond only if the function may return text. Nothing runs
    twice, and nothing runs without a decision. Errors of the function reach the caller.

    Args:
        approvals: An `ApprovalClient` for an asynchronous function, a `SyncApprovalClient` for one that blocks.
        allowed_decisions: The decisions that the reviewer can choose from; by default all that the function can take.
        description: What the card says about the call: a string, or a callable that gets the call.
        when: Gets the call, and says whether it is gated. Only `False` lets it run without a question.
        on_reject: Gets the `RejectedError`, and returns what the caller gets instead of it.
        options: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`. `asking` sets them, and a key, for single calls.

    Returns:
        A decorator.

    Raises:
        InvalidRequestError: at the decorator, when calls of the function could not be shown; at a call, when its arguments
            do not fit the signature or cannot be shown exactly.
        RejectedError: at a call that was rejected, or that nobody decided in time.
        AgentAdapterError: at a call, as in `ApprovalClient.reviewing`. The function did not run.
    """
    if inspect.isroutine(approvals):
        cure = "say whom to ask, as in `@requires_approval(approvals)`"
        raise WrongArgumentError(f"approvals: this is {kind_of(approvals)}: {cure}")
    _check_options(options, *_HOW)

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        gated = _GatedFunction.of(function, allowed_decisions, description, when, on_reject)
        name = gated.inputs.name
        if inspect.iscoroutinefunction(function):
            if not isinstance(approvals, ApprovalClient):
                raise InvalidRequestError(f"{name} is asynchronous: give requires_approval an ApprovalClient")

            @wraps(function)
            async def ask(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await gated.ask(gated.bound(args, kwargs), approvals, {**options, **_asked()})

            vars(ask)[_GATED] = True
            return cast("Callable[P, T]", ask)
        if not isinstance(approvals, SyncApprovalClient):
            raise InvalidRequestError(
                f"{name} blocks while people decide: give requires_approval a SyncApprovalClient, or make it asynchronous"
            )

        @wraps(function)
        def ask_and_block(*args: P.args, **kwargs: P.kwargs) -> T:
            return cast(
                "T", gated.ask_and_block(gated.bound(args, kwargs), approvals, {**options, **_asked()})
            )

        vars(ask_and_block)[_GATED] = True
        return ask_and_block

    return decorate


async def run(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    approvals: ApprovalClient,
    allowed_decisions: Sequence[str] | None = None,
    description: Describe | None = None,
    when: Callable[[ActionRequest], bool] | None = None,
    on_reject: OnReject | None = None,
    **options: Unpack[CallOptions],
) -> Any:
    """Ask about one call, for example a call that a model has requested, and run it once a person has approved it.

    Args:
        function: The function. A plain one runs in a thread.
        arguments: By parameter name, as Python values or as the JSON of a model.
        approvals: A connected client.
        allowed_decisions: As in `requires_approval`.
        description: As in `requires_approval`.
        when: As in `requires_approval`.
        on_reject: As in `requires_approval`.
        options: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`; and `key`.

    Returns:
        The result of the function, the reviewer's answer, or the result of `on_reject`.

    Raises:
        RejectedError: when the call was rejected, or nobody decided in time.
        InvalidRequestError, AgentAdapterError: as in `requires_approval`.
    """
    expect_client(approvals)
    cure = "pass a dictionary with a value for each parameter; json.loads(…) makes one of a model's JSON"
    expect(arguments, Mapping, where="arguments", cure=cure)
    _check_options(options, "key", *_HOW)
    gated = _GatedFunction.of(function, allowed_decisions, description, when, on_reject)
    return await gated.ask(Call.of(gated.inputs, arguments), approvals, {**_asked(), **options})


async def _done(call: Call, decided: Callable[[], Any]) -> Any:
    is_async = inspect.iscoroutinefunction(call.inputs.function)
    result = decided() if is_async else await asyncio.to_thread(decided)
    return await result if inspect.isawaitable(result) else result


@asynccontextmanager
async def _reviewing(
    client: ApprovalClient, request: HITLRequest, call: Call, options: CallOptions
) -> AsyncIterator[DecidedResume]:
    asking = cast("Asking", {name: value for name, value in options.items() if name != "key"})
    key = options.get("key")
    interrupt = client.interrupt(request, run=key, pauses=[call.inputs.name] if key else None, **asking)
    can_be_found = key or interrupt.continuation is not None
    reason = None if can_be_found else "The call that asked was cancelled."
    async with answered(client, interrupt, lambda resume: to_resume(resume, call), if_cancelled=reason) as (
        resume,
        _,
    ):
        yield resume


def _asked() -> CallOptions:
    return _asking.get() or {}


def _check_options(options: Mapping[str, Any], *beside: str) -> None:
    check_asking({name: value for name, value in options.items() if name not in beside}, beside=beside)
    if "key" in options and not (isinstance(options["key"], str) and options["key"]):
        raise InvalidRequestError(
            f"key: {options['key']!r} cannot name a call: pass a string that is not empty, or leave it out to ask anew"
        )
