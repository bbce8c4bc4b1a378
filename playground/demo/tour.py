"""The played tour: people decide through the stand-in, and the result is compared with the expected one."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware

from playground.demo.agent import APOLOGY, REVIEWED, TASK, Answer, Call, Done, work
from playground.demo.stage import AGENT, CHANNEL, REQUESTER, Stage
from playground.demo.transcript import Json, block_lines, call_text, frame, mrkdwn_text
from playground.workspace import BOT_USER

DANA, ERIK, MIRA, NOOR = "U0DANA", "U0ERIK", "U0MIRA", "U0NOOR"

REASON = "Not during business hours, the night shift does that."
ANSWER = "A voucher of 20 EUR.\nPlease say sorry once more."

_OUTCOME = re.compile(r"\*([^*]+)\* by (<@\w+>)")


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the tour."""

    refused: str
    """The answer to a person who may not decide."""
    complaint: tuple[str, ...]
    """The error of the form at a wrong amount."""
    ran: tuple[Call, ...]
    answers: tuple[Answer, ...]
    outcomes: tuple[str, ...]
    """What the cards say in the end, action by action."""
    changes: str
    """How the card shows what was edited."""
    last_words: str
    owed: int
    """Work that is left over in Redis."""


def differences(expected: Report, actual: Report) -> list[str]:
    """Say where a report differs from the expected one; empty when it does not."""
    found = []
    for each in fields(Report):
        wanted, got = getattr(expected, each.name), getattr(actual, each.name)
        if wanted != got:
            found.append(f"{each.name}: expected {wanted!r}, got {got!r}")
    return found


async def play(stage: Stage, say: Callable[[str], None]) -> Report:
    """Play the tour, and say what happens.

    Raises:
        TimeoutError: something expected did not happen. The sentence says what is there instead.
    """
    people = (await stage.control.state())["people"]
    tour = _Tour(stage, say, {person["id"]: person["name"] for person in people})
    return await tour.play()


