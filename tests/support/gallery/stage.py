"""Asks as an agent would, has people decide, and takes pictures of what they see."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import FloatRect, Locator, expect

from agent_adapter import ApprovalClient, Context, Outcome
from bot.app import running
from bot.jobs import deadlines
from bot.wiring import Bot
from playground import Playground
from playground.client import Control
from playground.demo.keys import make_signing
from playground.redis_server import private_redis
from playground.workspace import TEAM
from tests.conftest import keys_of, settings_for, until
from tests.support.browser import Screen, browsing
from tests.support.builders import asking
from tests.support.gallery.situations import POLICY, Calls, Situation
from tests.support.people import Someone, words

Json = dict[str, Any]
TALL, FORM = 2800, 900
"""How high a window is: as high as the longest card, and as one in which people fill in a form."""
FONTS = """(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":root { --sans: 'Liberation Sans'; --mono: 'Liberation Mono' }");
    document.adoptedStyleSheets.push(sheet);
})()"""
"""Where lines break depends on the fonts. Every machine has to measure the same."""


class Question:
    """A question that was asked in the stand-in, with its people."""

    def __init__(self, stage: "Stage", situation: Situation, since: float) -> None:
        self._stage, self._situation, self._since = stage, situation, since
        self._run = uuid4().hex
        self.dana, self.erik, self.mira = (
            Someone(stage.slack, user) for user in ("U0DANA", "U0ERIK", "U0MIRA")
        )

    async def ask(self, *calls: Calls) -> None:
        """Ask one question after the other, each in the same run."""
        situation, stage = self._situation, self._stage
        agent = stage.agent
        for each in calls:
            interrupt = agent.interrupt(
                asking(*each),
                run=self._run,
                pauses=[uuid4().hex for _ in each],
                expires_in=situation.expires_in,
                context=Context(requested_by=situation.requested_by),
            )
            await agent.publish(interrupt)
            self._id = interrupt.id
            await stage.drawn()

    async def card(self, saying: str = "") -> Json:
        """Give its card, once it says this and everything is drawn."""
        reader = self._situation.reader

        def is_it(message: Json) -> bool:
            is_reply = message.get("thread_ts", message["ts"]) != message["ts"]
            is_ours = message["user"] == "U0BOT" and float(message["ts"]) > self._since
            return (
                is_ours
                and not is_reply
                and bool(message.get("blocks"))
                and saying in words(message["blocks"])
            )

        await self._stage.slack.wait_for_message(is_it, as_user=reader)
        await self._stage.drawn()
        return await self._stage.slack.wait_for_message(is_it, as_user=reader)

    async def run(self, *outcomes: Outcome) -> None:
        """Take the answer, report these outcomes of the first calls, and go on."""
        await self._stage.agent.wait(self._id)
        async with self._stage.agent.resuming(self._id):
            for index, outcome in enumerate(outcomes):
                await self._stage.agent.report(self._id, index, outcome)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stand-in, a bot with keys and the policy of the gallery, an agent, and a window of each width."""

    slack: Control
    bot: Bot
    agent: ApprovalClient
    screens: dict[int, Screen] = field(default_factory=dict)

    async def ask(self, situation: Situation) -> Question:
        """Ask once more."""
        since = _newest(await self.slack.messages())
        question = Question(self, situation, since)
        await question.ask(situation.calls)
        return question

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
        return question, await question.card(situation.saying)

    async def pictures(self, situation: Situation) -> dict[int, bytes]:
        """Take the picture of a situation in each window, by its width."""
        question, card = await self.shown(situation)
        await situation.opens(question, card)
        taken = {width: await self._look(width, situation, card) for width in self.screens}
        for view in (await self.slack.views("U0DANA"))[-1:]:
            await self.slack.close_view("U0DANA", view["id"], clear=True)
        return taken

    async def _look(self, width: int, situation: Situation, card: Json) -> bytes:
        screen = self.screens[width]
        page, channel = screen.page, "home" if situation.surface == "home" else card["channel"]
        address, _, query = page.url.partition("?")
        here = f"as={situation.reader}&channel={channel}"
        if query != here:
            await page.goto(f"{address}?{here}")
        tall = FORM if situation.surface == "form" else TALL
        await page.set_viewport_size({"width": width, "height": tall})
        parts, before = await self._parts(screen, situation, card), b""
        async with asyncio.timeout(30):
            while True:
                # What the page draws anew meanwhile is looked for again.
                with suppress(PlaywrightError):
                    for part in reversed(parts):
                        await part.scroll_into_view_if_needed()
                    await page.mouse.move(0, 0)
                    await page.evaluate("document.activeElement.blur()")
                    clip = await _around(parts)
                    if not await _is_in_sight(screen, situation, clip):
                        continue
                    taken = await page.screenshot(animations="disabled", caret="hide", clip=clip)
                    # One that is taken while the list scrolls shows something else.
                    if taken == before and clip == await _around(parts):
                        return taken
                    before = taken

    async def _parts(self, screen: Screen, situation: Situation, card: Json) -> list[Locator]:
        """Find what is shown, from the top to the bottom."""
        if situation.surface == "form":
            (*_, view) = await self.slack.views(situation.reader)
            await expect(screen.modal).to_have_attribute("data-view-id", view["id"])
            await expect(screen.modal.locator("[data-block-id]")).to_have_count(len(view["blocks"]))
            return [screen.modal]
        if situation.surface == "home":
            home = screen.page.get_by_test_id("home")
            await expect(home).to_contain_text(situation.saying)
            return [home]
        await self._drawn_on(screen, card)
        return [_row(screen, card)]

    async def _drawn_on(self, screen: Screen, message: Json) -> None:
        """Wait until a window shows the last state of a message."""
        title, row = message["blocks"][0], _row(screen, message)
        await expect(row).to_be_visible()
        if title["type"] == "header":
            await expect(row).to_contain_text(title["text"]["text"])


