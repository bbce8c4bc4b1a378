"""Anchors: the checkpoints of all logs, sent to where nobody who can write the logs can change them.

Somebody with the key of a log can write it anew from its beginning, and it is sound. An anchor of before does not fit it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal

from cryptography.exceptions import InvalidSignature

from bot.tlog.log import CHECKPOINT, Log
from bot.tlog.note import Checkpoint, open_checkpoint

_CHANNEL = re.compile(r"[CG][A-Z0-9]+")
_HOW = "write slack:C…, git:/path/of/a/clone or https://…, with spaces between them"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The checkpoints of all logs at one moment."""

    checkpoints: tuple[Checkpoint, ...]
    text: str
    """The signed checkpoints, with an empty line between them: what `--against` of the verifier reads."""

    @property
    def entries(self) -> int:
        """How many entries it covers."""
        return sum(each.size for each in self.checkpoints)


def anchor_of(logs: Iterable[Log]) -> Anchor | None:
    """Gather the checkpoints of the logs; `None` when there is none yet. It blocks.

    Raises:
        ValueError: when one is not signed by its log: then nothing is anchored.
        OSError: when the storage does not serve it.
    """
    found = [*_signed(logs)]
    return Anchor(tuple(head for head, _ in found), "\n".join(note for _, note in found)) if found else None


def _signed(logs: Iterable[Log]) -> Iterator[tuple[Checkpoint, str]]:
    for log in logs:
        if note := log.storage.read(CHECKPOINT):
            try:
                yield open_checkpoint(note.decode(), log.origin, log.key.trusted), note.decode()
            except InvalidSignature as error:
                raise ValueError(f"somebody changed the checkpoint of the log {log.origin}") from error


@dataclass(frozen=True, slots=True)
class Target:
    """Where anchors go."""

    kind: Literal["slack", "git", "web"]
    where: str = field(repr=False)
    """A channel, the folder of a clone, or an address. An address may be a secret."""

    @property
    def mark(self) -> str:
        """The path of the file that says when it last got one."""
        return f"anchored/{self.kind}-{sha256(self.where.encode()).hexdigest()[:16]}"

    @property
    def is_safe(self) -> bool:
        """Whether it is of a form that can be sent to."""
        match self.kind:
            case "slack":
                return bool(_CHANNEL.fullmatch(self.where))
            case "git":
                return self.where.startswith("/")
            case "web":
                return self.where.startswith("https://") and len(self.where) > len("https://")


def read_targets(text: str) -> tuple[Target, ...]:
    """Read where anchors go: `slack:C0AUDIT git:/srv/anchors https://example.com/anchors`.

    Raises:
        ValueError: naming which one is wrong, by its number: an address may be a secret.
    """
    targets = []
    for number, each in enumerate(text.split(), 1):
        target = _target(each)
        if target is None or not target.is_safe:
            raise ValueError(f"target {number} cannot be sent to: {_HOW}")
        targets.append(target)
    return tuple(targets)


def _target(text: str) -> Target | None:
    kind, _, where = text.partition(":")
    match kind:
        case "slack":
            return Target("slack", where)
        case "git":
            return Target("git", where)
        case "https":
            return Target("web", text)
    return None


def is_due(mark: bytes | None, now: datetime, every: timedelta) -> bool:
    """Whether it is time for the next anchor. A mark of another time than the past counts as none."""
    try:
        last = datetime.fromisoformat((mark or b"").decode().strip())
    except ValueError:
        return True
    return last.tzinfo is None or not timedelta(0) <= now - last < every


def mark_of(now: datetime) -> bytes:
    """Write when the last anchor was sent."""
    return f"{now.astimezone(UTC).isoformat(timespec='seconds')}\n".encode()
