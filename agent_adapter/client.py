"""The agent's side: publish an interrupt, wait for people, resume exactly once."""

import asyncio
import inspect
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, Unpack

from pydantic import TypeAdapter
from redis.asyncio import Redis
from redis.credentials import CredentialProvider

from agent_adapter import tracing
from agent_adapter.ask import DECISIONS, CallToAsk, DecidedCall, pauses_of, to_calls, to_request
from agent_adapter.asking import Asking, check_asking
from agent_adapter.background import in_background
from agent_adapter.cipher import RECORD_KEY, STATE_KEY, Cipher
from agent_adapter.contract.arguments import check_text
from agent_adapter.contract.hitl import ActionRequest, HITLRequest
from agent_adapter.contract.identity import interrupt_id, thread_id
from agent_adapter.contract.interrupt import Context, Decided, DecidedResume, Interrupt, Resume
from agent_adapter.contract.names import Namespace, did_you_mean
from agent_adapter.contract.outcome import Outcome, Reported
from agent_adapter.contract.record import GRACE, check_same_words, in_order, matching_actions, milliseconds
from agent_adapter.contract.trace import TRACEPARENT, TraceContext
from agent_adapter.contract.wire import agent_name, to_model
from agent_adapter.edit_check import RefusedAnswerError, why_refused
from agent_adapter.errors import (
    AgentAdapterError,
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InvalidRequestError,
    NotDecidedError,
    UnknownInterruptError,
    WrongArgumentError,
)
from agent_adapter.expected import (
    FROM_URL,
    expect,
    expect_duration,
    expect_id,
    expect_interrupt,
    expect_request,
    kind_of,
)
from agent_adapter.idempotency import carrying
from agent_adapter.loops import Loops
from agent_adapter.receipts.answer import Verifier
from agent_adapter.receipts.question import Marks
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.signer import AGENT_VARIABLE, CREATE_FOR_AGENT, signer_from_environment
from agent_adapter.redis.address import address_of
from agent_adapter.redis.claims import Claims, Reports, patiently, why_stalled
from agent_adapter.redis.pool import (
    REPEAT_WITHIN,
    bind_to_loop,
    end_task,
    freeze_meta,
    open_blocking_redis,
    open_redis,
    pipelined,
    place_of,
)
from agent_adapter.redis.records import Record, Records
from agent_adapter.redis.replies import Replies, Waits
from agent_adapter.redis.runs import Runs
from agent_adapter.redis.scripts import Scripts
from agent_adapter.redis.server_check import check_server

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

logger = logging.getLogger(__name__)
T = TypeVar("T")

BLOCK = 15.0
"""Seconds that the reading loop blocks in Redis: four commands a minute when nothing happens."""


