"""What the tests about races and faults share: how often, somebody who watches, and processes that can be killed."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from agent_adapter import ApprovalClient, Interrupt, Resume
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.redis.pool import end_task
from bot.domain.approval import Approval, Published
from bot.domain.ids import KEPT, MessageId, Stage
from bot.rendering.card.card import render_card
from bot.runtime.settings import Settings, variable_of
from bot.store.records import ApprovalStore
from playground.client import Control, ControlError
from playground.inputs import complete
from tests.conftest import until
from tests.support.people import buttons

CHANNEL = "C0APPROVALS"
Json = dict[str, Any]
_T = TypeVar("_T")


def rounds(small: int, full: int) -> int:
    """Say how often to try: `make faults` asks for the full counts."""
    return full if os.environ.get("ASSENT_FAULTS") == "full" else small


async def take(client: ApprovalClient, interrupt: Interrupt) -> Resume:
    """Be an agent: ask, wait, resume."""
    async with client.reviewing(interrupt) as resume:
        return resume


class Watcher:
    """Sees everything that anybody sees in Slack, as it is now."""

    def __init__(self) -> None:
        self._messages: dict[str, Json] = {}
        self._of: defaultdict[str, dict[str, Json]] = defaultdict(dict)
        """The messages of each interrupt: a campaign has many thousands, and looks for one of them all the time."""
        self._views: dict[str, list[Json]] = {}
        self.shown: dict[str, list[str]] = {}
        """Every text that each message had, oldest first."""

    def note(self, change: Json) -> None:
        """Take a change of the stand-in's stream."""
        match change.get("type"):
            case "message":
                known = self._messages.get(change["ts"], change)
                if _interrupt_of(known) != _interrupt_of(change):
                    del self._of[_interrupt_of(known)][change["ts"]]
                self._messages[change["ts"]] = self._of[_interrupt_of(change)][change["ts"]] = change
                self.shown.setdefault(change["ts"], []).append(change["text"])
            case "deleted":
                gone = self._messages.pop(change["ts"])
                del self._of[_interrupt_of(gone)][change["ts"]]
            case "view":
                self._views[change["user"]] = change["views"]

    def cards(self, interrupt_id: str) -> list[Json]:
        """Give the messages that belong to an interrupt, oldest first."""
        return [*self._of[interrupt_id].values()]

    def is_noted(self, interrupt_id: str) -> bool:
        """Whether a card stays as it is, with a note that Redis no longer knows what it says."""
        return any(_payload(m).get("digest") == KEPT for m in self.cards(interrupt_id))

    def showing(self, interrupt_id: str, button: str) -> Json:
        """Give the message of an interrupt that has this button."""
        [found] = [card for card in self.cards(interrupt_id) if button in buttons(card)]
        return found

    def all_cards(self) -> list[Json]:
        """Give the messages that ask something about any interrupt, oldest first."""
        found = [m for m in self._messages.values() if "id" in _payload(m)]
        return [m for m in found if not MessageId.parse(_payload(m)["part"]).is_beside]

    def form(self, user: str, interrupt_id: str) -> Json | None:
        """Give the form about an interrupt that this person has in front of them."""
        views = self._views.get(user) or [{}]
        return views[-1] if f'"{interrupt_id}"' in views[-1].get("private_metadata", "") else None

    def notices(self, user: str) -> list[str]:
        """Give the words that only this person sees, oldest first."""
        return [m["text"] for m in self._messages.values() if m.get("ephemeral_for") == user]

    async def card(self, interrupt_id: str, *, within: float = 60.0) -> Json:
        """Wait for an interrupt's card."""
        await until(lambda: self.cards(interrupt_id), within=within)
        return self.cards(interrupt_id)[0]

    def agrees(self, state: Published) -> bool:
        """Whether Slack shows each part of a card once, exactly as the record has it now."""
        cards = self.cards(state.id)
        parts = render_card(state) if isinstance(state, Approval) else ()
        wanted = {str(part.id): (part.text, complete(part.blocks)) for part in parts}
        seen = {_payload(card)["part"]: (card["text"], card["blocks"]) for card in cards}
        return len(cards) == len(wanted) and seen == wanted

    def is_known(self, state: Published) -> bool:
        """Whether the record knows each message that belongs to it."""
        known = {shown.ts for shown in state.shown.values()} if isinstance(state, Approval) else set()
        return {card["ts"] for card in self.cards(state.id)} <= known


def _payload(message: Json) -> Json:
    return (message.get("metadata") or {}).get("event_payload", {})


def _interrupt_of(message: Json) -> str:
    return _payload(message).get("id", "")


