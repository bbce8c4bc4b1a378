"""Checks a copy of Assent's audit log, without anything of Assent. It needs Python 3.11 and `cryptography`.

    python assent_log.py FOLDER --key ring.json --against heads.txt

Exit codes: 0 every line is as it was written; 1 something was changed; 2 nothing was checked.
`docs/reference/audit.md` has the format.
"""

import argparse
import base64
import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Keys = dict[str, dict[str, Any]]
PLAIN = {"at", "entry", "event"}
ENTRY, HEAD = {"n", "prev", "said"}, {"head", "n", "prev"}
OF_HEAD = {"at", "entry", "file", "log"}
SALT = 32
TIME = datetime.fromisoformat
FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
DAYS = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].jsonl"


class Changed(Exception):
    """The log is not as it was written."""


class Unchecked(Exception):
    """Nothing can be checked."""


def written(line: dict[str, Any], *, without: str = "") -> bytes:
    """Write a line in the one form that it has."""
    kept = {name: value for name, value in line.items() if name != without}
    return json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()


def read(text: bytes) -> dict[str, Any]:
    """Read one line, and check the hashes of its texts."""
    try:
        line: dict[str, Any] = json.loads(text)
        if set(line) not in (ENTRY, ENTRY | {"texts"}, HEAD, HEAD | {"sig"}) or written(line) != text:
            raise Changed("it is not written as lines of the log are")
        head = line.get("head", dict.fromkeys(OF_HEAD, ""))
        texts = [*(head[name] for name in OF_HEAD), head.get("key", "")]
        is_right = type(line["n"]) is int and line["n"] > 0 and isinstance(line.get("said", {}), dict)
        is_right &= all(isinstance(text, str) for text in texts) and type(head.get("seq", 0)) is int
        if not is_right or ("head" in line and TIME(head["at"]).tzinfo is None):
            raise ValueError
        for name, (salt, said) in line.get("texts", {}).items():
            if len(salt) != SALT or line["said"][name] != sha256((salt + said).encode()).hexdigest():
                raise Changed(f"the text of {name!r} was changed")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Changed("it is not a line of the log") from None
    return line


class Log:
    """The log as far as it was read."""

    def __init__(self, keys: Keys, against: Iterable[bytes]) -> None:
        self.keys, self.against = keys, set(against)
        self.n = self.first = self.erased = 0
        self.hash, self.last, self.file, self.name, self.at = "0" * 64, b"", "", "", ""
        self.head: dict[str, Any] | None = None
        self.is_signed = False

    def take(self, text: bytes, file: str) -> None:
        """Check that a line follows the one before."""
        line = read(text)
        begins, self.file = file != self.file, file
        if begins and self.n:
            if text != self.last:
                raise Changed(
                    "it is not the last line of the file before: lines or files are missing between"
                )
            return
        self.head = line.get("head")
        if begins and self.head:
            # Older files are gone. A head of this file would only say that its first lines are.
            if not self.head["file"] < file:
                raise Changed("the lines before it are missing")
            self.n, self.hash = line["n"] - 1, line["prev"]
        if line["n"] != self.n + 1 or line["prev"] != self.hash:
            raise Changed("it does not follow the line before: a line was changed, dropped, moved or added")
        self.first, self.n, self.last = self.first or line["n"], line["n"], text
        self.hash = sha256(written(line, without="texts")).hexdigest()
        if self.head:
            self.check_head(line, self.head["file"] if begins else file)
        else:
            texts = {name for name, said in line["said"].items() if isinstance(said, str)} - PLAIN
            self.erased += bool(texts - set(line.get("texts", ())))

    def check_head(self, line: dict[str, Any], file: str) -> None:
        """Check what a head says of itself, and its signature."""
        head = line["head"]
        if head["file"] != file:
            raise Changed(f"it was written into {head['file']}")
        if self.name not in ("", head["log"]):
            raise Changed(f"it is of the log {head['log']}, not of {self.name}")
        self.name, self.at, self.is_signed = head["log"], head["at"], self.is_signed or "sig" in line
        self.against.discard(self.last)
        if self.keys:
            check_signature(self.keys, line)

    def end(self) -> None:
        """Check that the log still has the heads from before."""
        for text in sorted(self.against):
            n = read(text)["n"]
            what = "it was cut" if n > self.n else "it was written anew, or its files from before are gone"
            raise Changed(f"the head of line {n:,} that you named is not in it: {what}")
        if self.is_signed and not self.keys:
            raise Unchecked("the heads are signed: name the ring after --key")


