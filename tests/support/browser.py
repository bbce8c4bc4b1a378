"""A person at the playground's page, in a real browser."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import ConsoleMessage, Locator, Page, async_playwright, expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

expect.set_options(timeout=10_000)


class Screen:
    """What somebody sees and does on the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        """What the browser's console and the page's scripts complained about."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    @property
    def modal(self) -> Locator:
        return self.page.get_by_test_id("modal")

    def card(self, saying: str) -> Locator:
        """Give the card that says this."""
        return self.page.locator("[data-testid=timeline] [data-ts]").filter(has_text=saying)

    async def act_as(self, name: str) -> None:
        """Be somebody else."""
        menu = self.page.get_by_test_id("act-as")
        option = menu.locator("option").filter(has_text=name)
        await menu.select_option(await option.get_attribute("value"))

    async def press(self, card: Locator, action_id: str) -> None:
        """Press a button of a card, also where it is a choice in a menu."""
        button = card.locator(f'[data-action-id="{action_id}"]')
        named = f'[role=menuitem][data-value^="{action_id} "]'
        choice = card.locator(named)
        await button.or_(choice).wait_for(state="attached")
        if await choice.count():
            menu = card.locator(".menu", has=self.page.locator(named))
            await menu.get_by_role("button", name="More actions").click()
            await choice.click()
        else:
            await button.click()

    async def confirm(self) -> None:
        """Say yes to the question that a button asks."""
        await self.page.get_by_test_id("confirm-accept").click()

    async def write(self, text: str) -> None:
        """Write into the channel, or give a command."""
        box = self.page.locator("#composer-text")
        await box.fill(text)
        await box.press("Enter")

    async def submit(self) -> None:
        await self.page.get_by_test_id("modal-submit").click()


@asynccontextmanager
async def browsing(url: str, *, width: int = 1280, height: int = 900) -> AsyncIterator[Screen]:
    """Open the page in a window of this size."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = await browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(10_000)
        screen = Screen(page)
        await page.goto(url)
        yield screen
        # The page says of what it cannot draw that it is missing.
        assert await page.locator(".unsupported").all_inner_texts() == []
        await browser.close()
