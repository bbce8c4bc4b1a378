"""What `/approvals rules` shows: the standing approvals that the person can revoke."""

TITLE = "Standing approvals"
EMPTY = "There are no standing approvals that you can revoke."


def more(count: int) -> str:
    """Say how many are left out."""
    return f"{count} more are not shown: revoke some of these first."


def given_in(place: str) -> str:
    """Say where a standing approval was given."""
    return f"Given in {place}."
