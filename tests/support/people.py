"""People in Slack: they see cards and private words, press buttons and fill in forms."""

import asyncio
import contextlib
from functools import partial
from typing import Any

from bot.sentences.in_answer import NOT_SAVED, WHO_ARE_YOU
from playground.client import Control

Json = dict[str, Any]

PRESSES, OPENS_WITHIN = 4, 8.0
"""How often a person presses for a form, and for how many seconds they wait each time."""


class Someone:
    """One person in the stand-in's workspace."""

    def __init__(self, slack: Control, user: str) -> None:
        self.slack = slack
        self.user = user

    async def card(self, saying: str = "", *, within: float = 30.0) -> Json:
        """Wait for the newest card that says this somewhere, or whose notification does."""
        return await self.slack.wait_for_message(
            lambda m: (
                bool(m.get("blocks"))
                and m["user"] == "U0BOT"
                and (saying in words(m["blocks"]) or saying in m["text"])
            ),
            as_user=self.user,
            within=within,
        )

    async def showing(self, button: str) -> Json:
        """Wait for the newest message with this button."""
        return await self.slack.wait_for_message(
            lambda m: m["user"] == "U0BOT" and button in buttons(m), as_user=self.user
        )

    async def press(self, card: Json, button: str) -> Json:
        """Press a button by its `action_id`, also in a menu; once more where a busy bot could not ask Slack in time who presses."""
        menu, choice = in_menu(card, button) or (button, None)
        pressed = partial(self.slack.click, self.user, card["channel"], card["ts"], menu, selected=choice)
        answer = await pressed()
        messages = await self.slack.messages(card["channel"], as_user=self.user)
        return await pressed() if [each["text"] for each in messages[-1:]] == [WHO_ARE_YOU] else answer

    async def press_in(self, view: Json, button: str) -> Json:
        """Press a button of a view by its `action_id`, also where it is a choice in a menu."""
        menu, choice = in_menu(view, button) or (button, None)
        return await self.slack.click_view(self.user, view["id"], menu, selected=choice)

    async def press_one(self, card: Json, button: str) -> None:
        """Press a button of one of several calls, which is in the review of their card. Close it when it says what came of it."""
        review = await self.opened(card, review_of(card))
        await self.press_in(review, button)
        await self.slack.wait_for_view(self.user, lambda view: view["hash"] != review["hash"])
        await self.slack.close_view(self.user, review["id"], clear=True)

    async def opened(self, card: Json, button: str) -> Json:
        """Press a button that opens a form, and wait for the form. Press again if none comes, as Slack opens none after 3 s.

        Where a card of several calls does not have the button, its review does, and the form opens on top of that.
        """
        if button not in buttons(card) and (review := review_of(card)):
            await self.press_in(await self.opened(card, review), button)
            return await self.view(depth=2)
        before = {view["id"] for view in await self.slack.views(self.user)}
        for _ in range(PRESSES):
            await self.press(card, button)
            with contextlib.suppress(TimeoutError):
                return await self.slack.wait_for_view(
                    self.user, lambda view: view["id"] not in before, within=OPENS_WITHIN
                )
        raise TimeoutError(f"No form opened for {self.user} with {button}, pressed {PRESSES} times.")

    async def view(self, saying: str = "", *, depth: int = 1) -> Json:
        """Wait for a view that says this, in front of as many as `depth` says less one."""
        async with asyncio.timeout(30):
            while True:
                stack = await self.slack.views(self.user)
                if len(stack) == depth and saying in words(stack[-1]["blocks"]):
                    return stack[-1]
                await asyncio.sleep(0.02)

    async def fill(self, view: Json, **typed: Any) -> Json:
        """Type into the inputs with these labels (spaces as `_`), and submit. Go through the last step of an edit, too."""
        here = {
            name: value
            for name, value in typed.items()
            if has_input(view, name) or view["callback_id"] != "edit"
        }
        answer = await self.submit(view, **here)
        if answer.get("result") == "update" and is_last_step(answer["views"][-1]):
            later = {name: value for name, value in typed.items() if name not in here}
            return await self.submit(answer["views"][-1], **later)
        assert len(here) == len(typed) or answer["result"] != "clear", f"{typed} has names without an input"
        return answer

    async def submit(self, view: Json, **typed: Any) -> Json:
        """Type into the inputs with these labels (spaces as `_`), and submit this one view.

        Submit it once more where a busy machine had no time for it: if Slack had no answer after 3 s, or the bot none of Redis.
        """
        values = {block_of(view, name): value for name, value in typed.items()}
        answer = await self.slack.submit(self.user, view["id"], values)
        errors = [answer["ack"].get("error", ""), *answer.get("errors", {}).values()]
        if NOT_SAVED in errors or any("no acknowledgement" in error for error in errors):
            answer = await self.slack.submit(self.user, view["id"], values)
        return answer

    async def close(self) -> None:
        """Close the form in front."""
        await self.slack.close_view(self.user, (await self.slack.views(self.user))[-1]["id"])

    async def notice(self, saying: str) -> str:
        """Wait for a word that only this person sees."""
        message = await self.slack.wait_for_message(
            lambda m: m.get("ephemeral_for") == self.user and saying in m["text"], as_user=self.user
        )
        return str(message["text"])


def review_of(card: Json) -> str:
    """Give the button of a card that leads through its calls, if it has one."""
    return next((name for name in buttons(card) if name.startswith("review:")), "")


def is_last_step(view: Json) -> bool:
    """Tell whether a view shows what was asked beside what would run."""
    return '"step":"check"' in view.get("private_metadata", "")


def has_input(view: Json, label: str) -> bool:
    """Tell whether a view has an input with this label."""
    try:
        return bool(block_of(view, label))
    except AssertionError:
        return False


def block_of(view: Json, label: str) -> str:
    wanted = label.replace("_", " ").lower()
    for block in view["blocks"]:
        if block["type"] == "input" and block["label"]["text"].replace("_", " ").lower().startswith(wanted):
            return str(block["block_id"])
    labels = [block["label"]["text"] for block in view["blocks"] if block["type"] == "input"]
    raise AssertionError(f"no input {label!r} among {labels}")


def words(blocks: Any) -> str:
    """Give every text of some blocks, in reading order."""
    if isinstance(blocks, str):
        return blocks
    if isinstance(blocks, dict):
        if str(blocks.get("type")).startswith("rich_text_"):
            return "".join(leaf["text"] for leaf in blocks["elements"])
        return "\n".join(
            filter(
                None, (words(v) for k, v in blocks.items() if k in {"text", "elements", "blocks", "label"})
            )
        )
    return "\n".join(filter(None, map(words, blocks))) if isinstance(blocks, list) else ""


def buttons(card: Json) -> list[str]:
    """Give the `action_id` of every button of a message or view, in sight or in a menu."""
    return [found for block in _actions(card) for element in block["elements"] for found in _ids(element)]


def in_menu(card: Json, button: str) -> tuple[str, str] | None:
    """Give the menu that has this button as a choice, and the value of the choice."""
    for block in _actions(card):
        for element in block["elements"]:
            for option in element.get("options", ()):
                if option["value"].partition(" ")[0] == button:
                    return element["action_id"], option["value"]
    return None


def _ids(element: Json) -> list[str]:
    if element["type"] != "overflow":
        return [element["action_id"]]
    return [option["value"].partition(" ")[0] for option in element["options"]]


def _actions(card: Json) -> list[Json]:
    blocks = card.get("blocks") or ()
    besides = [{"elements": [block["accessory"]]} if "accessory" in block else block for block in blocks]
    return [block for block in besides if block.get("type", "actions") == "actions"]
