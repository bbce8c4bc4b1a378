"""What Slack shows of each record."""

import contextlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_adapter.contract.record import unix_milliseconds
from agent_adapter.redis.change import Stamp, Word
from bot.domain.approval import Approval
from bot.domain.codec import read_posted, shown_field
from bot.domain.errors import StoreUnavailableError
from bot.domain.ids import MessageId, PostedMessage, Shown
from bot.domain.transitions import Change
from bot.store.commits import ATTEMPTS, Committing
from bot.store.sealed import where_of, without_forged_parts
from bot.store.work import WorkLeases, in_turns

_PART = re.compile(r"part:[0-9]+:[0-9]+")
_LEASE = re.compile(r"([0-9]{1,16}) (\S+) ([0-9]{1,16})", re.ASCII)
_WHERE = {"place", "part", "lease", "status"}
"""The fields of a card that say where its messages are."""


@dataclass(frozen=True, slots=True)
class PartLease:
    """The right to make one call to Slack about one message of a card."""

    outcome: Literal["mine", "takeover", "busy", "gone"]
    """With `takeover`, somebody may have posted the message and not saved that."""
    since: int = 0
    """When the first call with an unknown result began, in the server's milliseconds. With `busy`, milliseconds to wait."""
    epoch: int = 0
    """The number of heartbeats: see `Beat`."""
    state: Approval | None = None
    """The record as it is then, where the lease was taken."""
    held: str = ""
    """The lease as it is stored."""


class Messages(Committing, WorkLeases):
    """Keeps which messages exist, who draws them, and what they show."""

    async def lease_part(self, state: Approval, part: MessageId, *, owner: str, lease: int) -> PartLease:
        """Lease one message of a card for one call. The intent is noted before the call.

        Args:
            state: The record as it was read. It is read again if it has changed since.
            part: Which message.
            owner: Who makes the call.
            lease: Milliseconds until somebody else may make it.
        """
        known: Approval | None = state
        for _ in range(ATTEMPTS):
            if known is None:
                return PartLease("gone")
            held, now = known.begun.get(part, ""), unix_milliseconds(known.now)
            till, holder, since = _lease_of(held) or (0, "", now)
            # A clock that was set back makes no lease longer.
            if holder != owner and now < till <= now + lease:
                return PartLease("busy", till - now)
            shown = known.shown.get(part)
            read = {
                f"lease:{part}": held,
                f"part:{part}": shown_field(shown) if shown else "",
                "version": known.version,
            }
            mine = {f"lease:{part}": Stamp(lease, f"{owner} {since}")}
            answer = await self._swap(
                self.keys.card(known.id), read, mine, looks=[("?", "GET", self.keys.epoch)]
            )
            if answer.ran:
                outcome: Literal["mine", "takeover"] = "takeover" if held and not shown else "mine"
                taken = f"{answer.now + lease} {owner} {since}"
                return PartLease(outcome, since, int(answer.found[-1] or 0), known, taken)
            known = await self.admitted(state.id)
        raise StoreUnavailableError("others kept changing this record")

    async def save_part(
        self,
        interrupt_id: str,
        part: MessageId,
        *,
        held: str,
        shown: Shown | None,
        before: Shown | None = None,
        forget: bool = False,
    ) -> bool:
        """Note what Slack shows now: `None` when nothing was sent, `forget` when the message is gone. That ends the lease.

        The cached record says what is shown, too, so that it need not be read again.

        Args:
            interrupt_id: The record.
            part: Which message.
            held: Its lease as it is stored. False is returned when it went to somebody else.
            shown: What Slack shows.
            before: What the record said of it when the message was leased.
            forget: Whether the message is gone.
        """
        key, lease = self.keys.card(interrupt_id), f"lease:{part}"
        read: dict[str, str] = {lease: held}
        fields: dict[str, Word] = {lease: ""}
        if shown:
            picture = shown_field(shown)
            fields[f"part:{part}"] = picture
            if self.seal:
                fields[f"seal:part:{part}"] = self._mark(interrupt_id, f"part:{part}", where_of(picture))
            if before is None or (before.channel, before.ts) != (shown.channel, shown.ts):
                fields[f"up:{part}"] = Stamp()
        elif forget:
            card = await self._guarded(self._redis.hgetall(key))
            read |= {"gone": card.get("gone", "")}
            fields |= _forgotten(card, part)
        is_saved = (await self._swap(key, read, fields)).ran
        if is_saved and shown and (known := self.recall(interrupt_id)):
            self._remembered.put(known.showing(part, shown))
        return is_saved

    async def invalidate_part(self, interrupt_id: str, part: MessageId, ts: str = "") -> None:
        """Note that it is unknown what Slack shows of a message, if it still has this `ts`, and have it drawn again."""
        key, field = self.keys.card(interrupt_id), f"part:{part}"
        for _ in range(ATTEMPTS):
            shown = await self._guarded(self._redis.hget(key, field))
            if not shown or ts not in {"", *shown.split(" ")[1:2]}:
                return
            unknown = f"{shown.rpartition(' ')[0]} ?"
            # Who has saved another picture meanwhile does not know either which of the two Slack shows.
            if (await self._swap(key, {field: shown}, {field: unknown})).ran:
                await self.queue_drawing(interrupt_id)
                return

    async def posted(self, interrupt_ids: Sequence[str]) -> list[PostedMessage]:
        """Give the messages of some records. Those that this version cannot read are left out."""
        found: list[PostedMessage] = []
        for some in in_turns(interrupt_ids):
            read = await self._together(
                *(("HGETALL", self.keys.card(each)) for each in some),
                *(("HEXISTS", self.keys.req(each), "resumed") for each in some),
            )
            for interrupt_id, card, is_resumed in zip(some, read, read[len(some) :], strict=False):
                stored = _of_messages(card or {}) | ({"resumed": "1"} if is_resumed else {})
                fields = without_forged_parts(self.seal, interrupt_id, stored) if self.seal else stored
                with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):
                    found += read_posted(interrupt_id, fields)
        return found

    async def set_notice(self, interrupt_id: str, sentence: str) -> None:
        """Say to the waiting agents why nothing happens. An empty sentence removes the notice."""
        fields, removed = ({"notice": sentence}, ()) if sentence else ({}, ("notice",))
        change = Change(fields, removed=removed, is_drawn=False, is_said=True)
        for _ in range(ATTEMPTS):
            read = self._redis.hmget(self.keys.card(interrupt_id), "version", "notice")
            version, known = await self._guarded(read)
            if (known or "") == sentence:
                return
            newest = await self.write(interrupt_id, version or "", "", change)
            if newest is None or not newest[0]:
                return


