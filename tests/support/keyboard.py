"""A person at the playground's page who has a keyboard only: Tab, arrows, Enter, Space and Escape, as real key events."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Locator, expect

from tests.support.browser import Screen, browsing

_MOST = 400
"""More stops than any page of a test has."""
_WATCH = """
window.pointed = [];
for (const kind of ["pointerdown", "mousedown", "touchstart"])
  addEventListener(kind, ({ target }) => window.pointed.push(kind + " on " + target.outerHTML.slice(0, 80)), true);
"""
_LOST = """() => {
  const here = document.activeElement;
  if (here === document.body) return "";
  const { outlineStyle, outlineWidth } = getComputedStyle(here.closest(".composer") ?? here);
  const seen = here.matches(":focus-visible") && outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  const behind = document.querySelector("dialog[open]") && !here.closest("dialog[open]");
  return seen && !behind ? "" : here.outerHTML.slice(0, 120);
}"""


class Keyboard:
    """Somebody's hands on the keys. Each stop shows the focus, and none is behind an open form."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.page = screen.page

    async def key(self, *names: str) -> None:
        """Press keys."""
        for name in names:
            await self.page.keyboard.press(name)

    async def to(self, wanted: Locator, *, by: str = "Tab") -> None:
        """Go on, stop by stop, until this has the focus."""
        await wanted.wait_for(state="attached")
        for _ in range(_MOST):
            if await has_focus(wanted):
                return
            await self.key(by)
            lost = await self.page.evaluate(_LOST)
            assert not lost, f"the focus is not seen, or behind a form: {lost}"
        raise AssertionError(f"{wanted} is not reached by {by}")

    async def press(self, wanted: Locator, key: str = "Enter") -> None:
        """Go to this, and press it."""
        await self.to(wanted)
        await self.key(key)

    async def choose(self, card: Locator, name: str) -> None:
        """Open the menu of a card, and go down to a choice."""
        await self.press(card.get_by_role("button", name="More actions"))
        await self.to(card.get_by_role("menuitem", name=name), by="ArrowDown")
        await self.key("Enter")

    async def type(self, wanted: Locator, text: str) -> None:
        """Write this in the place of what is there."""
        await self.to(wanted)
        await self.key("ControlOrMeta+a")
        await self.page.keyboard.type(text)

    async def submit(self) -> None:
        """Send the form that is open."""
        await self.press(self.page.get_by_test_id("modal-submit"))

    async def agree(self) -> None:
        """Say yes to the question that a button asks."""
        await self.press(self.page.get_by_test_id("confirm-accept"))

    async def act_as(self, name: str) -> None:
        """Be somebody else."""
        await self.to(self.page.get_by_test_id("act-as"))
        await self.page.keyboard.type(name)

    async def expect_in(self, owner: Locator) -> None:
        """Wait until the focus is on this, or on something in it."""
        await expect(owner.locator("xpath=descendant-or-self::*").locator(":scope:focus")).to_have_count(1)


async def has_focus(wanted: Locator) -> bool:
    """Tell whether this has the focus now."""
    return bool(await wanted.evaluate_all("found => found.includes(document.activeElement)"))


@asynccontextmanager
async def at_the_keyboard(url: str) -> AsyncIterator[Keyboard]:
    """Open the page, and see that nothing of it is pointed at."""
    async with browsing(url) as screen:
        await screen.page.evaluate(_WATCH)
        yield Keyboard(screen)
        assert await screen.page.evaluate("window.pointed") == []
        assert screen.complaints == []
