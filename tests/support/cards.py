"""The card of a record in memory: what `commit` writes, without Redis."""

from collections.abc import Mapping

from bot.domain.transitions import Change, Line, Stamp, Text


def written(card: Mapping[str, str], change: Change, at: int) -> dict[str, str]:
    """Give the fields of a card after a change at this time."""
    after = {name: text for name, text in card.items() if name not in change.removed}
    return after | {name: _written(card.get(name), text, at) for name, text in change.fields.items()}


def _written(before: str | None, text: Text, at: int) -> str:
    match text:
        case Stamp(rest, later):
            return f"{at + later}{rest}"
        case Line(line):
            said = _written(None, line, at)
            return said if before is None else f"{before}\n{said}"
        case _:
            return text
