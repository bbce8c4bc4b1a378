"""Somebody with the playground's page, a real agent, and the real bot between them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Locator, expect

from playground.demo.agent import work
from playground.demo.stage import on_stage
from playground.demo.terminal import HINT, serve
from playground.demo.tour import ANSWER, EXPECTED, REASON
from playground.server import Playground
from tests.support.browser import CHROMIUM, Screen, browsing
from tests.support.lanes import require

DONE = ", 2 done"
ASKS = "billing: refund_customer, send_email, restart_service, ask_person"


@pytest.fixture(autouse=True)
def _browser() -> None:
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")


@pytest.fixture
async def screen(playground: Playground) -> AsyncIterator[Screen]:
    async with browsing(playground.url) as screen:
        yield screen
        assert screen.complaints == []


@pytest.mark.usefixtures("bot")
async def test_a_person_decides_a_whole_batch(screen, client):
    """Given a card, when each of its actions is decided in another way, then the agent does exactly that."""

    async def tell(_: str) -> None:
        return

    agent = asyncio.create_task(work(client, tell, requested_by="U0NOOR"))
    # A message in its thread names the tool as well.
    card = screen.card("refund_customer").first
    await expect(card).to_contain_text(ASKS)
    await leave_with_the_keyboard(screen, card)

    await screen.press(card, "review:0")
    await screen.press(screen.modal, "approve:1")
    await expect(card).to_contain_text("3 of 4 open")

    await screen.press(screen.modal, "edit:0")
    amount = screen.modal.get_by_label("refund → amount")
    await amount.fill("1299")
    await screen.submit()
    await expect(screen.modal.locator("[data-error-for]")).to_have_text("Must be 250 or less.")
    await expect(amount).to_have_value("1299")
    await amount.fill("64.95")
    await screen.submit()
    await expect(screen.modal).to_contain_text("129.9 → 64.95")
    await submit_and_leave(screen)
    await expect(card).to_contain_text("Approved with changes by @Dana")

    await screen.act_as("Mira")
    await screen.press(card, "review:0")
    await screen.press(screen.modal, "reject:2")
    await screen.modal.get_by_role("textbox", name="Reason").fill(REASON)
    await submit_and_leave(screen)
    # Until the card shows it, a press is of a button that is about to go.
    await expect(card).to_contain_text("Rejected by @Mira")
    await screen.press(card, "respond:3")
    await screen.modal.get_by_label("Your answer").fill(ANSWER)
    await screen.submit()
    await expect(card).to_contain_text(DONE)

    rest = screen.card("close_ticket").first
    await screen.press(rest, "approve_all:0")
    await screen.confirm()
    done = await agent
    assert done.ran == EXPECTED.ran
    assert done.answers == EXPECTED.answers
    await expect(rest.first).to_contain_text("Approved by Mira: send_email, close_ticket, done")


async def leave_with_the_keyboard(screen: Screen, card: Locator) -> None:
    """Open a form without the mouse, change something, and leave with Escape: nothing is decided."""
    button = card.locator('[data-action-id="review:0"]')
    edit = screen.modal.locator('[data-action-id="edit:0"]')
    for opens in (button, edit):
        await opens.focus()
        await screen.page.keyboard.press("Enter")
    await screen.modal.get_by_label("refund → amount").fill("1")

    await screen.page.keyboard.press("Escape")
    await expect(edit).to_be_visible()
    await screen.page.keyboard.press("Escape")
    await expect(screen.modal).to_be_hidden()
    await expect(button).to_be_focused()
    await expect(card).to_contain_text(ASKS)


async def submit_and_leave(screen: Screen) -> None:
    """Submit a form, and close the review below it."""
    await screen.submit()
    await expect(screen.modal.get_by_test_id("modal-submit")).to_be_hidden()
    await screen.page.keyboard.press("Escape")
    await expect(screen.modal).to_be_hidden()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.nightly), 400])
async def test_the_demo_opens_with_one_payment_that_is_decided_without_scrolling(width):
    """Given one sentence and a green button in sight, when somebody changes the amount, then the guide closes and a batch follows."""
    async with on_stage(hint=HINT) as stage:
        showing = asyncio.create_task(serve(stage, lambda _: None))
        async with browsing(stage.url, width=width, height=800) as screen:
            guide, card = screen.page.get_by_test_id("guide"), screen.card("129.9").first
            await expect(card.locator(".button.primary")).to_be_in_viewport(ratio=1)
            await expect(guide.locator("summary")).to_have_text(HINT)
            assert await guide.evaluate("guide => guide.open") == (width == 1280)
            await expect(screen.page.locator("#inspector")).to_be_hidden()
            assert await width_of(screen) <= width

            await screen.press(card, "edit:0")
            await expect(screen.page.get_by_test_id("modal-submit")).to_be_in_viewport()
            assert await width_of(screen) <= width
            await screen.modal.get_by_label("refund → amount").fill("64.95")
            await screen.submit()
            await screen.submit()

            await expect(screen.card("restart_service").first.get_by_role("button").first).to_be_attached()
            await expect(guide).not_to_have_attribute("open", "")
            await expect(guide.locator("summary")).to_have_text("How to decide")
            assert screen.complaints == []
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)


async def width_of(screen: Screen) -> int:
    """How wide the content is, of the page and of the form upon it."""
    return int(
        await screen.page.evaluate(
            "Math.max(...[document.documentElement, ...document.querySelectorAll('dialog[open]')].map("
            "(shown) => shown.scrollWidth))"
        )
    )
