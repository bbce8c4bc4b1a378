"""What the bot writes in and beside the text of others: what is left out, what an edit changed, and what misleads."""


# --- Left out -----------------------------------------------------------------------------------------------------------

DOTS = "••••"
MASKED = f"{DOTS} (masked)"
OTHER_SPELLING = "(Not shown: it contains a masked value in another spelling.)"
TOO_MANY_MASKED = "(Not shown: there are too many masked values to look for all of them in this text.)"


def masked(fingerprint: str) -> str:
    """Replace a masked value. Equal values have equal fingerprints."""
    return f"{DOTS} (masked, fingerprint {fingerprint})"


def in_reading(size: str) -> str:
    """Replace a value that only a reading shows."""
    return f"({size}, open to see)"


LEFT_OUT = "(left out)"
"""Replaces an argument that most calls of a batch have, and this one has not."""
BELOW = "(below)"
"""Replaces a value in a row that cannot hold it, and that is shown below the rows."""


def characters(count: int) -> str:
    """Say how long a text is."""
    return f"{count:,} characters"


def more_characters(count: int) -> str:
    """End a text that is cut."""
    return f"… {count:,} more characters"


MORE = "… (more)"
"""Ends a text that is cut where the sentence below says how much there is."""


def spaces(count: int) -> str:
    """Replace many spaces."""
    return f"{count} spaces"


def blank_lines(count: int) -> str:
    """Replace many blank lines."""
    return f"{count} blank lines"


# --- Arguments and their changes ----------------------------------------------------------------------------------------

NO_ARGUMENTS = "(no arguments)"
SAME_WORD = "same word:"
"""Begins a line that goes on in the middle of a word."""
ADDED, REMOVED, BECOMES = "(added)", "(removed)", "→"
"""Beside a value that an edit changed, on the line of a decided call."""


def not_on_line(count: int) -> str:
    """Count the arguments that the line of a call leaves out."""
    return f"+{count}"


HIDDEN_VALUE = "(hidden)"
"""Replaces a value in a title that nobody is shown there."""


def counted(more: int, hidden: int, unexpected: int) -> list[str]:
    """Count beside a subject what it does not name: other arguments, hidden ones, and those that the schema does not have."""
    counts = {"more": more, "hidden": hidden, "unexpected": unexpected}
    return [f"+{count} {word}" for word, count in counts.items() if count > 0]


ONLY_ORDER = "(only the order of the arguments changed)"


def added(path: str) -> str:
    """Say that an edit added what is at this path."""
    return f"{path}: added"


def removed(path: str) -> str:
    """Say that an edit removed what was at this path."""
    return f"{path}: removed"


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


def misread(word: str) -> str:
    """Name a word that reads as another one."""
    return f'"{word}" has letters of several alphabets'


def as_computers_read(host: str, read: str) -> str:
    """Say how computers read a domain name."""
    return f"{host} is really {read}"
