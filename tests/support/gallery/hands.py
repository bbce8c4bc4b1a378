"""A person who decides, and counts the taps that it takes: buttons, choices, questions and forms. Typing is no tap."""

from collections.abc import Mapping
from typing import Any

from tests.support.people import Someone, block_of, buttons, has_input, in_menu, words

Json = dict[str, Any]
AT_ONCE = {"approve", "approve_all"}
"""Buttons that open no form."""


class Hands(Someone):
    """Decides on cards as they are drawn: presses the leading button, and goes through what it opens."""

    taps = 0

    async def press(self, card: Json, button: str) -> Json:
        """Press a button. A menu is opened first, and a question that Slack asks is answered."""
        await self.close_all()
        self.taps += 2 if in_menu(card, button) else 1 + _asks(card, button)
        return await super().press(card, button)

    async def submit(self, view: Json, **typed: Any) -> Json:
        """Send a form."""
        self.taps += 1
        return await super().submit(view, **typed)

    async def close_all(self) -> None:
        """Close every form."""
        for view in (await self.slack.views(self.user))[-1:]:
            await self.slack.close_view(self.user, view["id"], clear=True)

    async def press_in(self, view: Json, button: str) -> Json:
        """Press a button of a form."""
        self.taps += 2 if in_menu(view, button) else 1
        return await super().press_in(view, button)

    async def approve(self, card: Json, types: Mapping[str, str]) -> None:
        """Press the leading button, read and type what it asks for, and agree."""
        button = leading(card)
        await self.press(card, button)
        if button.partition(":")[0] not in AT_ONCE:
            await self._go_through(await self.slack.wait_for_view(self.user), types)

    async def edit(self, card: Json, changes: Mapping[str, str]) -> None:
        """Change these arguments of the first call, and approve that."""
        view = await self.opened(card, "edit:0")
        answer = await self.fill(view, **changes)
        assert answer["result"] != "errors", answer

    async def reject(self, card: Json, reason: str = "") -> None:
        """Reject all calls, or the only one."""
        view = await self.opened(card, "reject_all:0" if "reject_all:0" in buttons(card) else "reject:0")
        await self.fill(view, **({"Reason": reason} if reason else {}))

    async def reject_one(self, card: Json) -> None:
        """Reject the first of several calls."""
        await self.fill(await self.opened(card, "reject:0"))

    async def ask_for_changes(self, card: Json, what: str) -> None:
        """Reject the first call with words for the model."""
        form = await self.opened(card, "changes:0")
        await self.submit(form, What=what)

    async def read(self, view: Json) -> Json:
        """Turn the pages to the last one."""
        while (turn := _next_page(view)) is not None:
            self.taps += 1
            await self.slack.click_view(self.user, view["id"], turn)
            before = view["private_metadata"]
            view = await self.slack.wait_for_view(
                self.user, lambda found, before=before: found["private_metadata"] != before
            )
        return view

    async def _go_through(self, view: Json, types: Mapping[str, str]) -> None:
        view = await self.read(view)
        if finish := [name for name in buttons(view) if name.startswith("finish:")]:
            await self.press_in(view, finish[0])
            return
        named = {name: value for name, value in types.items() if has_input(view, name)}
        typed = {block_of(view, name): value for name, value in named.items()}
        self.taps += 1
        answer = await self.slack.submit(self.user, view["id"], typed)
        assert answer["result"] != "errors", answer


def leading(card: Json) -> str:
    """Give the green button of a card; where none is green, the first of the first call."""
    offered = [
        found for block in card["blocks"] for found in block.get("elements") or () if "action_id" in found
    ]
    assert offered, "the card has no button"
    green = [found for found in offered if found.get("style") == "primary"]
    return str([*green, *offered][0]["action_id"])


def _asks(card: Json, button: str) -> bool:
    return any(
        element.get("action_id") == button and "confirm" in element
        for block in card["blocks"]
        for element in block.get("elements") or ()
    )


def _next_page(view: Json) -> str | None:
    """Give the button that turns to the next page of a reading."""
    here = words(view["blocks"]).partition("Page ")[2].split()[:3]
    if len(here) < 3 or here[0] == here[2].rstrip(":."):
        return None
    ahead = {f"page:{int(here[0]) + 1}", f"turn:0.{int(here[0]) + 1}"}
    return next(name for name in buttons(view) if name in ahead)
