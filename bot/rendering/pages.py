"""Everything that an action says, as lines and divided into pages, and how many pages have to be read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from agent_adapter.contract.interrupt import Interrupt
from bot.domain.action import Action
from bot.domain.admission import Terms
from bot.domain.votes import Proposal, Written
from bot.rendering.arguments import argument_lines, text_lines
from bot.rendering.calls import asked, is_too_long
from bot.text.literal import units

PAGE_SIZE = 20_000
"""Units of text on one page of a reading."""

Sections = list[tuple[str, list[str]]]
"""Lines, each with what they are: arguments or description."""
_Line = tuple[str, str]


def sections(action: Action) -> Sections:
    """Write arguments and description as lines."""
    sections = [("arguments", argument_lines(action.shown()))]
    if action.description:
        sections.append(("description", text_lines(action.description)))
    return sections


def pages_of(action: Action) -> list[Sections]:
    """Divide what an action says into pages: as many as have to be read, where a number of them was fixed."""
    lines = [(name, line) for name, lines in sections(action) for line in lines]
    pages = list(_full(lines))
    if action.must_read and len(pages) != action.pages:
        # A version with another size of pages has fixed it.
        pages = _even(lines, action.pages)
    by_name = [groupby(page, lambda pair: pair[0]) for page in pages]
    return [[(name, [line for _, line in found]) for name, found in groups] for groups in by_name]


def measure(interrupt: Interrupt, terms: Sequence[Terms]) -> tuple[Action, ...]:
    """Give the actions as they were asked, with how many pages of each have to be read."""
    return tuple(measured(action) for action in asked(interrupt, terms, [0] * len(terms)))


def measured(action: Action) -> Action:
    """Fix how many pages of an action have to be read, by the sizes of this version."""
    must_read = is_too_long(action) or action.named(action.terms.modal_only)
    return replace(action, pages=len(pages_of(replace(action, pages=0))) if must_read else 0)


def measured_proposal(proposal: Proposal, action: Action) -> Proposal:
    """Fix how many pages of a proposed call have to be read, by the sizes of this version."""
    call = replace(action, stricter=proposal).proposed
    return proposal.model_copy(update={"pages": measured(call).pages})


def call_written(action: Action, found: Written) -> Action:
    """Give the call as an edit that somebody wrote would run it, with how many pages of it have to be read."""
    call = action.as_written(found)
    if not found.is_vote:
        return call
    pages = measured(call).pages
    # A call that has to be read is also read after an edit, however short that made it.
    pages = max(pages, min(action.pages, 1))
    # What is noted about a reading says how many pages there were: the size of pages may change with a version.
    return replace(call, pages=pages, fingerprint=f"{found.fingerprint}/{pages}")


def _full(lines: list[_Line]) -> Iterator[list[_Line]]:
    """Put on each page as much as there is room for."""
    page: list[_Line] = []
    size = 0
    for line in lines:
        size += _size(line)
        if page and size > PAGE_SIZE:
            yield page
            page, size = [], _size(line)
        page.append(line)
    yield page


def _even(lines: list[_Line], count: int) -> list[list[_Line]]:
    """Divide lines into so many pages of about the same size."""
    pages: list[list[_Line]] = [[] for _ in range(count)]
    total, before = sum(map(_size, lines)), 0
    for line in lines:
        pages[before * count // total].append(line)
        before += _size(line)
    return pages


def _size(line: _Line) -> int:
    return units(line[1]) + 1
