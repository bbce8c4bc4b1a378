"""What the buttons say. Slack takes 75 characters."""

from collections.abc import Mapping

LABELS: Mapping[str, str] = {
    "approve": "Approve",
    "confirm": "Approve…",
    "approve_note": "Approve with a note…",
    "sticky": "Approve from now on…",
    "for_run": "Approve for this run…",
    "agree": "Look and agree…",
    "edit": "Edit",
    "reject": "Reject",
    "changes": "Ask for changes…",
    "respond": "Answer",
    "read": "Read all",
    "more": "More…",
    "page": "Next",
    "form": "Back",
    "approve_all": "Approve all",
    "review": "Review…",
    "turn": "Next",
    "reject_all": "Reject all",
    "claim": "I am looking at this",
    "hand_over": "Hand over…",
    "extend": "Extend",
    "revoke": "Revoke",
}
"""Each by the name that the button has in Slack's ids."""
AS_ASKED: Mapping[str, str] = {"approve": "Approve unchanged", "confirm": "Approve unchanged…"}
"""While somebody proposes something else."""
READ_AND_DECIDE = "Read and decide…"
ONE_BY_ONE = "One by one…"
"""Opens a review where Approve all is green."""
