"""What the buttons say. Slack takes 75 characters."""

from collections.abc import Mapping

LABELS: Mapping[str, str] = {
    "approve": "Approve",
    "confirm": "Approve…",
    "approve_note": "Approve with a note…",
    "sticky": "Approve from now on…",
    "for_run": "Approve for this run…",
    "agree": "Agree to the change…",
    "edit": "Edit…",
    "reject": "Reject…",
    "changes": "Ask for changes…",
    "respond": "Answer…",
    "option": "Answer",
    "read": "Details",
    "finish": "I have read it",
    "page": "Next",
    "form": "Back",
    "approve_all": "Approve all…",
    "review": "Open…",
    "turn": "Next",
    "reject_all": "Reject all…",
    "claim": "I am looking at this",
    "hand_over": "Hand over…",
    "extend": "Extend",
    "revoke": "Revoke",
}
"""Each by the name that the button has in Slack's ids."""
OTHER_ANSWER = "Other answer…"
"""Beside the answers that a question offers."""
OPEN = "Open…"
"""Opens what is still to be decided; what is decided has Details."""


def beside_proposal(verb: str, old: str, new: str, *, answers: bool) -> str:
    """Label a button while somebody proposes a change or an answer: with the value that it approves, where just one changes."""
    named = {
        "agree": f"Agree to {new}…" if new else "Agree to the answer…" if answers else "",
        "approve": f"Approve {old or 'as asked'}",
        "confirm": f"Approve {old or 'as asked'}…",
    }
    return named.get(verb, "")


def all_labels() -> list[str]:
    return [*LABELS.values(), OTHER_ANSWER, OPEN, "Agree", "Confirm"]
