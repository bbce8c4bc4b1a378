"""The anchor of the audit log: a message that shows later whether somebody rewrote the log."""

KEEP = "To check that nobody rewrote the log since then, save these lines in a file, and name it after `--against`."


def title(logs: int, entries: int) -> str:
    """Say what is anchored."""
    of_logs = "" if logs == 1 else f" in {logs} logs"
    return f"Anchor of the audit log: {entries:,} {'entry' if entries == 1 else 'entries'}{of_logs}"
