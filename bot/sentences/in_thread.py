"""What the thread of a card says: reminders, what people did, standing approvals with their uses, and calls that ran."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.words import and_more, calls, place_name, times, when

MOST_CALLED = 20
"""People and groups called in one message."""
in_every_run = "in every run of agent `{}`".format
earlier_uses = "{} earlier uses are not shown.".format


def reminder(about: str, called: Sequence[str]) -> str:
    return f"Still waiting: {about}.{f' Approvers: {_called(called)}.' if called else ''}"


def escalated(about: str, called: Sequence[str], also_in: str | None) -> str:
    return _asked_of_more(
        f"Nobody has decided {about} yet", f"{_called(called)} may decide now, too.", also_in
    )


def proposed(person: str, about: str, called: Sequence[str], also_in: str | None) -> str:
    may = f"{_called(called)} may agree." if called else ""
    return _asked_of_more(f"{person} proposes changes to {about}", may, also_in)


def _asked_of_more(says: str, may: str, also_in: str | None) -> str:
    where = f", so it is asked in {place_name(also_in)} as well." if also_in else f". {may}"
    return f"{says}{where}".rstrip()


def extended(person: str, about: str, until: datetime | None) -> str:
    return f"{person} moved the deadline of {about}{f' to {when(until)}' if until else ''}."


def handed_over(person: str, about: str, to: Sequence[str]) -> str:
    return f"{person} hands {about} over to {_called(to)}. Everybody who may decide still can."


def told(titles: Sequence[str], called: str, not_run: str) -> str:
    """Tell the requester how it ended, and that nothing ran, where that is known."""
    what = [
        *(f"*{title}*." for title in titles),
        *([f"{not_run[0].upper()}{not_run[1:]}."] if not_run else []),
    ]
    return " ".join(filter(None, [called, *what]))


def asked_by(agent: str, places: Sequence[str]) -> str:
    where = f" in {', '.join(places)}" if places else ""
    return f"Agent `{agent}` asked this on your behalf{where}."


def _called(mentions: Sequence[str]) -> str:
    return and_more(mentions, MOST_CALLED)


TOOL_BELOW = "the tool named below"
SAME_RUN = "in the same run"
_SAME = {"arguments": "with the same arguments", "tool": "with any arguments"}
_REASONS = {
    "time": "its time ran out",
    "uses": "it was used up",
    "went_back": "the server went back to an older state",
}
NOT_USED = "Not used yet."


def standing_given(person: str, tool: str, same: str, run: str, until: datetime, uses: int) -> str:
    """Say which later calls somebody approved: of the tool as code, in the runs of `SAME_RUN` or `in_every_run`."""
    return (
        f"{person} gave a standing approval for later calls of {tool}: {_SAME[same]}, {run}, "
        f"until {when(until)}, at most {times(uses)}."
    )


def used(count: int, most: int) -> str:
    return f"Used {count} of {most}." if count else NOT_USED


def ended(at: datetime, by: str, person: str) -> str:
    return f"*Ended* {when(at)}: {_REASONS.get(by) or f'revoked by {person}'}."


def use(number: int, at: datetime, requester: str) -> str:
    return f"{number}. {when(at)}" + (f", for {requester}" if requester else "")


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
