"""All of it by keyboard alone: a newcomer's path, an approver's path, and where the focus is meanwhile."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from bot.domain.bulk import posted_calls
from playground.demo.agent import work
from playground.demo.tour import ANSWER, EXPECTED, REASON
from tests.support.browser import CHROMIUM
from tests.support.builders import an_action
from tests.support.faults import asking, eventually
from tests.support.keyboard import at_the_keyboard
from tests.support.lanes import require
from tests.support.people import Someone

pytestmark = pytest.mark.nightly

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK, U0MIRA], reject_reasons: [wrong recipient, too much]}
rules:
  - {match: {tool: pay_invoice}, confirm: true}
  - {match: {tool: drop_database}, risk: high, type: name}
"""
REFUND = {"amount": 64.95, "customer": "Ada Park"}


@pytest.fixture(autouse=True)
def _browser():
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")


@pytest.fixture
async def bot(start_bot, policy):
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
async def dana(playground):
    async with at_the_keyboard(playground.url) as keyboard:
        yield keyboard


async def asked(client, *actions):
    interrupt = client.interrupt(asking(*actions))
    await client.publish(interrupt)
    return interrupt.id


def control(card, action_id):
    return card.locator(f'[data-action-id="{action_id}"]')


@pytest.mark.timeout(240)
async def test_a_newcomer_decides_the_batch_of_the_demo(start_bot, client, dana):
    """As the page says: read, approve, edit, answer; as somebody else, reject; then see that it ran."""

    async def tell(_: str) -> None:
        return

    await start_bot()
    working = asyncio.create_task(work(client, tell, requested_by="U0NOOR"))
    modal, card = dana.screen.modal, dana.screen.card("refund_customer").first
    await expect(card).to_contain_text("wants to run")

    await dana.press(dana.page.get_by_role("link", name="Skip to messages"))
    await dana.press(control(card, "approve:1"))
    await expect(card).to_contain_text("3 of 4 open")
    await dana.expect_in(card)

    await dana.press(control(card, "edit:0"))
    amount = modal.get_by_label("refund → amount")
    await dana.type(amount, "1299")
    await dana.submit()
    await expect(modal.locator("[data-error-for]")).to_have_text("Must be 250 or less.")
    await expect(amount).to_be_focused()
    await dana.type(amount, "64.95")
    await dana.submit()
    await expect(modal).to_contain_text("129.9 -> 64.95")
    await dana.submit()
    await expect(modal).to_be_hidden()
    await dana.expect_in(card)

    await dana.press(control(card, "respond:3"))
    await dana.type(modal.get_by_label("Answer"), ANSWER)
    await dana.submit()
    await expect(modal).to_be_hidden()
    await dana.act_as("Mira")
    await expect(dana.page).to_have_url(re.compile("as=U0MIRA"))
    await dana.press(control(card, "reject:2"))
    await dana.type(modal.get_by_role("textbox", name="Reason"), REASON)
    await dana.submit()
    await expect(card).to_contain_text(", done")

    rest = dana.screen.card("close_ticket").first
    await dana.press(control(rest, "approve_all:0"))
    await dana.agree()
    done = await working
    assert done.ran == EXPECTED.ran
    await expect(rest).to_contain_text("Approved by Mira: 2 tools, done")
    await dana.expect_in(rest)


async def test_an_approver_decides_each_kind_of_card(bot, client, dana):
    """One press; a question; a value to type; a preset to reject; a change with before and after; a choice in the menu."""
    modal = dana.screen.modal

    async def next_card(tool, args):
        await asked(client, an_action(tool, args, allowed=("approve", "edit", "reject")))
        card = dana.screen.card(f"wants to run {tool}")
        await expect(card).to_be_visible()
        return card, dana.page.locator(f'[data-ts="{await card.get_attribute("data-ts")}"]')

    asking_card, card = await next_card("restart", {"service": "billing"})
    await dana.press(control(asking_card, "approve:0"), "Space")
    await expect(card).to_contain_text("Approved by Dana")
    await dana.expect_in(card)

    asking_card, card = await next_card("pay_invoice", {"amount": 900, "to": "ACME"})
    await dana.press(control(asking_card, "approve:0"))
    await expect(dana.page.get_by_test_id("confirm-deny")).to_be_focused()
    await dana.key("Escape")
    await expect(control(asking_card, "approve:0")).to_be_focused()
    await dana.press(control(asking_card, "approve:0"))
    await dana.agree()
    await expect(card).to_contain_text("Approved by Dana")
    await dana.expect_in(card)

    asking_card, card = await next_card("drop_database", {"name": "invoices_2019"})
    await dana.press(control(asking_card, "confirm:0"))
    await expect(modal.locator("h2")).to_be_focused()
    await dana.type(modal.get_by_role("textbox", name="Type"), "invoices_2019")
    await dana.submit()
    await expect(card).to_contain_text("Approved by Dana")

    asking_card, card = await next_card("refund", REFUND)
    await dana.press(control(asking_card, "reject:0"))
    await dana.to(modal.get_by_role("combobox", name="Reason"))
    await dana.key("ArrowDown", "ArrowDown")
    await dana.submit()
    await expect(card).to_contain_text("too much")

    asking_card, card = await next_card("refund", REFUND)
    await dana.press(control(asking_card, "edit:0"))
    await dana.type(modal.get_by_label("amount"), "49.95")
    await dana.submit()
    await expect(modal).to_contain_text("64.95 -> 49.95")
    await dana.submit()
    await expect(card).to_contain_text("Changed by Dana")

    asking_card, card = await next_card("refund", REFUND)
    await dana.choose(asking_card, "Approve with a note")
    await dana.type(modal.get_by_role("textbox"), "The photos show it.")
    await dana.submit()
    await expect(card).to_contain_text("The photos show it.")
    await dana.expect_in(card)


