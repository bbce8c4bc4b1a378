"""docs/gallery.md: the pictures, each below what it shows. Pure."""

from collections.abc import Sequence

from tests.support.gallery.situations import SITUATIONS, Situation

WIDTHS = (1280, 400)
HEAD = """\
# Gallery

What people see. `make pictures` asks all of this through the real bot, and has people decide. Slack draws the same blocks in its own style. [Cards](reference/cards.md) has the rules behind them.

"""


def gallery_page(shown: Sequence[Situation] = SITUATIONS) -> str:
    """Write the page about these situations."""
    return HEAD + "\n".join(map(_section, shown))


def _section(situation: Situation) -> str:
    pictures = [f"![At {width} pixels](images/gallery/{picture(situation.name, width)})" for width in WIDTHS]
    return f"## {situation.title}\n\n" + "\n\n".join(pictures) + "\n"


def picture(name: str, width: int) -> str:
    """Name the picture of a situation."""
    return f"{name}-{width}.png"
