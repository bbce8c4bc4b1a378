"""What the buttons say. Slack takes 75 characters."""

from collections.abc import Mapping

LABELS: Mapping[str, str] = {
    "approve": "Freigeben",
    "confirm": "Freigeben…",
    "approve_note": "Mit Notiz freigeben…",
    "sticky": "Künftig ohne Rückfrage freigeben…",
    "for_run": "Für diesen Lauf freigeben…",
    "approve_always": "Für diesen Lauf freigeben",
    "agree": "Ansehen und zustimmen…",
    "edit": "Bearbeiten",
    "reject": "Ablehnen",
    "changes": "Änderungen anfordern…",
    "send_changes": "Als Änderungswunsch senden",
    "respond": "Antworten",
    "read": "Alles lesen",
    "more": "Mehr…",
    "page": "Weiter",
    "form": "Zurück",
    "approve_all": "Alle freigeben",
    "review": "Prüfen…",
    "turn": "Weiter",
    "reject_all": "Alle ablehnen",
    "claim": "Ich sehe es mir an",
    "hand_over": "Übergeben…",
    "extend": "Verlängern",
    "revoke": "Widerrufen",
}
"""Each by the name that the button has in Slack's ids."""
AS_ASKED: Mapping[str, str] = {"approve": "Unverändert freigeben", "confirm": "Unverändert freigeben…"}
"""While somebody proposes something else."""
READ_AND_DECIDE = "Lesen und entscheiden…"
ONE_BY_ONE = "Einzeln prüfen…"
"""Opens a review where Approve all is green."""