async def test_an_approver_reads_a_review_to_its_end(bot, client, dana):
    """Each page begins at its top, with its title, and the last one approves."""
    long = "new colleague " * 30
    interrupt_id = await asked(
        client,
        *(an_action("create_user", {"email": f"u{n}@example.com", "note": f"{long}{n}"}) for n in range(24)),
    )

    async def is_posted() -> bool:
        # A review leads through what is posted by then, and eight parts take a while.
        state = await bot.store.admitted(interrupt_id)
        return state is not None and len(posted_calls(state, 0)) == 24

    await eventually(is_posted)
    card, modal = dana.screen.card("create_user").first, dana.screen.modal
    await dana.press(control(card, "review:0"))
    await expect(modal).to_be_visible()
    pages = 1
    while not await modal.get_by_test_id("modal-submit").count():
        shown = await modal.inner_text()
        await dana.press(modal.get_by_role("button", name="Next"))
        await expect(modal).not_to_have_text(shown, use_inner_text=True)
        await expect(modal.locator("h2")).to_be_focused()
        assert await modal.locator("[data-scroll]").evaluate("body => body.scrollTop") == 0
        pages += 1
    await dana.submit()

    await expect(modal).to_be_hidden()
    await expect(card).to_contain_text("Approved by Dana")
    assert pages > 1
    await dana.expect_in(card)


async def test_an_approver_decides_from_the_home_tab(bot, client, dana):
    """The review shows the call; afterwards the keyboard goes on in the tab."""
    await asked(client, an_action("refund", REFUND))
    # The tab lists what waits when it is opened.
    await expect(dana.screen.card("refund")).to_be_visible()
    await dana.press(dana.page.locator('[data-channel="home"]'))
    await expect(dana.page.locator('[data-channel="home"]')).to_be_focused()
    home = dana.page.get_by_test_id("home")
    await dana.press(home.get_by_role("button", name="Look and decide…"))
    await expect(dana.screen.modal).to_contain_text("Ada Park")
    await dana.press(control(dana.screen.modal, "approve:0"))
    await expect(dana.screen.modal).to_contain_text("Approved by")
    await dana.key("Escape")

    await expect(dana.screen.modal).to_be_hidden()
    await expect(home.get_by_role("button", name="Look and decide…")).to_have_count(0)
    await dana.expect_in(home)


async def test_a_redrawn_card_keeps_the_focus_on_the_same_control(bot, client, slack, dana):
    """Erik decides another call of the card meanwhile; a reader is told that it has changed."""
    await asked(client, an_action("refund", REFUND), an_action("restart", {"service": "billing"}))
    card = dana.screen.card("wants to run 2 tools")
    await dana.to(control(card, "approve:1"))

    erik = Someone(slack, "U0ERIK")
    await erik.press(await erik.card("2 tools"), "approve:0")

    await expect(card).to_contain_text("1 of 2 open")
    await expect(control(card, "approve:1")).to_be_focused()
    await expect(dana.page.locator("#announcer")).to_contain_text("This message has changed: billing")


