"""The head of the audit log: a message that shows later whether somebody cut the log or wrote it anew."""


def title(lines: int) -> str:
    """Say in a header and a notification what the message is."""
    return f"Head of the audit log: {lines:,} lines"
