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
from tests.support.builders import an_action, review
from tests.support.faults import asking
from tests.support.lanes import require

DONE = ", done"


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


async def test_the_page_opens_at_the_first_card_and_says_how_to_decide_and_what_is_next(playground, agent):
    """A newcomer sees the guide and the top of the card; when all is decided, the guide names the next steps."""
    async with browsing(playground.url, height=500) as early:
        await expect(early.card("refund_customer")).to_be_visible()
    async with browsing(playground.url, height=500) as screen:
        guide, card = screen.page.get_by_test_id("guide"), screen.card("refund_customer")
        await expect(guide).to_contain_text("Read what will run.")
        await expect(card.get_by_text("wants to run")).to_be_in_viewport()

        await screen.press(card, "approve_all:0")
        await screen.confirm()
        await screen.press(card, "respond:3")
        await screen.modal.get_by_label("Answer").fill(ANSWER)
        await screen.submit()
        await screen.press(screen.card("close_ticket"), "approve_all:0")
        await screen.confirm()

        await expect(guide).to_contain_text("Run an agent of your own.")
        await expect(guide).to_contain_text("Connect your workspace.")


async def test_with_several_open_cards_the_guide_says_how_many_and_leads_to_the_newest(
    playground, start_bot, client
):
    """Given cards that nobody decided before, then the one that was asked last is a click away."""
    await start_bot()
    asked = [review(client) for _ in range(4)]
    async with browsing(playground.url, height=500) as screen:
        guide = screen.page.get_by_test_id("guide")
        await expect(guide).to_contain_text("4 cards wait here.", timeout=20_000)
        await screen.page.reload()
        last = screen.page.locator("[data-testid=timeline] [data-ts]").last
        approve = last.locator('[data-action-id="approve:0"]')
        await expect(approve).not_to_be_in_viewport()

        await guide.get_by_text("Go to the newest").click()

        await expect(approve).to_be_in_viewport()
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)


async def test_somebody_who_may_not_decide_reads_so_on_the_page(screen):
    """Only the person who pressed sees the reason, and the action stays open."""
    card = screen.card("refund_customer")
    await screen.act_as("Noor")

    await screen.press(card, "approve:0")

    word = screen.card("You are not an approver of this")
    await expect(word).to_be_visible()
    await expect(card).to_contain_text("wants to run")
    await screen.act_as("Dana")
    await expect(word).to_be_hidden()


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


async def test_a_batch_is_read_on_a_phone_without_scrolling(playground, start_bot, client):
    """Five refunds take about half of the screen, twenty-four users no more than the screen; decided, they are short."""
    await start_bot()
    customers = ["Ada Park", "Bo Lind", "Cy Marsh", "Di Noor", "Ed Stone"]
    refunds = [{"customer": name, "amount": 64.95, "currency": "EUR"} for name in customers]
    users = [{"email": f"user{n}@example.com", "team": "north"} for n in range(24)]
    for tool, calls in (("refund_customer", refunds), ("create_user", users)):
        await client.publish(client.interrupt(asking(*(an_action(tool, args) for args in calls))))

    async with browsing(playground.url, width=400, height=844) as screen:
        for tool, most in (("refund_customer", 480), ("create_user", 844)):
            card = screen.card(tool)
            await expect(card).to_contain_text("Approve all")
            assert (await card.bounding_box())["height"] <= most
        refunds_card = screen.card("refund_customer")
        await screen.press(refunds_card, "approve_all:0")
        await screen.confirm()
        await expect(refunds_card).not_to_contain_text("Approve all")
        assert (await refunds_card.bounding_box())["height"] <= 280
