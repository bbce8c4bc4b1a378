"""One agent of the company, as a process: `python -m benchmarks.company.agent NAME REDIS_URL FOLDER`.

It asks what the day says, waits, runs what people approved, and writes down each step. When it was killed, a second process
with the same log goes on: it asks again what has no end yet, as an agent does that keeps its state.
"""

import asyncio
import json
import sys
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from inspect import signature
from pathlib import Path
from typing import Any

from agent_adapter import ApprovalClient, HITLRequest, Interrupt
from agent_adapter.contract.interrupt import DecidedResume
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    InterruptEndedError,
    ServerUnreachableError,
)
from benchmarks.company.day import Day, Phase, Question
from benchmarks.company.notes import Notes, read_notes

AGAIN_AFTER = 0.3
LEG = "leg.json"


@dataclass(frozen=True, slots=True)
class Leg:
    """The part of a day that is played now."""

    day: Day
    begins: float
    """Minute of the day."""
    ends: float
    started: float
    """Time of its first minute."""
    urgent_seconds: float

    @classmethod
    def read(cls, folder: Path) -> "Leg":
        given = json.loads((folder / LEG).read_text())
        day = given.pop("day")
        phases = tuple(Phase(**phase) for phase in day.pop("phases"))
        return cls(day=Day(**day, phases=phases), **given)

    def time_of(self, minute: float) -> float:
        return self.started + (minute - self.begins) * 60


class Agent:
    """Works through its questions."""

    def __init__(self, name: str, client: ApprovalClient, leg: Leg, folder: Path) -> None:
        path = folder / "agents" / f"{name}.jsonl"
        earlier = read_notes(path)
        self.name, self.client, self.leg = name, client, leg
        self.note = Notes(path)
        self.ran = {(line["id"], line["index"]) for line in earlier if line["what"] == "ran"}
        self.ended = {line["id"] for line in earlier if line["what"] == "finished"}
        self.note("started", life=sum(line["what"] == "started" for line in earlier))

    async def work(self) -> None:
        """Ask everything of this leg, and return when all of it has ended."""
        async with asyncio.TaskGroup() as group:
            for question in self.leg.day.questions(self.name):
                if self.leg.begins <= question.minute < self.leg.ends:
                    await asyncio.sleep(max(0.0, self.leg.time_of(question.minute) - time.time()))
                    group.create_task(self._ask(self._interrupt(question)))

    def _interrupt(self, question: Question) -> Interrupt:
        allowed = ["approve", "edit", "reject"]
        request = HITLRequest.model_validate(
            {
                "action_requests": question.calls,
                "review_configs": [
                    {"action_name": call["name"], "allowed_decisions": allowed} for call in question.calls
                ],
            }
        )
        return self.client.interrupt(
            request,
            run=f"run-{question.number}",
            channel=self.leg.day.channel_of(self.name),
            expires_in=timedelta(seconds=self.leg.urgent_seconds) if question.urgent else timedelta(hours=1),
        )

    async def _ask(self, interrupt: Interrupt) -> None:
        if interrupt.id in self.ended:
            return None
        calls = [{"name": call.name, "args": call.args} for call in interrupt.request.action_requests]
        self.note("asks", id=interrupt.id, calls=calls, lasts=interrupt.expires_in.total_seconds())
        while True:
            try:
                return await self._review(interrupt)
            except (ServerUnreachableError, ClaimedError, ClaimLostError) as error:
                self.note("again", id=interrupt.id, error=type(error).__name__)
                await asyncio.sleep(AGAIN_AFTER)
            except (ConsumedError, InterruptEndedError) as error:
                return self.note("finished", id=interrupt.id, error=type(error).__name__)
            except AgentAdapterError as error:
                return self.note("failed", id=interrupt.id, error=f"{type(error).__name__}: {error}")

    async def _review(self, interrupt: Interrupt) -> None:
        await self.client.publish(interrupt)
        self.note("published", id=interrupt.id)
        answer = await self.client.wait(interrupt.id)
        self.note(
            "answered",
            id=interrupt.id,
            status=answer.status,
            decisions=[decision and decision.type for decision in answer.decisions],
            by=[record and record.decided_by for record in answer.records],
        )
        async with self._resuming(interrupt) as resume:
            self._run(interrupt, resume)
        self.note("finished", id=interrupt.id)

    def _resuming(self, interrupt: Interrupt) -> AbstractAsyncContextManager[DecidedResume]:
        if "interrupt" in signature(self.client.resuming).parameters:
            return self.client.resuming(interrupt.id, interrupt=interrupt)
        # Versions before receipts check nothing against the question. `benchmarks.company.upgrade` plays them.
        return self.client.resuming(interrupt.id)

    def _run(self, interrupt: Interrupt, resume: DecidedResume) -> None:
        for index, (action, decision) in enumerate(
            zip(interrupt.request.action_requests, resume.decisions, strict=True)
        ):
            args: dict[str, Any] = action.args
            if decision.type == "edit":
                args = decision.edited_action.args
            # A tool that is called twice for one approval knows it by its key.
            if decision.type in {"approve", "edit"} and (interrupt.id, index) not in self.ran:
                self.ran.add((interrupt.id, index))
                self.note("ran", id=interrupt.id, index=index, args=args)


async def main(name: str, url: str, folder: Path) -> None:
    five = timedelta(seconds=5)
    async with ApprovalClient.from_url(
        url, agent=name, grace=five, claim_lease=five, reconcile_every=five
    ) as client:
        print("{}", flush=True)
        # The leg begins when all are there.
        while not (folder / LEG).exists():
            await asyncio.sleep(0.05)
        await Agent(name, client, Leg.read(folder), folder).work()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
