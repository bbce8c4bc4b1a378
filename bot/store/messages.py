"""What Slack shows of each record."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_adapter.redis.scripts import fields_of
from bot.domain.approval import Approval
from bot.domain.ids import REMARKS_FROM, MessageId
from bot.domain.messages import PostedMessage, Shown
from bot.store.codec import read_posted
from bot.store.reading import Reading, as_admitted
from bot.store.sealed import where_of, without_forged_parts

READ_AT_ONCE = 50
"""How many records one script reads. Clicks wait a few milliseconds meanwhile."""


@dataclass(frozen=True, slots=True)
class PartLease:
    """The right to make one call to Slack about one message of a card."""

    outcome: Literal["mine", "takeover", "busy", "gone"]
    since: int
    """When the first call with an unknown result began, in the server's milliseconds. With `busy`, milliseconds to wait."""
    epoch: int
    """The number of heartbeats: see `Beat`."""
    state: Approval | None = None
    """The record as it is then, where the lease was taken."""


class Messages(Reading):
    """Keeps which messages exist, who draws them, and what they show."""

    async def lease_part(self, interrupt_id: str, part: MessageId, *, owner: str, lease: int) -> PartLease:
        """Lease one message of a card for one call. The intent is noted before the call.

        A record that is as this process has read it is not read again.
        """
        known, tag = self.recall(interrupt_id), self._remembered.tag(interrupt_id)
        outcome, since, epoch, *record = await self.scripts(
            "lease_part", self._of(interrupt_id), part=str(part), owner=owner, lease=lease, known=tag
        )
        state = known if outcome in {"mine", "takeover"} else None
        if record:
            state = as_admitted(await self._taken(interrupt_id, record[0]))
        return PartLease(outcome, int(since), epoch, state)

    async def save_part(
        self, interrupt_id: str, part: MessageId, *, owner: str, shown: Shown | None, forget: bool = False
    ) -> bool:
        """Note what Slack shows now: `None` when nothing was sent, `forget` when the message is gone.

        The cached record says what is shown, too, so that it need not be read again.

        Returns:
            False when the lease went to somebody else.
        """
        picture = (
            f"{shown.channel} {shown.ts} {shown.stage} {shown.digest}" if shown else "-" if forget else ""
        )
        outcome = await self.scripts(
            "save_part",
            self._of(interrupt_id),
            part=str(part),
            owner=owner,
            picture=picture,
            mark=self._mark(interrupt_id, f"part:{part}", where_of(picture)) if shown else None,
            remarks_from=REMARKS_FROM,
        )
        if outcome == "drawn" and shown and (known := self.recall(interrupt_id)):
            self._remembered.put(known.showing(part, shown))
        return bool(outcome == "drawn")

    async def let_go(self, interrupt_id: str, part: MessageId, *, owner: str) -> None:
        """End a lease of which it is unknown whether something was sent. Who draws next looks in Slack first."""
        await self.scripts("let_go_part", self._of(interrupt_id), part=str(part), owner=owner)

    async def invalidate_part(self, interrupt_id: str, part: MessageId, ts: str = "") -> None:
        """Note that it is unknown what Slack shows of one message, so that it is drawn again.

        Args:
            interrupt_id: The record.
            part: Which message.
            ts: Do so only if the message still has this ts.
        """
        await self.scripts("invalidate_part", self._of(interrupt_id), part=str(part), ts=ts)

    async def posted(self, *, first: int = 0, count: int | None = None) -> tuple[list[PostedMessage], int]:
        """Give the messages of records that something falls due for. Those that this version cannot read are left out.

        Args:
            first: Number of the first record.
            count: About how many records to read; all that follow when `None`.

        Returns:
            The messages, and the number of the next record to read; 0 at the end.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: list[PostedMessage] = []
        end = None if count is None else first + count
        looked = READ_AT_ONCE
        while looked and (end is None or first < end):
            last = first + READ_AT_ONCE - 1
            looked, *read = await self.scripts("read_posted", self.keys.of(), first=first, last=last)
            found += self._posted(read)
            first += READ_AT_ONCE
        return found, first if looked == READ_AT_ONCE else 0

    async def posted_unresumed(self) -> list[PostedMessage]:
        """Give the messages of records that have ended and whose runs were not resumed. The answer can still be taken.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: dict[tuple[str, MessageId], PostedMessage] = {}
        cursor = "0"
        while True:
            cursor, *read = await self.scripts("read_unresumed", self.keys.of(), cursor=cursor)
            # A scan of Redis can return a key twice.
            found |= {(message.interrupt_id, message.part): message for message in self._posted(read)}
            if cursor == "0":
                return list(found.values())

    async def set_notice(self, interrupt_id: str, sentence: str) -> None:
        """Say to the waiting agents why nothing happens. An empty sentence removes the notice."""
        await self.scripts("set_notice", self._of(interrupt_id), sentence=sentence)

    def _posted(self, reply: Sequence[Any]) -> list[PostedMessage]:
        found: list[PostedMessage] = []
        for interrupt_id, flat in zip(reply[::2], reply[1::2], strict=True):
            stored = fields_of(flat)
            fields = without_forged_parts(self.seal, interrupt_id, stored) if self.seal else stored
            with contextlib.suppress(ValueError, LookupError, TypeError):
                found += read_posted(interrupt_id, fields)
        return found
