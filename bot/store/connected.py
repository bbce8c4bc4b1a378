"""The scripts, called for one record."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys, Lane, Named
from agent_adapter.errors import ServerFailedError, ServerUnreachableError
from agent_adapter.redis.journal import COMES_WITHIN, SETTLES, SLACKNESS, Journal
from agent_adapter.redis.pool import before_sending
from agent_adapter.redis.private import RecordCipher
from agent_adapter.redis.scripts import Scripts, Value
from agent_adapter.redis.server_check import answered
from bot.domain.approval import Approval, Published
from bot.domain.errors import StoreUnavailableError, TooEarlyError
from bot.domain.seal import Trust
from bot.runtime.statements import Signing
from bot.store.accepted import KEPT_FOR, AcceptedLately
from bot.store.deliveries import WITHIN
from bot.store.durability import LOCAL, Confirming, Durability, ends
from bot.store.refused import Refused
from bot.store.sealed import sealed_fact

LOOKS_WITHIN, LOOKED_EVERY = 1.0, 0.05
"""Seconds that a click waits until a bot has looked for what is lost, and between two of its questions."""
LOOKS_AGAIN_IN = 5.0
"""Seconds until a bot looks again for requests that were not there."""
TOLD_WITHIN = LOOKS_AGAIN_IN + 2.0
"""Seconds after which it has told what it had lost of one that is there again."""
ASKED_AGAIN_WITHIN = KEPT_FOR + SETTLES + COMES_WITHIN
"""Seconds after a doubt in which some bot still looks for requests that may be asked again."""
_T = TypeVar("_T")


async def in_each(lanes: Iterable[Lane], ask: Callable[[Lane], Awaitable[_T]]) -> list[_T]:
    """Ask in each lane, in their order, also after a server has not answered: what the others have goes on.

    Raises:
        ServerUnreachableError: in the end, when one of them did not.
    """
    found: list[_T] = []
    away: ServerUnreachableError | None = None
    for lane in lanes:
        try:
            found.append(await ask(lane))
        except ServerUnreachableError as error:
            away = error
    if away:
        raise away
    return found


@dataclass
class Gate:
    """Holds up each command of a decision as long as this bot may not decide."""

    decides_in: Callable[[], float]
    has_sent: bool = False

    def __call__(self) -> None:
        """Let a command go.

        Raises:
            TooEarlyError: when nothing was sent yet.
            StoreUnavailableError: when the answer to what was sent is lost.
        """
        if wait := self.decides_in():
            if self.has_sent:
                raise StoreUnavailableError("a failover came before Redis answered")
            raise TooEarlyError(wait)
        self.has_sent = True


class Connected:
    """The base of the store's classes: the scripts, and the names of keys."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        *,
        address: str = "",
        signing: Signing | None = None,
        cipher: RecordCipher | None = None,
        durability: Durability = LOCAL,
        journal: Journal | None = None,
    ) -> None:
        self.keys = keys
        self.signing = signing
        """Signs what people decide; `None` without a signing key."""
        self._redis = redis
        self._address = address
        self.scripts = Scripts(redis, keys, "bot.store.lua", address=address, cipher=cipher, journal=journal)
        self.durability = durability
        self.confirming = Confirming(redis, durability)
        is_local = durability.mode == "local"
        self.durable = self.scripts if is_local else self.scripts.written_by(self.confirming.write)
        """The same scripts for what a person is told is stored: each raises NotConfirmedError when that is not certain."""
        self.cipher = self.scripts.cipher
        """Encrypts what agents and people write."""
        self.unlooked: frozenset[int] = frozenset()
        """The lanes in which this bot still has to look, since the last doubt, for what a failover has lost of what it took."""
        self.missing: frozenset[str] = frozenset()
        """The requests of which Redis had nothing when it looked. They can be asked again under the same id."""
        self.doubted_at = -math.inf
        """When there was a doubt last, by the monotonic clock."""
        self.deciding = 0
        """How many decisions Redis has not answered yet: a former server may still do so."""
        self.accepted = AcceptedLately(lambda interrupt_id: keys.lane_of(interrupt_id) in self.unlooked)
        """What Slack has shown as accepted through this process."""
        self.revoked: dict[tuple[str, int], str] = {}
        """Who has revoked which standing approvals through this process, also where Redis did not answer; newest last."""
        self.refused = Refused()
        """The calls that somebody refused through this process."""

    def _of(self, name: str) -> Named:
        """Name the keys that scripts take for a record or an agent."""
        return self.keys.lane_for(name).of(name)

    def _mark(self, interrupt_id: str, field: str, text: str) -> str:
        """Give the mark of what a bot writes into a field of a card; empty without a seal."""
        seal = self.signing.seal if self.signing else None
        return sealed_fact(seal, interrupt_id, field, text) if seal else ""

    @property
    def trust(self) -> Trust | None:
        """With which seal the bot checks what it reads back; `None` without a key."""
        return self.signing.trust if self.signing else None

    @property
    def is_unsettled(self) -> bool:
        """Whether this process or another one may still write again what Redis has lost."""
        return self.scripts.journal.is_unsettled

    @property
    def is_looked_into(self) -> bool:
        """Whether a bot may still find that a failover has lost what somebody decided."""
        return self.scripts.journal.is_looked_into

    def doubt(self) -> None:
        """Note that a failover can have lost what this bot took, wherever it was stored."""
        self.unlooked = frozenset(range(self.keys.lanes))
        self.doubted_at = time.monotonic()

    def decides_in(self, interrupt_id: str) -> float:
        """Seconds until this bot decides about a request again after a failover, at the latest, where nothing is written again.

        Before, somebody could decide otherwise than another person just did, and nobody would know it.
        """
        if self.scripts.journal.kept:
            return 0.0
        if interrupt_id in self.missing:
            return LOOKS_AGAIN_IN
        is_looked_at = self.keys.lane_of(interrupt_id) not in self.unlooked
        return 0.0 if is_looked_at else max(0.0, SETTLES - (time.monotonic() - self.doubted_at))

    @property
    def may_still_tell(self) -> bool:
        """Whether a bot may still tell that it lost what somebody decided or ended.

        Which other bots there are is not known for certain: a failover may have lost their heartbeats.
        """
        return self.is_unsettled or self.is_looked_into

    def may_be_asked_again(self, state: Published) -> bool:
        """Whether a request, which is not admitted yet, may have been decided before a failover that lost it."""
        age, lost_for = (state.now - state.created_at).total_seconds(), self.scripts.journal.lost_for
        return lost_for < ASKED_AGAIN_WITHIN and age > lost_for - SLACKNESS

    def expect_told(self, state: Approval) -> None:
        """Make sure that no bot may still tell that it lost what somebody decided about this record, which was just read.

        Raises:
            TooEarlyError: when one may.
        """
        wait, journal = 0.0, self.scripts.journal
        if journal.lost_for < ASKED_AGAIN_WITHIN:
            # The same request may have been asked before a failover that lost it. Another bot looks for those now and then.
            there_since = state.admitted_at or state.created_at
            wait = TOLD_WITHIN - (state.now - there_since).total_seconds()
        if (wait := max(wait, journal.looked_into_for)) > 0:
            raise TooEarlyError(wait)

    @asynccontextmanager
    async def deciding_about(self, interrupt_id: str) -> AsyncIterator[None]:
        """Decide in the body, once this bot has looked for decisions that are lost: what somebody decides now could contradict them.

        When a failover comes meanwhile, nothing is sent any more: the new server has to be looked at first.

        Raises:
            TooEarlyError: when looking takes longer than a moment.
            StoreUnavailableError: when a failover comes after something was sent.
        """
        await self._looked(interrupt_id)
        before = before_sending.set(Gate(partial(self.decides_in, interrupt_id)))
        try:
            yield
        finally:
            before_sending.reset(before)

    async def _looked(self, interrupt_id: str) -> None:
        until = time.monotonic() + LOOKS_WITHIN
        while wait := self.decides_in(interrupt_id):
            if time.monotonic() >= until:
                raise TooEarlyError(wait)
            await asyncio.sleep(LOOKED_EVERY)

    async def confirm(self, interrupt_id: str) -> None:
        """Wait until what was read of a record just now is as durable as what a person is told is stored.

        Raises:
            NotConfirmedError, StoreUnavailableError: when that is not certain in time.
        """
        if self.durability.mode != "local":
            await self._in_time(
                self._guarded(self.confirming.ask(self.keys.lane_for(interrupt_id))),
                WITHIN + self.durability.extra,
            )

    async def _within(self, verb: str, interrupt_id: str, **given: Value) -> str:
        return str(await self._in_time(self.scripts(verb, self._of(interrupt_id), **given), WITHIN))

    async def _stored(self, verb: str, interrupt_id: str, *, within: float = WITHIN, **given: Value) -> str:
        """Run a script whose outcome a person is told."""
        run = self.durable(verb, self._of(interrupt_id), **given)
        return str(await self._in_time(run, within + self.durability.extra))

    async def _in_time(self, call: Awaitable[_T], within: float) -> _T:
        before = ends.set(time.monotonic() + within)
        try:
            async with asyncio.timeout(within):
                return await call
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not take the change in time") from error
        finally:
            ends.reset(before)

    async def _guarded(self, call: object) -> Any:
        try:
            # redis-py types commands as sync or async.
            return await answered(cast("Awaitable[Any]", call), self._redis, self.keys, self._address)
        except UnicodeDecodeError as error:
            raise ServerFailedError("what is stored in Redis is not UTF-8 text") from error
