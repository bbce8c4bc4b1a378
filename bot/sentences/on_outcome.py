"""What a card and its thread say about calls that ran."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.words import calls, when

IN_THREAD = "Results in the thread."
_NAMED = 40
_STATUS = {"done": "Done", "failed": "Failed"}
all_done = "{0} of {0} done".format
first_line = " (the first of {} lines)".format
beginning = " (the agent sent the first {:,} of {:,} characters)".format
more = "and {} more. The title of the card counts all of them.".format


def became(news: str, called: str, alarm: str) -> str:
    """Say what became of the calls, call those who approved them, and say what to do."""
    what = f"{called}, what you approved{'' if news == 'failed' else ':'}"
    said = f"{what} *{news}*." if called else f"*{news[:1].upper()}{news[1:]}*."
    return f"{said} {alarm}".rstrip()


def ran(status: str, at: datetime, number: int) -> str:
    return f"{f'{number}. ' if number else ''}*{_STATUS[status]}* {when(at)}"


def failed(indices: Sequence[int]) -> str:
    which = calls(indices)
    named = which if len(which) <= _NAMED else f"{len(indices)} calls"
    return f"{named.capitalize()} failed{f', here is {indices[0] + 1}' if len(indices) > 1 else ''}"


def says(which: str, cut: str) -> str:
    """Say above the agent's words which call they are about, and what is cut; nothing where neither has to be said."""
    return f"{which or 'Result'}{cut}:" if which or cut else ""
