"""The files of a log: hashes of the tree in tiles of 256, and entries in bundles of 256.

https://c2sp.org/tlog-tiles. Full files never change. A partial file is named by how much is in it, so it never changes
either: whoever reads by an older checkpoint finds the file of that time.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bot.tlog.tree import Hash, leaf_hash, node_hash, root_of

WIDTH = 256
HEIGHT = 8
HASH = 32
"""Bytes of a hash."""
MOST_BYTES = 65_535
"""Of one entry: two bytes say its length."""
ENTRIES = "entries"


def tile_path(level: int | str, number: int, width: int = WIDTH) -> str:
    """Return the path of a tile, or of a bundle with the level `entries`."""
    parts = [f"{number % 1000:03d}"]
    while number := number // 1000:
        parts.insert(0, f"x{number % 1000:03d}")
    return f"tile/{level}/{'/'.join(parts)}" + ("" if width == WIDTH else f".p/{width}")


def bundle(entries: Sequence[bytes]) -> bytes:
    """Write entries as one file.

    Raises:
        ValueError: when an entry is too long.
    """
    if (longest := max(map(len, entries), default=0)) > MOST_BYTES:
        raise ValueError(f"an entry of the log has {longest:,} bytes, at most {MOST_BYTES:,}")
    return b"".join(struct.pack(">H", len(entry)) + entry for entry in entries)


def unbundle(data: bytes) -> Iterator[bytes]:
    """Read the entries of a bundle.

    Raises:
        ValueError: when the file is cut off.
    """
    at = 0
    while at < len(data):
        start = at + 2
        end = start + int.from_bytes(data[at:start])
        if end > len(data):
            raise ValueError("a bundle of the log is cut off")
        yield data[start:end]
        at = end


@dataclass
class Edge:
    """The right edge of a tree, where it grows: its last bundle, and the last tile of each level."""

    size: int = 0
    entries: list[bytes] = field(default_factory=list)
    levels: list[list[Hash]] = field(default_factory=list)

    @classmethod
    def read(cls, size: int, read: Callable[[str], bytes]) -> "Edge":
        """Read the edge of a tree of this size from its files."""
        entries = (
            [*unbundle(read(tile_path(ENTRIES, size // WIDTH, width)))] if (width := size % WIDTH) else []
        )
        levels, count = list[list[Hash]](), size
        while count:
            number, width = divmod(count, WIDTH)
            levels.append(split(read(tile_path(len(levels), number, width))) if width else [])
            count = number
        return cls(size, entries, levels)

    @property
    def root(self) -> Hash:
        """The root of the tree."""
        found: Hash | None = None
        for tile in self.levels:
            found = _joined(tile, found)
        return root_of([]) if found is None else found

    def append(self, entries: Sequence[bytes]) -> dict[str, bytes]:
        """Add entries, and return the files to write: full ones, and the partial ones of the new size."""
        files: dict[str, bytes] = {}
        for entry in entries:
            self.entries.append(entry)
            if len(self.entries) == WIDTH:
                files[tile_path(ENTRIES, self.size // WIDTH)] = bundle(self.entries)
                self.entries = []
            self._grow(0, leaf_hash(entry), files)
            self.size += 1
        return files | self._partial()

    def _grow(self, level: int, hash: Hash, files: dict[str, bytes]) -> None:
        if level == len(self.levels):
            self.levels.append([])
        tile = self.levels[level]
        tile.append(hash)
        if len(tile) == WIDTH:
            files[tile_path(level, self.size // WIDTH ** (level + 1))] = b"".join(tile)
            self.levels[level] = []
            self._grow(level + 1, root_of(tile), files)

    def _partial(self) -> dict[str, bytes]:
        files = {}
        if self.entries:
            files[tile_path(ENTRIES, self.size // WIDTH, len(self.entries))] = bundle(self.entries)
        for level, tile in enumerate(self.levels):
            if tile:
                files[tile_path(level, self.size // WIDTH ** (level + 1), len(tile))] = b"".join(tile)
        return files


def _joined(tile: Sequence[Hash], right: Hash | None) -> Hash | None:
    """Join a tile with the root of what is to the right of it, one whole subtree after the other."""
    left, found = list(tile), right
    while left:
        count = len(left) & -len(left)
        subtree = root_of(left[-count:])
        found = subtree if found is None else node_hash(subtree, found)
        del left[-count:]
    return found


def split(data: bytes) -> list[Hash]:
    """Read the hashes of a tile.

    Raises:
        ValueError: when it is cut off.
    """
    if len(data) % HASH:
        raise ValueError("a tile of the log is cut off")
    return [data[at : at + HASH] for at in range(0, len(data), HASH)]


def subtree_reader(size: int, read: Callable[[str], bytes]) -> Callable[[int, int], Hash]:
    """Return what gives the hash of a whole subtree of a tree of this size, from its tiles."""
    tiles: dict[str, list[Hash]] = {}

    def hash_of(level: int, number: int) -> Hash:
        of_tiles, below = divmod(level, HEIGHT)
        first = number << below
        in_level = size // WIDTH**of_tiles
        tile, start = divmod(first, WIDTH)
        path = tile_path(of_tiles, tile, min(WIDTH, in_level - tile * WIDTH))
        if path not in tiles:
            tiles[path] = split(read(path))
        return root_of(tiles[path][start : start + (1 << below)])

    return hash_of
