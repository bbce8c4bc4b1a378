"""The log grows in tiles, and its proofs hold for exactly what is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tlog.tiles import ENTRIES, Edge, subtree_reader, tile_path, unbundle
from bot.tlog.tree import (
    EMPTY_ROOT,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    node_hash,
    range_hash,
    root_by_inclusion,
)

GROWTHS = st.lists(st.sampled_from([1, 2, 3, 50, 255, 256, 257]), min_size=1, max_size=6)


def root_by_definition(entries):
    """Compute the root as RFC 6962 defines it, section 2.1."""
    if len(entries) < 2:
        return leaf_hash(entries[0]) if entries else EMPTY_ROOT
    half = 1 << (len(entries) - 1).bit_length() - 1
    return node_hash(root_by_definition(entries[:half]), root_by_definition(entries[half:]))


def grown(growths):
    """Let a log grow; give its entries, its files and its root at each size."""
    edge, entries, files, roots = Edge(), [], {}, {0: EMPTY_ROOT}
    for count in growths:
        added = [f"entry {len(entries) + number}".encode() for number in range(count)]
        files |= edge.append(added)
        entries += added
        roots[edge.size] = edge.root
    return entries, files, roots


@given(GROWTHS)
def test_the_root_is_the_one_that_the_specification_defines(growths):
    entries, files, roots = grown(growths)

    for size, root in roots.items():
        assert root == root_by_definition(entries[:size])
        assert Edge.read(size, files.__getitem__).root == root
        if size:
            assert range_hash(0, size, subtree_reader(size, files.__getitem__)) == root


@given(GROWTHS)
def test_a_log_that_is_read_from_its_files_goes_on_growing_as_before(growths):
    entries, files, roots = grown(growths)
    half = [*roots][len(roots) // 2]

    edge = Edge.read(half, files.__getitem__)
    written = edge.append(entries[half:])

    assert edge.root == roots[len(entries)]
    assert written.items() <= files.items()


@given(GROWTHS, st.data())
def test_a_proof_of_inclusion_holds_for_its_entry_and_for_no_other(growths, data):
    entries, files, roots = grown(growths)
    size = len(entries)
    index = data.draw(st.integers(0, size - 1))
    other = data.draw(st.integers(0, size - 1))

    proof = inclusion_proof(index, size, subtree_reader(size, files.__getitem__))

    assert root_by_inclusion(leaf_hash(entries[index]), index, size, proof) == roots[size]
    if other != index:
        assert root_by_inclusion(leaf_hash(entries[other]), index, size, proof) != roots[size]
        assert root_by_inclusion(leaf_hash(entries[index]), other, size, proof) != roots[size]
    if proof:
        assert root_by_inclusion(leaf_hash(entries[index]), index, size, proof[:-1]) != roots[size]
    assert root_by_inclusion(leaf_hash(entries[index]), index, size, [*proof, EMPTY_ROOT]) != roots[size]


@given(GROWTHS)
def test_a_proof_of_growth_holds_for_what_the_log_was_and_for_nothing_else(growths):
    entries, files, roots = grown(growths)
    size = len(entries)

    for old, root in roots.items():
        proof = consistency_proof(old, size, subtree_reader(size, files.__getitem__))

        assert is_consistent(old, root, size, roots[size], proof)
        assert not is_consistent(old, leaf_hash(b"another"), size, roots[size], proof)
        if proof:
            assert not is_consistent(old, root, size, leaf_hash(b"another"), proof)
            assert not is_consistent(old, root, size, roots[size], proof[:-1])
            assert not is_consistent(old, root, size, roots[size], [*proof, EMPTY_ROOT])


@pytest.mark.parametrize(
    ("level", "number", "width", "path"),
    [
        (0, 0, 256, "tile/0/000"),
        (0, 1234067, 256, "tile/0/x001/x234/067"),
        (2, 0, 1, "tile/2/000.p/1"),
        (ENTRIES, 273, 112, "tile/entries/273.p/112"),
    ],
)
def test_files_have_the_names_of_the_specification(level, number, width, path):
    assert tile_path(level, number, width) == path


def test_a_log_of_70000_entries_has_the_files_of_the_specification():
    """The example of tlog-tiles."""
    edge, files = Edge(), {}
    for _ in range(70):
        files |= edge.append([b"x"] * 1000)

    assert len(files["tile/0/273.p/112"]) == 112 * 32
    assert sum(path.startswith("tile/0/") and ".p/" not in path for path in files) == 273
    assert len(files["tile/1/000"]) == 256 * 32
    assert len(files["tile/1/001.p/17"]) == 17 * 32
    assert len(files["tile/2/000.p/1"]) == 32


def test_an_entry_that_is_too_long_is_refused_and_a_bundle_that_is_cut_off_too():
    with pytest.raises(ValueError, match="65,536 bytes"):
        Edge().append([b"x" * 65_536])
    with pytest.raises(ValueError, match="cut off"):
        list(unbundle(b"\x00\x05abc"))
