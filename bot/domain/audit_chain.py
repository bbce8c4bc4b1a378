"""The lines of the audit log, each with the hash of the line before. Pure. `docs/reference/audit.md` has the format.

An entry: `{"n":17,"prev":"…","said":{"by":"<hash>","event":"decided",…},"texts":{"by":["<salt>","U123"]}}`
A head:   `{"head":{"at":"…","file":"2026-11-22",…},"n":18,"prev":"…","sig":"…"}`
"""

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError
from bot.domain.audit_entry import AuditEntry

_PLAIN = {"at", "entry", "event"}
"""Texts that are hashed as they are, and never erased."""
_JSON = {"actions", "channels"}
"""Names of values that are not texts. They are kept as JSON."""
_MOST = 10**18
_SALT = 16
"""Bytes. A text whose beginning were in its salt would have the same hash."""
_KEYS = {("n", "prev", "said"), ("n", "prev", "said", "texts"), ("head", "n", "prev"), ("head", "n", "prev", "sig")}  # fmt: skip
_OF_HEAD = ("at", "entry", "file", "log")

Line: TypeAlias = dict[str, Any]
Verify: TypeAlias = Callable[[Mapping[str, str], bytes, bytes], str]
"""Says what is wrong with the signature of a head over these bytes; empty when nothing is."""


def write(line: Mapping[str, Any], *, without: str = "") -> str:
    """Write a line in the one form that it has."""
    kept = {name: value for name, value in line.items() if name != without}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def hash_of(line: Mapping[str, Any]) -> str:
    """Return the hash that the next line names. What can be erased is only in it as a hash."""
    return sha256(write(line, without="texts").encode()).hexdigest()


def entry_line(entry: AuditEntry, n: int, prev: str) -> Line:
    """Write an entry as a line."""
    said: dict[str, Any] = {"at": entry.written_at, "entry": entry.number}
    texts: dict[str, list[str]] = {}
    for name, value in entry.said.items():
        if name in _PLAIN or (type(value) is int and abs(value) < _MOST):
            said[name] = value
        else:
            text = value if isinstance(value, str) and name not in _JSON else encode(value)
            # Halves of a pair cannot be hashed.
            texts[name] = [secrets.token_hex(_SALT), text.encode(errors="replace").decode()]
            said[name] = _hidden(*texts[name])
    return {"n": n, "prev": prev, "said": said} | ({"texts": texts} if texts else {})


def head_line(head: Mapping[str, Any], n: int, prev: str, sign: Callable[[bytes], bytes] | None) -> Line:
    """Write a head, signed where there is a key."""
    line: Line = {"head": head, "n": n, "prev": prev}
    return line | ({"sig": base64.b64encode(sign(write(line).encode())).decode()} if sign else {})


def entry_of(line: Mapping[str, Any]) -> AuditEntry | None:
    """Read the entry in a line; `None` for a head, and for an entry of which everything was erased."""
    if "texts" not in line:
        return None
    said = {name: value for name, value in line["said"].items() if name == "event" or type(value) is int}
    for name, (_, text) in line["texts"].items():
        said[name] = text
        with suppress(InvalidRequestError):
            said[name] = decode(text) if name in _JSON else text
    return AuditEntry(line["said"]["entry"], said)


def without_texts(line: Line, names: set[str]) -> Line:
    """Erase texts and their salts. The hash of the line stays."""
    kept = {name: salted for name, salted in line["texts"].items() if name not in names}
    return {name: value for name, value in (line | {"texts": kept}).items() if name != "texts" or kept}


