"""`make pictures`: docs/gallery.md with its pictures, and the moving picture of the README, made anew."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.support.gallery.film import film, form, small
from tests.support.gallery.page import gallery_page, picture
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import WIDTHS, Stage, on_stage

DOCS = Path(__file__).parents[3] / "docs"
PICTURES = DOCS / "images" / "gallery"


async def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()
    figures = {}
    async with on_stage(*WIDTHS) as stage:
        await film(stage, stage.screens[400], DOCS / "images" / "approval.gif")
        await form(stage, stage.screens[1280], DOCS / "images" / "edit.png")
        await stage.screens[400].page.set_viewport_size({"width": 400, "height": 2800})
        for situation in SITUATIONS:
            card, figures[situation.name] = await stage.figures(situation)
            print(situation.name, figures[situation.name], file=sys.stderr)
            await _take(stage, situation.name, card)
    (DOCS / "gallery.md").write_text(gallery_page(figures), encoding="utf-8")


async def _take(stage: Stage, name: str, card: dict[str, Any]) -> None:
    for width, screen in stage.screens.items():
        await screen.page.mouse.move(0, 0)
        seen = stage.seen(width, card)
        small(await seen.screenshot(animations="disabled", caret="hide")).save(
            PICTURES / picture(name, width), optimize=True
        )


if __name__ == "__main__":
    asyncio.run(main())