async def test_a_button_that_would_approve_something_else_now_loses_the_focus_to_its_card(
    bot, client, slack, dana
):
    """Given *Approve all* under the fingers, when its calls are others by now, then Enter asks and decides nothing."""
    tools = ("refund", "restart", "close_ticket")
    await asked(client, *(an_action(tool, REFUND) for tool in tools))
    card = dana.screen.card("wants to run 3 tools")
    await dana.to(control(card, "approve_all:0"))

    erik = Someone(slack, "U0ERIK")
    await erik.press(await erik.card("3 tools"), "approve:0")

    await expect(card).to_contain_text("2 of 3 open")
    await expect(card).to_be_focused()
    await dana.key("Enter")
    await expect(dana.page.locator(".confirm")).to_have_count(0)
    await expect(card).to_contain_text("2 of 3 open")


async def test_a_row_of_the_home_tab_that_became_another_request_loses_the_focus_to_the_tab(
    bot, client, slack, dana
):
    """Given the button of the first row under the fingers, when the rows move up, then Enter opens no form."""
    for customer in ("Ada Park", "Bo Lind"):
        await asked(client, an_action("refund", {"customer": customer}))
        await expect(dana.screen.card(customer)).to_be_visible()
    await dana.press(dana.page.locator('[data-channel="home"]'))
    home = dana.page.get_by_test_id("home")
    look = home.get_by_role("button", name="Look and decide…")
    await expect(look).to_have_count(2)
    await dana.to(look.first)

    erik = Someone(slack, "U0ERIK")
    await erik.press(await erik.card("Ada Park"), "approve:0")
    await erik.card("Approved by Erik")
    await slack.event({"type": "app_home_opened", "user": "U0DANA", "tab": "home"})

    await expect(look).to_have_count(1)
    await expect(home).to_be_focused()


async def test_a_key_that_is_held_down_sends_no_form(bot, client, slack, dana):
    """Enter opens the form of an edit; what the key goes on saying there is not a decision."""
    await asked(client, an_action("refund", REFUND, allowed=("approve", "edit")))
    card, amount = dana.screen.card("wants to run refund"), dana.screen.modal.get_by_label("amount")
    await dana.to(control(card, "edit:0"))
    await dana.page.keyboard.down("Enter")
    await expect(amount).to_be_visible()
    await dana.to(amount)

    await dana.page.keyboard.down("Enter")
    await dana.page.keyboard.up("Enter")
    await dana.key("Escape")

    await expect(dana.screen.modal).to_be_hidden()
    await expect(control(card, "edit:0")).to_be_focused()
    assert await slack.deliveries("view_submission") == []


async def test_what_scrolls_to_a_card_takes_the_keyboard_along(bot, client, dana):
    """The guide leads to the newest card, and the next stop is in it."""
    for number in range(3):
        await asked(client, an_action("refund", {"order": number}))
        await expect(dana.screen.card(f"order: {number}")).to_be_visible()

    await dana.press(dana.page.get_by_role("button", name="Go to the newest"))

    await expect(dana.screen.card("order: 2")).to_be_focused()
    await dana.key("Tab")
    await dana.expect_in(dana.screen.card("order: 2"))


async def test_a_menu_that_acts_is_opened_by_arrows_and_acts_once(bot, client, slack, dana):
    """The filters of the Home tab: on the way to a choice, those before it are not chosen."""
    for tool in ("refund", "restart", "close_ticket"):
        await asked(client, an_action(tool, REFUND))
        await expect(dana.screen.card(f"wants to run {tool}")).to_be_visible()
    await dana.press(dana.page.locator('[data-channel="home"]'))
    tools = dana.page.get_by_test_id("home").locator("select", has_text="restart")
    await expect(tools).to_have_count(1)
    await dana.to(tools)
    before = len(await slack.deliveries("block_actions"))

    await dana.key("ArrowDown", "ArrowDown", "ArrowDown", "Enter")

    await expect(tools).to_be_focused()
    await expect(tools).not_to_have_value("")
    assert len(await slack.deliveries("block_actions")) == before + 1


async def test_an_open_form_keeps_the_keyboard_in_both_directions(bot, client, dana):
    """No stop is behind it, however often somebody goes on or back; Escape leads back to the button."""
    await asked(client, an_action("refund", REFUND, allowed=("edit",)))
    card, modal = dana.screen.card("wants to run refund"), dana.screen.modal
    await dana.press(control(card, "edit:0"))
    first, last = (
        modal.get_by_role("button", name="Close", exact=True),
        dana.page.get_by_test_id("modal-submit"),
    )

    for _ in range(2):
        await dana.to(last)
        await dana.to(first)
        await dana.to(last, by="Shift+Tab")
        await dana.to(first, by="Shift+Tab")
    await dana.key("Escape")

    await expect(control(card, "edit:0")).to_be_focused()
