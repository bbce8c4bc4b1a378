"""The queues of channels: which requests join one, and what its card shows."""

import secrets
from collections.abc import Iterable, Mapping
from typing import Literal

from agent_adapter.redis.scripts import fields_of
from bot.domain.queue import QueueCard
from bot.domain.rules import Burst
from bot.store.codec import milliseconds
from bot.store.connected import Connected


class Queues(Connected):
    """Keeps them. Which requests wait in one is in the lists of what waits."""

    async def joins_queue(self, interrupt_id: str, channel: str, burst: Burst) -> bool:
        """Count a request that is asked in a channel, and say whether it joins the queue there. The answer stays the same.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        return bool(
            await self.scripts(
                "join_queue",
                self.keys.queue_of(channel),
                id=interrupt_id,
                channel=channel,
                most=burst.most,
                within=milliseconds(burst.within),
                name=secrets.token_hex(8),
            )
        )

    async def queues(self) -> list[str]:
        """Name the channels that have a queue.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        return sorted(await self._guarded(self._redis.smembers(self.keys.queues)))

    async def queue_card(self, channel: str) -> QueueCard | None:
        """Give what is known of the card of a queue. `None` when there is no queue.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        now, joined, flat = await self.scripts("read_queue", self.keys.queue_of(channel))
        fields = fields_of(flat)
        if "name" not in fields:
            return None
        if not self._is_ours(channel, fields):
            # The bot would write over the card of a request, and its label says what is compared after a loss of Redis.
            fields = {name: text for name, text in fields.items() if name not in {"ts", "shown", "posted"}}
        return QueueCard(
            name=fields["name"],
            asked=_number(fields, "asked"),
            now=int(now),
            joined=tuple(sorted(joined)),
            ts=fields.get("ts", ""),
            shown=fields.get("shown", ""),
            drawn=_number(fields, "drawn"),
            gone=_number(fields, "gone"),
            posted=_number(fields, "posted"),
            called=frozenset(fields.get("called", "").split()),
        )

    def _is_ours(self, channel: str, fields: Mapping[str, str]) -> bool:
        """Whether a bot noted this message as the card of the queue."""
        if self.trust is None or "ts" not in fields:
            return True
        said = (_place_of_card(channel), fields["ts"])
        return self.trust.believes(fields.get("mark"), "", "fact", said)

    async def lease_queue(
        self, channel: str, *, owner: str, lease: int
    ) -> tuple[Literal["mine", "takeover", "busy", "gone"], float]:
        """Lease the card of a queue for one call. With `takeover` comes since when it may have been posted, in unix seconds.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        outcome, since = await self.scripts(
            "lease_queue", self.keys.queue_of(channel), owner=owner, lease=lease
        )
        return outcome, int(since) / 1000

    async def save_queue(
        self,
        channel: str,
        *,
        owner: str,
        ts: str = "",
        shown: str = "",
        called: Iterable[str] | None = None,
        over: int | None = None,
    ) -> bool:
        """Note what the card shows, and end the lease.

        Args:
            channel: Whose queue.
            owner: Of the lease.
            ts: The message. Empty: nothing was sent. `-`: somebody deleted it. `+`: a new one is posted in its place.
            shown: The digest of what it shows.
            called: Whom it mentions, if it was posted now.
            over: Forget the queue, if no request has joined it since then.

        Returns:
            False when the lease went to somebody else.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        outcome = await self.scripts(
            "save_queue",
            self.keys.queue_of(channel),
            channel=channel,
            owner=owner,
            ts=ts,
            shown=shown,
            is_posted=int(called is not None),
            called=" ".join(called or ()),
            mark=self._mark("", _place_of_card(channel), ts),
            asked=over,
        )
        return bool(outcome == "saved")

    async def doubt_queue(self, channel: str, ts: str) -> None:
        """Have the card of a queue drawn again, if this message is it.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        await self.scripts("doubt_queue", self.keys.queue_of(channel), ts=ts)


def _number(fields: Mapping[str, str], name: str) -> int:
    """Read a number. What no bot writes counts as 0, so that the queue is drawn again."""
    text = fields.get(name, "")
    return int(text) if len(text) < 20 and text.isdecimal() else 0


def _place_of_card(channel: str) -> str:
    return f"queue:{channel}"
