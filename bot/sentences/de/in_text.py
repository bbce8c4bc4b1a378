"""What the bot writes in and beside the text of others: what is left out, what an edit changed, and what misleads."""

from collections.abc import Sequence

from bot.sentences.de import grouped

# --- Left out -----------------------------------------------------------------------------------------------------------

DOTS = "••••"
MASKED = f"{DOTS} (maskiert)"
OTHER_SPELLING = "(Nicht gezeigt: Ein maskierter Wert steht hier in anderer Schreibweise.)"
TOO_MANY_MASKED = "(Nicht gezeigt: Es gibt zu viele maskierte Werte, um in diesem Text nach allen zu suchen.)"


def masked(fingerprint: str) -> str:
    """Replace a masked value. Equal values have equal fingerprints."""
    return f"{DOTS} (maskiert, Fingerabdruck {fingerprint})"


def in_reading(size: str) -> str:
    """Replace a value that only a reading shows."""
    return f"({size}, siehe Leseansicht)"


LEFT_OUT = "(weggelassen)"
"""Replaces an argument that most calls of a batch have, and this one has not."""
BELOW = "(unten)"
"""Replaces a value in a row that cannot hold it, and that is shown below the rows."""


def characters(count: int) -> str:
    """Say how long a text is."""
    return f"{grouped(count)} Zeichen"


def characters_of_json(count: int) -> str:
    """Say how long a value is."""
    return f"{grouped(count)} Zeichen JSON"


def more_characters(count: int) -> str:
    """End a text that is cut."""
    return f"… noch {grouped(count)} Zeichen"


MORE = "… (mehr)"
"""Ends a text that is cut where the sentence below says how much there is."""


def spaces(count: int) -> str:
    """Replace many spaces."""
    return f"{count} Leerzeichen"


def blank_lines(count: int) -> str:
    """Replace many blank lines."""
    return f"{count} Leerzeilen"


# --- Arguments and their changes ----------------------------------------------------------------------------------------

NO_ARGUMENTS = "(keine Argumente)"
SAME_WORD = "selbes Wort:"
"""Begins a line that goes on in the middle of a word."""
ADDED, REMOVED, BECOMES = "(neu)", "(entfernt)", "→"
"""Beside a value that an edit changed, on the line of a decided call."""


def not_on_line(count: int) -> str:
    """Count the arguments that the line of a call leaves out."""
    return f"noch {count}"


def more_calls(count: int) -> str:
    """Count the calls that a list leaves out."""
    return f"+{count} {'Aufruf' if count == 1 else 'Aufrufe'}"


ONLY_ORDER = "(nur die Reihenfolge der Argumente ist anders)"


def added(path: str) -> str:
    """Say that an edit added what is at this path."""
    return f"{path}: neu"


def removed(path: str) -> str:
    """Say that an edit removed what was at this path."""
    return f"{path}: entfernt"


# --- Not what it looks like ---------------------------------------------------------------------------------------------

TOOL, WORDS, ANSWER = "Name des Tools", "Worte des Agenten", "Antwort"
"""Where a text is that is not an argument."""
HIDDEN = "⚠️ *Verborgene Zeichen, hier gezeigt als* `\\u{…}`. Anderswo sieht das anders aus."
HIDDEN_IN_JSON = (
    "⚠️ *Verborgene Zeichen, hier gezeigt als* `\\u` und vier Ziffern. Anderswo sieht das anders aus."
)
DECOMPOSED = (
    "Einige Buchstaben sehen aus wie sonst und sind anders gespeichert. "
    "Dahinter steht `\\+`, oder sie sind als `\\u{…}` geschrieben."
)
DECOMPOSED_IN_JSON = (
    "Einige Buchstaben sehen aus wie sonst und sind anders gespeichert. "
    "Ihre Zeichen sind in JSON als `\\u` und vier Ziffern geschrieben."
)
MISREAD = "⚠️ *Vielleicht gefälscht*: Einige Zeichen sehen nur so aus wie die üblichen."
DOMAINS = "Domainnamen stehen unten so, wie Computer sie lesen."
ODD_LATIN = "ungewöhnlich lateinisch"
_SCRIPTS = {
    "Latin": "lateinisch",
    "Cyrillic": "kyrillisch",
    "Greek": "griechisch",
    "Armenian": "armenisch",
    "Georgian": "georgisch",
    "Hebrew": "hebräisch",
    "Arabic": "arabisch",
    "Arabic-Indic": "arabisch-indisch",
    "Extended Arabic-Indic": "persisch",
    "Thai": "thailändisch",
    "Han": "chinesisch",
    "Mathematical": "mathematisch",
}
"""The usual scripts, by the names that callers give. Others keep their English name."""


def _of_script(name: str) -> str:
    return _SCRIPTS.get(name, name)


def the_name(of: str) -> str:
    """Name the name of an argument."""
    return f"der Name {of}"


def found_in(places: Sequence[str], others: int, line: str) -> str:
    """Say where a word is, and what it is."""
    more = f" und {others} weitere" if others > 0 else ""
    return f"{', '.join(places)}{more}: {line}"


def more(count: int) -> str:
    """Say how many words are not named."""
    return f"und {grouped(count)} weitere"


def only_looks_like(word: str, letters: str, reading: str) -> str:
    """Say that all letters of a word are of another alphabet than it seems."""
    return f"„{word}“ ist {_of_script(letters)} geschrieben und sieht nur aus wie {reading}"


def mixes(word: str, scripts: Sequence[str], letters: Sequence[str]) -> str:
    """Say that a word has letters of several alphabets, or an odd one, and which."""
    mixed = f"mischt Schriften ({', '.join(map(_of_script, scripts))})"
    what = mixed if len(scripts) > 1 else "hat einen ungewöhnlichen Buchstaben"
    return f"„{word}“ {what}: {', '.join(letters)}"


def looks_like(char: str, other: str) -> str:
    """Say which character one looks like: л (U+043B) sieht aus wie n."""
    return f"{char} (U+{ord(char):04X}) sieht aus wie {other}"


def is_of(char: str, script: str) -> str:
    """Say which alphabet a letter is from."""
    return f"{char} (U+{ord(char):04X}) ist {_of_script(script)}"


def odd_sign(word: str, signs: Sequence[str]) -> str:
    """Say that a sign looks like another one, and which."""
    return f"„{word}“ hat ein ungewöhnliches Zeichen: {', '.join(signs)}"


def unusual_digits(number: str, kinds: Sequence[str], plain: str) -> str:
    """Say what a number in digits of other scripts means."""
    written = ", ".join(map(_of_script, kinds))
    return f"„{number}“ hat Ziffern anderer Schriften ({written}) und bedeutet {plain}"


def as_computers_read(host: str, read: str) -> str:
    """Say how computers read a domain name."""
    return f"{host} ist {read}"


def another_address(host: str, read: str) -> str:
    """Say which domain name one is that looks like another one."""
    return f"„{host}“ ist in Wirklichkeit {read}, eine andere Adresse"
