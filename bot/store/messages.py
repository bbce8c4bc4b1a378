"""What Slack shows of each record."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_adapter.redis.scripts import fields_of
from bot.domain.approval import Approval
from bot.domain.codec import read_posted, shown_field
from bot.domain.ids import REMARKS_FROM, MessageId
from bot.domain.messages import PostedMessage, Shown
from bot.store.paging import in_turns
from bot.store.reading import Reading, as_admitted
from bot.store.sealed import where_of, without_forged_parts


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
        picture = shown_field(shown) if shown else "-" if forget else ""
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

    async def posted(self, interrupt_ids: Sequence[str]) -> list[PostedMessage]:
        """Give the messages of some records. Those that this version cannot read are left out.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: list[PostedMessage] = []
        for some in in_turns(interrupt_ids):
            read = await self.scripts("read_posted", self.keys.of(), some)
            for interrupt_id, flat in zip(read[::2], read[1::2], strict=True):
                stored = fields_of(flat)
                fields = without_forged_parts(self.seal, interrupt_id, stored) if self.seal else stored
                with contextlib.suppress(ValueError, LookupError, TypeError):
                    found += read_posted(interrupt_id, fields)
        return found

    async def set_notice(self, interrupt_id: str, sentence: str) -> None:
        """Say to the waiting agents why nothing happens. An empty sentence removes the notice."""
        await self.scripts("set_notice", self._of(interrupt_id), sentence=sentence)
