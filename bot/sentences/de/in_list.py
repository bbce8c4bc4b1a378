"""What `/approvals rules` shows: the standing approvals that the person can revoke."""

TITLE = "Dauerfreigaben"
EMPTY = "Es gibt keine Dauerfreigaben, die du widerrufen kannst."


def more(count: int) -> str:
    """Say how many are left out."""
    return f"Nicht gezeigt: noch {count}. Widerrufe zuerst einige von diesen."


def given_in(place: str) -> str:
    """Say where a standing approval was given."""
    return f"Erteilt in {place}."
