"""What decisions say to the model of an agent, beside the words that people typed."""

changes = (
    "The call was not run. The reviewer asks for changes: make them, and call the tool again. "
    "The new call will be reviewed. The reviewer wrote:\n{}"
).format
"""Say to a model that a person wants another call than this one, and what it is to do."""


# --- Why silence does not approve a call, after the sentence that nobody decided in time --------------------------------

CARD_GONE = "Silence does not approve it: its card was no longer in Slack at the deadline."
NOBODY_LEFT = "Silence does not approve it: nobody was left at the deadline who could have rejected it."
SHOWN_TOO_SHORT = "Silence does not approve it: the card was not shown long enough."
MISSED = (
    "Silence does not approve it: somebody pressed a button or sent a form, and it could not be recorded."
)
NOT_LOOKED = (
    "Silence does not approve it: at the deadline Slack did not say whether people could still object."
)
UNWATCHED = "Silence does not approve it: for some time no bot was running that could take an answer."
WAS_REFUSED = "Silence does not approve it: somebody refused it, and their answer is no longer in Redis."
NOT_BY_RULES = "Silence does not approve it: the rules that hold now do not say so."
NOT_SIGNED = "Silence does not approve it: at the deadline the signing key of the bot was not valid."
