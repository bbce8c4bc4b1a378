"""The agent's side: publish an interrupt, wait for people, resume exactly once."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent_adapter.connection import (
    Scripts,
    address_of,
    check_server,
    end_task,
    freeze_meta,
    open_blocking_redis,
    open_redis,
    unreachable,
)
from agent_adapter.contract.hitl import Decision, HITLRequest
from agent_adapter.contract.identity import (
    interrupt_fingerprint,
    interrupt_id,
    pause_digest,
)
from agent_adapter.contract.interrupt import Context, Interrupt, OnExpiry, Resume, Route
from agent_adapter.contract.keys import Lane
from agent_adapter.contract.record import (
    Fields,
    load_recorded,
    matching_actions,
    raise_unanswered,
    read_resume,
)
from agent_adapter.contract.wire import dump_interrupt, load_interrupt, to_model
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConflictError,
    ConsumedError,
    ServerUnreachableError,
    UnknownInterruptError,
)
from agent_adapter.replies import Replies

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

BLOCK = 15.0
"""Seconds that the reading loop blocks in Redis: four commands a minute while nothing happens."""
RETRY_EVERY = 1.0
"""Seconds between looks at a record while Redis does not answer."""


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


@dataclass(frozen=True, slots=True)
class _Record:
    """One interrupt's record at one moment, as the agent reads it."""

    interrupt: Interrupt
    req: Fields
    card: Fields
    now: int

    def resume(self, grace: int) -> Resume | None:
        return read_resume(
            self.interrupt, self.card, deadline=int(self.req["deadline"]), now=self.now, grace=grace
        )


