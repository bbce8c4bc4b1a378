"""What the bot writes in and beside the text of others: what is left out, what an edit changed, and what misleads."""

from collections.abc import Sequence

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
    return f"({size}, see the reading)"


LEFT_OUT = "(left out)"
"""Replaces an argument that most calls of a batch have, and this one has not."""
BELOW = "(below)"
"""Replaces a value in a row that cannot hold it, and that is shown below the rows."""


def characters(count: int) -> str:
    """Say how long a text is."""
    return f"{count:,} characters"


def characters_of_json(count: int) -> str:
    """Say how long a value is."""
    return f"{count:,} characters of JSON"


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
    return f"+{count} more"


def more_calls(count: int) -> str:
    """Count the calls that a list leaves out."""
    return f"+{count} {'call' if count == 1 else 'calls'}"


ONLY_ORDER = "(only the order of the arguments changed)"


def added(path: str) -> str:
    """Say that an edit added what is at this path."""
    return f"{path}: added"


def removed(path: str) -> str:
    """Say that an edit removed what was at this path."""
    return f"{path}: removed"


# --- Not what it looks like ---------------------------------------------------------------------------------------------

TOOL, WORDS, ANSWER = "the tool's name", "the agent's words", "the answer"
"""Where a text is that is not an argument."""
HIDDEN = "⚠️ *Hidden characters, shown here as* `\\u{…}`. Elsewhere this looks different."
HIDDEN_IN_JSON = "⚠️ *Hidden characters, shown here as* `\\u` and four digits. Elsewhere this looks different."
DECOMPOSED = (
    "Some letters look the same as usual and are stored in another way. "
    "They have a `\\+` after them, or are written as `\\u{…}`."
)
DECOMPOSED_IN_JSON = (
    "Some letters look the same as usual and are stored in another way. "
    "Their marks are written in JSON as `\\u` and four digits."
)
MISREAD = "⚠️ *Possible fake*: some letters, signs or digits only look like ordinary ones."
DOMAINS = "Domain names below are written as computers read them."
ODD_LATIN = "odd Latin"


def the_name(of: str) -> str:
    """Name the name of an argument."""
    return f"the name {of}"


def found_in(places: Sequence[str], others: int, line: str) -> str:
    """Say where a word is, and what it is."""
    more = f" and {others} more" if others > 0 else ""
    return f"{', '.join(places)}{more}: {line}"


def more(count: int) -> str:
    """Say how many words are not named."""
    return f"and {count:,} more"


def only_looks_like(word: str, letters: str, reading: str) -> str:
    """Say that all letters of a word are of another alphabet than it seems."""
    return f'"{word}" is in {letters} letters, and only looks like {reading}'


def mixes(word: str, scripts: Sequence[str], letters: Sequence[str]) -> str:
    """Say that a word has letters of several alphabets, or an odd one, and which."""
    what = f"mixes {' and '.join(scripts)}" if len(scripts) > 1 else "has an odd letter"
    return f'"{word}" {what}: {", ".join(letters)}'


def looks_like(char: str, other: str) -> str:
    """Say which character one looks like: л (U+043B) looks like n."""
    return f"{char} (U+{ord(char):04X}) looks like {other}"


def is_of(char: str, script: str) -> str:
    """Say which alphabet a letter is from."""
    return f"{char} (U+{ord(char):04X}) is {script}"


def odd_sign(word: str, signs: Sequence[str]) -> str:
    """Say that a sign looks like another one, and which."""
    return f'"{word}" has an odd sign: {", ".join(signs)}'


def unusual_digits(number: str, kinds: Sequence[str], plain: str) -> str:
    """Say what a number in digits of other scripts means."""
    return f'"{number}" has {" and ".join(kinds)} digits, and means {plain}'


def as_computers_read(host: str, read: str) -> str:
    """Say how computers read a domain name."""
    return f"{host} is {read}"


def another_address(host: str, read: str) -> str:
    """Say which domain name one is that looks like another one."""
    return f'"{host}" is really {read}, another address'
