"""The people of the company. They see cards, think, and press; what Slack shows as failed they press again."""

import asyncio
import contextlib
import json
import random
import time
from collections import defaultdict
from typing import Any

from benchmarks.cards import approve_buttons
from benchmarks.company.day import URGENT
from benchmarks.company.notes import Notes
from playground.client import Control
from playground.errors import ControlError

Json = dict[str, Any]

DECISIONS = ("approve", "reject", "edit")
WEIGHTS = (80, 14, 6)
THINKING = (0.5, 6.0)
"""Seconds between a card and a press."""
TWICE = 0.1
"""How often a second person presses the same button."""
AGAIN_AFTER = 0.5
STILL_THERE_AFTER = 20.0
"""Seconds after which a person wonders why the button is still there, and presses again."""
FORM_WITHIN = 3.0
ACCEPTED = {"clear", "closed"}
CARD = "0:0"


class NoFormError(Exception):
    """No form opened: the person reads why."""


def person_names(count: int) -> list[str]:
    return [f"U0STAFF{number:02}" for number in range(count)]


class People:
    """Everybody who may decide, in one workspace."""

    def __init__(
        self, slack: Control, note: Notes, staff: list[str], urgent_seconds: float, seed: int
    ) -> None:
        self._slack, self._note, self._staff = slack, note, staff
        self._urgent = urgent_seconds
        self._dice = random.Random(seed)
        self._planned: set[tuple[str, int]] = set()
        self._cards: dict[str, Json] = {}
        """The message with the buttons of each question, as it is now."""
        self._busy: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.slack_works = asyncio.Event()
        self.slack_works.set()

    async def watch(self) -> None:
        """Press on every card that appears, until cancelled."""
        async with asyncio.TaskGroup() as group:
            async for change in self._slack.stream():
                if change.get("type") == "message":
                    self._see(change, group)

    def _see(self, message: Json, group: asyncio.TaskGroup) -> None:
        interrupt_id = _asked_in(message)
        if interrupt_id is None or not (approve_buttons(message["blocks"]) or interrupt_id in self._cards):
            return
        if interrupt_id not in self._cards:
            self._note("card", id=interrupt_id, channel=message["channel"])
            self._cards[interrupt_id] = message
        if not approve_buttons(message["blocks"]) and approve_buttons(self._cards[interrupt_id]["blocks"]):
            self._note("settled", id=interrupt_id)
        self._cards[interrupt_id] = message
        for index in approve_buttons(message["blocks"]):
            if (interrupt_id, index) not in self._planned:
                self._planned.add((interrupt_id, index))
                self._plan(interrupt_id, index, group, urgent=URGENT in json.dumps(message["blocks"]))

    def _plan(self, interrupt_id: str, index: int, group: asyncio.TaskGroup, *, urgent: bool) -> None:
        [decision] = self._dice.choices(DECISIONS, WEIGHTS)
        # Urgent ones are pressed before their deadline, around it, or too late.
        longest = (THINKING[0], 1.4 * self._urgent) if urgent else THINKING
        pause, both = self._dice.uniform(*longest), self._dice.random() < TWICE
        for person in self._dice.sample(self._staff, 2 if both else 1):
            group.create_task(self._decide(person, interrupt_id, index, decision, pause))

    async def _decide(self, person: str, interrupt_id: str, index: int, decision: str, pause: float) -> None:
        await asyncio.sleep(pause)
        while True:
            await self.slack_works.wait()
            begins = time.time()
            try:
                accepted, args = await self._try(person, interrupt_id, index, decision)
            except NoFormError:
                self._note("told", id=interrupt_id, index=index, by=person, decision=decision)
                accepted = True
            except ControlError:
                # The button is gone: somebody else was quicker, the time is over, or the click counted after all.
                return
            else:
                self._note(
                    "pressed",
                    id=interrupt_id,
                    index=index,
                    by=person,
                    decision=decision,
                    begins=begins,
                    accepted=accepted,
                    **({"args": args} if args else {}),
                )
            await asyncio.sleep(STILL_THERE_AFTER if accepted else AGAIN_AFTER)
            if not self._has_button(interrupt_id, index):
                return

    def _has_button(self, interrupt_id: str, index: int) -> bool:
        return index in approve_buttons(self._cards[interrupt_id]["blocks"])

    async def _try(
        self, person: str, interrupt_id: str, index: int, decision: str
    ) -> tuple[bool, Json | None]:
        """Press, and fill in what opens. Give whether Slack showed that it was accepted, and what should run then."""
        button = f"{decision}:{index}"
        if decision == "approve":
            return await self._press(person, interrupt_id, button), None
        # Nobody has two forms in front of them.
        async with self._busy[person]:
            if not await self._press(person, interrupt_id, button):
                return False, None
            try:
                form = await self._form(person, interrupt_id)
                typed, args = _edited(form) if decision == "edit" else ({"words": "Not today."}, None)
                return await self._submit(person, form, typed), args
            finally:
                # Also a form that opened after they had given up.
                await self._close_all(person)

    async def _press(self, person: str, interrupt_id: str, button: str) -> bool:
        card = self._cards[interrupt_id]
        answer = await self._slack.click(person, card["channel"], card["ts"], button)
        return bool(answer["ack"]["ok"])

    async def _form(self, person: str, interrupt_id: str) -> Json:
        deadline = time.monotonic() + FORM_WITHIN
        while time.monotonic() < deadline:
            for view in (await self._slack.views(person))[-1:]:
                if f'"{interrupt_id}"' in view.get("private_metadata", ""):
                    return view
            await asyncio.sleep(0.05)
        raise NoFormError

    async def _submit(self, person: str, form: Json, typed: Json) -> bool:
        answer = await self._slack.submit(person, form["id"], typed)
        if answer["result"] == "update" and '"step":"check"' in answer["views"][-1]["private_metadata"]:
            answer = await self._slack.submit(person, answer["views"][-1]["id"], {})
        return answer["result"] in ACCEPTED

    async def _close_all(self, person: str) -> None:
        with contextlib.suppress(ControlError):
            while views := await self._slack.views(person):
                await self._slack.close_view(person, views[-1]["id"], clear=True)


def _asked_in(message: Json) -> str | None:
    """Give the question that a message is the card of. What stands in its thread is another part of it."""
    payload = (message.get("metadata") or {}).get("event_payload", {})
    return payload.get("id") if payload.get("part") == CARD else None


def _edited(form: Json) -> tuple[Json, Json]:
    """Give what is typed into an edit's form, and what should run then: a lower amount."""
    inputs = {block["label"]["text"]: block for block in form["blocks"] if block["type"] == "input"}
    [amount] = [block for label, block in inputs.items() if label.lower().startswith("amount")]
    [order] = [block for label, block in inputs.items() if label.lower().startswith("order")]
    lower = int(amount["element"]["initial_value"]) // 2 + 1
    return {amount["block_id"]: str(lower)}, {"order": order["element"]["initial_value"], "amount": lower}
