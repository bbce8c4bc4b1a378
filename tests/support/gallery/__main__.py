"""`make pictures`: docs/gallery.md with its pictures, made anew."""

import asyncio
import io
import sys
from pathlib import Path

from PIL import Image

from tests.support.gallery.page import WIDTHS, gallery_page, picture
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import on_stage

DOCS = Path(__file__).parents[3] / "docs"
PICTURES = DOCS / "images" / "gallery"
COLOURS = 64


def small(png: bytes) -> Image.Image:
    """Give a picture with few colours, which takes a third of the room."""
    with Image.open(io.BytesIO(png)) as found:
        return found.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT)


async def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()
    async with on_stage(*WIDTHS) as stage:
        for situation in SITUATIONS:
            print(situation.name, file=sys.stderr)
            for width, taken in (await stage.pictures(situation)).items():
                small(taken).save(PICTURES / picture(situation.name, width), optimize=True)
    (DOCS / "gallery.md").write_text(gallery_page(), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
