"""Approvals at an even pace: agents ask, people press until Slack accepts it, and what became of each press is counted."""

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from agent_adapter import ApprovalClient, Interrupt, Resume
from agent_adapter.errors import AgentAdapterError, ServerUnreachableError
from agent_adapter.redis.pool import end_task
from bot.store.audit import AuditStore
from bot.store.records import ApprovalStore
from playground.client import Control
from tests.faults.flow import PEOPLE, Flow
from tests.support.builders import an_action, asking
from tests.support.faults import Watcher
from tests.support.people import buttons

ACTIONS = 1
"""On each card: a message about several has no button for each."""
SETTLES_WITHIN = 60.0
"""Seconds that people and agents have when nobody asks any more."""
READS_EVERY = 0.5
"""Seconds between two looks of a person at a card that they have decided."""
ASKS_AGAIN_AFTER = 5.0
"""Seconds after which a button that is still there, or is there again, asks again."""
READS_WITHIN = 0.1
"""Seconds until a person has read what only they see: Slack takes that before the press is shown as accepted."""
LOOK_AFTER = 10.0
"""Seconds after which every card has to be as its record."""
_BEFORE = timedelta(seconds=5)


@dataclass
class Asked:
    """One card, what people were shown when they pressed, and what its agent got."""

    interrupt: Interrupt
    accepted: dict[int, str] = field(default_factory=dict)
    """By the index of an action, whose approval Slack showed as accepted."""
    accepted_at: dict[int, float] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    """The actions that somebody approved again, because the card asked again."""
    resume: Resume | None = None
    failure: str = ""

    @property
    def reached(self) -> int:
        """How many of the accepted approvals the agent got, each by the person who gave it."""
        return sum(self._has(index, user) for index, user in self.accepted.items())

    @property
    def lost(self) -> int:
        """How many of the accepted approvals the agent did not get."""
        return len(self.accepted) - self.reached

    def _has(self, index: int, user: str) -> bool:
        if not self.resume:
            return False
        decision, record = self.resume.decisions[index], self.resume.records[index]
        return bool(decision and record and decision.type == "approve" and record.decided_by == user)


class Counts(NamedTuple):
    """What became of the approvals around one failover."""

    accepted: int
    """Approvals that Slack showed as accepted."""
    reached: int
    """Those that their agent got."""
    lost: int
    untold: int
    """Those of the lost ones about which the card neither asks again nor says anything."""
    doubled: int
    """Cards of one record beside each other, and actions that the audit trail says were decided twice."""
    wrong: int
    """Cards that are not as their record says, so many seconds after the last question."""
    longest: float
    """Seconds in which no press was accepted."""
    failures: list[str]
    """Why agents did not go on."""
    differences: list[str]
    """What each of the wrong cards says, and what its record says."""


