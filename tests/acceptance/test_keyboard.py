"""All of it by keyboard alone: a newcomer's path, an approver's path, and where the focus is meanwhile."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from playground.demo.agent import work
from playground.demo.tour import ANSWER, EXPECTED, REASON
from tests.support.browser import CHROMIUM
from tests.support.builders import an_action
from tests.support.faults import asking
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
