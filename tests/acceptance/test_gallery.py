"""The gallery of real situations: cards are short on a phone, decisions take few taps, and the page shows all of it."""

import re

import pytest

from tests.support.browser import CHROMIUM, LIBERATION
from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import on_stage
from tests.support.lanes import require
from tests.support.pages import page
from tests.support.signing import unsigned

pytestmark = pytest.mark.nightly

DECIDED = [situation for situation in SITUATIONS if situation.is_decided]
WAYS = ("payment", "customer", "confirm", "refunds", "two-refunds", "four-tools", "proposed")
"""One field, more than eight, a question of the policy, batches, and a change that waits for a second person."""
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
async def test_cards_are_short_on_a_phone_and_decisions_take_few_taps():
    """Each situation that has a target keeps it, drawn in a window of 400 pixels and decided by people."""
    _require_a_screen()
    missed = {}
    async with on_stage(400) as stage:
        # At some times of the day, the digits of a clock are wider.
        await stage.screens[400].page.add_init_script(WIDER)
        await stage.screens[400].page.reload()
        for situation in (*(found for found in SITUATIONS if found.name in WAYS), *DECIDED):
            figures = await stage.figures(situation)
            too_tall = situation.most and figures.heights[400] > situation.most
            too_many = [way for way, most in situation.taps.items() if figures.taps[way] > most]
            if too_tall or too_many:
                missed[situation.name] = figures

    assert missed == {}


def rows():
    """Give the figures of the page, by situation."""
    lines = [
        line.strip("| ").split(" | ") for line in page("docs/gallery.md").splitlines() if line[:3] == "| ["
    ]
    return {re.match(r"\[(.*)\]", title)[1]: figures for title, *figures in lines}


def test_the_page_shows_every_situation_within_its_targets():
    """Otherwise: make pictures."""
    shown = rows()

    assert list(shown) == [situation.title for situation in SITUATIONS]
    for situation in SITUATIONS:
        height = int(shown[situation.title][0])
        assert height <= (situation.most or height), situation.title
