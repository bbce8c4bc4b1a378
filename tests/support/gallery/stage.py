"""Asks as an agent would, has people decide, and measures what they see and do."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from agent_adapter import ApprovalClient, Context, HITLRequest, Outcome
from agent_adapter.receipts.key_files import make_signing, read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import LocalSigner
from bot.app import Bot, running
from playground import Playground
from playground.client import Control
from playground.redis_server import private_redis
from playground.workspace import TEAM
from tests.conftest import keys_of, settings_for, until
from tests.support.browser import Screen, browsing
from tests.support.gallery.hands import Hands, leading
from tests.support.gallery.situations import POLICY, Situation
from tests.support.people import buttons, words

Json = dict[str, Any]
WIDTHS = (1280, 400)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a situation costs."""

    heights: dict[int, int]
    """In pixels, by the width of the window."""
    messages: int
    edits: int
    """Of a question from asking to its end, or to what is shown."""
    taps: dict[str, int]
    """What each decision takes."""


class Question:
    """A question that was asked in the stand-in, with its people."""

    def __init__(self, stage: "Stage", interrupt_id: str, since: float) -> None:
        self._stage, self._id, self._since = stage, interrupt_id, since
        self.dana, self.erik, self.mira = (
            Hands(stage.slack, user) for user in ("U0DANA", "U0ERIK", "U0MIRA")
        )

    async def card(self, saying: str = "") -> Json:
        """Give its card, once it says this and everything is drawn."""

        def is_it(message: Json) -> bool:
            is_reply = message.get("thread_ts", message["ts"]) != message["ts"]
            is_ours = message["user"] == "U0BOT" and float(message["ts"]) > self._since
            return (
                is_ours
                and not is_reply
                and bool(message.get("blocks"))
                and saying in words(message["blocks"])
            )

        await self._stage.slack.wait_for_message(is_it, as_user="U0DANA")
        await self._stage.drawn()
        return await self._stage.slack.wait_for_message(is_it, as_user="U0DANA")

    async def run(self, *outcomes: Outcome) -> None:
        """Take the answer, report these outcomes of the first calls, and go on."""
        await self._stage.agent.wait(self._id)
        async with self._stage.agent.resuming(self._id):
            for index, outcome in enumerate(outcomes):
                await self._stage.agent.report(self._id, index, outcome)

    async def withdraw(self, reason: str) -> None:
        """Take the question back."""
        await self._stage.agent.withdraw(self._id, reason)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stand-in, a bot with keys and the policy of the gallery, an agent, and a window of each width."""

    slack: Control
    bot: Bot
    agent: ApprovalClient
    signing_agent: ApprovalClient
    screens: dict[int, Screen] = field(default_factory=dict)

    async def ask(self, situation: Situation) -> Question:
        """Ask once more."""
        since = max((float(message["ts"]) for message in await self.slack.messages()), default=0.0)
        requests, configs = zip(*situation.calls, strict=True)
        agent = self.signing_agent if situation.is_signed else self.agent
        interrupt = agent.interrupt(
            HITLRequest(action_requests=requests, review_configs=configs),
            expires_in=situation.expires_in,
            context=Context(requested_by="U0NOOR"),
        )
        await agent.publish(interrupt)
        return Question(self, interrupt.id, since)

    async def drawn(self) -> None:
        """Wait until no card is owed."""
        async with asyncio.timeout(30):
            while (await self.bot.store.owed())["undrawn"]:
                await asyncio.sleep(0.05)

    async def shown(self, situation: Situation) -> tuple[Question, Json]:
        """Bring a question to where the gallery shows it."""
        question = await self.ask(situation)
        await question.card()
        await situation.reach(question)
        return question, await question.card()

    def seen(self, width: int, card: Json) -> Locator:
        """Find a card in a window."""
        return self.screens[width].page.locator(f'[data-testid=timeline] [data-ts="{card["ts"]}"]')

    async def height(self, width: int, card: Json) -> int:
        """Measure a card in a window, once it shows the last state."""
        found = self.seen(width, card)
        await expect(found).to_contain_text(card["blocks"][0]["text"]["text"])
        box = await found.bounding_box()
        assert box
        return round(box["height"])

    async def figures(self, situation: Situation) -> tuple[Json, Figures]:
        """Measure a situation, and give its card, which nobody has touched since."""
        calls = (await self._count("chat.postMessage"), await self._count("chat.update"))
        _, card = await self.shown(situation)
        heights = {width: await self.height(width, card) for width in self.screens}
        now = (await self._count("chat.postMessage"), await self._count("chat.update"))
        spent = (now[0] - calls[0], now[1] - calls[1])
        if "approve" in situation.taps:
            spent = await self._spent(situation)
        taps = await self.taps(situation, card) if situation.is_open else {}
        return card, Figures(heights, *spent, taps)

    async def taps(self, situation: Situation, card: Json) -> dict[str, int]:
        """Count what each decision takes that this card offers, each of a question of its own."""
        offered = [name.partition(":")[0] for name in buttons(card)]
        ways: dict[str, Callable[[Question, Json], Awaitable[None]]] = {}
        if "approve" in situation.taps:
            ways["approve"] = lambda asked, found: asked.dana.approve(found, situation.types)
        if "edit" in offered and situation.edit:
            ways["edit"] = lambda asked, found: asked.dana.edit(found, situation.edit)
        if {"reject", "reject_all"} & set(offered):
            ways["reject"] = lambda asked, found: asked.dana.reject(found)
        found = {}
        for way, decide in ways.items():
            asked = await self.ask(situation)
            await decide(asked, await asked.card())
            found[way] = asked.dana.taps
        return found

    async def _spent(self, situation: Situation) -> tuple[int, int]:
        """Count messages and edits from asking to the end of an approval."""
        before = (await self._count("chat.postMessage"), await self._count("chat.update"))
        asked = await self.ask(situation)
        for person in (asked.dana, asked.erik)[: situation.together]:
            card = await asked.card()
            assert leading(card)
            await person.approve(card, situation.types)
        await asked.run()
        await asked.card("the agent has resumed")
        now = (await self._count("chat.postMessage"), await self._count("chat.update"))
        return now[0] - before[0], now[1] - before[1]

    async def _count(self, method: str) -> int:
        return len(await self.slack.calls(method))


def _agent_signer(ring_path: Path) -> LocalSigner:
    """Make a key for the agent, and list it in the ring."""
    found = LocalSigner.generate()
    key = RingKey.of(found.public, "agent", namespace="assent", agent="billing")
    write_keys(ring_path, [*read_keys(ring_path), key])
    return found


@asynccontextmanager
async def on_stage(*widths: int) -> AsyncIterator[Stage]:
    """Start everything, with a window of each of these widths."""
    async with AsyncExitStack() as stack:
        redis_url = stack.enter_context(private_redis())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "policy.yaml").write_text(POLICY)
        playground = await stack.enter_async_context(Playground(limits=False))
        slack = await stack.enter_async_context(Control(playground.url))
        signing = make_signing(folder, team=TEAM["id"])
        signer = _agent_signer(signing.ring_path)
        settings = settings_for(
            playground,
            redis_url,
            approvers="",
            channel=None,
            policy=str(folder / "policy.yaml"),
            **keys_of(signing),
        )
        bot = await stack.enter_async_context(running(settings))
        agent, signing_agent = [
            await stack.enter_async_context(
                ApprovalClient.from_url(
                    redis_url, agent="billing", reconcile_every=timedelta(seconds=1), signer=found
                )
            )
            for found in (None, signer)
        ]
        screens = {
            width: await stack.enter_async_context(browsing(playground.url, width=width, height=2800))
            for width in widths
        }
        await until(lambda: bot.health.ready)
        yield Stage(slack, bot, agent, signing_agent, screens)
