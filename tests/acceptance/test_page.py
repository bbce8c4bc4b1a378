"""Somebody with the playground's page, a real agent, and the real bot between them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from playwright.async_api import expect

from agent_adapter import ApprovalClient
from playground.demo.agent import Done, work
from playground.demo.tour import ANSWER, EXPECTED, REASON
from playground.server import Playground
from tests.support.browser import CHROMIUM, Screen, browsing
from tests.support.lanes import require

DONE = ", 2 done"


@pytest.fixture(autouse=True)
def _browser() -> None:
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")


@pytest.fixture
async def agent(
    start_bot: Callable[[], Awaitable[object]], client: ApprovalClient
) -> AsyncIterator[asyncio.Task[Done]]:
    """An agent that asks about four calls, and then about two."""

    async def tell(_: str) -> None:
        return

    await start_bot()
    working = asyncio.create_task(work(client, tell, requested_by="U0NOOR"))
    yield working
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


@pytest.fixture
async def screen(playground: Playground, agent: asyncio.Task[Done]) -> AsyncIterator[Screen]:
    async with browsing(playground.url) as screen:
        yield screen
        assert screen.complaints == []


async def test_a_person_decides_a_whole_batch(screen, agent):
    """Given a card, when each of its actions is decided in another way, then the agent does exactly that."""
    # A message in its thread names the tool as well.
    card = screen.card("refund_customer").first
    await expect(card).to_contain_text("wants to run")

    await screen.press(card, "approve:1")
    await expect(card).to_contain_text("3 of 4 open")

    await screen.press(card, "edit:0")
    amount = screen.modal.get_by_label("refund → amount")
    await amount.fill("1299")
    await screen.submit()
    await expect(screen.modal.locator("[data-error-for]")).to_have_text("Must be 250 or less.")
    await expect(amount).to_have_value("1299")
    await amount.fill("64.95")
    await screen.submit()
    await expect(screen.modal).to_contain_text("129.9 -> 64.95")
    await screen.submit()
    await expect(screen.modal).to_be_hidden()
    await expect(card).to_contain_text("Approved with changes by @Dana")

    await screen.act_as("Mira")
    await screen.press(card, "reject:2")
    await screen.modal.get_by_role("textbox", name="Reason").fill(REASON)
    await screen.submit()
    await screen.press(card, "respond:3")
    await screen.modal.get_by_label("Answer").fill(ANSWER)
    await screen.submit()
    await expect(card).to_contain_text("Rejected by @Mira")
    await expect(card).to_contain_text(DONE)

    rest = screen.card("close_ticket").first
    await screen.press(rest, "approve_all:0")
    await screen.confirm()
    done = await agent
    assert done.ran == EXPECTED.ran
    assert done.answers == EXPECTED.answers
    await expect(rest.first).to_contain_text("Approved by Mira: 2 tools, done")


async def test_a_form_that_is_closed_decides_nothing(screen):
    """With the keyboard alone: open the form, change something, leave with Escape."""
    card = screen.card("refund_customer")
    button = card.locator('[data-action-id="edit:0"]')
    await button.focus()
    await screen.page.keyboard.press("Enter")
    await screen.modal.get_by_label("refund → amount").fill("1")

    await screen.page.keyboard.press("Escape")

    await expect(screen.modal).to_be_hidden()
    await expect(button).to_be_focused()
    await expect(card).to_contain_text("wants to run")


async def test_the_page_is_usable_on_a_telephone(playground, agent):
    """400 pixels wide: nothing runs out of the window, and everything can be pressed."""
    async with browsing(playground.url, width=400, height=800) as screen:
        card = screen.card("refund_customer")
        await expect(card).to_contain_text("wants to run")
        assert await width_of(screen) <= 400

        await screen.press(card, "edit:0")
        await expect(screen.page.get_by_test_id("modal-submit")).to_be_in_viewport()
        assert await width_of(screen) <= 400
        await screen.modal.get_by_label("refund → amount").fill("64.95")
        await screen.submit()
        await screen.submit()
        await screen.press(card, "approve:1")

        await expect(card).to_contain_text("2 of 4 open")
        assert screen.complaints == []


async def width_of(screen: Screen) -> int:
    """How wide the content is, of the page and of the form upon it."""
    return int(
        await screen.page.evaluate(
            "Math.max(...[document.documentElement, ...document.querySelectorAll('dialog[open]')].map("
            "(shown) => shown.scrollWidth))"
        )
    )
