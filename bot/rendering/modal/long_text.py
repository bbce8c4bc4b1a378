"""A text that is too long for one input, in parts. Pure."""

import re

from bot.text.literal import head, units

PART = 2_500
"""The most characters of a part. An input takes 3,000, so there is room to write more."""

_SPACES = re.compile(r"\s+")


def parts_of(text: str) -> list[tuple[str, str]]:
    """Cut a text at ends of lines, else at spaces. Each part comes with the spaces after it, which no input holds.

    So Slack, which may trim what is typed, cannot join two words or two lines.
    """
    found = []
    while units(text) > PART:
        start, end = _end_of_part(text)
        found.append((text[:start], text[start:end]))
        text = text[end:]
    return [*found, (text, "")]


def _end_of_part(text: str) -> tuple[int, int]:
    """Give where the first part ends, and where the next one begins."""
    # A row of marks that is longer than a part is cut.
    part = head(text, PART) or text[: PART // 2]
    spaces = [found for found in _SPACES.finditer(part) if found.start() > 0]
    lines = [found for found in spaces if "\n" in found[0] and found.start() > PART // 2]
    if not spaces:
        return len(part), len(part)
    start = (lines or spaces)[-1].start()
    after = _SPACES.match(text, start)
    return start, after.end() if after else start