def _lease_of(held: str) -> tuple[int, str, int] | None:
    """Read until when who has a lease, and since when; `None` for none, and for one that no bot wrote."""
    found = _LEASE.fullmatch(held)
    return (int(found[1]), found[2], int(found[3])) if found else None


def _of_messages(card: Mapping[bytes, bytes]) -> dict[str, str]:
    """Give the fields of a card that say where its messages are. One that is not plain text does not hide the others."""
    found = {name.decode("latin-1"): text.decode("latin-1") for name, text in card.items()}
    return {
        name: text
        for name, text in found.items()
        if name.removeprefix("seal:").partition(":")[0] in _WHERE
        and (name + text).isascii()
        and (name + text).isprintable()
    }


def _forgotten(card: Mapping[str, str], part: MessageId) -> dict[str, str]:
    """Give what a card says once a message is gone with its parts. Channel and ts stay, so that a late click decides nothing."""
    parts = {name.removeprefix("part:"): text for name, text in card.items() if _PART.fullmatch(name)}
    found = {MessageId.parse(each): text for each, text in parts.items()}
    gone = [each for each in found if each == part or (each.kind == "part" and each.card == part)]
    if not gone:
        return {}
    fields = {f"{kind}:{each}": "" for each in gone for kind in ("part", "seal:part", "lease", "up")}
    places = "".join(f"{where_of(found[each])}\n" for each in gone)
    return fields | {"gone": card.get("gone", "") + places, "version": secrets.token_hex(8)}
