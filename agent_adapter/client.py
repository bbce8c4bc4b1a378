"""The agent's side: publish an interrupt, wait for people, resume exactly once."""

import asyncio
import logging
import re
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from types import NoneType, TracebackType, UnionType
from typing import TYPE_CHECKING, Any, Never, Self, TypedDict, Unpack, get_args

from pydantic import TypeAdapter
from redis.asyncio import Redis

from agent_adapter.claims import Claims, patiently
from agent_adapter.connection import (
    Scripts,
    address_of,
    freeze_meta,
    open_blocking_redis,
    open_redis,
)
from agent_adapter.continuation import Seal
from agent_adapter.contract.arguments import check_text
from agent_adapter.contract.hitl import Decision, HITLRequest
from agent_adapter.contract.identity import interrupt_id, thread_digest
from agent_adapter.contract.interrupt import (
    Context,
    Continuation,
    Decided,
    DecidedResume,
    Interrupt,
    OnExpiry,
    Resume,
)
from agent_adapter.contract.names import Namespace, did_you_mean
from agent_adapter.contract.record import (
    Asked,
    in_order,
    load_recorded,
    matching_actions,
    read_told,
)
from agent_adapter.contract.wire import agent_name, to_model
from agent_adapter.errors import (
    AgentAdapterError,
    ConflictError,
    ConsumedError,
    InvalidRequestError,
    UnknownInterruptError,
    WrongArgumentError,
)
from agent_adapter.expected import FROM_URL, expect, expect_id, expect_interrupt, expect_request
from agent_adapter.loops import Loops
from agent_adapter.records import Record, Records, milliseconds
from agent_adapter.replies import Replies
from agent_adapter.runs import Runs
from agent_adapter.servers import check_server

logger = logging.getLogger(__name__)

BLOCK = 15.0
"""Seconds that the reading loop blocks in Redis: four commands a minute while nothing happens."""


class Asking(TypedDict, total=False):
    """Where, for whom and how long to ask."""

    channel: str | None
    """Slack channel id; without one the bot's settings decide."""
    thread_ts: str | None
    """Ask in this thread of the channel."""
    context: Context
    """Who asks and why."""
    expires_in: timedelta
    """One hour unless told."""
    on_expiry: OnExpiry
    """`reject` unless told."""
    continuation: Continuation | None
    """What a worker needs to go on with the run when this process is gone."""


_KINDS: Mapping[str, tuple[type | UnionType, str]] = {
    "channel": (str | None, "pass the id of a Slack channel, as in 'C0123ABCD'"),
    "thread_ts": (str | None, "pass the ts of a Slack message, as in '1700000000.000100'"),
    "context": (Context | None, "pass a Context, as in Context(requested_by='U0123ABCD')"),
    "expires_in": (timedelta | float | int | None, "pass a timedelta, as in timedelta(minutes=5)"),
    "continuation": (Continuation | None, "pass a Continuation"),
}


_CHANNEL = re.compile("[A-Z0-9]+")


