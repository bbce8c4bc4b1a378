"""The file that a call changes, as it is when people are asked: its digest, and the change as a diff."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from typing import Any, Self

from agent_adapter.errors import InvalidRequestError

MOST_BYTES = 1024 * 1024
"""A larger file is not shown as a diff."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it was at one moment."""

    path: Path
    content: bytes | None
    """`None` when there was no file."""

    @classmethod
    def look(cls, path: Path) -> Self:
        """Read a file."""
        try:
            # A pipe would hold up the reader.
            if path.exists() and not path.is_file():
                raise InvalidRequestError(f"{path} is not a file")
            return cls(path, path.read_bytes() if path.exists() else None)
        except OSError as error:
            raise InvalidRequestError(f"{path} cannot be read: {error}") from error

    @property
    def digest(self) -> str:
        """A digest of where the file is and what is in it."""
        content = b"-" if self.content is None else b"+" + self.content
        return hashlib.sha256(str(self.path).encode(errors="surrogateescape") + b"\0" + content).hexdigest()

    def difference(self, tool: str, given: Mapping[str, Any]) -> str:
        """Say in text what a call would change in it: a unified diff, with three lines around each change."""
        if self.content is None:
            return "A new file."
        if len(self.content) > MOST_BYTES:
            raise InvalidRequestError(f"{self.path} has {len(self.content):,} bytes: too many for a diff")
        try:
            before = self.content.decode()
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"{self.path} is not UTF-8 text: nobody can read the change") from error
        if tool == "NotebookEdit":
            return "A cell of this notebook."
        after = str(given.get("content"))
        if tool == "Edit":
            # An edit of Claude Code finds its text with either line end, and keeps those of the file.
            before = before.replace("\r\n", "\n")
            after = _replaced(given, before)
        lines = [*unified_diff(before.split("\n"), after.split("\n"), lineterm="")][2:]
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        said = f"{'Replaces the whole file. ' * (tool == 'Write')}Lines: {added} added, {removed} removed."
        # A card would spell out the space before an empty line.
        return "\n".join([said, *("" if line == " " else line for line in lines)])


def links_in(*tops: Path) -> Iterator[Path]:
    """Give where the links in these folders lead, at any depth, and a folder itself if it is one."""
    found = [*tops]
    for place, folders, files in chain.from_iterable(map(os.walk, tops)):
        folders[:] = {*folders} - ({"worktrees", "projects"} if Path(place) in tops else set())
        found += [Path(place, name) for name in (*folders, *files)]
    return (Path(os.path.realpath(each)) for each in found if each.is_symlink())


def _replaced(edit: Mapping[str, Any], text: str) -> str:
    old, new = edit.get("old_string"), edit.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        raise InvalidRequestError("old_string and new_string must be texts")
    if not old and not text:
        return new
    found = text.count(old) if old else 0
    if not found or (found > 1 and not edit.get("replace_all")):
        raise InvalidRequestError(
            f"old_string is {f'{found} times' if found else 'not'} in the file: it must be there once"
        )
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        # Claude Code would take this line end away, too, and no diff of ours would be what runs.
        raise InvalidRequestError("new_string is empty: let old_string end with the line end, too")
    return text.replace(old, new)