def read(text: bytes) -> Line:
    """Read a line, and check the hashes of its texts.

    Raises:
        ValueError: when it is no such line.
    """
    try:
        line: Line = json.loads(text)
        head, texts = line.get("head", dict.fromkeys(_OF_HEAD, "")), line.get("texts", {})
        is_right = (
            tuple(line) in _KEYS and write(line).encode() == text and type(line["n"]) is int and line["n"] > 0
        )
        is_right &= isinstance(line.get("said", {}), dict) and isinstance(head.get("key", ""), str)
        is_right &= all(isinstance(head[name], str) for name in _OF_HEAD) and type(head.get("seq", 0)) is int
        is_right &= "head" not in line or datetime.fromisoformat(head["at"]).tzinfo is not None
        changed = [
            name
            for name, (salt, text) in texts.items()
            if len(salt) != 2 * _SALT or line["said"][name] != _hidden(salt, text)
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_right, changed = False, []
    if changed or not is_right:
        what = f"the text of {changed[0]!r} was changed" if changed else "it is not a line of the log"
        raise ValueError(what)
    return line


@dataclass
class Chain:
    """Checks that each line follows the one before."""

    verify: Verify | None = None
    """Checks signatures. With it, each head has to have one."""
    against: set[str] = field(default_factory=set)
    """Heads from before that have to be in the log. Those that were found leave."""
    n: int = 0
    hash: str = "0" * 64
    """What the next line has to name. The first line of a log names this."""
    first: int = 0
    log: str = ""
    at: str = ""
    head: Mapping[str, Any] | None = None
    """The last line, where it is one."""
    erased: int = 0
    """Lines of which something was erased."""
    is_signed: bool = False
    """Whether a head has a signature."""
    last: str = ""
    """The text of the last line."""
    _file: str = ""

    def take(self, text: bytes, file: str) -> None:
        """Check the next line of a file: `2026-11-22`.

        Raises:
            ValueError: when it does not follow.
        """
        line = read(text)
        begins, self._file = file != self._file, file
        if begins and self.n:
            if text.decode() != self.last:
                raise ValueError("it is not the last line of the file before: something between is missing")
            return
        self.head = line.get("head")
        if begins and self.head:
            # Older files are gone. A head of this file would only say that its first lines are.
            if not self.head["file"] < file:
                raise ValueError("the lines before it are missing")
            self.n, self.hash = line["n"] - 1, line["prev"]
        if (line["n"], line["prev"]) != (self.n + 1, self.hash):
            raise ValueError(
                "it does not follow the line before: a line was changed, dropped, moved or added"
            )
        self.n, self.hash, self.last = line["n"], hash_of(line), text.decode()
        self.first = self.first or self.n
        if self.head:
            self._check_head(line, self.head, self.head["file"] if begins else file)
        else:
            texts = {name for name, value in line["said"].items() if isinstance(value, str)} - _PLAIN
            self.erased += bool(texts - set(line.get("texts", ())))

    def add(self, line: Line, file: str) -> str:
        """Add a line of one's own. Raises as `take` does. Returns its text."""
        self.take(write(line).encode(), file)
        return self.last

    def end_file(self, file: str) -> None:
        """Check that a file ended with a head of its own, which covers all of it.

        Raises:
            ValueError: when it did not.
        """
        if not self.head or self.head["file"] != file:
            raise ValueError("it ends before its head: lines were cut off or added, or a bot died there")

    def end(self) -> None:
        """Check that the log still has the heads from before.

        Raises:
            ValueError: when it does not.
        """
        for text in sorted(self.against):
            n = read(text.encode())["n"]
            what = "it was cut" if n > self.n else "it was written anew, or its files from before are gone"
            raise ValueError(f"the head of line {n:,} that you named is not in it: {what}")

    def _check_head(self, line: Line, head: Mapping[str, Any], file: str) -> None:
        if head["file"] != file:
            raise ValueError(f"it was written into {head['file']}")
        if self.log not in {"", head["log"]}:
            raise ValueError(f"it is of the log {head['log']}, not of {self.log}")
        self.log, self.at, self.is_signed = head["log"], head["at"], self.is_signed or "sig" in line
        self.against.discard(self.last)
        data = write(line, without="sig").encode()
        if self.verify and (problem := self.verify(head, _signature(line), data)):
            raise ValueError(problem)


def _hidden(salt: str, text: str) -> str:
    return sha256((salt + text).encode()).hexdigest()


def _signature(line: Line) -> bytes:
    with suppress(ValueError, TypeError):
        return base64.b64decode(line.get("sig", ""), validate=True)
    return b""
