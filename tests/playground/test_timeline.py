"""Cards that come and change while somebody is about to press a button, in a real browser."""

import pytest
from playwright.async_api import expect

from tests.playground.builders import actions, button, option, plain, section
from tests.support.browser import CHROMIUM, browsing
from tests.support.lanes import require

MENU = {"type": "overflow", "action_id": "more", "options": [option(each) for each in "1234"]}
BUTTONS = actions(button(style="primary"), button("reject:0", text=plain("Reject")), MENU)


def card(name, lines=4):
    return {"channel": "C0APPROVALS", "text": name, "blocks": [section(name + "\nline" * lines), BUTTONS]}


@pytest.fixture(params=[(375, 812), (1280, 900)])
async def screen(request, playground, slack):
    """The page at its end, and no pointer on a button."""
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")
    for number in range(8):
        await slack.chat_postMessage(**card(f"Card {number}"))
    async with browsing(playground.url, width=request.param[0], height=request.param[1]) as screen:
        await screen.page.get_by_role("button", name="Go to the newest").click()
        yield screen


async def test_what_changes_and_comes_moves_no_button_under_a_pointer(screen, slack):
    """A card grows at the end, then another comes: a sign says so, and its reply is no card. All of a menu is in sight."""
    newest = screen.card("Card 7")
    ts, reject = await newest.get_attribute("data-ts"), newest.get_by_role("button", name="Reject")
    place = pytest.approx(await reject.bounding_box(), abs=1)
    for lines in (9, 14):
        await slack.chat_update(ts=ts, **card(f"Card 7, {lines}", lines))
        await expect(newest).to_contain_text(f", {lines}")
        assert await reject.bounding_box() == place
        await reject.hover()

    posted = await slack.chat_postMessage(**card("Card 8"))
    await slack.chat_postMessage(thread_ts=posted["ts"], **card("Part"))
    await expect(screen.card("Part")).to_be_attached()
    assert await reject.bounding_box() == place
    await expect(screen.page.locator("#waiting")).to_contain_text("9 cards wait here")
    await screen.page.get_by_role("button", name="New messages").click()
    await expect(screen.card("Card 8")).to_be_in_viewport(ratio=1)
    more = screen.card("Card 5").get_by_role("button", name="More actions")
    await more.evaluate("(button) => { button.style.scrollMargin = '3rem'; button.scrollIntoView(false); }")
    await more.click()
    await expect(screen.card("Card 5").get_by_role("menu")).to_be_in_viewport(ratio=1)
