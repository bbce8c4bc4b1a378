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
AGREE_TO_ANSWER = "Agree to the answer…"
AS_ASKED = {"approve": "Approve as asked", "confirm": "Approve as asked…"}
"""While somebody proposes a change or an answer."""
OPEN = "Open…"
"""Opens what is still to be decided; what is decided has Details."""


def all_labels() -> list[str]:
    return [*LABELS.values(), OTHER_ANSWER, OPEN, "Agree", "Confirm"]
