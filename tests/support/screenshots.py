"""`python -m tests.support.screenshots`: the pictures of the documentation, taken anew."""

import asyncio
from pathlib import Path

from playwright.async_api import Locator, expect

from playground.demo.agent import work
from playground.demo.stage import REQUESTER, on_stage
from playground.demo.tour import ANSWER
from tests.support.browser import Screen, browsing
from tests.support.people import Someone

IMAGES = Path(__file__).parents[2] / "docs" / "images"


async def main() -> None:
    async with on_stage() as stage, browsing(stage.url, width=1280, height=900) as screen:

        async def tell(_: str) -> None:
            return

        working = asyncio.create_task(work(stage.approvals, tell, requested_by=REQUESTER))
        card = screen.card("refund_customer")
        await screen.press(card, "edit:0")
        await screen.modal.get_by_label("refund → amount").fill("1299")
        await screen.submit()
        await expect(screen.modal.locator("[data-error-for]")).to_be_visible()
        await screen.modal.get_by_label("notify_customer").scroll_into_view_if_needed()
        await _save(screen, "edit.png")
        await screen.page.keyboard.press("Escape")

        await _decide_the_rest(screen, card, Someone(stage.control, "U0ERIK"))
        rest = screen.card("close_ticket")
        await screen.press(rest, "approve:0")
        await expect(rest).to_contain_text("Approved by @Dana")
        await _save(screen, "card.png")
        working.cancel()


async def _decide_the_rest(screen: Screen, card: Locator, erik: Someone) -> None:
    pending = await erik.card("refund_customer")
    await screen.press(card, "approve_all:0")
    await screen.confirm()
    await erik.fill(await erik.opened(pending, "respond:3"), Answer=ANSWER)


async def _save(screen: Screen, name: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    await screen.page.screenshot(path=IMAGES / name, animations="disabled", caret="hide")


if __name__ == "__main__":
    asyncio.run(main())