def check_signature(keys: Keys, line: dict[str, Any]) -> None:
    """Check that a key of the bots has signed a head."""
    head = line["head"]
    key = keys.get(head.get("key", ""))
    try:
        if key is None or head["log"].rpartition("/")[0] != key["namespace"]:
            raise ValueError
        signature = base64.b64decode(line.get("sig", ""), validate=True)
        key["public"].verify(signature, written(line, without="sig"))
    except (InvalidSignature, TypeError, ValueError):
        raise Changed("it is not signed with a key of the bots") from None
    if key.get("revoked"):
        raise Changed(f"the key {key['kid']} is revoked, so what it signed counts no more")
    if not key["early"] <= TIME(head["at"]) <= key["late"]:
        raise Changed(f"the key {key['kid']} signs only between its not_before and not_after")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that is there twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def read_key(key: dict[str, Any]) -> dict[str, Any]:
    """Read one key of a ring."""
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key["public"], validate=True))
    early, late = (
        TIME(key.get(name) or other) for name, other in (("not_before", FIRST), ("not_after", LAST))
    )
    if (
        not early <= late
        or type(key.get("revoked", False)) is not bool
        or not isinstance(key["namespace"], str)
    ):
        raise ValueError
    return key | {"public": public, "early": early, "late": late}


def keys_in(path: Path) -> Keys:
    """Read the public keys of the bots from a ring."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        keys = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)["keys"]
        if found := {key["kid"]: read_key(key) for key in keys if key["purpose"] in {"receipts", "log"}}:
            return found
    raise Unchecked(f"{path} is not a ring with a key of a bot")


def heads_in(path: Path) -> list[bytes]:
    """Read older heads, one a line."""
    with suppress(OSError, Changed):
        lines = [*filter(None, map(bytes.strip, path.read_bytes().splitlines()))]
        if lines and all("head" in read(line) for line in lines):
            return lines
    raise Unchecked(f"{path} is no file of heads: keep only their lines, as they came to the channel")


def verify(folder: Path, keys: Keys, against: Iterable[bytes]) -> Log:
    """Check every file of a folder."""
    log = Log(keys, against)
    for path in sorted(folder.glob(DAYS)):
        number = 1
        try:
            for line in path.read_bytes().splitlines(keepends=True):
                # A line without its end is no line.
                log.take(line[:-1] if line.endswith(b"\n") else b"", path.stem)
                number += 1
            if not log.head or log.head["file"] != path.stem:
                raise Changed("it ends before its head: lines were cut off or added, or a bot died there")
        except Changed as error:
            raise Changed(f"{path.name} line {number}: {error}") from None
        except OSError as error:
            raise Unchecked(f"{path} cannot be read: {error.strerror}") from None
    if not log.n:
        raise Unchecked(f"there is no log in {folder}")
    log.end()
    return log


def main() -> None:
    """Check a folder, and say what was found."""
    parser = argparse.ArgumentParser(description="Check a copy of Assent's audit log.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--key", type=Path, help="the ring: public keys as JSON")
    parser.add_argument(
        "--against", type=Path, help="heads from before, one a line: they must still be there"
    )
    given = parser.parse_args()
    try:
        keys = keys_in(given.key) if given.key else {}
        log = verify(given.folder, keys, heads_in(given.against) if given.against else ())
    except Changed as error:
        sys.exit(f"REJECTED: {error}")
    except Unchecked as error:
        sys.stderr.write(f"Nothing was checked: {error}\n")
        sys.exit(2)
    signed = "Each head is signed" if keys else "No head is signed: whoever can write there can write it anew"
    print(f"Verified: {log.name}, lines {log.first:,} to {log.n:,} of {log.at}. {signed}.")
    if log.erased:
        print(f"Of {log.erased:,} lines something was erased.")


if __name__ == "__main__":
    main()