@dataclass(frozen=True, slots=True)
class _Tour:
    stage: Stage
    say: Callable[[str], None]
    names: dict[str, str]
    said: list[str] = field(default_factory=list)
    """Sentences of the agent that are not printed yet."""

    async def play(self) -> Report:
        self._title("The agent begins")
        await self.stage.control.message(REQUESTER, CHANNEL, TASK)
        self.say(f"  {self.names[REQUESTER]}: {TASK}")
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work(self.stage.approvals, self._agent_says, requested_by=REQUESTER))
            first = await self._card("refund_customer, send_email, restart_service, ask_person")
            self._hear()
            self._title("It wants to call four tools, so it pauses; this is its card in #approvals")
            self._show(first)
            self._title("People decide")
            refused = await self._bystander(first)
            await self._approve(first)
            complaint = await self._edit(first)
            await self._reject(first)
            await self._respond(first)
            self._title("The agent goes on with exactly that, and pauses once more")
            second = await self._card("send_email")
            self._hear()
            self._show(second)
            await self._press(ERIK, second, "approve_all:0", "Approve all 2…")
            done = await working
            self._hear()
        ends = [await self._resumed(card) for card in (first, second)]
        self._title("What the first card says in the end")
        self._show(ends[0])
        self._tell(done)
        return Report(
            refused=refused,
            complaint=complaint,
            ran=done.ran,
            answers=done.answers,
            outcomes=tuple(outcome for card in ends for outcome in self._outcomes(card)),
            changes=_literal(ends[0], "a:0:told"),
            last_words=done.message,
            owed=await self._left_over(),
        )

    # What people do

    async def _bystander(self, card: Json) -> str:
        await self._press(NOOR, card, "approve_all:0", "Approve 1 to 3…")
        word = await self.stage.control.wait_for_message(
            lambda message: message.get("ephemeral_for") == NOOR, channel=CHANNEL, as_user=NOOR
        )
        text = mrkdwn_text(word["text"], self.names)
        self.say(f"          only Noor sees: {text}")
        return text

    async def _approve(self, card: Json) -> None:
        review = await self._press_one(DANA, card, "approve:1", "Approve on 2. send_email")
        await self.stage.control.wait_for_view(DANA, lambda view: view["hash"] != review["hash"])
        await self.stage.control.close_view(DANA, review["id"])

    async def _edit(self, card: Json) -> tuple[str, ...]:
        view = await self._open(ERIK, card, "edit:0", "Edit… on 1. refund_customer")
        self.say(frame(view["title"]["text"], block_lines(view["blocks"], self.names)))
        amount = _input(view, "refund → amount")
        self.say("  Erik types 1299 as amount and submits")
        answer = await self.stage.control.submit(ERIK, view["id"], {amount: "1299"})
        complaint = tuple(answer.get("errors", {}).values())
        self.say(f"          beside the amount: {' '.join(complaint)}")
        self.say("  Erik types 64.95 and submits again")
        answer = await self.stage.control.submit(ERIK, view["id"], {amount: "64.95"})
        last = answer["views"][-1]
        self.say(frame(last["title"]["text"], block_lines(last["blocks"], self.names)))
        self.say("  Erik sees what changes, and approves it")
        await self.stage.control.submit(ERIK, view["id"], {})
        return complaint

    async def _reject(self, card: Json) -> None:
        view = await self._open(MIRA, card, "reject:2", "Reject… on 3. restart_service")
        self.say(f"  Mira gives the reason: {REASON}")
        await self.stage.control.submit(MIRA, view["id"], {_input(view, "Reason"): REASON})

    async def _respond(self, card: Json) -> None:
        await self._press(DANA, card, "respond:3", "Answer…")
        view = await self.stage.control.wait_for_view(DANA)
        self.say("  Dana answers: " + ANSWER.replace("\n", "\n                "))
        await self.stage.control.submit(DANA, view["id"], {_input(view, "Your answer"): ANSWER})

    async def _press(self, user: str, card: Json, action_id: str, what: str) -> None:
        self.say(f"  {self.names[user]} presses {what}")
        await self.stage.control.click(user, CHANNEL, card["ts"], action_id)

    async def _press_one(self, user: str, card: Json, action_id: str, what: str) -> Json:
        """Press a button of one call: where a card asks about several, its review has them. Give the review."""
        await self._press(user, card, "review:0", f"Open…, and {what}")
        review = await self.stage.control.wait_for_view(user)
        await self.stage.control.click_view(user, review["id"], action_id)
        return review

    async def _open(self, user: str, card: Json, action_id: str, what: str) -> Json:
        review = await self._press_one(user, card, action_id, what)
        return await self.stage.control.wait_for_view(user, lambda view: view["id"] != review["id"])

    # What they see

    async def _card(self, asks: str) -> Json:
        return await self.stage.control.wait_for_message(
            lambda message: message["user"] == BOT_USER and _title(message).startswith(f"support: {asks}"),
            channel=CHANNEL,
        )

    async def _resumed(self, card: Json) -> Json:
        return await self.stage.control.wait_for_message(
            lambda message: message["ts"] == card["ts"] and "the agent has resumed" in message["text"],
            channel=CHANNEL,
        )

    def _outcomes(self, card: Json) -> list[str]:
        texts = [block["elements"][0]["text"] for block in card["blocks"] if block["type"] == "context"]
        found = [match for text in texts if (match := _OUTCOME.search(text))]
        return [f"{match[1]} by {mrkdwn_text(match[2], self.names)}" for match in found]

    async def _agent_says(self, text: str) -> None:
        await self.stage.control.message(AGENT, CHANNEL, text)
        self.said.append(text)

    def _hear(self) -> None:
        """Print what the agent said meanwhile. It goes on as soon as a button is pressed."""
        for text in self.said:
            self.say("  Support agent: " + text.replace("\n", "\n                 "))
        self.said.clear()

    async def _left_over(self) -> int:
        """Count the work that is still owed once the bot had time to finish."""
        for _ in range(100):
            if not sum((owed := await self.stage.bot.store.owed()).values()):
                break
            await asyncio.sleep(0.1)
        return sum(owed.values())

    def _show(self, card: Json) -> None:
        self.say(frame("Assent in #approvals", block_lines(card["blocks"], self.names)))

    def _tell(self, done: Done) -> None:
        self._title("What ran")
        for call in done.ran:
            self.say(f"  {call_text(call.tool, call.args)}")
        self._title("What the model was told about its calls")
        for answer in done.answers:
            self.say(f"  {answer.tool} ({answer.status}): " + answer.content.replace("\n", "\n      "))

    def _title(self, text: str) -> None:
        self.say(f"\n{text}\n")


