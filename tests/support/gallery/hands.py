"""A person who decides in the way of the gallery: presses the leading button, and goes through what it opens."""

from collections.abc import Mapping
from typing import Any

from tests.support.people import Someone

Json = dict[str, Any]
AT_ONCE = {"approve", "approve_all"}
"""Buttons that open no form."""


class Hands(Someone):
    """Decides on cards as they are drawn."""

    async def press(self, card: Json, button: str) -> Json:
        """Press a button, with no form open."""
        await self.close_all()
        return await super().press(card, button)

    async def close_all(self) -> None:
        """Close every form."""
        for view in (await self.slack.views(self.user))[-1:]:
            await self.slack.close_view(self.user, view["id"], clear=True)

    async def approve(self, card: Json) -> None:
        """Press the leading button."""
        button = leading(card)
        assert button.partition(":")[0] in AT_ONCE
        await self.press(card, button)

    async def edit(self, card: Json, changes: Mapping[str, str]) -> None:
        """Change these arguments of the first call, and approve that."""
        view = await self.opened(card, "edit:0")
        answer = await self.fill(view, **changes)
        assert answer["result"] != "errors", answer

    async def reject(self, card: Json, reason: str) -> None:
        """Reject the only call."""
        await self.fill(await self.opened(card, "reject:0"), Reason=reason)


def leading(card: Json) -> str:
    """Give the green button of a card."""
    elements = [found for block in card["blocks"] for found in block.get("elements") or ()]
    return str(next(found for found in elements if found.get("style") == "primary")["action_id"])
