"""Check a log of Assent, with nothing of Assent installed: one file, Python 3.9 or newer, and `pip install cryptography`.

    python assent_log.py verify FOLDER --key ring.json --against anchor.txt
    python assent_log.py prove proof.json --key ring.json

FOLDER is the folder of the log, or a bucket that was downloaded. `--key` has the file of public keys (a ring), or one line
`name+id+key` as Go's sumdb writes it. `--against` has older checkpoints, such as an anchor that the log was not able to
change: the log must still begin as it did then.

It prints one sentence for each log. Exit code 0: every file is what was signed. 1: one is not. 2: wrong usage.
What lies beyond the checkpoint was not signed yet. It is counted, and proves nothing.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH, HEIGHT = 256, 8
SALT = 32
NOTE = re.compile(r"((?:[^\n]+\n)+)\n((?:\u2014 [^\n]+\n)+)")
BATCH = re.compile(r"said/([0-9]{12,})")
PARTIAL = re.compile(r"(tile/.+)\.p/([1-9][0-9]*)")
MARK = re.compile(r"([0-9]{1,20}) ([0-9]{1,20}) ([0-9]{1,20}-[0-9]{1,20})")
NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
P = 2**255 - 19
Y8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER = {0, 1, P - 1, Y8, P - Y8}


class Rejected(Exception):
    """The log, or the proof, is not what was signed."""


class Unreadable(Exception):
    """What was given cannot be read: nothing was checked."""


# --- Keys -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """A public key of logs."""

    raw: bytes
    namespace: str = ""
    """It signs the logs of this namespace only."""
    name: str = ""
    """It signs the log of this name only."""

    def signs(self, origin: str) -> bool:
        """Whether it may sign the log of this name."""
        return origin == self.name if self.name else origin.startswith(f"assent/{self.namespace}/")

    def id_for(self, origin: str) -> bytes:
        """Give the four bytes by which a note names it."""
        return hashlib.sha256(origin.encode() + b"\n\x01" + self.raw).digest()[:4]

    def made(self, signature: bytes, data: bytes) -> bool:
        """Whether it made this signature."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, data)
        except InvalidSignature:
            return False
        return True


def read_keys(text: str) -> list[Key]:
    """Read public keys: the keys for logs of a ring, or one line `name+id+key`.

    Raises:
        Unreadable: when there is none.
    """
    try:
        keys = read_ring(text) if text.lstrip().startswith("{") else [read_line(text.strip())]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable(f"the file of public keys cannot be read: {error}") from error
    if not keys:
        raise Unreadable("the file of public keys has no key for logs that is not revoked")
    return keys


def read_ring(text: str) -> list[Key]:
    ring = parse(text)
    if ring["version"] != 1:
        raise ValueError("it is not a ring of version 1")
    if any(not isinstance(each.get("revoked", False), bool) for each in ring["keys"]):
        raise ValueError("`revoked` is true or false")
    return [
        Key(sound_key(decode(each["public"])), namespace=str(each["namespace"]))
        for each in ring["keys"]
        if each["purpose"] == "log" and not each.get("revoked")
    ]


def read_line(line: str) -> Key:
    name, named, text = line.split("+", 2)
    raw = decode(text)
    if raw[:1] != b"\x01" or not name:
        raise ValueError("it is not the line of an Ed25519 key")
    key = Key(sound_key(raw[1:]), name=name)
    if key.id_for(name).hex() != named:
        raise ValueError("the key is not the one that its line names")
    return key


def sound_key(raw: bytes) -> bytes:
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if len(raw) != 32 or y >= P or y in SMALL_ORDER:
        raise ValueError("a public key is not one that can be trusted")
    return raw


# --- Checkpoints ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """What a log says about itself at one moment."""

    origin: str
    size: int
    root: bytes


def open_checkpoints(text: str, keys: Iterable[Key], what: str) -> list[Checkpoint]:
    """Read checkpoints, one after the other, that their logs have signed.

    Raises:
        Rejected: when one is something else, or not signed with one of these keys.
    """
    notes = text.strip("\n") + "\n"
    found = [open_note(match[1], match[2], keys, what) for match in NOTE.finditer(notes)]
    if not found or NOTE.sub("", notes).strip("\n"):
        raise Rejected(f"{what} is not a checkpoint")
    return found


