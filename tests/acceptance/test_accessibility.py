"""Nothing on the page keeps people out, as far as a program can tell: axe-core finds nothing in what the bot shows.

Each situation of the gallery is asked once. Then the channel, every form, the Home tab and the list of `/approvals` are
looked at: light in a wide window, dark in a narrow one.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from bot.listeners.actions import TABLE, Opens
from tests.support.axe import barriers, require_axe
from tests.support.browser import CHROMIUM
from tests.support.gallery.page import WIDTHS
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import on_stage
from tests.support.lanes import require
from tests.support.people import Someone, buttons

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300), pytest.mark.nightly]

SCHEMES = dict(zip(WIDTHS, ("light", "dark"), strict=True))
OPENERS = {button.verb for button, does in TABLE.items() if isinstance(does, Opens)}
FORMS = {(situation, "edit") for situation in ("refund", "mail", "order", "customer")}
"""By a schema, with a long text, with objects and lists, with more than eight fields."""


class Gallery:
    """All situations, and Dana in front of them."""

    def __init__(self, stage, cards):
        self.stage = stage
        self.cards = cards
        self.dana = Someone(stage.slack, "U0DANA")

    async def barriers(self, within="html"):
        """Give what axe-core finds in each window."""
        screens = self.stage.screens
        found = await asyncio.gather(*(barriers(screen.page, within) for screen in screens.values()))
        return [
            f"{width} pixels, {SCHEMES[width]}: {barrier}"
            for width, named in zip(screens, found, strict=True)
            for barrier in named
        ]

    async def shown(self, view):
        """Wait until each window shows this view as it is now."""
        for screen in self.stage.screens.values():
            await expect(screen.modal).to_have_attribute("data-view-id", view["id"])
            async with asyncio.timeout(30):
                while not await self._is_shown(screen):
                    await asyncio.sleep(0.02)

    async def _is_shown(self, screen):
        [*_, top] = await self.stage.slack.views("U0DANA")
        return await screen.modal.locator("[data-block-id]").count() == len(top["blocks"])

    async def opened(self, situation, verb):
        """Open a form from a card, and wait until each window shows it."""
        card = self.cards[situation]
        button = next(name for name in buttons(card) if name.partition(":")[0] == verb)
        await self.close()
        await self.dana.press(card, button)
        view = await self.stage.slack.wait_for_view("U0DANA")
        await self.shown(view)
        return view

    async def barriers_of_list(self, callback_id=""):
        """Give what axe-core finds in the list that opens. Most lists say first that they are being looked for."""
        await self.shown(
            await self.stage.slack.wait_for_view(
                "U0DANA", lambda view: view["callback_id"] == callback_id or len(view["blocks"]) > 1
            )
        )
        found = await self.barriers("dialog")
        await self.close()
        return found

    async def close(self):
        """Close all forms, and wait until no window shows one."""
        for view in (await self.stage.slack.views("U0DANA"))[:1]:
            await self.stage.slack.close_view("U0DANA", view["id"], clear=True)
        for screen in self.stage.screens.values():
            await expect(screen.modal).to_be_hidden()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def everything() -> AsyncIterator[Gallery]:
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")
    require_axe()
    async with on_stage(*WIDTHS) as stage:
        for width, screen in stage.screens.items():
            await screen.page.emulate_media(color_scheme=SCHEMES[width], reduced_motion="reduce")
        cards = {found.name: (await stage.shown(found))[1] for found in SITUATIONS}
        yield Gallery(stage, cards)
        assert [screen.complaints for screen in stage.screens.values()] == [[], []]


@pytest_asyncio.fixture(loop_scope="module")
async def gallery(everything) -> AsyncIterator[Gallery]:
    """All of it, and no form is open."""
    yield everything
    await everything.close()
    for screen in everything.stage.screens.values():
        await screen.page.locator('[data-channel="C0APPROVALS"]').click()


async def test_axe_finds_nothing_in_a_channel_of_cards(gallery):
    """Open ones, decided ones, and what stands in their threads."""
    assert await gallery.barriers() == []


async def test_axe_finds_nothing_in_any_form(gallery):
    """Each button that opens a form, on the first card that has it, and the forms of an edit that differ."""
    found, seen = {}, set()
    for situation, card in gallery.cards.items():
        for verb in dict.fromkeys(name.partition(":")[0] for name in buttons(card)):
            if verb in OPENERS and (verb not in seen or (situation, verb) in FORMS):
                seen.add(verb)
                await gallery.opened(situation, verb)
                found[situation, verb] = await gallery.barriers("dialog")

    assert {place: barriers for place, barriers in found.items() if barriers} == {}
    assert {"edit", "reject", "confirm", "read", "review", "respond", "agree"} <= seen


async def test_axe_finds_nothing_on_the_home_tab_and_in_the_lists(gallery):
    """What waits for a person, as a tab and as a view, and what was asked for them."""
    found = []
    for screen in gallery.stage.screens.values():
        await screen.page.locator('[data-channel="home"]').click()
        await expect(screen.page.get_by_test_id("home").locator(".block").nth(3)).to_be_visible()
    found.append(await gallery.barriers("main"))
    for words in ("", "mine", "rules"):
        await gallery.stage.slack.command("U0DANA", "C0APPROVALS", "/approvals", words)
        found.append(await gallery.barriers_of_list("rules" if words == "rules" else ""))

    assert found == [[]] * 4
