"""What the bot writes in and beside the text of others: what is left out, what an edit changed, and what misleads."""


# --- Left out -----------------------------------------------------------------------------------------------------------

DOTS = "••••"
MASKED = f"{DOTS} (masked)"
KEPT_OFF = "(Not shown, because a rule keeps values of this request off the card.)"
TOO_MANY_MASKED = "(Not shown: there are too many masked values to look for all of them in this text.)"
in_reading = "({}, open to see)".format
"""Replace a value that only a reading shows."""
characters = "{:,} characters".format
more_characters = "… {:,} more characters".format
blank_lines = "{} blank lines".format


def spaces(count: int) -> str:
    return f"{count} space" + "s" * (count > 1)


def masked(fingerprint: str) -> str:
    """Replace a masked value. Equal values have equal fingerprints."""
    return f"{DOTS} (masked, fingerprint {fingerprint})"


LEFT_OUT = "(left out)"
"""Replaces an argument that most calls of a batch have, and this one has not."""
BELOW = "(below)"
"""Replaces a value in a row that cannot hold it, and that is shown below the rows."""

MORE = "… (more)"
"""Ends a text that is cut where the sentence below says how much there is."""


# --- Arguments and their changes ----------------------------------------------------------------------------------------

NO_ARGUMENTS = "(no arguments)"
SAME_WORD = "same word:"
"""Begins a line that goes on in the middle of a word."""
ADDED, REMOVED, BECOMES = "(added)", "(removed)", "→"
"""Beside a value that an edit changed, on the line of a decided call."""

not_on_line = "+{}".format
"""Count the arguments that the line of a call leaves out."""
HIDDEN_VALUE = "(hidden)"
"""Replaces a value in a title that nobody is shown there."""
added = "{}: added".format
removed = "{}: removed".format


def counted(more: int, hidden: int, unexpected: int) -> list[str]:
    """Count beside a subject what it does not name: other arguments, hidden ones, and those that the schema does not have."""
    counts = {"more": more, "hidden": hidden, "unexpected": unexpected}
    return [f"+{count} {word}" for word, count in counts.items() if count > 0]


ONLY_ORDER = "(only the order of the arguments changed)"


# --- Not what it looks like ---------------------------------------------------------------------------------------------

HIDDEN = "⚠️ *Hidden characters*, written here as `\\u{…}`. Other programs do not show them, and may show the rest in another order."
HIDDEN_IN_JSON = "⚠️ *Hidden characters*, written here as `\\u` and four digits. Other programs do not show them, and may show the rest in another order."
DECOMPOSED = (
    "Some letters look the same as usual and are stored in another way. "
    "They have a `\\+` after them, or are written as `\\u{…}`."
)
DECOMPOSED_IN_JSON = (
    "Some letters look the same as usual and are stored in another way. "
    "Their marks are written in JSON as `\\u` and four digits."
)
MISREAD = "⚠️ *Possible fake.* Some letters only look like ordinary ones:"
DOMAINS = "What computers read as the domain name:"
MISLEADS = "Look again: some of this is not what it seems to be."
misread = '"{}" has letters of several alphabets'.format
as_computers_read = "{} is really {}".format