class ApprovalClient:
    """Asks people through the bot. One per process is enough: any number of waits share two connections.

    Use it as an async context manager; `from_url` is the usual way to make one.
    """

    def __init__(
        self,
        redis: Redis,
        blocking: Redis,
        *,
        agent: str,
        namespace: str = "assent",
        address: str = "",
        grace: timedelta = timedelta(seconds=30),
        claim_lease: timedelta = timedelta(seconds=30),
        reconcile_every: timedelta = timedelta(seconds=30),
    ) -> None:
        self.agent = agent
        self._redis = redis
        self._blocking = blocking
        self._namespace = namespace
        self._address = address
        self._grace = _milliseconds(grace)
        self._lease = _milliseconds(claim_lease)
        self._every = reconcile_every.total_seconds()
        self._process = f"{agent}.{secrets.token_hex(6)}"
        self._scripts = Scripts(redis, "agent_adapter.scripts", address=address)
        self._unfinished: set[asyncio.Task[None]] = set()
        self._lane: Lane
        self._replies: Replies

    @classmethod
    def from_url(cls, url: str, *, agent: str, namespace: str = "assent", **settings: timedelta) -> Self:
        """Make a client for this Redis.

        Args:
            url: `redis://`, `rediss://` or `unix://`.
            agent: Who asks, shown on every card: lower-case letters, digits and dashes.
            namespace: Same as the bot's `ASSENT_NAMESPACE`.
            settings: `grace` after a deadline until a wait ends without the bot, `claim_lease` of a resume,
                `reconcile_every` how often records are looked at without a wake-up; 30 seconds each.
        """
        block = min(BLOCK, settings.get("reconcile_every", timedelta(seconds=BLOCK)).total_seconds())
        return cls(
            open_redis(url),
            open_blocking_redis(url, block=block),
            agent=agent,
            namespace=namespace,
            address=address_of(url),
            **settings,
        )

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            ServerUnsuitableError: when it cannot keep approvals.
        """
        for warning in await check_server(self._redis, self._address):
            logger.warning(warning)
        keys = await freeze_meta(self._redis, self._namespace)
        self._lane = keys.lane_for(self.agent)
        self._replies = Replies(
            self._blocking,
            self._scripts,
            self._lane,
            process=self._process,
            namespace=self._namespace,
            grace=self._grace,
            block=min(BLOCK, self._every),
            reconcile_every=self._every,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop waiting and close the connections. Nothing that is stored is lost."""
        await asyncio.gather(*map(end_task, list(self._unfinished)))
        await self._replies.close()
        await self._blocking.aclose()
        await self._redis.aclose()

    def interrupt(
        self,
        request: HITLRequest,
        *,
        run: str | None = None,
        pauses: Sequence[str] | None = None,
        continuation: dict[str, Any] | None = None,
        **asking: Unpack[Asking],
    ) -> Interrupt:
        """Make the interrupt that asks for this batch.

        Args:
            request: The batch.
            run: Identity of the run. Without one, each call asks anew.
            pauses: The framework's id of each action's pause. The same run and pauses find the same record.
            continuation: What a worker needs to go on with the run in another process.
            asking: Where, for whom and how long to ask.

        Raises:
            InvalidRequestError: naming the place.
        """
        run = run or secrets.token_hex(16)
        pauses = (
            tuple(pauses) if pauses else tuple(f"action-{i}" for i in range(len(request.action_requests)))
        )
        channel, thread_ts = asking.pop("channel", None), asking.pop("thread_ts", None)
        return to_model(
            Interrupt.model_validate,
            {
                "id": interrupt_id(self.agent, run, pauses),
                "agent": self.agent,
                "request": request,
                "run": run,
                "pauses": pauses,
                "continuation": continuation,
                "route": Route(channel=channel, thread_ts=thread_ts),
                **asking,
            },
            where="interrupt",
        )

    async def publish(self, interrupt: Interrupt) -> str:
        """Store an interrupt, once however often it is called, and have it asked.

        Returns:
            The id of its record. It is another than `interrupt.id` when the pauses belong to a known record, or when
            that one ended without an answer (refused, withdrawn, expired with `raise`) and is asked again.

        Raises:
            InvalidRequestError: when the interrupt is over a limit; nothing was stored.
            ConflictError: when its pauses are known with other actions, or only some of them are known.
            ConsumedError: when its run was already resumed.
            ServerUnreachableError: when Redis does not answer.
        """
        await self._replies.start()
        asked, replaced, attempt = interrupt, "", 0
        while True:
            outcome, found = await self._publish(asked, replaced)
            if outcome == "created":
                return found
            if outcome == "mixed":
                raise ConflictError(
                    f"some pauses of {interrupt.id} are already asked in {found}, others are new: publish them apart"
                )
            record = await self._load(found)
            matching_actions(record.interrupt, interrupt)
            if "resumed" in record.req:
                raise ConsumedError(f"{found} was already answered and its run resumed")
            if not _ended_unanswered(record, self._grace):
                await self._attach(found)
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
        return (await self._settled(interrupt_id)).resume(self._grace) or _never()

    async def review(self, request: HITLRequest, **asking: Unpack[Asking]) -> Resume:
        """Ask for a batch and return what was decided: publish, wait, claim and finish in one.

        Raises:
            InterruptEndedError: when it was refused or withdrawn, or expired with `on_expiry="raise"`.
            AgentAdapterError: as in `publish`.
        """
        async with self.reviewing(self.interrupt(request, **asking)) as resume:
            return resume

    @asynccontextmanager
    async def reviewing(self, interrupt: Interrupt) -> AsyncIterator[Resume]:
        """Publish, wait and claim; resume the run in the body; finish when the body ends.

        The decisions are in the order of this interrupt's actions. An error in the body gives the claim back.

        Raises:
            InterruptEndedError: when there is nothing to resume with.
            ClaimedError: when another process is resuming it.
            ConsumedError: when it was resumed before.
        """
        record_id = await self._published_and_settled(interrupt)
        async with self._resuming(record_id) as (record, resume):
            indices = matching_actions(record.interrupt, interrupt)
            yield resume.model_copy(
                update={
                    "decisions": tuple(resume.decisions[i] for i in indices),
                    "records": tuple(resume.records[i] for i in indices),
                }
            )

    @asynccontextmanager
    async def resuming(self, interrupt_id: str) -> AsyncIterator[Resume]:
        """Claim a settled interrupt, renew the claim while the body resumes the run, finish when it ends.

        Raises: as `reviewing`; and UnknownInterruptError when there is no such record.
        """
        async with self._resuming(interrupt_id) as (_, resume):
            yield resume

    async def decisions(self, interrupt_id: str) -> AsyncIterator[tuple[int, Decision]]:
        """Give each action's index and decision as it is decided; end when the interrupt has ended."""
        await self._replies.start()
        given: set[int] = set()
        watch = self._replies.watch(interrupt_id)
        try:
            while True:
                record = await self._patiently(lambda: self._load(interrupt_id))
                resume = record.resume(self._grace)
                for index, decision in enumerate(_so_far(record, resume)):
                    if decision is not None and index not in given:
                        given.add(index)
                        yield index, decision
                if resume:
                    return
                await watch.changed()
        finally:
            watch.leave()

    async def withdraw(self, interrupt_id: str, reason: str = "") -> None:
        """Ask the bot to end an interrupt that nobody needs any more. One that has ended stays as it is.

        Raises:
            UnknownInterruptError: when there is no such record.
        """
        lane = self._lane
        outcome = await self._scripts(
            "withdraw",
            [lane.req(interrupt_id), lane.card(interrupt_id), lane.undrawn, lane.wake, lane.audit],
            [interrupt_id, reason],
        )
        if outcome == "unknown":
            raise UnknownInterruptError(f"{interrupt_id}: no such interrupt in namespace {self._namespace!r}")

    # --- Behind the verbs ---------------------------------------------------------------------------------------

    async def _publish(self, interrupt: Interrupt, replaced: str) -> tuple[str, str]:
        lane, body = self._lane, dump_interrupt(interrupt)
        pauses = [
            pause_digest(interrupt.agent, interrupt.run, pause) for pause in dict.fromkeys(interrupt.pauses)
        ]
        outcome, found = await self._scripts(
            "publish",
            [lane.req(interrupt.id), lane.undrawn, lane.wake, lane.audit, *map(lane.pause, pauses)],
            [
                interrupt.id,
                interrupt_fingerprint(interrupt),
                body,
                _milliseconds(interrupt.expires_in),
                self._process,
                lane.prefix,
                " ".join(pauses),
                replaced,
            ],
        )
        return outcome, found

    async def _attach(self, interrupt_id: str) -> None:
        if not await self._scripts("attach", [self._lane.req(interrupt_id)], [self._process]):
            raise UnknownInterruptError(f"{interrupt_id}: no such interrupt in namespace {self._namespace!r}")

    async def _published_and_settled(self, interrupt: Interrupt) -> str:
        while True:
            record_id = await self.publish(interrupt)
            try:
                await self._settled(record_id)
            except UnknownInterruptError:
                # A Redis that came back empty: whoever still holds the question asks it again.
                logger.warning("interrupt.forgotten", extra={"interrupt_id": record_id})
            else:
                return record_id

    async def _settled(self, interrupt_id: str) -> _Record:
        await self._replies.start()
        watch = self._replies.watch(interrupt_id)
        attached = False
        try:
            while True:
                record = await self._patiently(lambda: self._load(interrupt_id))
                if record.resume(self._grace):
                    return record
                if not attached:
                    await self._patiently(lambda: self._attach(interrupt_id))
                    attached = True
                    continue
                _tell_notice(record)
                del record
                await watch.changed()
        finally:
            watch.leave()

    @asynccontextmanager
    async def _resuming(self, interrupt_id: str) -> AsyncIterator[tuple[_Record, Resume]]:
        record = await self._patiently(lambda: self._load(interrupt_id))
        resume = record.resume(self._grace)
        if resume is None:
            raise AgentAdapterError(f"{interrupt_id} is still being decided: wait for it before resuming")
        raise_unanswered(record.interrupt, resume)
        owner = f"{self._process}:{secrets.token_hex(6)}"
        await self._patiently(lambda: self._claim(interrupt_id, owner))
        renewal = asyncio.create_task(self._renew(interrupt_id, owner))
        try:
            yield record, resume
        except BaseException:
            await end_task(renewal)
            with contextlib.suppress(AgentAdapterError):
                await self._claim(interrupt_id, owner, lease=0)
            raise
        await end_task(renewal)
        await self._finish(interrupt_id, owner)

    async def _claim(self, interrupt_id: str, owner: str, *, lease: int | None = None) -> None:
        lane = self._lane
        outcome, *rest = await self._scripts(
            "claim_resume",
            [lane.req(interrupt_id), lane.card(interrupt_id)],
            [owner, self._lease if lease is None else lease, self._grace],
        )
        match outcome:
            case "claimed":
                raise ClaimedError(
                    f"{interrupt_id}: another process is resuming it, for {rest[0]} ms more at least"
                )
            case "consumed":
                raise ConsumedError(f"{interrupt_id} was already answered and its run resumed")
            case "unknown":
                raise UnknownInterruptError(f"{interrupt_id}: its record is gone")

    async def _renew(self, interrupt_id: str, owner: str) -> None:
        while True:
            await asyncio.sleep(self._lease / 3000)
            try:
                await self._claim(interrupt_id, owner)
            except AgentAdapterError as error:
                logger.warning(
                    "claim.not_renewed", extra={"interrupt_id": interrupt_id, "reason": str(error)}
                )

    async def _finish(self, interrupt_id: str, owner: str) -> None:
        try:
            await self._finish_once(interrupt_id, owner)
        except ServerUnreachableError as error:
            # The run has gone on; only the note of it is owed.
            logger.warning("finish.delayed", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            task = asyncio.create_task(self._finish_later(interrupt_id, owner))
            self._unfinished.add(task)
            task.add_done_callback(self._unfinished.discard)

    async def _finish_once(self, interrupt_id: str, owner: str) -> None:
        lane = self._lane
        outcome = await self._scripts(
            "finish_resume",
            [lane.req(interrupt_id), lane.card(interrupt_id), lane.undrawn, lane.wake, lane.audit],
            [interrupt_id, owner, lane.prefix],
        )
        if outcome in {"consumed", "lost"}:
            raise ClaimLostError(
                f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
            )

    async def _finish_later(self, interrupt_id: str, owner: str) -> None:
        while True:
            await asyncio.sleep(RETRY_EVERY)
            try:
                return await self._finish_once(interrupt_id, owner)
            except ServerUnreachableError:
                continue
            except ClaimLostError as error:
                logger.error("finish.lost", extra={"interrupt_id": interrupt_id, "reason": str(error)})  # noqa: TRY400
                return None

    async def _load(self, interrupt_id: str) -> _Record:
        lane = self._lane
        try:
            async with self._redis.pipeline(transaction=True) as pipe:
                pipe.hgetall(lane.req(interrupt_id))
                pipe.hgetall(lane.card(interrupt_id))
                pipe.time()
                req, card, (seconds, micros) = await pipe.execute()
        except (RedisError, OSError) as error:
            raise unreachable(self._address, error) from error
        if "body" not in req:
            raise UnknownInterruptError(f"{interrupt_id}: no such interrupt in namespace {self._namespace!r}")
        return _Record(load_interrupt(req["body"]), req, card, seconds * 1000 + micros // 1000)

    async def _patiently(self, attempt: Callable[[], Awaitable[_T]]) -> _T:
        # A wait outlives its Redis: what was stored is there again when the server is.
        while True:
            try:
                return await attempt()
            except ServerUnreachableError as error:
                logger.warning("wait.unreachable", extra={"reason": str(error)})
                await asyncio.sleep(RETRY_EVERY)


def _ended_unanswered(record: _Record, grace: int) -> bool:
    resume = record.resume(grace)
    return resume is not None and None in resume.decisions


def _so_far(record: _Record, resume: Resume | None) -> Sequence[Decision | None]:
    if resume:
        return resume.decisions
    recorded = (load_recorded(record.card, i) for i in range(len(record.interrupt.request.action_requests)))
    return [r.decision if r else None for r in recorded]


def _tell_notice(record: _Record) -> None:
    if notice := record.card.get("notice"):
        logger.warning("%s waits: %s", record.interrupt.id, notice)


def _milliseconds(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1000)


def _never() -> Resume:
    raise AssertionError("a settled record has an answer")
