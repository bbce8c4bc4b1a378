"""Agents that ask and people who decide, while a test breaks things between them."""

import asyncio
import contextlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agent_adapter import ApprovalClient, Interrupt, Resume
from agent_adapter.errors import ServerUnreachableError
from bot.store.records import ApprovalStore
from playground.client import Control
from playground.errors import ControlError
from tests.conftest import until
from tests.support.builders import an_action, asking
from tests.support.faults import CHANNEL, Json, Watcher, settled_card, take
from tests.support.people import Someone, buttons, review_of

PEOPLE = ("U0DANA", "U0ERIK", "U0MIRA")


class Flow:
    """Batches of two actions. People press again what Slack showed as failed, until it is accepted."""

    def __init__(
        self, client: ApprovalClient, slack: Control, store: ApprovalStore, watcher: Watcher
    ) -> None:
        self.client, self.slack, self.store, self.watcher = client, slack, store, watcher
        self.newest = set[str]()
        """The requests of which people were told to look for a newer card."""
        self._busy: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._moved = asyncio.Event()
        """Set when something has gone on since the last break."""

    async def run(self, batches: int, *, at_once: int = 6) -> None:
        """Send so many batches through: each agent gets what people were shown as accepted, each has one right card."""
        free = asyncio.Semaphore(at_once)

        async def one(number: int) -> None:
            async with free, asyncio.timeout(300):
                await self._batch(number)

        async with asyncio.TaskGroup() as group:
            for number in range(batches):
                group.create_task(one(number))

    @asynccontextmanager
    async def breaking(
        self, break_something: Callable[[], Awaitable[Any]], *, pauses: Sequence[float]
    ) -> AsyncIterator[list[Any]]:
        """Break something again and again while the body runs; give what was broken.

        The pauses between are within these bounds, and last until something has gone on: also a slow machine comes to the end.
        """
        broken: list[Any] = []
        enough = asyncio.Event()

        async def go_on() -> None:
            while not enough.is_set():
                self._moved.clear()
                # To its end, so that nothing is left half broken.
                broken.append(await break_something())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(random.uniform(*pauses)):
                        await enough.wait()
                await self._moved.wait()

        task = asyncio.create_task(go_on())
        try:
            yield broken
        finally:
            enough.set()
            self._moved.set()
            await task

    async def _batch(self, number: int) -> None:
        actions = [an_action("pay", {"to": f"al-{number}-{index}"}) for index in range(2)]
        interrupt = self.client.interrupt(asking(*actions))
        agent = asyncio.create_task(self.ask(interrupt))
        await self.watcher.card(interrupt.id, within=60)
        self._moved.set()
        await asyncio.sleep(random.uniform(0, 1))
        meant = random.choices(["approve", "reject"], [3, 1], k=len(actions))
        people = random.sample(PEOPLE, len(actions))
        await asyncio.gather(
            *(
                self.approve(user, interrupt.id, index)
                if decision == "approve"
                else self._reject(user, interrupt.id, index)
                for index, (user, decision) in enumerate(zip(people, meant, strict=True))
            )
        )
        resume = await agent
        self._moved.set()
        assert [decision.type for decision in resume.decisions if decision] == meant
        assert [record.decided_by for record in resume.records if record] == people
        # The note that the run went on may come later than the run's end.
        state = await settled_card(self.store, self.watcher, interrupt.id, stage="resumed", within=60)
        assert [recorded.decided_by for recorded in state.recorded if recorded] == people

    async def ask(self, interrupt: Interrupt) -> Resume:
        """Be an agent: ask, wait, resume, again and again until Redis answers."""
        while True:
            with contextlib.suppress(ServerUnreachableError):
                return await take(self.client, interrupt)
            await asyncio.sleep(0.2)

    async def approve(self, user: str, interrupt_id: str, index: int) -> bool:
        """Press until Slack shows the press as accepted; `False` when the button went away first."""
        # Nobody has two forms in front of them.
        async with self._busy[user] if review_of(self.card(interrupt_id)) else contextlib.nullcontext():
            is_accepted = False
            while not is_accepted and (answer := await self._press(user, interrupt_id, f"approve:{index}")):
                is_accepted = bool(answer["ack"]["ok"])
                await asyncio.sleep(0 if is_accepted else 0.2)
            self._moved.set()
            await self._close_all(user)
            return is_accepted

    async def _reject(self, user: str, interrupt_id: str, index: int) -> None:
        async with self._busy[user]:
            form = await self._open(user, interrupt_id, f"reject:{index}")
            while form:
                try:
                    answer = await self.slack.submit(user, form["id"], {"words": "not now"})
                except ControlError:
                    # A form that somebody gave up waiting for has opened on top of this one after all.
                    await self._close_all(user)
                    form = await self._open(user, interrupt_id, f"reject:{index}")
                    continue
                if answer["result"] in {"clear", "closed"}:
                    self._moved.set()
                    await self._close_all(user)
                    return
                await asyncio.sleep(0.2)

    async def _close_all(self, user: str) -> None:
        while views := await self.slack.views(user):
            # Another one can open on top of it in this moment, or it can close by itself.
            with contextlib.suppress(ControlError):
                await self.slack.close_view(user, views[-1]["id"], clear=True)

    async def _open(self, user: str, interrupt_id: str, button: str) -> Json | None:
        while await self._press(user, interrupt_id, button):
            with contextlib.suppress(TimeoutError):
                await until(lambda: self._form(user, interrupt_id, button), within=1.5)
                self._moved.set()
                return self._form(user, interrupt_id, button)
            # What they gave up waiting for can open after all. Nobody presses what lies under it, and Slack stacks three.
            await self._close_all(user)
        return None

    def _form(self, user: str, interrupt_id: str, button: str) -> Json | None:
        found = self.watcher.form(user, interrupt_id)
        return found if found and found["callback_id"] == button.partition(":")[0] else None

    async def _press(self, user: str, interrupt_id: str, button: str) -> Json | None:
        """Press, in the review of a card where it has several calls; `None` when the button is gone.

        A click that was shown as failed may have been stored all the same.
        """
        card = self.card(interrupt_id)
        if button not in buttons(card) and (review := review_of(card)):
            return await self._press_in_review(user, interrupt_id, review, button)
        with contextlib.suppress(ControlError):
            return await self.slack.click(user, CHANNEL, card["ts"], button)
        return None

    async def _press_in_review(self, user: str, interrupt_id: str, review: str, button: str) -> Json | None:
        opened = self._form(user, interrupt_id, review) or await self._open(user, interrupt_id, review)
        if opened and button not in buttons(opened):
            return None
        # The card changed meanwhile, or a review that somebody gave up waiting for has opened on top of this one.
        with contextlib.suppress(ControlError):
            if opened:
                return await Someone(self.slack, user).press_in(opened, button)
        await self._close_all(user)
        return {"ack": {"ok": False}}

    def card(self, interrupt_id: str) -> Json:
        """Give the card that people press: the post of a stalled bot may stand beside it until it is taken away."""
        return self.watcher.cards(interrupt_id)[-1 if interrupt_id in self.newest else 0]
