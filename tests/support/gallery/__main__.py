"""`make pictures`: docs/gallery.md with its pictures, and the moving picture of the README, made anew."""

import asyncio
import sys
from pathlib import Path

from tests.support.gallery.film import film, form, small
from tests.support.gallery.page import WIDTHS, gallery_page, picture
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import on_stage

DOCS = Path(__file__).parents[3] / "docs"
PICTURES = DOCS / "images" / "gallery"


async def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()
    async with on_stage(*WIDTHS) as stage:
        await film(stage, stage.screens[400], DOCS / "images" / "approval.gif")
        await form(stage, stage.screens[1280], DOCS / "images" / "edit.png")
        for situation in SITUATIONS:
            print(situation.name, file=sys.stderr)
            for width, taken in (await stage.pictures(situation)).items():
                small(taken).save(PICTURES / picture(situation.name, width), optimize=True)
    (DOCS / "gallery.md").write_text(gallery_page(), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
