"""What the Home tab says, and what `/approvals` shows: a person's lists."""

from collections.abc import Mapping

TITLE = "Approvals"
LOOKING = "Looking…"
NOT_NOW = "Slack or Redis did not answer, so nothing is shown. Please open this again."

LISTS: Mapping[str, str] = {
    "waiting": "Waiting for me",
    "asked": "My requests",
    "decided": "My decisions",
    "standing": "Standing approvals",
}
EMPTY: Mapping[str, str] = {
    "waiting": "Nothing waits for you here.",
    "asked": "No agent has asked for anything for you in the last 30 days.",
    "decided": "You have decided nothing in the last 30 days.",
    "standing": "There are no standing approvals that you can revoke.",
}
LAST_PAGE = "There is nothing more on this page."
FURTHER = "Next page"
FROM_START = "First page"
given_in = "Given in {}.".format
until, approved_at = "until {}".format, "*approved at {} if nobody decides*".format
"""Each with a time."""


def waiting(count: int, first: str, *, is_first: bool, has_more: bool) -> str:
    """Say how many lines wait on a page, and until when the first of them does, in the words of `until`."""
    number = f"{'More than ' if has_more else ''}{count}{'' if is_first else ' more'}"
    if count == 1 and not has_more:
        return f"*{number} waits for you, {first}*"
    return f"*{number} wait for you, the first {first}*"
