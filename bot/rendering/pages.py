"""Everything that an action says, as lines and divided into pages, and how many pages have to be read."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, groupby

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
    description = [("description", text_lines(action.description))] if action.description else []
    return [("arguments", argument_lines(action.shown())), *description]


def pages_of(action: Action) -> list[Sections]:
    """Divide what an action says into pages: as many as have to be read, where a number of them was fixed."""
    lines = [(name, line) for name, lines in sections(action) for line in lines]
    sizes = [units(line) + 1 for _, line in lines]
    pages: list[list[_Line]] = [[]]
    room = PAGE_SIZE
    for line, size in zip(lines, sizes, strict=True):
        if size > room and pages[-1]:
            pages.append([])
            room = PAGE_SIZE
        pages[-1].append(line)
        room -= size
    if action.must_read and len(pages) != action.pages:
        # A version with another size of pages has fixed it: they have about the same size.
        pages = [[] for _ in range(action.pages)]
        for line, size, end in zip(lines, sizes, accumulate(sizes), strict=True):
            pages[(end - size) * action.pages // sum(sizes)].append(line)
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