def _newest(messages: list[Json]) -> float:
    return max((float(message["ts"]) for message in messages), default=0.0)


async def _around(parts: list[Locator]) -> FloatRect:
    """Give the rectangle from the first of these parts of a page to the last."""
    first, last = await parts[0].bounding_box(), await parts[-1].bounding_box()
    assert first
    assert last
    height = last["y"] + last["height"] - first["y"]
    return FloatRect(x=first["x"], y=first["y"], width=first["width"], height=height)


async def _is_in_sight(screen: Screen, situation: Situation, clip: FloatRect) -> bool:
    """Whether no message is behind the field to write one, as it is while the list scrolls."""
    if situation.surface != "card":
        return True
    box = await screen.page.get_by_test_id("timeline").bounding_box()
    return bool(box) and clip["y"] + clip["height"] <= box["y"] + box["height"]


def _row(screen: Screen, message: Json) -> Locator:
    return screen.page.locator(f'[data-testid=timeline] [data-ts="{message["ts"]}"]')


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
        settings = settings_for(
            playground,
            redis_url,
            approvers="",
            channel=None,
            lease_seconds=15,
            policy=str(folder / "policy.yaml"),
            **keys_of(signing),
        )
        stack.enter_context(mock.patch.object(deadlines, "STALLED_AFTER", timedelta(seconds=5)))
        bot = await stack.enter_async_context(running(settings))
        agent = await stack.enter_async_context(
            ApprovalClient.from_url(redis_url, agent="billing", reconcile_every=timedelta(seconds=1))
        )
        screens = {
            width: await stack.enter_async_context(browsing(playground.url, width=width, height=TALL))
            for width in widths
        }
        for screen in screens.values():
            await screen.page.add_init_script(FONTS)
            await screen.page.reload()
        await until(lambda: bot.health.ready)
        yield Stage(slack, bot, agent, screens)
