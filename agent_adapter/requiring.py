"""Tools that run only when a person approved exactly this call."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from agent_adapter.errors import InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect, kind_of
from agent_adapter.idempotency import approval_receipt, running
from agent_adapter.receipts.check import Proven, approved_values, prove
from agent_adapter.receipts.parameters import Parameters
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.used import Used, expect_free, use

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


def requires_receipt(
    *,
    keys: Ring | str | Path,
    audience: str,
    used: Used | None = None,
    namespace: str = "assent",
    min_people: int = 0,
    tool: str | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a tool run only with a receipt that proves: people approved this tool, with these arguments, and it has not run.

        @requires_receipt(keys="ring.json", audience="billing", used=SqliteUsed("used.db"))
        def pay(order: int, amount: Decimal) -> str: ...

    Put it next to the function, below the framework's own decorator. Integrations pass the receipt; a server passes it with
    `using_receipt`.

    Each argument must be what was approved, or what the approved JSON becomes in the type of its parameter. One that was not
    approved must be the default. What a type changes or leaves out does not run. In the body, `approval_key()` is the key of the call.

    Args:
        keys: The public keys that this tool trusts, or the path of their file.
        audience: The name of the agent whose calls this tool takes.
        used: Remembers what was used: `SqliteUsed`, `PostgresUsed`, `RedisUsed`, or a function that takes a key and a time and
            returns whether the key was free. An asynchronous tool may have an asynchronous one. Without it, an approved call
            can repeat until its `use_by`.
        namespace: The namespace of the bot in Redis.
        min_people: How many people must have agreed, even where the policy asks for fewer. With 1 or more, silence does not
            approve.
        tool: The name of the tool as people see it; by default the name of the function.

    Returns:
        A decorator. It keeps the signature, and fits functions, coroutine functions and methods.

    Raises:
        InvalidRequestError: at the decorator, when the keys cannot be read, or the function is a generator.
        ReceiptError: at a call that is not proven; the body has not run, and `code` says why.
    """
    cure = "say whom to trust, as in `@requires_receipt(keys='ring.json', audience=…)`"
    expect(keys, Ring | str | Path, where="keys", cure=cure)
    if used is not None and not callable(used):
        raise WrongArgumentError(f"used: this is {kind_of(used)}: pass a store, as in SqliteUsed('used.db')")
    ring = keys if isinstance(keys, Ring) else Ring.load(keys, where="keys")

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        named = tool or function.__name__
        _refuse_a_generator(function, named)
        parameters = Parameters(function)

        def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proven:
            values = parameters.bind(args, kwargs)
            return prove(
                approval_receipt(),
                keys=ring,
                audience=audience,
                tool=named,
                difference=lambda approved: parameters.first_difference(approved_values(approved), values),
                namespace=namespace,
                min_people=min_people,
            )

        _check_store(used, function, named)
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def check_and_run(*args: P.args, **kwargs: P.kwargs) -> Any:
                proven = check(args, kwargs)
                if used is not None:
                    await _use(used, proven)
                    # Meanwhile, another task may have changed a list among the arguments.
                    proven = check(args, kwargs)
                with running(proven.id, approval_receipt()):
                    return await function(*args, **kwargs)

            return cast("Callable[P, T]", check_and_run)

        @wraps(function)
        def check_and_run_plain(*args: P.args, **kwargs: P.kwargs) -> T:
            proven = check(args, kwargs)
            if used is not None:
                use(used, proven.id, proven.use_by)
                # Meanwhile, another thread may have changed a list among the arguments.
                proven = check(args, kwargs)
            with running(proven.id, approval_receipt()):
                return function(*args, **kwargs)

        return check_and_run_plain

    return decorate


def _refuse_a_generator(function: Callable[..., Any], named: str) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidRequestError(
            f"{named} is a generator: its body would run after the check, with what its arguments are by then; "
            "decorate a function that returns, for example a list of what this one yields"
        )


def _check_store(used: Used | None, function: Callable[..., Any], named: str) -> None:
    if used is None:
        logger.warning(
            "%s: an approved call can repeat until its use_by, because requires_receipt has no `used`", named
        )
    elif inspect.iscoroutinefunction(used) and not inspect.iscoroutinefunction(function):
        raise WrongArgumentError(
            f"{named}: used is asynchronous, and this tool is not: pass a plain function"
        )


async def _use(used: Used, proven: Proven) -> None:
    """Take the key of a call without blocking the loop."""
    call = partial(used, proven.id, proven.use_by)
    taken: Any = call() if inspect.iscoroutinefunction(used) else await asyncio.to_thread(call)
    if inspect.isawaitable(taken):
        taken = await taken
    expect_free(proven.id, is_free=taken)