def _title(message: Json) -> str:
    return next((block["text"]["text"] for block in message["blocks"] if block["type"] == "header"), "")


def _literal(message: Json, block_id: str) -> str:
    found = [block for block in message["blocks"] if block["block_id"] == block_id]
    return "".join(leaf["text"] for block in found for leaf in block["elements"][0]["elements"])


def _input(view: Json, label: str) -> str:
    inputs = {
        block["label"]["text"]: block["block_id"] for block in view["blocks"] if block["type"] == "input"
    }
    for text, block_id in inputs.items():
        if text.startswith(label):
            return str(block_id)
    raise ValueError(f"{view['title']['text']!r} has no input {label!r}, only {', '.join(inputs)}")


# The expected result

_CORRECTED: dict[str, Any] = {
    "order": 4711,
    "customer": {"id": 1042, "name": "Ada Park", "email": "ada.park@example.com"},
    "refund": {"amount": 64.95, "currency": "EUR"},
    "reason": "charged_twice",
    "notify_customer": True,
}
_LETTER = {
    "to": "ada.park@example.com",
    "subject": "Your order 4711: what happens now",
    "body": "Hello Ada,\n\nYour money is on its way.\nAbout your patience, my colleague says:\n\n"
    f"{ANSWER}\n\nYour shop",
}
_NOTICE = HumanInTheLoopMiddleware(REVIEWED).edit_notice

EXPECTED = Report(
    refused="Only @Dana, @Erik or @Mira can decide this.",
    complaint=("Must be 250 or less.",),
    ran=(
        Call("find_order", {"order": 4711}),
        Call("refund_customer", _CORRECTED),
        Call("send_email", {"to": "ada.park@example.com", "subject": "Your order 4711", "body": APOLOGY}),
        Call("send_email", _LETTER),
        Call(
            "close_ticket",
            {"ticket": 88123, "resolution": "solved", "labels": ["refund", "charged twice"]},
        ),
    ),
    answers=(
        Answer("find_order", "success", "paid twice: 64.95 EUR on 17 November"),
        Answer(
            "restart_service",
            "error",
            f"User rejected the tool call for `restart_service` with reason: {REASON}",
        ),
        Answer("ask_person", "success", ANSWER),
        Answer(
            "refund_customer",
            "success",
            f"{_NOTICE} Executed instead: refund_customer with arguments {json.dumps(_CORRECTED)}.\n\n"
            "Tool response:\npaid 64.95 EUR back to Ada Park",
        ),
        Answer("send_email", "success", "sent to ada.park@example.com"),
        Answer("send_email", "success", "sent to ada.park@example.com"),
        Answer("close_ticket", "success", "ticket 88123 closed as solved"),
    ),
    outcomes=(
        "Approved with changes by @Erik",
        "Approved by @Dana",
        "Rejected by @Mira",
        "Answered by @Dana",
        "Approved by @Erik",
        "Approved by @Erik",
    ),
    changes="refund.amount: 129.9 → 64.95",
    last_words="""\
That is all for order 4711.
✓ find_order: paid twice: 64.95 EUR on 17 November
✗ restart_service: Not during business hours, the night shift does that.
✓ ask_person: A voucher of 20 EUR. Please say sorry once more.
✓ refund_customer: paid 64.95 EUR back to Ada Park
✓ send_email: sent to ada.park@example.com
✓ send_email: sent to ada.park@example.com
✓ close_ticket: ticket 88123 closed as solved""",
    owed=0,
)
