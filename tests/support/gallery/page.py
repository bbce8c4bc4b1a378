"""docs/gallery.md: the figures in a table, then the pictures. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from tests.support.gallery.situations import SITUATIONS, Situation
from tests.support.gallery.stage import WIDTHS, Figures

HEAD = """\
# Gallery

What people see, and what it costs them. `make pictures` asks all of this through the real bot, has people decide, and measures. Slack draws the same blocks in its own style. [Cards](reference/cards.md) has the rules behind them.

A tap is a press of a button, a choice, or a form that is sent. Typing is not a tap. *Messages* and *edits* count what the bot sends until the agent goes on. Heights are in pixels, in a window of 400. A cell is empty where nothing was measured, or where the card offers no such decision.

"""
COLUMNS = (
    "Situation", "Height at 400", "Messages", "Edits", "Taps to approve", "to edit", "to reject", "to reject one",
)  # fmt: skip


def gallery_page(figures: Mapping[str, Figures], shown: Sequence[Situation] = SITUATIONS) -> str:
    """Write the page about these situations."""
    rows = [_row(situation, figures[situation.name]) for situation in shown]
    table = [COLUMNS, ("---", *("---:" for _ in COLUMNS[1:])), *rows]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
    return f"{HEAD}{lines}\n\n" + "\n".join(_section(situation) for situation in shown)


def _row(situation: Situation, found: Figures) -> Sequence[str]:
    taps = (found.taps.get(way) for way in ("approve", "edit", "reject", "reject one"))
    counts: Iterable[int | None] = (
        found.heights[400], found.messages, found.edits, *taps,
    )  # fmt: skip
    link = f"[{situation.title}](#{anchor(situation.title)})"
    return (link, *("" if count is None else str(count) for count in counts))


def anchor(title: str) -> str:
    """Give the address of a heading, as GitHub and the site make it."""
    kept = "".join(char for char in title.lower() if char.isalnum() or char in " -")
    return kept.replace(" ", "-")


def _section(situation: Situation) -> str:
    pictures = [f"![At {width} pixels](images/gallery/{picture(situation.name, width)})" for width in WIDTHS]
    return f"## {situation.title}\n\n" + "\n\n".join(pictures) + "\n"


def picture(name: str, width: int) -> str:
    """Name the picture of a situation."""
    return f"{name}-{width}.png"
