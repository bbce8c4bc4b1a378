"""The blocking client, for programs without an event loop: one background thread runs the asynchronous client."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.interrupt import DecidedResume
from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from agent_adapter.expected import expect
from agent_adapter.idempotency import carrying

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")
Given = TypeVar("Given")
Taken = TypeVar("Taken")
_Of: TypeAlias = Callable[Concatenate[ApprovalClient, P], T]
_Here: TypeAlias = Callable[Concatenate["SyncApprovalClient", P], T]


def _by(take: Callable[["SyncApprovalClient", Given], Taken], verb: _Of[P, Given]) -> _Here[P, Taken]:
    """Turn a verb of the asynchronous client into one that takes its result in this way."""

    @wraps(verb)
    def turned(self: "SyncApprovalClient", /, *args: P.args, **given: P.kwargs) -> Taken:
        # A kind of client may have a verb of its own.
        own: Callable[P, Given] = getattr(self.client, verb.__name__)
        return take(self, own(*args, **given))

    return turned


def _made(
    make: Callable[P, ApprovalClient],
) -> Callable[Concatenate[type["SyncApprovalClient"], P], "SyncApprovalClient"]:
    @wraps(make)
    def made(cls: type["SyncApprovalClient"], /, *args: P.args, **given: P.kwargs) -> "SyncApprovalClient":
        return cls(make(*args, **given))

    return made


class SyncApprovalClient:
    """An `ApprovalClient` whose methods block until they are done. Use it as a context manager; any thread may call it.

    It has the verbs of `ApprovalClient`, with the same arguments and errors. Write `with` for `async with`, `for` for
    `async for`, and no `await`.

    `run` runs any coroutine that needs the client, such as the `run` function of an integration:

        with SyncApprovalClient.from_url("redis://...", agent="billing") as approvals:
            result = approvals.run(run(graph, input, approvals=approvals.client, config=config))
    """

    from_url = classmethod(_made(ApprovalClient.from_url))

    def __init__(self, client: ApprovalClient) -> None:
        cure = 'for the address of a Redis, write `with SyncApprovalClient.from_url("redis://…", agent="billing")`'
        expect(client, ApprovalClient, where="client", cure=cure)
        self.client = client
        self._background: _Background | None = None
        self._calls: set[Future[Any]] = set()

    def __enter__(self) -> Self:
        """Connect. Errors are as in `ApprovalClient.__aenter__` and in `run`."""
        _refuse_to_block_a_loop()
        if self._background and self._background.thread.is_alive():
            raise AgentAdapterError("this client is open already: use it, without another `with`")
        self._background = _background()
        try:
            self._run(self.client.__aenter__())
        except BaseException:
            self._background = None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._run(self.client.close())
        finally:
            self._background = None
            # A call that still waits in another thread ends with a cancellation.
            for call in list(self._calls):
                call.cancel()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the background loop, wait, and return its result. Ctrl-C in the caller cancels it.

        A process has one background loop, which all its clients share: connections of a model or a database stay usable.

        Raises:
            AgentAdapterError: when the client is not connected, or when a coroutine calls this on the background loop.
            InvalidRequestError: when an event loop runs in this thread, because this call would block it.
        """
        cure = "call the asynchronous function, as in approvals.run(run(graph, input, approvals=approvals.client))"
        expect(work, Coroutine, where="work", cure=cure)
        if not self._is_inside():
            try:
                _refuse_to_block_a_loop()
            except InvalidRequestError:
                work.close()
                raise
        return self._run(work)

    def _is_inside(self) -> bool:
        return self._background is not None and threading.current_thread() is self._background.thread

    def _run(self, work: Coroutine[Any, Any, T], of_body: "_Background | None" = None) -> T:
        # What ends a body runs also once another thread has left the client: its tool must not run again.
        background = of_body or self._background
        # A fork of the process has no such thread.
        if background is None or not background.thread.is_alive():
            work.close()
            raise AgentAdapterError(
                "this client is not connected: use it inside `with SyncApprovalClient.from_url(…) as approvals:`, and make "
                "another one after each fork of the process"
            )
        if self._is_inside():
            work.close()
            raise AgentAdapterError(
                "a blocking method was called inside `run`, so it would wait for itself: await the method of `client` instead, "
                "or call the function that asks through `asyncio.to_thread`"
            )
        future = asyncio.run_coroutine_threadsafe(work, background.loop)
        if not of_body:
            self._calls.add(future)
            future.add_done_callback(self._calls.discard)
            if self._background is not background:
                # Another thread has left the client meanwhile, and did not see this call.
                future.cancel()
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @contextmanager
    def inside(self, context: AbstractAsyncContextManager[DecidedResume]) -> Iterator[DecidedResume]:
        """Enter an asynchronous context of the client on the background loop, and leave it at the end of the body."""
        background, resume = self._background, self.run(context.__aenter__())
        try:
            with carrying(resume):
                yield resume
        except BaseException as error:
            # The context only has to know of the error; it is raised again here.
            self._run(context.__aexit__(type(error), error, error.__traceback__), of_body=background)
            raise
        else:
            self._run(context.__aexit__(None, None, None), of_body=background)
        finally:
            if not self._background:
                # It has connected anew.
                self._run(self.client.close(), of_body=background)

    def _each(self, found: AsyncIterator[T]) -> Iterator[T]:
        end: Any = object()
        try:
            while (each := self.run(_next(found, end))) is not end:
                yield each
        finally:
            self._run(_close(found))

    def _at_once(self, made: T) -> T:
        return made

    interrupt = _by(_at_once, ApprovalClient.interrupt)
    publish = _by(run, ApprovalClient.publish)
    wait = _by(run, ApprovalClient.wait)
    ask = _by(run, ApprovalClient.ask)
    ask_all = _by(run, ApprovalClient.ask_all)
    review = _by(run, ApprovalClient.review)
    reviewing = _by(inside, ApprovalClient.reviewing)
    resuming = _by(inside, ApprovalClient.resuming)
    decisions = _by(_each, ApprovalClient.decisions)
    record = _by(run, ApprovalClient.record)
    claim = _by(run, ApprovalClient.claim)
    finish = _by(run, ApprovalClient.finish)
    report = _by(run, ApprovalClient.report)
    withdraw = _by(run, ApprovalClient.withdraw)


class _Background:
    """The event loop of all blocking clients of the process, in a thread of its own.

    It is never closed: the pools of model clients outlive an approval client, and belong to the loop that they were first used in.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="approvals", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # A coroutine of `run` raised it. The caller of `run` gets it; other callers are not affected.
                logger.warning("sync.exit_refused")


_starting = threading.Lock()
_started: list[_Background] = []


def _background() -> _Background:
    with _starting:
        if not _started or not _started[-1].thread.is_alive():
            _started.append(_Background())
        return _started[-1]


def _refuse_to_block_a_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidRequestError(
        "SyncApprovalClient blocks, and the event loop that runs in this thread would stop while people decide: "
        "use ApprovalClient with `async with` and `await` (also in a notebook, where a loop always runs and a cell may "
        "await), or put the blocking call into `await asyncio.to_thread(…)`"
    )


async def _next(found: AsyncIterator[T], end: T) -> T:
    return await anext(found, end)


async def _close(found: Any) -> None:
    await found.aclose()
