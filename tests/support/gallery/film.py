"""The moving picture of the README: ask, edit, approve, done. And the form of an edit."""

import io
from pathlib import Path

from PIL import Image
from playwright.async_api import expect

from agent_adapter import Outcome
from tests.support.browser import Screen
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import Question, Stage

WIDTH, HEIGHT = 400, 640
COLOURS = 64
_SECONDS = {"asked": 2.5, "form": 1.5, "typed": 2.0, "check": 2.5, "done": 3.5}


async def film(stage: Stage, screen: Screen, path: Path) -> None:
    """Have Dana change and approve a payment, and keep what her window shows."""
    payment = next(situation for situation in SITUATIONS if situation.name == "payment")
    await screen.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    await screen.page.get_by_test_id("guide").evaluate("guide => { guide.open = false }")
    frames = {}
    question = await stage.ask(payment)
    card = stage.seen(WIDTH, await question.card())
    await expect(card).to_be_visible()
    await card.scroll_into_view_if_needed()
    frames["asked"] = await _frame(screen)
    await screen.press(card, "edit:0")
    amount = screen.modal.get_by_label("amount")
    await expect(amount).to_be_visible()
    frames["form"] = await _frame(screen)
    await amount.fill("9800")
    frames["typed"] = await _frame(screen)
    await screen.submit()
    await expect(screen.modal).to_contain_text("→")
    frames["check"] = await _frame(screen)
    await screen.submit()
    await _report(question)
    await expect(card).to_contain_text(", done")
    frames["done"] = await _frame(screen)
    first, *others = frames.values()
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=[int(_SECONDS[name] * 1000) for name in frames],
        loop=0,
        optimize=True,
    )


async def form(stage: Stage, screen: Screen, path: Path) -> None:
    """Keep the form of an edit, with a value that the schema does not allow."""
    refund = next(situation for situation in SITUATIONS if situation.name == "refund")
    card = await (await stage.ask(refund)).card()
    await screen.press(stage.seen(1280, card), "edit:0")
    await screen.modal.get_by_label("amount").fill("1299")
    await screen.submit()
    await expect(screen.modal.locator("[data-error-for]")).to_be_visible()
    small(await screen.modal.screenshot(animations="disabled", caret="hide")).save(path, optimize=True)
    await screen.page.keyboard.press("Escape")


async def _report(question: Question) -> None:
    await question.run(Outcome.done("paid 9800.00 EUR as tr_88"))


async def _frame(screen: Screen) -> Image.Image:
    await screen.page.mouse.move(0, 0)
    return small(await screen.page.screenshot(animations="disabled", caret="hide"))


def small(png: bytes) -> Image.Image:
    """Give a picture with few colours, which takes a third of the room."""
    with Image.open(io.BytesIO(png)) as found:
        return found.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT)