class ApprovalClient:
    """Asks people for approval through the bot. One client per process is enough: all waits share two connections.

    Make one with `from_url`, and use it as an async context manager:

        async with ApprovalClient.from_url("redis://localhost:6379/0", agent="billing") as approvals:
            resume = await approvals.review(request, channel="C0123ABCD")
    """

    def __init__(
        self,
        redis: Redis,
        blocking: Redis | None = None,
        *,
        agent: str = "",
        namespace: str = "assent",
        address: str = "",
        grace: timedelta = GRACE,
        claim_lease: timedelta = timedelta(seconds=30),
        reconcile_every: timedelta = timedelta(seconds=30),
        state_cipher: Cipher | None = None,
        record_cipher: Cipher | None = None,
        ring: Ring | str | Path | None = None,
        min_people: int = 0,
        signer: "Signer | None" = None,
        marks: Marks | None = None,
    ) -> None:
        for where, given in (("redis", redis), ("blocking", blocking)):
            expect(given, Redis, where=where, cure=f"for the address of a Redis, write {FROM_URL}")
        expect(ring, Ring | str | Path | None, where="ring", cure="pass the path of the file of public keys")
        cure = "pass how many people must have agreed"
        expect(min_people, int, where="min_people", cure=cure)
        if min_people < 0:
            raise WrongArgumentError(f"min_people: {min_people} is below 0: {cure}")
        for where, cipher in (("state_cipher", state_cipher), ("record_cipher", record_cipher)):
            expect(cipher, Cipher | None, where=where, cure="pass a Cipher, as in Cipher([key])")
        if signer and not hasattr(signer, "public_key"):
            raise WrongArgumentError(f"signer: this is {kind_of(signer)}: pass what read_signer gives")
        assert blocking is not None
        self.agent = agent_name(agent)
        self._redis = redis
        self._blocking = blocking
        self._namespace = to_model(TypeAdapter(Namespace).validate_python, namespace, where="namespace")
        self._address = address
        self._grace = grace
        self._lease = claim_lease
        self._every = reconcile_every.total_seconds()
        # A cipher without keys is meant, too.
        self._state_cipher = Cipher.from_environment(STATE_KEY) if state_cipher is None else state_cipher
        self._record_cipher = Cipher.from_environment(RECORD_KEY) if record_cipher is None else record_cipher
        self._verifier = _verifier(ring, self._namespace, min_people)
        self._signer = signer or signer_from_environment(AGENT_VARIABLE)
        self._marks = marks
        if self._signer and self._verifier:
            _check_purpose(self._signer, self._verifier.ring, self.agent)
        self._records: Records
        self._claims: Claims
        self._replies: Waits
        self._reports: Reports
        self.loops = Loops()
        """The background loops of this client, for a supervisor that checks that they run."""
        self.runs: Runs
        """The runs that workers resume."""
        self._withdrawals: set[asyncio.Task[None]] = set()

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
        marks: Marks | None = None,
        credentials: CredentialProvider | str | None = None,
        **settings: timedelta,
    ) -> Self:
        """Make a client for this Redis. It connects when it is entered with `async with`.

        Args:
            url: `redis://`, `rediss://` or `unix://`. Behind Sentinels: `redis+sentinel://host1:26379,host2:26379/service`,
                or `rediss+sentinel://` where all of them speak TLS.
            agent: The name of the agent, shown on every card: lower-case letters, digits and hyphens.
            namespace: The same as the bot's `ASSENT_NAMESPACE`.
            state_cipher: Encrypts the states of runs that workers resume; by default with the keys in `ASSENT_STATE_KEY`. With a
                ring, states need one.
            record_cipher: Encrypts what is asked and decided; by default with the keys in `ASSENT_RECORD_KEY`. The bot needs
                the same keys.
            ring: The public keys of bots, or the path of their file; by default the file that `ASSENT_RING` names. With a
                ring, only decisions count that one of these keys has signed.
            min_people: With a ring: how many people must have agreed before a call runs, even where the policy asks for
                fewer. With 1, silence is not enough.
            signer: Signs what this agent asks; by default with the private key in `ASSENT_AGENT_KEY`, if there is one.
            marks: For the HTTP API, which asks for agents without a key: it marks what it asks, and reads nothing else.
            credentials: Gives user and password in place of the address, again for each new connection: a `CredentialProvider`
                of redis-py, or the name of one as `module:attribute`. For passwords that change and tokens that expire.
            settings: Durations. `grace`: how long after its deadline a wait ends without the bot. `claim_lease`: how long a
                claim on a run holds until it is renewed. `reconcile_every`: how often records are read without a wake-up.
                Each is 30 seconds by default.

        Raises:
            InvalidRequestError: when the agent's name, the namespace, the credentials, or a key in `ASSENT_STATE_KEY`, `ASSENT_RECORD_KEY` or `ASSENT_AGENT_KEY` is not valid.
            WrongArgumentError: when this is not the address of a Redis, or another argument is of the wrong kind.
        """
        expect(url, str, where="url", cure="pass the address of a Redis, as in 'redis://localhost:6379/0'")
        address = address_of(url)
        for name, given in settings.items():
            if name not in (known := inspect.signature(cls).parameters):
                raise WrongArgumentError(f"{name}: from_url has no such argument{did_you_mean(name, known)}")
            expect_duration(given, where=name)
        every = settings.get("reconcile_every", timedelta(seconds=BLOCK)).total_seconds()
        commands = open_redis(url, namespace=namespace, credentials=credentials)
        block = min(BLOCK, every)
        return cls(
            commands,
            open_blocking_redis(
                url, block=block, namespace=namespace, credentials=credentials, beside=commands
            ),
            agent=agent,
            namespace=namespace,
            address=address,
            state_cipher=state_cipher,
            record_cipher=record_cipher,
            ring=ring,
            min_people=min_people,
            signer=signer,
            marks=marks,
            **settings,
        )

    def __getattr__(self, name: str) -> Never:
        if name in {"_records", "_claims", "_replies", "_reports", "runs"}:
            raise AgentAdapterError(
                "this client is not connected: use it inside `async with ApprovalClient.from_url(…) as approvals:`"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    async def __aenter__(self) -> Self:
        """Connect to Redis, and check that it can keep approvals.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            ServerUnsuitableError: when it cannot keep approvals.
        """
        self._check_closed()
        try:
            for warning in await check_server(self._redis, self._address):
                logger.warning(warning)
            keys = await freeze_meta(self._redis, self._namespace, address=self._address)
            scripts = Scripts(
                self._redis,
                keys,
                "agent_adapter.redis.lua",
                address=self._address,
                cipher=self._record_cipher,
                pipelined=pipelined(self._redis),
            )
        except AgentAdapterError:
            await self._disconnect()
            raise
        # Another task can have opened it meanwhile.
        self._check_closed()
        bind_to_loop(self._redis)
        process = f"{self.agent}.{secrets.token_hex(6)}"
        self._records = Records(
            scripts,
            keys,
            process=process,
            grace=milliseconds(self._grace),
            state_cipher=self._state_cipher,
            verifier=self._verifier,
            signer=self._signer,
            marks=self._marks,
        )
        self.runs = Runs(
            scripts, keys, self._state_cipher, agent=self.agent, is_signed=self._verifier is not None
        )
        self._claims = Claims(self._records, lease=milliseconds(self._lease))
        self._reports = Reports(self.report)
        self._replies = replies = Replies(
            self._blocking,
            scripts,
            keys,
            process=process,
            namespace=self._namespace,
            grace=self._records.grace,
            loops=self.loops,
            block=min(BLOCK, self._every),
            reconcile_every=self._every,
        )
        place_of(self._redis).on_change = replies.leave_server
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _check_closed(self) -> None:
        if (replies := self.__dict__.get("_replies")) and not replies.is_closed:
            replies.check_loop()
            raise AgentAdapterError("this client is open already: use it, without another `async with`")

    @property
    def is_signed(self) -> bool:
        """Whether it takes only signed decisions: it has a ring."""
        return self._verifier is not None

    def check_open(self, *, keeps_state: bool = False) -> None:
        """Raise an error when this client is not connected, or `keeps_state` where nothing would protect the state of a run.

        Raises:
            AgentAdapterError: when it was not entered yet, or was closed.
            InvalidRequestError: when a state is to be kept, and the key for it is missing.
        """
        self._replies.check_open()
        if keeps_state:
            self._records.check_state_key()

    async def close(self) -> None:
        """End all waits and close the connections. Questions that still wait stay open."""
        self._replies.check_loop()
        try:
            await self._replies.close()
            await self._reports.close()
            await self._claims.close()
            await self._end_withdrawals()
        finally:
            await self._disconnect()

    async def _end_withdrawals(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(REPEAT_WITHIN):
                while self._withdrawals:
                    await asyncio.wait(self._withdrawals)
        for task in list(self._withdrawals):
            logger.warning("withdrawal.lost", extra={"interrupt_id": task.get_name()})
            await end_task(task)

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
        """Make the interrupt that asks for this batch. Nothing is stored until it is published.

        Args:
            request: The batch of actions.
            run: The id of the run. Without one, each call makes a new question.
            pauses: The framework's pause id for each action. The same run and pauses find the same record.
            asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

        Raises:
            InvalidRequestError: when an argument cannot be used; the message names it.
        """
        expect_request(request)
        check_asking(asking, beside=("run", "pauses"))
        cure = "pass a tuple with an id for each action, as in ('call-1',), beside run=…; or leave out both"
        expect(pauses, tuple | list | None, where="pauses", cure=cure)
        if pauses and not run:
            raise WrongArgumentError(f"pauses: without a run, nobody could find this question again: {cure}")
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
        """Store an interrupt, so that the bot asks people. Repeated calls store it once.

        If the interrupt has a continuation, a worker resumes the run once it is decided. The worker starts at once,
        unless a process waits for the answer.

        Returns:
            The id of its record. It differs from `interrupt.id` in two cases: its pauses already belong to another
            record, or that record ended without an answer that could be used (refused, withdrawn, expired with `raise`, or
            an edit that does not fit) and is asked again.

        Raises:
            InvalidRequestError: when the interrupt is over a limit, or of another agent; nothing was stored.
            ConflictError: when its pauses are already asked with other actions, or only some of them are.
            ConsumedError: when its run was already resumed.
            ServerUnreachableError: when Redis does not answer.
        """
        expect_interrupt(interrupt)
        return await self._publish(interrupt, waits=interrupt.continuation is None)

    async def _publish(self, interrupt: Interrupt, *, waits: bool, since: float | None = None) -> str:
        if interrupt.agent != self.agent:
            raise InvalidRequestError(
                f"interrupt.agent: {interrupt.agent!r} cannot be asked for through the client of {self.agent!r}"
            )
        await self._replies.start()
        with _span("assent.publish", interrupt) as span:
            record_id = await self._publish_once(interrupt, waits=waits, since=since)
            # Another one, if the question was known.
            span.note(interrupt_id=record_id)
            return record_id

    async def _publish_once(self, interrupt: Interrupt, *, waits: bool, since: float | None) -> str:
        asked, replaced, attempt = interrupt, "", 0
        trace = tracing.current() or _trace_of(interrupt)
        while True:
            outcome, found = await self._records.publish(
                asked, waits=waits, replaced=replaced, trace=trace, since=since
            )
            if outcome == "created":
                return found
            if outcome == "mixed":
                raise ConflictError(
                    f"some pauses of {interrupt.id} are already asked in {found}, others are new: publish them separately"
                )
            record = await self._records.load(found)
            if record.is_resumed and not record.unused:
                raise ConsumedError(f"{found} was already answered and its run resumed", interrupt_id=found)
            if not (record.unused or record.ended_unanswered):
                self._matching(record.interrupt, interrupt)
                if waits:
                    await self._records.add_waiter(found)
                if interrupt.continuation:
                    await self._records.add_continuation(record, interrupt)
                return found
            attempt, replaced = attempt + 1, found
            anew = interrupt_id(interrupt.agent, interrupt.run, interrupt.pauses, attempt=attempt)
            context = interrupt.context.model_copy(update={"again": record.unused or None})
            asked = interrupt.model_copy(update={"id": anew, "context": context})

    async def wait(self, interrupt_id: str) -> Resume:
        """Wait until every action is decided, or the interrupt has ended without an answer. Any process may wait.

        The wait survives an outage of Redis. If no bot runs, it ends after the deadline and the grace.

        Returns:
            The answer: its `status`, and one decision per action, `None` where nobody decided.

        Raises:
            UnknownInterruptError: when there is no record with this id.
            DecisionNotAllowedError: when a stored decision does not fit the action that it answers.
            ServerRefusesError: when Redis refuses this client until somebody changes something.
        """
        expect_id(interrupt_id)
        while True:
            if resume := await self._wait(interrupt_id):
                return resume

    async def _wait(self, interrupt_id: str, *, reads: bool = True) -> Resume | None:
        """Wait for the answer; `None` where it does not have to be read, and a wake-up says that it is there."""
        await self._replies.start()
        # Thousands may wait here, so this frame holds no more than the wait needs.
        watch = self._replies.watch(interrupt_id)
        try:
            await self._while_open(partial(self._records.add_waiter, interrupt_id))
            while True:
                watch.arm()
                if resume := await self._look(interrupt_id):
                    return resume
                if await watch.woken == "decided" and not reads:
                    return None
        finally:
            watch.leave()

    async def _while_open(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat a command of a wait until Redis answers, or this client is closed."""

        async def try_again() -> T:
            self.check_open()
            return await attempt()

        return await patiently(try_again)

    async def _look(self, interrupt_id: str) -> Resume | None:
        record = await self._while_open(partial(self._records.load, interrupt_id))
        if resume := record.resume():
            return resume
        if record.notice:
            logger.warning("%s waits: %s", interrupt_id, record.notice)
        for fault in sorted(set(map(str, record.faults.values()))):
            logger.warning("%s waits on: %s", interrupt_id, fault)
        return None

    async def ask(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        allowed: str | Sequence[str] = DECISIONS,
        why: str | None = None,
        schema: Mapping[str, Any] | None = None,
        requested_by: str | None = None,
        run: str | None = None,
        **asking: Unpack[Asking],
    ) -> DecidedCall:
        """Ask about one call, and wait. Run the call with the `args` of what this returns:

            call = await approvals.ask("delete_file", {"path": path}, channel="C0123ABCD")
            delete_file(**call.args)

        The answer is used up before this returns: a process that dies after that does not run the call.

        Args:
            tool: The name of the tool.
            args: Its arguments, JSON.
            allowed: The decisions that people can choose from: `approve`, `edit`, `reject`, `respond`.
            why: What the agent says about the call. Its card quotes it.
            schema: A JSON Schema of the arguments, for the form of an edit.
            requested_by: The Slack id of the person for whom the agent acts.
            run: The id of a run. In one run, the same call finds the same question, also from another process, and is
                answered once. Without it, each call is a new question, and one that is cancelled is withdrawn.
            asking: Where and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`.

        Returns:
            What was decided. `args` of it raises `NotApprovedError` for everything but an approval or an edit.

        Raises:
            InterruptEndedError: when nobody decided in time, or it was refused or withdrawn.
            ConsumedError: when this run had the answer already.
            InvalidRequestError: when this cannot be asked; the message names the place.
            AgentAdapterError: as in `publish` and `wait`.
        """
        action = ActionRequest(name=tool, args=args, description=why)
        schemas = {tool: schema} if schema else {}
        (call,) = await self.ask_all(
            [action], allowed=allowed, schemas=schemas, requested_by=requested_by, run=run, **asking
        )
        return call

    async def ask_all(
        self,
        calls: Sequence[CallToAsk],
        *,
        allowed: str | Sequence[str] = DECISIONS,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
        requested_by: str | None = None,
        run: str | None = None,
        **asking: Unpack[Asking],
    ) -> tuple[DecidedCall, ...]:
        """Ask about several calls on one card, and wait until all are decided.

            first, second = await approvals.ask_all([("pay", {"cents": 5}), ("pay", {"cents": 7})])

        Args:
            calls: Each a tool and its arguments, or an `ActionRequest`.
            allowed: As in `ask`.
            schemas: JSON Schemas of the arguments, by tool.
            requested_by: As in `ask`.
            run: As in `ask`.
            asking: As in `ask`.

        Returns:
            What was decided about each call, in their order.

        Raises:
            AgentAdapterError: as in `ask`.
        """
        check_asking(asking, beside=("allowed", "why", "schema", "requested_by", "run"))
        expect(
            schemas, Mapping | None, where="schemas", cure="pass a schema for each tool, as in {'pay': {…}}"
        )
        if run == "":
            raise WrongArgumentError("run: this text is empty: pass the id of the run, or leave it out")
        request = to_request(calls, allowed, schemas or {})
        if requested_by is not None:
            if asking.get("context"):
                raise WrongArgumentError(
                    "requested_by: the context says this: write it there, or leave out the context"
                )
            asking["context"] = Context(requested_by=requested_by)
        asking.setdefault("on_expiry", "raise")
        interrupt = self.interrupt(request, run=run, pauses=pauses_of(request) if run else None, **asking)
        can_be_found = bool(run) or interrupt.continuation is not None
        return to_calls(request, await self._review(interrupt, can_be_found=can_be_found))

    async def review(self, request: HITLRequest, **asking: Unpack[Asking]) -> DecidedResume:
        """Ask about a batch, wait, and return what was decided: publish, wait, claim and finish in one call.

        If this call is cancelled, the question is withdrawn, because no other process could find it. A question with a
        continuation stays, for a worker.

        Returns:
            One decision per action, in the order of the batch.

        Raises:
            InterruptEndedError: when it was refused or withdrawn, or expired with `on_expiry="raise"`.
            AgentAdapterError: as in `publish` and `wait`.
        """
        interrupt = self.interrupt(request, **asking)
        return await self._review(interrupt, can_be_found=interrupt.continuation is not None)

    async def _review(self, interrupt: Interrupt, *, can_be_found: bool) -> DecidedResume:
        async with (
            nullcontext() if can_be_found else withdrawn_on_cancel(self, interrupt),
            self.reviewing(interrupt) as resume,
        ):
            return resume

    @asynccontextmanager
    async def reviewing(self, interrupt: Interrupt) -> AsyncIterator[DecidedResume]:
        """Publish, wait and claim; the body of `async with` resumes the run; at its end, the run counts as resumed.

        The body gets the decisions in the order of this interrupt's actions. If it raises an error, the claim is given
        back, and the run can be resumed again. An edit that does not fit a schema that was too large to be sent is not given
        to the body: people are asked again, with the reason.

        Raises:
            InterruptEndedError: when it ended without an answer, so there is nothing to resume with.
            ClaimedError: when another process is resuming this run.
            ConsumedError: when the run was already resumed.
            ClaimLostError: when the claim expired in the body, and another process took it.
            AgentAdapterError: as in `publish` and `wait`.
        """
        expect_interrupt(interrupt)
        with _span("assent.approval", interrupt) as span:
            async with AsyncExitStack() as stack:
                resume = await self._answered(interrupt, stack)
                span.note(
                    interrupt_id=resume.interrupt_id,
                    outcome=resume.status,
                    decisions=[each.type for each in resume.decisions],
                )
                with carrying(resume):
                    yield resume

    @asynccontextmanager
    async def resuming(
        self, interrupt_id: str, *, interrupt: Interrupt | None = None, unchecked: bool = False
    ) -> AsyncIterator[DecidedResume]:
        """Claim an interrupt that has ended; the body of `async with` resumes the run; at its end, it counts as resumed.

        The claim is renewed while the body runs. The body gets one decision per action, in the order of the record, or
        of your interrupt.

        Args:
            interrupt_id: The id of the record.
            interrupt: What you asked. The record must ask the same.
            unchecked: With a ring: take what the record says was asked. A person who can write to Redis can change that, so
                compare it yourself with what you are about to run.

        Raises:
            UnknownInterruptError: when there is no record with this id.
            ConflictError: when the record asks something else than your interrupt.
            DecisionNotAllowedError: when an edit does not fit a schema of your interrupt that was too large to be sent.
            ReceiptError: when a decision is not proven by what the ring trusts.
            InvalidRequestError: with a ring, when neither `interrupt` nor `unchecked` is given.
            AgentAdapterError: when it is not decided yet; and as in `reviewing`.
        """
        expect_id(interrupt_id)
        if self._verifier and interrupt is None and not unchecked:
            raise InvalidRequestError(
                f"resuming: with a ring, a decision is compared with what you asked: pass interrupt=…, or unchecked=True "
                f"if you compare {interrupt_id} yourself"
            )
        async with self._claims.held(interrupt_id) as (asked, resume):
            given = in_order(resume, self._matching(asked, interrupt)) if interrupt else resume
            if interrupt and (problem := await why_refused(given, interrupt, asked)):
                raise await self.refuse_answer(given, problem)
            with carrying(given):
                yield given

    @asynccontextmanager
    async def running(self, run: str, *, place: str = "") -> AsyncIterator[None]:
        """Hold the right to run a thread while the body runs its graph. Do not hold it while people decide.

        Args:
            run: The id of the run, as for `interrupt`.
            place: Which state of the thread, for a run that has several.

        Raises:
            ClaimedError: when another call runs this thread.
            ClaimLostError: when the right expired in the body, and another process took it.
        """
        async with self._claims.running(thread_id(self.agent, run, place)):
            yield

    async def decisions(self, interrupt_id: str) -> AsyncIterator[Decided]:
        """Yield each decision as it is made, with the index of its action, until the interrupt has ended.

        Raises:
            UnknownInterruptError: when there is no record with this id.
        """
        expect_id(interrupt_id)
        await self._replies.start()
        given: set[int] = set()
        with self._replies.following(interrupt_id) as watch:
            await self._while_open(partial(self._records.add_waiter, interrupt_id, each_decision=True))
            while True:
                watch.arm()
                record = await self._while_open(partial(self._records.load, interrupt_id))
                resume = record.resume()
                recorded = [each.decision if each else None for each in record.recorded()]
                for index, decision in enumerate(resume.decisions if resume else recorded):
                    if decision is not None and index not in given:
                        given.add(index)
                        yield Decided(index, decision)
                if resume:
                    return
                await watch.woken

    async def claim(self, interrupt_id: str, owner: str, lease: timedelta) -> None:
        """Take the right to resume a run under your own owner name, or renew it. `resuming` does all of this for you.

        Args:
            interrupt_id: The id of a record that has ended.
            owner: A name for this claim, the same at each renewal. Make a new one at each start: the same name takes the run at
                once, also where it may have run.
            lease: How long nobody else may resume it; `timedelta(0)` gives the right back.

        Raises:
            ClaimedError: when another owner holds the right.
            ConsumedError: when the run was already resumed.
            UnknownInterruptError: when there is no record with this id.
            AgentAdapterError: when it is not decided yet.
        """
        expect_id(interrupt_id)
        if not owner:
            raise WrongArgumentError(
                "owner: this is empty: pass the name of the process that resumes the run"
            )
        await self._records.claim(interrupt_id, owner, milliseconds(lease))

    async def finish(self, interrupt_id: str, owner: str) -> None:
        """Record that a claimed run was resumed. This is final: nobody can resume it again.

        Raises:
            ClaimLostError: when the claim expired and another owner took it.
        """
        expect_id(interrupt_id)
        await self._records.finish(interrupt_id, owner)

    async def report(
        self,
        interrupt_id: str,
        index: int,
        outcome: Outcome,
        *,
        claim: str | None = None,
        fenced: bool = True,
    ) -> Reported:
        """Report what became of an approved call, so that its card says it. The integrations do this by themselves.

        The first outcome is kept. Masked values are not shown on the card; the record keeps the outcome as it is given.

        Args:
            interrupt_id: The id of the record.
            index: The position of the action in its batch.
            outcome: `Outcome.done(result)` or `Outcome.failed(error)`.
            claim: The owner name that you gave to `claim`, or the `claim` of an answer. Without it, the claim on the run
                has to be one of this client.
            fenced: Whether the claim counts. The HTTP API passes `False` for callers without a claim: it knows them by
                their key.

        Returns:
            The outcome that is kept, and whether it is that of an earlier report (`is_repeat`).

        Raises:
            ClaimLostError: when the claim on the run is somebody else's.
            DecisionNotAllowedError: when the action was not approved.
            UnknownInterruptError: when the record with this id is gone.
            InvalidRequestError: when the record has no action with this index.
            AgentAdapterError: when it is not decided yet.
        """
        expect_id(interrupt_id)
        expect(outcome, Outcome, where="outcome", cure="pass Outcome.done(result) or Outcome.failed(error)")
        return await self._records.report(interrupt_id, index, outcome, owner=claim, fenced=fenced)

    def report_later(self, key: str, outcome: Outcome, *, claim: str) -> None:
        """Report what became of a call in the background, as the integrations do. Any thread may call it.

        It returns at once and raises nothing. A report that fails is in the log as `report.lost`.

        Args:
            key: The idempotency key of the call, as `resume.key(position)` gives it.
            outcome: `Outcome.done(result)` or `Outcome.failed(error)`.
            claim: The `claim` of the answer with which the call ran.
        """
        self._reports.send(key, outcome, claim)

    async def note_failure(self, resume: DecidedResume, error: BaseException) -> None:
        """Say on the card that the run went on with this answer and ended with an error.

        Integrations call it while they hold the claim, when an error uses the answer up. It raises nothing.
        """
        with suppress(AgentAdapterError):
            await self._records.mark_stalled(resume.interrupt_id, resume.claim, why_stalled(error))

    async def refuse_answer(self, resume: DecidedResume, reason: str) -> RefusedAnswerError:
        """End a question whose answer cannot be used, with which nothing has run. Published again, it says the reason.

        Integrations call it while they hold the claim.

        Returns:
            The error to raise.

        Raises:
            ClaimLostError: when the claim expired and another process took it.
        """
        logger.warning("answer.refused", extra={"interrupt_id": resume.interrupt_id, "reason": reason})
        await self._records.finish(resume.interrupt_id, resume.claim, unused=reason)
        return RefusedAnswerError(
            f"this answer cannot be used: {reason}; nothing was resumed, and the question can be asked again",
            interrupt_id=resume.interrupt_id,
        )

    async def record(self, interrupt_id: str) -> Record:
        """Read a record: the interrupt, its deadline, and what was decided so far.

        Raises:
            UnknownInterruptError: when there is no record with this id.
        """
        expect_id(interrupt_id)
        return await self._records.load(interrupt_id)

    async def withdraw(self, interrupt_id: str, reason: str = "") -> None:
        """Ask the bot to end an interrupt that is no longer needed. An interrupt that has already ended does not change.

        Args:
            interrupt_id: The id of the record.
            reason: Shown on the card.

        Raises:
            UnknownInterruptError: when there is no record with this id.
            InvalidRequestError: when the reason is not Unicode text.
        """
        expect_id(interrupt_id)
        check_text(reason, where="reason")
        await self._records.withdraw(interrupt_id, reason)

    async def withdraw_cancelled(self, interrupt_id: str, reason: str) -> None:
        """Withdraw for a call that has ended. While Redis does not answer, this goes on until the client is closed."""
        work = self._withdraw_asked(interrupt_id, reason)
        await asyncio.wait(
            [in_background(work, name=interrupt_id, among=self._withdrawals)], timeout=REPEAT_WITHIN
        )

    async def _withdraw_asked(self, interrupt_id: str, reason: str) -> None:
        with suppress(UnknownInterruptError):
            await patiently(partial(self.withdraw, interrupt_id, reason))

    def _matching(self, record: Interrupt, asked: Interrupt) -> list[int]:
        """Return the index of each of our actions in the record. With a ring, people must have been asked with our words."""
        indices = matching_actions(record, asked)
        if self.is_signed:
            check_same_words(record, asked, indices)
        return indices

    async def _answered(self, interrupt: Interrupt, stack: AsyncExitStack) -> DecidedResume:
        """Ask until there is an answer that can be used, and claim it; the stack holds the claim."""
        since = time.monotonic()
        while True:
            record_id = await self._publish(interrupt, waits=True, since=since)
            try:
                # The claim reads it, too. What is signed is read before: a forged decision does not end the wait.
                await self._wait(record_id, reads=self.is_signed)
                async with AsyncExitStack() as held:
                    asked, resume = await held.enter_async_context(self._claims.held(record_id))
                    resume = in_order(resume, self._matching(asked, interrupt))
                    if not (problem := await why_refused(resume, interrupt, asked)):
                        stack.push_async_exit(held.pop_all())
                        return resume
                    await self.refuse_answer(resume, problem)
            except UnknownInterruptError:
                # Redis came back empty. This process still has the question, so it asks again.
                logger.warning("interrupt.forgotten", extra={"interrupt_id": record_id})
            except NotDecidedError:
                # Redis went back behind the decision that was read. People are asked again, or the bot ends it.
                logger.warning("decision.forgotten", extra={"interrupt_id": record_id})


def _span(name: str, interrupt: Interrupt) -> AbstractContextManager[tracing.Span]:
    """Make a span about a question, in the trace that its context names, or else in that of the program."""
    return tracing.span(
        name,
        _trace_of(interrupt),
        interrupt_id=interrupt.id,
        agent=interrupt.agent,
        actions=len(interrupt.request.action_requests),
    )


def _trace_of(interrupt: Interrupt) -> TraceContext | None:
    return TraceContext.read({TRACEPARENT: interrupt.context.traceparent})


def _verifier(ring: Ring | str | Path | None, namespace: str, min_people: int) -> Verifier | None:
    """Give what decisions have to prove; `None` without a ring."""
    found = Ring.load(ring, where="ring") if isinstance(ring, str | Path) else ring or Ring.from_environment()
    if found is None and min_people:
        raise InvalidRequestError("min_people: without a ring, nobody can say who agreed: pass ring=…")
    return None if found is None else Verifier(found, namespace, min_people)


def _check_purpose(signer: "Signer", ring: Ring, agent: str) -> None:
    """Refuse a key that the ring has for something else: a key for receipts would let this agent approve its own calls."""
    key = ring.keys.get(signer.public_key.keyid)
    if key and key.purpose != "agent":
        raise InvalidRequestError(
            f"{AGENT_VARIABLE}: the ring has the key {key.kid} for {key.purpose}, and an agent must not have it: make one "
            f"with {CREATE_FOR_AGENT}"
        )
    if key and key.agent != agent:
        logger.warning(
            "The ring has the key %s of %s for the agent %s, and this is the agent %s: no card will say that it is verified",
            key.kid, AGENT_VARIABLE, key.agent, agent,
        )  # fmt: skip


@asynccontextmanager
async def withdrawn_on_cancel(
    approvals: ApprovalClient, interrupt: Interrupt, reason: str = "The call that asked was cancelled."
) -> AsyncIterator[None]:
    """Withdraw the question when the body, which waits for its answer, is cancelled.

    Use it for a question that no other process can find.
    """
    try:
        yield
    except asyncio.CancelledError:
        await approvals.withdraw_cancelled(interrupt.id, reason=reason)
        raise


@asynccontextmanager
async def answered(
    approvals: ApprovalClient,
    interrupt: Interrupt,
    read: Callable[[DecidedResume], T],
    *,
    if_cancelled: str | None,
) -> AsyncIterator[tuple[DecidedResume, T]]:
    """Ask, and yield the answer and what was read from it. The body goes on with the run.

    An answer that does not fit is used up, and its card says why: it can be asked again. When the body is cancelled, the question
    is withdrawn with the reason `if_cancelled`; it is `None` where another process can find the question.
    """
    async with (
        withdrawn_on_cancel(approvals, interrupt, if_cancelled) if if_cancelled else nullcontext(),
        approvals.reviewing(interrupt) as resume,
    ):
        try:
            found = read(resume)
        except DecisionNotAllowedError as error:
            raise await approvals.refuse_answer(resume, str(error)) from error
        yield resume, found


@asynccontextmanager
async def used_up(
    approvals: ApprovalClient,
    interrupt: Interrupt,
    read: Callable[[DecidedResume], T],
    *,
    if_cancelled: str | None,
) -> AsyncIterator[tuple[DecidedResume, T]]:
    """Do as `answered` does, but once the body goes on, the answer is used up, even if the body fails.

    For frameworks that would run their tools again with the same answer. Only a body that is cancelled gives it back, as a killed
    process does. A body may also refuse it, with `refuse_answer`.
    """
    failure: BaseException | None = None
    async with answered(approvals, interrupt, read, if_cancelled=if_cancelled) as (resume, found):
        try:
            yield resume, found
        except (Exception, asyncio.CancelledError) as error:
            # Of this answer, not of one that a tool waited for.
            if isinstance(error, RefusedAnswerError) and error.interrupt_id == resume.interrupt_id:
                raise
            # A tool may have waited for something that was cancelled, and nobody has cancelled this body.
            if (
                isinstance(error, asyncio.CancelledError)
                and (task := asyncio.current_task())
                and task.cancelling()
            ):
                raise
            # Raised again below, after the claim is finished.
            failure = error
            await approvals.note_failure(resume, error)
    if failure:
        raise failure


def from_environment(agent: str) -> ApprovalClient:
    """Return the client of a command, by the settings in its environment.

    Raises:
        InvalidRequestError: when REDIS_URL is not set.
    """
    if not (url := os.environ.get("REDIS_URL")):
        raise InvalidRequestError(
            "REDIS_URL is not set, so nobody can be asked: set it where this is started"
        )
    namespace = os.environ.get("ASSENT_NAMESPACE", "assent")
    credentials = os.environ.get("ASSENT_REDIS_CREDENTIALS")
    return ApprovalClient.from_url(url, agent=agent, namespace=namespace, credentials=credentials)


def expect_client(value: object) -> None:
    """Check, before anything runs, that this is an asynchronous client.

    Raises:
        WrongArgumentError: saying what to pass instead.
    """
    # The blocking client is built on this one, so its class cannot be imported here.
    if isinstance(getattr(value, "client", None), ApprovalClient):
        cure = "pass its `client`, and let it run the work: approvals.run(run(…, approvals=approvals.client))"
    else:
        cure = f"pass a client, as in {FROM_URL}"
    expect(value, ApprovalClient, where="approvals", cure=cure)