@asynccontextmanager
async def watching(slack: Control) -> AsyncIterator[Watcher]:
    """Watch while the body runs."""
    watcher, ready = Watcher(), asyncio.Event()

    async def follow() -> None:
        async for change in slack._changes():
            ready.set()
            watcher.note(change)

    following = asyncio.create_task(follow())
    await ready.wait()
    yield watcher
    await end_task(following)


async def eventually(probe: Callable[[], Awaitable[_T | None]], *, within: float = 60.0) -> _T:
    """Look again and again until something is found, and give it.

    Raises:
        TimeoutError: when it never is.
    """
    async with asyncio.timeout(within):
        while True:
            if found := await probe():
                return found
            await asyncio.sleep(0.02)


async def is_accepted(slack: Control, card: Json, button: str = "approve:0", *, by: str = "U0DANA") -> bool:
    """Press, and say whether Slack shows that it worked."""
    answer = await slack.click(by, CHANNEL, card["ts"], button)
    return bool(answer["ack"]["ok"])


async def pressed_until_accepted(slack: Control, card: Json, button: str = "approve:0") -> None:
    """Press as a person does: again, as long as Slack shows that it did not work. The card keeps its button meanwhile."""
    drawing = await slack.fault("chat.update", "error", error="internal_error", times=None)
    await eventually(lambda: is_accepted(slack, card, button))
    await slack.remove_fault(drawing)


async def pressed_until_decided(
    slack: Control, watcher: Watcher, interrupt_id: str, *, by: str = "U0DANA"
) -> None:
    """Press as a person does: again, as long as the card has its button. Right after a failover, a bot does not decide yet."""

    async def is_decided() -> bool:
        [card, *_] = watcher.cards(interrupt_id)
        if "approve:0" not in buttons(card):
            return True
        # It may be gone by now.
        with contextlib.suppress(ControlError):
            await slack.click(by, CHANNEL, card["ts"], "approve:0")
        return False

    await eventually(is_decided)


async def settled_card(
    store: ApprovalStore,
    watcher: Watcher,
    interrupt_id: str,
    *,
    stage: Stage | None = None,
    within: float = 60.0,
) -> Published:
    """Wait until Slack shows an interrupt exactly as its record is, and both have come so far; give the record.

    Raises:
        TimeoutError: when it never does.
    """

    async def agreed() -> Published | None:
        with contextlib.suppress(ServerUnreachableError):
            state = await store.load(interrupt_id)
            # A message is in Slack a moment before the record knows it.
            is_shown = state and watcher.agrees(state) and watcher.is_known(state)
            if state and is_shown and stage in {None, state.stage}:
                # An agent that waited out its grace may be done before a bot has settled the record.
                if state.status == "pending" and stage == "resumed":
                    return None
                return state
        return None

    return await eventually(agreed, within=within)


async def shown_card(store: ApprovalStore, interrupt_id: str) -> Approval:
    """Wait until all of a card is in Slack, as its record says; give the record."""

    async def shown() -> Approval | None:
        state = await store.admitted(interrupt_id)
        return state if state and state.is_shown else None

    return await eventually(shown)


async def nothing_owed(store: ApprovalStore, *, within: float = 60.0) -> None:
    """Wait until no work is owed.

    Raises:
        TimeoutError: when some stays.
    """

    async def all_done() -> bool:
        return not any((await store.owed()).values())

    await eventually(all_done, within=within)


class Process:
    """A module that runs as a process of its own. It ends with us, whatever becomes of us."""

    def __init__(self, module: str, environment: dict[str, str], log: Path, *arguments: str) -> None:
        self.log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=Path(__file__).parents[2],
                env={**os.environ, **environment},
                # The module ends when this pipe does.
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )

    def kill(self) -> None:
        """End it without a chance to do anything, and print what it said for a test that fails."""
        self._popen.kill()
        self._popen.wait(10)
        assert self._popen.stdin
        self._popen.stdin.close()
        print(self.log.read_text())

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does."""
        self._popen.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on, unaware."""
        self._popen.send_signal(signal.SIGCONT)

    async def ended(self) -> int:
        """Wait for its end by itself; give its exit code. How long it may take, the test says: most of it are imports."""
        while (code := self._popen.poll()) is None:
            await asyncio.sleep(0.01)
        return code


def environment_of(settings: Settings) -> dict[str, str]:
    """Write settings as an operator would."""
    given = {variable_of(name): value for name, value in settings if value is not None}
    return {
        name: ",".join(value) if isinstance(value, tuple) else str(value) for name, value in given.items()
    }
