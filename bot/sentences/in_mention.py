"""What the author of a reply that mentions the app reads, and nobody else."""

NO_WORDS = (
    "Nothing was decided. To ask for changes, mention the app again and write beside it what has to change."
)
CHOOSE_ON_CARD = (
    "Nothing was decided, because several calls are open here. Press Reject at the call that you mean, "
    "write what has to change, and tick that the agent proposes it again."
)
TOO_LATE = (
    "Your reply was kept for a day. Nothing was recorded: mention the app again, or use the form of the card."
)
FILES = "Attached files are not sent."


def nothing_yet(*, has_files: bool) -> str:
    """Say that the reply has decided nothing, and what the button does."""
    asks = (
        "Your reply has decided nothing. If you send it as a change request, the call does not run, "
        "and the agent gets exactly these words:"
    )
    return f"{FILES} {asks}" if has_files else asks


def too_long(most: int) -> str:
    """Say that a reply is too long to be sent whole."""
    return f"Nothing was decided: a change request has at most {most:,} characters. Write a shorter one."