class Load:
    """Asks and presses while it is told to. One load is for one failover."""

    def __init__(
        self, clients: list[ApprovalClient], slack: Control, store: ApprovalStore, watcher: Watcher
    ) -> None:
        self._flows = [Flow(client, slack, store, watcher) for client in clients]
        self._store, self._watcher = store, watcher
        self._asked: list[Asked] = []
        self._accepted_at = [time.monotonic()]
        self._began = datetime.now(UTC)

    async def run(self, stop: asyncio.Event, rate: float) -> None:
        """Have so many approvals a second asked for until told to stop. Then wait until all have come to their end."""
        running: list[asyncio.Task[None]] = []
        started = time.monotonic()
        while not stop.is_set():
            running.append(asyncio.create_task(self._one(self._flows[len(running) % len(self._flows)])))
            due = started + len(running) * ACTIONS / rate
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due - time.monotonic())):
                    await stop.wait()
        done, late = await asyncio.wait(running, timeout=SETTLES_WITHIN)
        for task in late:
            await end_task(task)
        for task in done:
            task.result()

    async def counts(self, audit: AuditStore) -> Counts:
        """Wait as long as a card may be late, and count."""
        await asyncio.sleep(LOOK_AFTER)
        differences = [
            found
            for each in self._asked
            if (found := await self._difference(each.interrupt.id, has_run=bool(each.resume)))
        ]
        cards = [len(self._watcher.cards(each.interrupt.id)) for each in self._asked]
        accepted, reached = (
            sum(len(each.accepted) for each in self._asked),
            sum(each.reached for each in self._asked),
        )
        waits = [
            after - before for before, after in zip(self._accepted_at, self._accepted_at[1:], strict=False)
        ]
        return Counts(
            accepted,
            reached,
            sum(each.lost for each in self._asked),
            sum(each.lost for each in self._asked if not self._is_told(each)),
            sum(max(0, count - 1) for count in cards) + await self._decided_again(audit),
            len(differences),
            round(max(waits, default=0.0), 2),
            sorted({each.failure for each in self._asked if each.failure}),
            differences,
        )

    async def _one(self, flow: Flow) -> None:
        actions = [an_action("pay", {"to": f"al-{index}"}) for index in range(ACTIONS)]
        asked = Asked(flow.client.interrupt(asking(*actions)))
        self._asked.append(asked)
        agent = asyncio.create_task(self._agent(flow.client, asked))
        try:
            await self._watcher.card(asked.interrupt.id, within=SETTLES_WITHIN)
            await asyncio.gather(*(self._press(flow, asked, index) for index in range(ACTIONS)))
            while not agent.done():
                await asyncio.wait([agent], timeout=READS_EVERY)
                await self._press_again(flow, asked)
        except TimeoutError:
            asked.failure = "no card"
        except asyncio.CancelledError:
            asked.failure = "no answer"
            raise
        finally:
            agent.cancel()

    async def _press(self, flow: Flow, asked: Asked, index: int) -> None:
        """Press until Slack shows it as accepted, and the person does not read that nothing was recorded."""
        await asyncio.sleep(random.uniform(0, 0.5))
        # Another one than before, so that it is seen whose approval the agent got.
        user = random.choice([each for each in PEOPLE if each != asked.accepted.get(index)])
        read = len(self._watcher.notices(user))
        while await flow.approve(user, asked.interrupt.id, index):
            await asyncio.sleep(READS_WITHIN)
            said = self._watcher.notices(user)[read:]
            read += len(said)
            if not any("othing was recorded" in each for each in said):
                asked.accepted.setdefault(index, user)
                asked.accepted_at[index] = time.monotonic()
                self._accepted_at.append(asked.accepted_at[index])
                return
            if any("Look for a newer card" in each for each in said):
                if asked.interrupt.id in flow.newest:
                    return
                flow.newest.add(asked.interrupt.id)

    async def _press_again(self, flow: Flow, asked: Asked) -> None:
        """Approve again what the card still asks, or asks again."""
        card = flow.card(asked.interrupt.id)
        for index in {*asked.accepted} - asked.again:
            is_late = time.monotonic() - asked.accepted_at[index] > ASKS_AGAIN_AFTER
            if is_late and f"approve:{index}" in buttons(card):
                asked.again.add(index)
                await self._press(flow, asked, index)

    def _is_told(self, asked: Asked) -> bool:
        return bool(asked.again) or self._watcher.is_noted(asked.interrupt.id)

    async def _agent(self, client: ApprovalClient, asked: Asked) -> None:
        """Ask until there is an answer. What has gone on with one does not go on again."""
        while asked.resume is None:
            try:
                async with client.reviewing(asked.interrupt) as resume:
                    asked.resume = resume
            except ServerUnreachableError:
                await asyncio.sleep(0.2)
            except AgentAdapterError as error:
                asked.failure = f"{type(error).__name__}: {error}".replace(asked.interrupt.id, "…")
                return

    async def _difference(self, interrupt_id: str, *, has_run: bool) -> str:
        state = await self._store.load(interrupt_id)
        if self._watcher.is_noted(interrupt_id) or (state and self._watcher.agrees(state)):
            return ""
        said = " | ".join(card["text"] for card in self._watcher.cards(interrupt_id))
        if has_run and said.endswith("the agent has resumed."):
            # The card says what became of it, whatever Redis has lost.
            return ""
        return f"{interrupt_id} says {said!r}, its record {f'{state.status}, {state.stage}' if state else 'is gone'}"

    async def _decided_again(self, audit: AuditStore) -> int:
        ours = {each.interrupt.id for each in self._asked}
        decided = Counter(
            [
                (entry.said["id"], entry.said.get("index"))
                async for entry in audit.entries(self._began - _BEFORE)
                if entry.said.get("event") == "decided" and entry.said.get("id") in ours
            ]
        )
        return sum(count - 1 for count in decided.values())
