"""What an agent reports of its calls, as people may see it."""

import base64
import binascii
import html
import re
from collections.abc import Sequence
from urllib.parse import unquote, unquote_plus

from agent_adapter.contract.hitl import EditDecision
from agent_adapter.contract.outcome import Outcome
from bot.domain.approval import Approval
from bot.domain.masking import scrub, secrets_of
from bot.sentences import in_text

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_FIRST_HEARD = 3
"""The shortest beginning of a masked value that is looked for at the end of a text that was cut, in another spelling."""


def secrets_in(state: Approval) -> tuple[str, ...]:
    """Give every text of the calls that is masked or kept off the card, as they were asked and as they ran."""
    masked = []
    for action in state.actions:
        proposal = action.stricter
        terms = [action.terms, *([proposal.terms] if proposal else [])]
        decision = action.recorded.decision if action.recorded else None
        ran = [decision.edited_action.args] if isinstance(decision, EditDecision) else []
        masked += [
            (args, {*own.masked, *own.modal_only}) for args in (action.request.args, *ran) for own in terms
        ]
    return secrets_of(masked)


def without_secrets(outcome: Outcome, secrets: Sequence[str]) -> str:
    """Give the text of an outcome without masked values.

    Where it contains one in another spelling, such as inside JSON or an address, nothing of the text is shown.
    """
    text = outcome.text
    if not text or not secrets:
        return text
    if outcome.is_shortened:
        text = _without_beginning(text, secrets)
    text = scrub(text, secrets)
    if text == in_text.TOO_MANY_MASKED:
        return text
    for secret in secrets:
        if secret.casefold() in text.casefold():
            text = re.sub(re.escape(secret), in_text.DOTS, text, flags=re.IGNORECASE)
    readings = [reading.casefold() for reading in _readings(text)]
    is_heard = any(secret.casefold() in reading for secret in secrets for reading in readings) or (
        outcome.is_shortened and any(_beginning(reading, secrets) >= _FIRST_HEARD for reading in readings)
    )
    return in_text.OTHER_SPELLING if is_heard else text


def _without_beginning(text: str, secrets: Sequence[str]) -> str:
    """Remove the beginning of a masked value from the end of a text that was cut there."""
    found = _beginning(text.casefold(), secrets)
    return text[: len(text) - found] + in_text.DOTS if found else text


def _beginning(text: str, secrets: Sequence[str]) -> int:
    """Count the characters at the end of a text with which a masked value begins."""
    counts = [
        count
        for secret in {secret.casefold() for secret in secrets}
        for count in range(min(len(secret) - 1, len(text)), 0, -1)
        if text.endswith(secret[:count])
    ]
    return max(counts, default=0)


def _readings(text: str) -> set[str]:
    """Give what a reader, or a program, can read a text as: also JSON inside of JSON, or an address inside of JSON."""
    found = newest = {text}
    for _ in range(_NESTED):
        newest = {read(known) for known in newest for read in _DECODERS} - found
        found = found | newest
    return found


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "r": "\r"}.get(found[3], found[3])


def _decoded(run: str) -> str:
    plain = run.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4]).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text)


def _from_base64(text: str) -> str:
    return " ".join(_decoded(run) for run in _BASE64.findall(text))


_DECODERS = (_unescape, unquote, unquote_plus, html.unescape, _from_base64)
_NESTED = 3
"""How many layers of escapes are looked through."""
