"""The anchor of the audit log: a message that shows later whether somebody rewrote the log."""

from bot.sentences.de import grouped

KEEP = "Um zu prüfen, dass seitdem niemand das Protokoll umgeschrieben hat, speichere diese Zeilen in einer Datei, und nenne sie hinter `--against`."


def title(logs: int, entries: int) -> str:
    """Say what is anchored."""
    of_logs = "" if logs == 1 else f" in {logs} Protokollen"
    return (
        f"Anker des Audit-Protokolls: {grouped(entries)} {'Eintrag' if entries == 1 else 'Einträge'}{of_logs}"
    )
