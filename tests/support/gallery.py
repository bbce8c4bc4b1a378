"""`python -m tests.support.gallery`: the pictures of docs/reference/gallery.md, taken anew."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from agent_adapter import ActionRequest, ApprovalClient, Context, HITLRequest, Interrupt, ReviewConfig
from bot.app import running
from playground import Playground
from playground.client import Control
from playground.redis_server import private_redis
from tests.conftest import settings_for, until
from tests.support.browser import Screen, browsing
from tests.support.people import Someone, words

IMAGES = Path(__file__).parents[2] / "docs" / "images" / "gallery"
REFUND = {
    "type": "object",
    "properties": {
        "customer": {"type": "string"},
        "amount": {"type": "number", "maximum": 250, "description": "At most 250"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "note": {"type": "string"},
    },
    "required": ["customer", "amount", "currency"],
}
POLICY = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK, U0MIRA]
  requester: required
agents: {billing: {requester: agent}}
rules:
  - name: payments
    match: {tool: pay}
    quorum: 2
    risk: high
  - name: accounts
    match: {tool: create_account}
    mask: [password]
  - name: searches
    match: {tool: search_orders}
    standing: {same: arguments, lasts: 1h, uses: 10}
"""


class Gallery:
    """Asks, as an agent would, and takes pictures of what appears."""

    def __init__(self, approvals: ApprovalClient, slack: Control, screen: Screen) -> None:
        self.approvals = approvals
        self.screen = screen
        self.dana, self.erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")

    async def ask(
        self, tool: str, args: dict[str, Any], *, allowed: Sequence[str] = ("approve", "edit", "reject"),
        schema: dict[str, Any] | None = None, expires_in: timedelta = timedelta(hours=1), title: str = "",
    ) -> tuple[Interrupt, Locator]:  # fmt: skip
        """Ask about one call, and give its question and its card."""
        request = HITLRequest(
            action_requests=(ActionRequest(name=tool, args=args),),
            review_configs=(
                ReviewConfig(action_name=tool, allowed_decisions=tuple(allowed), args_schema=schema),
            ),
        )
        context = Context(requested_by="U0NOOR", title=title or None)
        interrupt = self.approvals.interrupt(request, expires_in=expires_in, context=context)
        await self.approvals.publish(interrupt)
        card = self.screen.card(tool)
        await expect(card).to_be_visible()
        return interrupt, card

    async def save(self, name: str, shown: Locator) -> None:
        """Take a picture."""
        await self.screen.page.mouse.move(0, 0)
        await shown.screenshot(path=IMAGES / f"{name}.png", animations="disabled", caret="hide")

    async def take(self) -> None:
        """Take all of them, each of a question of its own."""
        await self._one_call()
        await self._two_people()
        await self._masked()
        await self._question()
        await self._standing()
        await self._nobody()

    async def _one_call(self) -> None:
        refund = {"customer": "Ada Park", "amount": 49.9, "currency": "EUR", "note": "Charged twice"}
        interrupt, card = await self.ask("refund_customer", refund, schema=REFUND, title="Order 4711")
        await self.save("open", card)
        await self.screen.press(card, "edit:0")
        await self.screen.modal.get_by_label("amount").fill("1299")
        await self.screen.submit()
        await expect(self.screen.modal.locator("[data-error-for]")).to_be_visible()
        await self.save("edit", self.screen.modal)
        await self.screen.modal.get_by_label("amount").fill("25")
        await self.screen.submit()
        await expect(self.screen.modal).to_contain_text("->")
        await self.save("edit-check", self.screen.modal)
        await self.screen.submit()
        await expect(card).to_contain_text("@Dana")
        async with self.approvals.resuming(interrupt.id):
            pass
        await expect(card).to_contain_text("resumed")
        await self.save("resumed", card)

    async def _two_people(self) -> None:
        _, card = await self.ask("pay", {"to": "Northwind Ltd", "amount": 18_400, "currency": "EUR"}, allowed=("approve", "reject"))  # fmt: skip
        seen = await self.erik.card("pay")
        code = words(seen["blocks"]).partition("to approve, type *")[2][:4]
        await self.erik.fill(await self.erik.opened(seen, "confirm:0"), Code=code)
        await expect(card).to_contain_text("1 of 2")
        await self.save("two-people", card)

    async def _masked(self) -> None:
        _, card = await self.ask(
            "create_account", {"email": "ada@ex\u0430mple.com", "password": "correct horse"}
        )
        await self.save("masked", card)

    async def _question(self) -> None:
        _, card = await self.ask(
            "ask_person", {"question": "May the voucher be 20 EUR?"}, allowed=("respond",)
        )
        await self.screen.press(card, "respond:0")
        await expect(self.screen.modal).to_be_visible()
        await self.save("question", self.screen.modal)
        await self.screen.page.keyboard.press("Escape")

    async def _standing(self) -> None:
        _, card = await self.ask("search_orders", {"customer": "Ada Park", "year": 2026})
        await self.save("standing", card)

    async def _nobody(self) -> None:
        _, card = await self.ask("close_ticket", {"ticket": 88123}, expires_in=timedelta(seconds=2))
        await expect(card).to_contain_text("Expired")
        await self.save("expired", card)


@asynccontextmanager
async def opened() -> AsyncIterator[Gallery]:
    """Start a stand-in, a bot with a policy of its own, and a browser."""
    with private_redis() as redis_url, tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        policy.write(POLICY)
        policy.flush()
        async with Playground(limits=False) as playground, Control(playground.url) as slack:
            settings = settings_for(playground, redis_url, approvers=(), channel=None, policy=policy.name)
            async with (
                running(settings) as bot,
                ApprovalClient.from_url(redis_url, agent="billing") as approvals,
                browsing(playground.url, width=1100, height=1200) as screen,
            ):
                await until(lambda: bot.health.ready)
                yield Gallery(approvals, slack, screen)


async def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with opened() as gallery:
        await gallery.take()


if __name__ == "__main__":
    asyncio.run(main())