def check_asking(asking: Mapping[str, Any]) -> None:
    """Refuse what is said about asking where it cannot be meant.

    Raises:
        WrongArgumentError: naming the option, and what to pass instead.
    """
    known = Asking.__annotations__
    for name, given in asking.items():
        if name not in known:
            raise WrongArgumentError(
                f"{name}: no such option{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
        if name in _KINDS:
            kind, cure = _KINDS[name]
            # Python takes True for a number.
            expect(given, NoneType if isinstance(given, bool) else kind, where=name, cure=cure)
            if given == "":
                raise WrongArgumentError(f"{name}: this text is empty: {cure}, or leave it out")
            if name == "channel" and given and not _CHANNEL.fullmatch(given):
                raise WrongArgumentError(f"channel: {given!r} is not the id of a channel: {cure}")
        elif given not in get_args(OnExpiry):
            raise WrongArgumentError(
                f"on_expiry: {given!r} is not one of reject, raise{did_you_mean(given, get_args(OnExpiry))}; "
                "approve is one only where a rule of the policy says on_timeout: approve"
            )


class ApprovalClient:
    """Asks people through the bot. One per process is enough: any number of waits share two connections.

    Use it as an async context manager; `from_url` is the usual way to make one.
    """

    def __init__(
        self,
        redis: Redis,
        blocking: Redis | None = None,
        *,
        agent: str = "",
        namespace: str = "assent",
        address: str = "",
        grace: timedelta = timedelta(seconds=30),
        claim_lease: timedelta = timedelta(seconds=30),
        reconcile_every: timedelta = timedelta(seconds=30),
        seal: Seal | None = None,
    ) -> None:
        for where, given in (("redis", redis), ("blocking", blocking)):
            expect(given, Redis, where=where, cure=f"for the address of a Redis, write {FROM_URL}")
        assert blocking is not None
        self.agent = agent_name(agent)
        self._redis = redis
        self._blocking = blocking
        self._namespace = to_model(TypeAdapter(Namespace).validate_python, namespace, where="namespace")
        self._address = address
        self._grace = grace
        self._lease = claim_lease
        self._every = reconcile_every.total_seconds()
        self._seal = seal or Seal.from_environment()
        self._records: Records
        self._claims: Claims
        self._replies: Replies
        self.loops = Loops()
        """The background loops of this client, for a supervisor that checks that they run."""
        self.runs: Runs
        """What workers go on with."""

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        agent: str,
        namespace: str = "assent",
        seal: Seal | None = None,
        **settings: timedelta,
    ) -> Self:
        """Make a client for this Redis.

        Args:
            url: `redis://`, `rediss://` or `unix://`.
            agent: Who asks, shown on every card: lower-case letters, digits and dashes.
            namespace: Same as the bot's `ASSENT_NAMESPACE`.
            seal: Encrypts the states of runs that workers resume; by default with the keys in `ASSENT_STATE_KEY`.
            settings: `grace` after a deadline until a wait ends without the bot, `claim_lease` of a resume,
                `reconcile_every` how often records are looked at without a wake-up; 30 seconds each.

        Raises:
            InvalidRequestError: when a key in `ASSENT_STATE_KEY` is not valid.
            ServerUnreachableError: when this is no address of a Redis.
        """
        expect(url, str, where="url", cure="pass the address of a Redis, as in 'redis://localhost:6379/0'")
        address = address_of(url)
        block = min(BLOCK, settings.get("reconcile_every", timedelta(seconds=BLOCK)).total_seconds())
        return cls(
            open_redis(url),
            open_blocking_redis(url, block=block),
            agent=agent,
            namespace=namespace,
            address=address,
            seal=seal,
            **settings,
        )

    def __getattr__(self, name: str) -> Never:
        if name in {"_records", "_claims", "_replies", "runs"}:
            raise AgentAdapterError(
                "this client is not connected: use it inside `async with ApprovalClient.from_url(…) as approvals:`"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            ServerUnsuitableError: when it cannot keep approvals.
        """
        if replies := self.__dict__.get("_replies"):
            replies.check_loop()
        try:
            for warning in await check_server(self._redis, self._address):
                logger.warning(warning)
            keys = await freeze_meta(self._redis, self._namespace, address=self._address)
        except AgentAdapterError:
            await self._disconnect()
            raise
        lane, process = keys.lane_for(self.agent), f"{self.agent}.{secrets.token_hex(6)}"
        scripts = Scripts(self._redis, keys, "agent_adapter.scripts", address=self._address)
        self._records = Records(
            self._redis,
            scripts,
            lane,
            process=process,
            namespace=self._namespace,
            grace=self._grace,
            seal=self._seal,
        )
        self.runs = Runs(self._redis, scripts, lane, self._seal)
        self._claims = Claims(self._records, lease=milliseconds(self._lease))
        self._replies = Replies(
            self._blocking,
            scripts,
            lane,
            process=process,
            namespace=self._namespace,
            grace=self._records.grace,
            loops=self.loops,
            block=min(BLOCK, self._every),
            reconcile_every=self._every,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    if not TYPE_CHECKING:

        def __enter__(self) -> Never:
            raise WrongArgumentError(
                "ApprovalClient is asynchronous: write `async with` before it, or in a program without an event loop "
                "`with SyncApprovalClient.from_url(…) as approvals:`"
            )

        __exit__ = __enter__

    def check_open(self) -> None:
        """Refuse to ask through a client that is not connected, before anything else is done.

        Raises:
            AgentAdapterError: when it was not entered yet, or was closed.
        """
        self._replies.check_open()

    async def close(self) -> None:
        """Stop waiting and close the connections. Nothing that is stored is lost."""
        await self._claims.close()
        await self._replies.close()
        await self._disconnect()

    async def _disconnect(self) -> None:
        await self._blocking.aclose()
        await self._redis.aclose()

    def interrupt(
        self,
        request: HITLRequest,
        *,
        run: str | None = None,
        pauses: Sequence[str] | None = None,
        **asking: Unpack[Asking],
    ) -> Interrupt:
        """Make the interrupt that asks for this batch.

        Args:
            request: The batch.
            run: Identity of the run. Without one, each call asks anew.
            pauses: The framework's id of each action's pause. The same run and pauses find the same record.
            asking: Where, for whom and how long to ask.

        Raises:
            InvalidRequestError: naming the place.
        """
        expect_request(request)
        check_asking(asking)
        run = run or secrets.token_hex(16)
        pauses = tuple(pauses or ["batch"] * len(request.action_requests))
        channel, thread_ts = asking.pop("channel", None), asking.pop("thread_ts", None)
        return to_model(
            Interrupt.model_validate,
            {
                "id": interrupt_id(self.agent, run, pauses),
                "agent": self.agent,
                "request": request,
                "run": run,
                "pauses": pauses,
                "route": {"channel": channel, "thread_ts": thread_ts},
                **{name: value for name, value in asking.items() if value is not None},
            },
            where="interrupt",
        )

    async def publish(self, interrupt: Interrupt) -> str:
        """Store an interrupt, once however often it is called, and have it asked.

        With a continuation a worker goes on with the run once it is decided, at once unless somebody waits for it.

        Returns:
            The id of its record. It is another than `interrupt.id` when the pauses belong to a known record, or when
            that one ended without an answer (refused, withdrawn, expired with `raise`) and is asked again.

        Raises:
            InvalidRequestError: when the interrupt is over a limit, or of another agent; nothing was stored.
            ConflictError: when its pauses are known with other actions, or only some of them are known.
            ConsumedError: when its run was already resumed.
            ServerUnreachableError: when Redis does not answer.
        """
        expect_interrupt(interrupt)
        return await self._publish(interrupt, waits=interrupt.continuation is None)

    async def _publish(self, interrupt: Interrupt, *, waits: bool) -> str:
        if interrupt.agent != self.agent:
            raise InvalidRequestError(
                f"interrupt.agent: {interrupt.agent!r} cannot be asked for through the client of {self.agent!r}"
            )
        await self._replies.start()
        asked, replaced, attempt = interrupt, "", 0
        while True:
            outcome, found = await self._records.publish(asked, waits=waits, replaced=replaced)
            if outcome == "created":
                return found
            if outcome == "mixed":
                raise ConflictError(
                    f"some pauses of {interrupt.id} are already asked in {found}, others are new: publish them apart"
                )
            record = await self._records.load(found)
            if record.is_resumed:
                raise ConsumedError(f"{found} was already answered and its run resumed")
            if not record.ended_unanswered:
                matching_actions(record.interrupt, interrupt)
                if waits:
                    await self._records.attach(found)
                if interrupt.continuation:
                    await self._records.entrust(found, interrupt)
                return found
            attempt, replaced = attempt + 1, found
            anew = interrupt_id(interrupt.agent, interrupt.run, interrupt.pauses, attempt=attempt)
            asked = interrupt.model_copy(update={"id": anew})

    async def wait(self, interrupt_id: str) -> Resume:
        """Wait until everything is decided, or the interrupt ended otherwise. Only reads; any process may wait.

        A Redis that goes away is waited for; a bot that never runs ends the wait at the deadline plus the grace.

        Raises:
            UnknownInterruptError: when there is no such record.
            DecisionNotAllowedError: when what is stored does not answer what was asked.
        """
        expect_id(interrupt_id)
        await self._replies.start()
        watch = self._replies.watch(interrupt_id)
        try:
            await patiently(partial(self._records.attach, interrupt_id))
            while True:
                watch.arm()
                record = await patiently(partial(self._records.load, interrupt_id))
                if resume := record.resume():
                    return resume
                if record.notice:
                    logger.warning("%s waits: %s", interrupt_id, record.notice)
                asked = Asked.by(record.interrupt)
                # Thousands may wait here: what was read is not kept meanwhile, and no call is held that need not be.
                del record
                if resume := read_told(interrupt_id, asked, await watch.woken):
                    return resume
        finally:
            watch.leave()

    async def review(self, request: HITLRequest, **asking: Unpack[Asking]) -> DecidedResume:
        """Ask for a batch and return what was decided: publish, wait, claim and finish in one.

        Cancelled, it withdraws the question, which nobody else could find, unless a worker goes on with it.

        Raises:
            InterruptEndedError: when it was refused or withdrawn, or expired with `on_expiry="raise"`.
            AgentAdapterError: as in `publish`.
        """
        interrupt = self.interrupt(request, **asking)
        lasts = interrupt.continuation is not None
        async with (
            nullcontext() if lasts else withdrawn_on_cancel(self, interrupt),
            self.reviewing(interrupt) as resume,
        ):
            return resume

    @asynccontextmanager
    async def reviewing(self, interrupt: Interrupt) -> AsyncIterator[DecidedResume]:
        """Publish, wait and claim; resume the run in the body; finish when the body ends.

        The decisions are in the order of this interrupt's actions. An error in the body gives the claim back.

        Raises:
            InterruptEndedError: when there is nothing to resume with.
            ClaimedError: when another process is resuming it.
            ConsumedError: when it was resumed before.
        """
        expect_interrupt(interrupt)
        async with AsyncExitStack() as stack:
            asked, resume = await self._answered(interrupt, stack)
            yield in_order(resume, matching_actions(asked, interrupt))

    @asynccontextmanager
    async def resuming(self, interrupt_id: str) -> AsyncIterator[DecidedResume]:
        """Claim a settled interrupt, renew the claim while the body resumes the run, finish when it ends.

        Raises: as `reviewing`; and UnknownInterruptError when there is no such record.
        """
        expect_id(interrupt_id)
        async with self._claims.held(interrupt_id) as (_, resume):
            yield resume

    @asynccontextmanager
    async def running(self, run: str, *, place: str = "") -> AsyncIterator[None]:
        """Hold the right to run a thread while the body runs its graph; nobody holds it while people are waited for.

        Args:
            run: Identity of the run, as for `interrupt`.
            place: Of the thread's state, where a run has several.

        Raises:
            ClaimedError: when another call runs it.
            ClaimLostError: when it lapsed meanwhile and another process took it.
        """
        async with self._claims.running(thread_digest(self.agent, run, place)):
            yield

    async def decisions(self, interrupt_id: str) -> AsyncIterator[Decided]:
        """Give each decision as it is made, with the index of its action; end when the interrupt has ended.

        Raises:
            UnknownInterruptError: when there is no such record.
        """
        expect_id(interrupt_id)
        await self._replies.start()
        given: set[int] = set()
        with self._replies.following(interrupt_id) as watch:
            await patiently(partial(self._records.attach, interrupt_id, each_decision=True))
            while True:
                watch.arm()
                record = await patiently(partial(self._records.load, interrupt_id))
                resume = record.resume()
                for index, decision in enumerate(_so_far(record, resume)):
                    if decision is not None and index not in given:
                        given.add(index)
                        yield Decided(index, decision)
                if resume:
                    return
                await watch.woken

    async def record(self, interrupt_id: str) -> Record:
        """Read what is asked, and what has become of it.

        Raises:
            UnknownInterruptError: when there is no such record.
        """
        expect_id(interrupt_id)
        return await self._records.load(interrupt_id)

    async def withdraw(self, interrupt_id: str, reason: str = "") -> None:
        """Ask the bot to end an interrupt that nobody needs any more. One that has ended stays as it is.

        Raises:
            UnknownInterruptError: when there is no such record.
            InvalidRequestError: when the reason is not Unicode text.
        """
        expect_id(interrupt_id)
        check_text(reason, where="reason")
        await self._records.withdraw(interrupt_id, reason)

    async def _answered(self, interrupt: Interrupt, stack: AsyncExitStack) -> tuple[Interrupt, DecidedResume]:
        """Ask, wait and claim; the stack holds the claim."""
        while True:
            record_id = await self._publish(interrupt, waits=True)
            try:
                await self.wait(record_id)
                return await stack.enter_async_context(self._claims.held(record_id))
            except UnknownInterruptError:
                # A Redis that came back empty: whoever still holds the question asks it again.
                logger.warning("interrupt.forgotten", extra={"interrupt_id": record_id})


@asynccontextmanager
async def withdrawn_on_cancel(
    approvals: ApprovalClient, interrupt: Interrupt, reason: str = "The call that asked was cancelled."
) -> AsyncIterator[None]:
    """Withdraw a question that no other process can find when the body, which waits for its answer, is cancelled."""
    try:
        yield
    except asyncio.CancelledError:
        with suppress(AgentAdapterError):
            await approvals.withdraw(interrupt.id, reason)
        raise


def expect_client(value: object) -> None:
    """Refuse what is not an asynchronous client, before anything runs.

    Raises:
        WrongArgumentError: saying what to pass instead.
    """
    # The one that blocks is made of this one, so it is not known here by name.
    if isinstance(getattr(value, "client", None), ApprovalClient):
        cure = "pass its `client`, and let it run the work: approvals.run(run(…, approvals=approvals.client))"
    else:
        cure = f"pass a client, as in {FROM_URL}"
    expect(value, ApprovalClient, where="approvals", cure=cure)


def _so_far(record: Record, resume: Resume | None) -> Sequence[Decision | None]:
    if resume:
        return resume.decisions
    recorded = (load_recorded(record.card, i) for i in range(len(record.interrupt.request.action_requests)))
    return [r.decision if r else None for r in recorded]
