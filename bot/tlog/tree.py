"""The Merkle tree of RFC 6962, section 2.1: roots, and the proofs that an entry is in it and that it only grew."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TypeAlias

Hash: TypeAlias = bytes
HashOf: TypeAlias = Callable[[int, int], Hash]
"""Gives the hash of a whole subtree: its level, and its place among the subtrees of this level."""

EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(entry: bytes) -> Hash:
    """Return the hash of an entry as a leaf."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: Hash, right: Hash) -> Hash:
    """Return the hash of two subtrees."""
    return sha256(b"\x01" + left + right).digest()


def root_of(hashes: Sequence[Hash]) -> Hash:
    """Return the root over these hashes, as if each were a leaf."""
    level = list(hashes)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [node_hash(*pair) for pair in pairs] + (level[-1:] if len(level) % 2 else [])
    return level[0] if level else EMPTY_ROOT


def range_hash(start: int, end: int, hash_of: HashOf) -> Hash:
    """Return the root over the leaves from `start` to before `end`. `start` is a multiple of the range's left half."""
    count = end - start
    level = count.bit_length() - 1
    if count == 1 << level:
        return hash_of(level, start >> level)
    half = start + _left_half(count)
    return node_hash(range_hash(start, half, hash_of), range_hash(half, end, hash_of))


def inclusion_proof(index: int, size: int, hash_of: HashOf) -> list[Hash]:
    """Return the hashes that lead from one leaf to the root of a tree of this size."""
    return _path(index, 0, size, hash_of)


def _path(index: int, start: int, end: int, hash_of: HashOf) -> list[Hash]:
    if end - start == 1:
        return []
    half = start + _left_half(end - start)
    if index < half:
        return [*_path(index, start, half, hash_of), range_hash(half, end, hash_of)]
    return [*_path(index, half, end, hash_of), range_hash(start, half, hash_of)]


def consistency_proof(old: int, new: int, hash_of: HashOf) -> list[Hash]:
    """Return the hashes that show that a tree of the old size is the beginning of one of the new size."""
    return [] if old in {0, new} else _grown(old, 0, new, hash_of, is_whole=True)


def _grown(old: int, start: int, end: int, hash_of: HashOf, *, is_whole: bool) -> list[Hash]:
    if old == end:
        return [] if is_whole else [range_hash(start, end, hash_of)]
    half = start + _left_half(end - start)
    if old <= half:
        return [*_grown(old, start, half, hash_of, is_whole=is_whole), range_hash(half, end, hash_of)]
    return [*_grown(old, half, end, hash_of, is_whole=False), range_hash(start, half, hash_of)]


def root_by_inclusion(leaf: Hash, index: int, size: int, proof: Sequence[Hash]) -> Hash | None:
    """Return the root that a proof of inclusion leads to; `None` for a proof that cannot be one of this place."""
    if not 0 <= index < size:
        return None
    place, last, found = index, size - 1, leaf
    for each in proof:
        if last == 0:
            return None
        if place % 2 or place == last:
            found = node_hash(each, found)
            while not place % 2 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, each)
        place, last = place >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(old: int, old_root: Hash, new: int, new_root: Hash, proof: Sequence[Hash]) -> bool:
    """Whether a proof shows that the tree of the old size and root is the beginning of the new one."""
    if old in {0, new}:
        return not proof and old_root == (EMPTY_ROOT if old == 0 else new_root)
    if not 0 < old < new or not proof:
        return False
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    place, last = old - 1, new - 1
    while place % 2:
        place, last = place >> 1, last >> 1
    before = after = path[0]
    for each in path[1:]:
        if last == 0:
            return False
        if place % 2 or place == last:
            before, after = node_hash(each, before), node_hash(each, after)
            while not place % 2 and place:
                place, last = place >> 1, last >> 1
        else:
            after = node_hash(after, each)
        place, last = place >> 1, last >> 1
    return before == old_root and after == new_root and last == 0


def _left_half(count: int) -> int:
    """Return the largest power of two that is smaller than the count."""
    return 1 << (count - 1).bit_length() - 1