def open_note(text: str, signatures: str, keys: Iterable[Key], what: str) -> Checkpoint:
    lines = text.split("\n")
    origin, size, root = lines[:3] if len(lines) > 3 else ("", "", "")
    if not NUMBER.fullmatch(size) or len(raw := strict(root, what)) != 32:
        raise Rejected(f"{what} is not a checkpoint")
    by_id = {key.id_for(origin): key for key in keys if key.signs(origin)}
    own = []
    for line in signatures.split("\n")[:-1]:
        name, _, encoded = line[2:].partition(" ")
        signature = strict(encoded, what)
        if name == origin and signature[:4] in by_id:
            own.append(by_id[signature[:4]].made(signature[4:], text.encode()))
    if not own or not all(own):
        raise Rejected(f"{what} is not signed with a given key of the log {origin!r}")
    return Checkpoint(origin, int(size), raw)


# --- The tree (RFC 6962), leaf by leaf --------------------------------------------------------------------------------


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass
class Tree:
    """A tree that grows: its whole subtrees from the left, and the tiles at its right edge."""

    size: int = 0
    subtrees: list[tuple[int, bytes]] = field(default_factory=list)
    tiles: dict[int | str, list[bytes]] = field(default_factory=dict)

    def add(self, leaf: bytes) -> None:
        """Add a leaf. A tile that is full then stays until `cut`."""
        self.tiles.setdefault("entries", []).append(b"\x00\x20" + leaf)
        height, found = 0, leaf_hash(leaf)
        self.keep(height, found)
        while self.subtrees and self.subtrees[-1][0] == height:
            height, found = height + 1, node_hash(self.subtrees.pop()[1], found)
            self.keep(height, found)
        self.subtrees.append((height, found))
        self.size += 1

    def keep(self, height: int, found: bytes) -> None:
        if height % HEIGHT == 0:
            self.tiles.setdefault(height // HEIGHT, []).append(found)

    def number(self, level: int | str) -> int:
        """Give the number of the tile at the right edge of a level."""
        return (self.size - 1) >> HEIGHT * (1 if isinstance(level, str) else level + 1)

    @property
    def root(self) -> bytes:
        """The root of the tree as it is now."""
        if not self.subtrees:
            return hashlib.sha256(b"").digest()
        found = self.subtrees[-1][1]
        for _, left in reversed(self.subtrees[:-1]):
            found = node_hash(left, found)
        return found


def root_by_path(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes | None:
    """Return the root that the hashes beside a leaf lead to (RFC 9162, section 2.1.3.2)."""
    place, last, found = index, size - 1, leaf_hash(leaf)
    for each in path:
        if last == 0:
            return None
        if place % 2 or place == last:
            found = node_hash(each, found)
            while not place % 2 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, each)
        place, last = place >> 1, last >> 1
    return found if last == 0 and 0 <= index < size else None


# --- A log in a folder ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verified:
    """A log whose files are what was signed."""

    origin: str
    size: int
    erased: tuple[int, ...]
    """The places of the entries that were erased."""
    beyond: int
    """How many files lie beyond the checkpoint."""
    against: tuple[int, ...] = ()
    """The sizes of the older checkpoints that it continues."""
    lost: int = 0
    """How many entries were counted, and gone before they could be sealed."""
    restored: int = 0
    """How many times Redis went back to an older state."""


def verify(folder: Path, keys: list[Key], against: str = "") -> list[Verified]:
    """Check each log below a folder, and that none that is named in older checkpoints is missing.

    Raises:
        Rejected: when a log is not what was signed.
        Unreadable: when there is no log.
    """
    older = open_checkpoints(against, keys, "what --against names") if against else []
    places = sorted(path.parent for path in folder.rglob("checkpoint") if path.is_file())
    if not places and not (older and folder.is_dir()):
        raise Unreadable(f"{folder} has no log: there is no file named checkpoint in it")
    found: dict[str, Verified] = {}
    for place in places:
        log = verify_log(Files(place), keys, older)
        if log.origin in found:
            raise Rejected(f"two folders have the log {log.origin}")
        found[log.origin] = log
    for each in older:
        if each.origin not in found:
            raise Rejected(
                f"the log {each.origin} is missing: an older checkpoint of it has {each.size} entries"
            )
    return list(found.values())


class Files:
    """The files of one log. It notes which ones were read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = (path for path in folder.rglob("*") if path.is_file())
        names = (path.relative_to(folder).as_posix() for path in paths)
        self.unread = {name for name in names if re.match(r"(tile|said)/", name) and "/." not in name}
        self.widths: dict[str, list[int]] = {}
        for name in self.unread:
            partial = PARTIAL.fullmatch(name)
            if partial:
                self.widths.setdefault(partial[1], []).append(int(partial[2]))

    def read(self, name: str) -> bytes:
        try:
            data = (self.folder / name).read_bytes()
        except FileNotFoundError:
            raise Rejected(f"the file {name} is missing") from None
        self.unread.discard(name)
        return data


def verify_log(files: Files, keys: list[Key], older: Iterable[Checkpoint] = ()) -> Verified:
    """Check the checkpoint of one log, every entry that it covers, and every tile."""
    head = open_one(text_of(files.read("checkpoint"), "the checkpoint"), keys)
    mine = sorted((each for each in older if each.origin == head.origin), key=lambda each: each.size)
    if mine and mine[-1].size > head.size:
        raise Rejected(
            f"the log {head.origin} was cut: it has {head.size} entries, and it had {mine[-1].size}"
        )
    tree, taken = Tree(), Taken()
    erased: list[int] = []
    check_older(tree, mine)
    while tree.size < head.size:
        name = f"said/{tree.size:012d}"
        batch = open_batch(files.read(name), tree, taken.mark, head.origin, keys, name)
        if tree.size + len(batch) > head.size:
            raise Rejected(f"{name} has more entries than were signed")
        for line in batch:
            if line.entry is None:
                erased.append(tree.size)
            tree.add(line.leaf)
            taken.go_on(line.mark)
            check_full_tiles(tree, files)
            check_older(tree, mine)
    if tree.root != head.root:
        raise Rejected(f"the entries of the log {head.origin} are not those that were signed")
    for level in list(tree.tiles):
        check_tile(tree, level, files)
    for name in files.unread:
        batch_name = BATCH.fullmatch(name)
        if batch_name and int(batch_name[1]) < head.size:
            raise Rejected(f"{name} is not a part of the log {head.origin}")
    return Verified(
        head.origin,
        head.size,
        tuple(erased),
        len(files.unread),
        tuple(each.size for each in mine),
        taken.lost,
        taken.restored,
    )


@dataclass
class Taken:
    """Follows the marks of entries: where in Redis each was taken from, as `epoch seq number`."""

    mark: str = ""
    lost: int = 0
    restored: int = 0

    def go_on(self, mark: str) -> None:
        """Count what is missing between the last mark and this one. The log itself says it in an entry."""
        before, now = MARK.fullmatch(self.mark), MARK.fullmatch(mark)
        self.mark = mark
        if not before or not now:
            return
        if before[1] != now[1]:
            self.restored += 1
        else:
            # An entry of the log itself, about a gap, has the number of the entry before it.
            own = 1 if before[3] != now[3] else 0
            self.lost += max(0, int(now[2]) - int(before[2]) - own)


def open_one(text: str, keys: list[Key]) -> Checkpoint:
    if not NOTE.fullmatch(text):
        raise Rejected("the checkpoint is not one signed note")
    return open_checkpoints(text, keys, "the checkpoint")[0]


def check_older(tree: Tree, older: Iterable[Checkpoint]) -> None:
    for each in older:
        if each.size == tree.size and each.root != tree.root:
            raise Rejected(
                f"the first {each.size} entries of the log {each.origin} are not those of the older checkpoint"
            )


def check_full_tiles(tree: Tree, files: Files) -> None:
    for level, tile in tree.tiles.items():
        if len(tile) == WIDTH:
            check_tile(tree, level, files)
            tree.tiles[level] = []


def check_tile(tree: Tree, level: int | str, files: Files) -> None:
    """Compare the tile at the right edge of a level with its file, and with the shorter files from before."""
    tile = tree.tiles[level]
    name = tile_name(level, tree.number(level))
    widths = {width for width in files.widths.get(name, ()) if width < len(tile)}
    named = [(f"{name}.p/{width}", width) for width in widths]
    if tile:
        named.append((name if len(tile) == WIDTH else f"{name}.p/{len(tile)}", len(tile)))
    for file, width in named:
        if files.read(file) != b"".join(tile[:width]):
            raise Rejected(f"{file} does not fit the entries")


def tile_name(level: int | str, number: int) -> str:
    """Give the name of a full tile (c2sp.org/tlog-tiles)."""
    parts = [f"{number % 1000:03d}"]
    while number >= 1000:
        number //= 1000
        parts.insert(0, f"x{number % 1000:03d}")
    return f"tile/{level}/{'/'.join(parts)}"


def open_batch(data: bytes, tree: Tree, mark: str, origin: str, keys: list[Key], name: str) -> list[Line]:
    """Read the entries of a batch. Its last line is its signature, by a key that the log had then."""
    text = text_of(data, name)
    if not text.endswith("\n"):
        raise Rejected(f"{name} is cut off")
    *texts, last = text[:-1].split("\n")
    batch = [open_line(each, f"line {number} of {name}") for number, each in enumerate(texts, 1)]
    head = [origin, str(tree.size), base64.b64encode(tree.root).decode(), *([mark] if mark else [])]
    about = ["assent/batch/v1", *head, "", *(f"{each.leaf.hex()} {each.mark}" for each in batch), ""]
    signature = strict(last, name)
    if not any(key.made(signature, "\n".join(about).encode()) for key in keys if key.signs(origin)):
        raise Rejected(f"{name} is not signed by the log {origin}")
    if not batch:
        raise Rejected(f"{name} has no entry")
    return batch


@dataclass(frozen=True)
class Line:
    """An entry of a batch."""

    leaf: bytes
    mark: str
    """Where it was taken from."""
    entry: str | None
    """`None` when it was erased."""


def open_line(text: str, where: str) -> Line:
    try:
        fields = parse(text)
        line = Line(bytes.fromhex(fields["leaf"]), fields.get("mark", ""), fields.get("entry"))
        salt = decode(fields.get("salt", ""))
        whole = {
            "leaf": line.leaf.hex(),
            **({"mark": line.mark} if line.mark else {}),
            **({} if line.entry is None else {"entry": line.entry, "salt": fields["salt"]}),
        }
        # In its one form: nothing in it may differ, also nothing that reads the same.
        if (
            len(line.leaf) != 32
            or not isinstance(line.mark, str)
            or json.dumps(whole, ensure_ascii=False, separators=(",", ":")) != text
        ):
            raise ValueError("not in its one form")
        # Of one length: otherwise the beginning of an entry could pass for a part of its salt.
        if line.entry is not None and len(salt) != SALT:
            raise ValueError(f"a salt has {SALT} bytes")
        digest = None if line.entry is None else hashlib.sha256(salt + line.entry.encode()).digest()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Rejected(f"{where} is not an entry") from error
    if digest not in {None, line.leaf}:
        raise Rejected(f"{where} does not say what its leaf in the tree is about")
    return line


# --- A proof in a file ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proven:
    """Entries that are in a log."""

    head: Checkpoint
    entries: tuple[tuple[int, str | None], ...]
    """The place of each, and what it says; `None` when it was erased."""


def check_proof(text: str, keys: list[Key]) -> Proven:
    """Check a proof that entries are in a log.

    Raises:
        Rejected: when one is not.
        Unreadable: when it is not a proof.
    """
    try:
        proof = parse(text)
        if proof["version"] != 1:
            raise Unreadable(f"the proof has version {proof['version']!r}, and this file knows 1")
        note = str(proof["checkpoint"])
        listed = [
            (each.pop("index"), [decode(hash) for hash in each.pop("path")], each)
            for each in proof["entries"]
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable("it is not a proof of a log") from error
    if not listed:
        raise Rejected("it proves nothing: it has no entry")
    head = open_one(note, keys)
    found = {}
    for index, path, fields in listed:
        line = open_line(json.dumps(fields, ensure_ascii=False, separators=(",", ":")), f"entry {index}")
        if (
            line.mark
            or type(index) is not int
            or index in found
            or root_by_path(line.leaf, index, head.size, path) != head.root
        ):
            raise Rejected(f"entry {index} is not in the log {head.origin}")
        found[index] = line.entry
    return Proven(head, tuple(found.items()))


# --- Reading ----------------------------------------------------------------------------------------------------------


def parse(text: str) -> Any:
    """Read strict JSON: no key twice, no NaN."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise ValueError("a key appears twice in one object")
        return dict(found)

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def decode(text: str) -> bytes:
    """Read base64 in its one form: bits that nobody reads must not differ."""
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if base64.b64encode(raw).decode() != text:
        raise ValueError("not base64")
    return raw


def strict(text: str, what: str) -> bytes:
    try:
        return decode(text)
    except ValueError:
        raise Rejected(f"{what} has text that is not base64") from None


def text_of(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Rejected(f"{what} is not text") from None


# --- The command ------------------------------------------------------------------------------------------------------


def say_log(log: Verified) -> str:
    """Say in a sentence or two what was verified."""
    erased = f", {counted(len(log.erased), 'entry')} of them erased" if log.erased else ""
    said = f"Verified: {log.origin} has {counted(log.size, 'entry')}{erased}, each as it was signed."
    if log.against:
        said += f" It continues the older {counted(len(log.against), 'checkpoint')} (of {', '.join(map(str, log.against))})."
    if log.lost:
        said += f" {log.lost:,} more had been written, and went missing before they were sealed."
    if log.restored:
        said += f" Redis went back to an older state {counted(log.restored, 'time')}."
    if log.beyond:
        said += f" {counted(log.beyond, 'file')} beyond the checkpoint: not signed yet, not checked."
    if log.erased:
        said += f" Erased: {places(log.erased)}."
    return said


def say_proof(proven: Proven) -> str:
    """Give each entry as a line of JSON, then the sentence."""
    lines = [
        f"entry {index}: erased" if entry is None else json.dumps({"index": index, "entry": entry})
        for index, entry in proven.entries
    ]
    last = (
        f"Proven: {len(lines):,} of the {counted(proven.head.size, 'entry')} of the log {proven.head.origin}."
    )
    return "\n".join([*lines, last])


def counted(count: int, noun: str) -> str:
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def places(indexes: tuple[int, ...]) -> str:
    """Write numbers with runs drawn together: 3-5, 9."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and runs[-1][-1] == index - 1:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ", ".join("-".join(map(str, run)) for run in runs)


def main(given: list[str] | None = None) -> int:
    """Check a log or a proof from the command line."""
    parser = argparse.ArgumentParser(description="Check that nobody changed a log of Assent.")
    commands = parser.add_subparsers(dest="command", required=True)
    of_log = commands.add_parser("verify", help="check a folder with logs")
    of_log.add_argument("what", metavar="FOLDER", type=Path)
    of_log.add_argument("--against", type=Path, help="older checkpoints that the log must continue")
    of_proof = commands.add_parser("prove", help="check a proof that `audit prove` wrote")
    of_proof.add_argument("what", metavar="PROOF", type=Path)
    for each in (of_log, of_proof):
        each.add_argument("--key", required=True, type=Path, help="the file of public keys")
    options = parser.parse_args(given)
    try:
        print("\n".join(checked(options)))
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except Rejected as error:
        print(f"Rejected: {shown(str(error))}.")
        return 1
    return 0


def checked(options: argparse.Namespace) -> list[str]:
    keys = read_keys(options.key.read_text(encoding="utf-8"))
    if options.command == "prove":
        return [say_proof(check_proof(options.what.read_text(encoding="utf-8"), keys))]
    against = options.against.read_text(encoding="utf-8") if options.against else ""
    if options.against and not against.strip():
        raise Unreadable(f"{options.against} is empty")
    return [say_log(each) for each in verify(options.what, keys, against)]


def shown(text: str) -> str:
    """Show control characters by their codes: what others wrote must not act on a terminal."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


if __name__ == "__main__":
    sys.exit(main())
