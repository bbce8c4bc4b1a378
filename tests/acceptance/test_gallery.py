"""The gallery of real situations: cards are short on a phone, and the page shows all of it."""

import pytest

from tests.support.browser import CHROMIUM, LIBERATION
from tests.support.gallery.page import gallery_page
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import on_stage
from tests.support.lanes import require
from tests.support.pages import page
from tests.support.signing import unsigned

pytestmark = pytest.mark.nightly

WIDER = """(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("time { letter-spacing: 0.3px }");
    document.adoptedStyleSheets.push(sheet);
})()"""


def _require_a_screen():
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")
    require(
        "Liberation fonts", LIBERATION, "heights are measured in them; Debian has them as fonts-liberation"
    )


@unsigned
@pytest.mark.timeout(600)
async def test_cards_are_short_on_a_phone():
    """Each situation that has a target keeps it, drawn in a window of 400 pixels and decided by people."""
    _require_a_screen()
    missed = {}
    async with on_stage(400) as stage:
        # At some times of the day, the digits of a clock are wider.
        await stage.screens[400].page.add_init_script(WIDER)
        await stage.screens[400].page.reload()
        for situation in (found for found in SITUATIONS if found.most):
            _, card = await stage.shown(situation)
            height = await stage.height(400, card)
            if height > situation.most:
                missed[situation.name] = height

    assert missed == {}


def test_the_page_shows_every_situation():
    """Otherwise: make pictures."""
    assert page("docs/gallery.md") == gallery_page()
