"""The blocking client, for programs without an event loop: one background thread runs the asynchronous client."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, Unpack

from redis.credentials import CredentialProvider

from agent_adapter import tracing
from agent_adapter.asking import Asking, spelled_out
from agent_adapter.cipher import Cipher
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.interrupt import Decided, DecidedResume, Interrupt, Resume
from agent_adapter.contract.outcome import Outcome, Reported
from agent_adapter.errors import AgentAdapterError, InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect
from agent_adapter.idempotency import carrying
from agent_adapter.receipts.ring import Ring
from agent_adapter.redis.records import Record

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

logger = logging.getLogger(__name__)
_T = TypeVar("_T")


class SyncApprovalClient:
    """An `ApprovalClient` whose methods block until they are done. Use it as a context manager; any thread may call it.

    `run` runs any coroutine that needs the client, such as the `run` function of an integration:

        with SyncApprovalClient.from_url("redis://...", agent="billing") as approvals:
            result = approvals.run(run(graph, input, approvals=approvals.client, config=config))
    """

    def __init__(self, client: ApprovalClient) -> None:
        cure = 'for the address of a Redis, write `with SyncApprovalClient.from_url("redis://…", agent="billing")`'
        expect(client, ApprovalClient, where="client", cure=cure)
        self.client = client
        self._background: _Background | None = None
        self._calls: set[Future[Any]] = set()

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        agent: str,
        namespace: str = "assent",
        state_cipher: Cipher | None = None,
        record_cipher: Cipher | None = None,
        ring: Ring | str | Path | None = None,
        min_people: int = 0,
        signer: "Signer | None" = None,
        credentials: CredentialProvider | str | None = None,
        **settings: timedelta,
    ) -> Self:
        """Make a client for this Redis. Arguments and errors are as in `ApprovalClient.from_url`."""
        return cls(
            ApprovalClient.from_url(
                url,
                agent=agent,
                namespace=namespace,
                state_cipher=state_cipher,
                record_cipher=record_cipher,
                ring=ring,
                min_people=min_people,
                signer=signer,
                credentials=credentials,
                # Only the HTTP API has them.
                marks=None,
                **settings,
            )
        )

    def __enter__(self) -> Self:
        """Connect. Errors are as in `ApprovalClient.__aenter__` and in `run`."""
        _refuse_to_block_a_loop()
        if self._background:
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

    if not TYPE_CHECKING:

        async def __aenter__(self) -> Never:
            raise WrongArgumentError(
                "SyncApprovalClient blocks: write `with` before it, or in a coroutine "
                "`async with ApprovalClient.from_url(…) as approvals:`"
            )

        __aexit__ = __aenter__

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
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

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        background = self._background
        # A fork of the process has no such thread.
        if background is None or not background.thread.is_alive():
            work.close()
            raise AgentAdapterError(
                "this client is not connected: use it inside `with SyncApprovalClient.from_url(…) as approvals:`"
            )
        if self._is_inside():
            work.close()
            raise AgentAdapterError(
                "a blocking method was called inside `run`, so it would wait for itself: await the method of `client` instead"
            )
        future = asyncio.run_coroutine_threadsafe(work, background.loop)
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @spelled_out
    def interrupt(
        self,
        request: HITLRequest,
        *,
        run: str | None = None,
        pauses: Sequence[str] | None = None,
        **asking: Unpack[Asking],
    ) -> Interrupt:
        """See `ApprovalClient.interrupt`."""
        return self.client.interrupt(request, run=run, pauses=pauses, **asking)

    def publish(self, interrupt: Interrupt) -> str:
        """See `ApprovalClient.publish`."""
        return self.run(self.client.publish(interrupt))

    def wait(self, interrupt_id: str) -> Resume:
        """See `ApprovalClient.wait`."""
        return self.run(self.client.wait(interrupt_id))

    @spelled_out
    def review(self, request: HITLRequest, **asking: Unpack[Asking]) -> DecidedResume:
        """See `ApprovalClient.review`."""
        return self.run(self.client.review(request, **asking))

    def record(self, interrupt_id: str) -> Record:
        """See `ApprovalClient.record`."""
        return self.run(self.client.record(interrupt_id))

    def claim(self, interrupt_id: str, owner: str, lease: timedelta) -> None:
        """See `ApprovalClient.claim`."""
        self.run(self.client.claim(interrupt_id, owner, lease))

    def finish(self, interrupt_id: str, owner: str) -> None:
        """See `ApprovalClient.finish`."""
        self.run(self.client.finish(interrupt_id, owner))

    def report(
        self, interrupt_id: str, index: int, outcome: Outcome, *, claim: str | None = None
    ) -> Reported:
        """See `ApprovalClient.report`."""
        return self.run(self.client.report(interrupt_id, index, outcome, claim=claim))

    def withdraw(self, interrupt_id: str, reason: str = "") -> None:
        """See `ApprovalClient.withdraw`."""
        self.run(self.client.withdraw(interrupt_id, reason))

    def decisions(self, interrupt_id: str) -> Iterator[Decided]:
        """See `ApprovalClient.decisions`."""
        decided = self.client.decisions(interrupt_id)
        try:
            while (found := self.run(_next(decided))) is not None:
                yield found
        finally:
            self._run(_close(decided))

    @contextmanager
    def reviewing(self, interrupt: Interrupt) -> Iterator[DecidedResume]:
        """See `ApprovalClient.reviewing`."""
        with self.inside(self.client.reviewing(interrupt)) as resume:
            yield resume

    @contextmanager
    def resuming(
        self, interrupt_id: str, *, interrupt: Interrupt | None = None, unchecked: bool = False
    ) -> Iterator[DecidedResume]:
        """See `ApprovalClient.resuming`."""
        held = self.client.resuming(interrupt_id, interrupt=interrupt, unchecked=unchecked)
        with self.inside(held) as resume:
            yield resume

    @contextmanager
    def inside(self, context: AbstractAsyncContextManager[DecidedResume]) -> Iterator[DecidedResume]:
        """Enter an asynchronous context of the client on the background loop, and leave it at the end of the body."""
        resume, place = self.run(_enter(context))
        try:
            with carrying(resume), tracing.at(place):
                yield resume
        except BaseException as error:
            self._run(_leave(context, error))
            raise
        self._run(_leave(context, None))


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


async def _next(decided: AsyncIterator[Decided]) -> Decided | None:
    return await anext(decided, None)


async def _close(decided: Any) -> None:
    await decided.aclose()


async def _enter(context: AbstractAsyncContextManager[DecidedResume]) -> tuple[DecidedResume, object]:
    return await context.__aenter__(), tracing.place()


async def _leave(context: AbstractAsyncContextManager[DecidedResume], error: BaseException | None) -> None:
    # The context only has to know of the error; the caller's thread raises it again.
    await context.__aexit__(type(error) if error else None, error, error.__traceback__ if error else None)
