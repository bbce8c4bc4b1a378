"""The log takes every entry once and in order, whatever dies and whoever else writes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot.tlog.batch import Salted, about_batch, batch_path, load_batch
from bot.tlog.log import CHECKPOINT, Log
from bot.tlog.storage import Folder
from bot.tlog.tiles import subtree_reader
from bot.tlog.tree import inclusion_proof, leaf_hash, root_by_inclusion


class Key:
    """A key of a log, made on the spot."""

    def __init__(self):
        self._key = Ed25519PrivateKey.generate()
        self.public = self._key.public_key().public_bytes_raw()
        self.sign = self._key.sign
        self.trusted = {self.public: self._key.public_key().verify}


@dataclass
class Dying:
    """A storage that dies in its n-th write, before or after it is done."""

    storage: Folder
    at: int
    after: bool
    writes: int = field(default=0)

    def read(self, path):
        return self.storage.read(path)

    def __getattr__(self, name):
        def write(*given):
            self.writes += 1
            if self.writes == self.at and not self.after:
                raise KeyboardInterrupt
            done = getattr(self.storage, name)(*given)
            if self.writes == self.at:
                raise KeyboardInterrupt
            return done

        return write


def batches(log):
    """Read what the checkpoint covers."""
    head, found = log.head(), []
    while len(found) < head.size:
        found += load_batch(log.storage.read(batch_path(len(found))))[0]
    assert len(found) == head.size
    return found


def said(log):
    """Read every entry that the checkpoint covers."""
    return [each.entry for each in batches(log)]


def check(log):
    """Prove each leaf by the files alone, and give how many there are."""
    head = log.head()
    hash_of = subtree_reader(head.size, log.storage.read)
    leaves = [each.leaf for each in batches(log)]
    for index, leaf in enumerate(leaves):
        proof = inclusion_proof(index, head.size, hash_of)
        assert root_by_inclusion(leaf_hash(leaf), index, head.size, proof) == head.root
    return head.size


@pytest.fixture
def key():
    return Key()


def test_entries_are_in_the_log_in_their_order(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)

    log.append([b"first", b"second"])
    log.append([b"third"])

    assert said(log) == [b"first", b"second", b"third"]
    assert log.head().size == 3


def test_the_checkpoint_says_where_the_last_entry_was_taken_from(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)

    log.append([b"first", b"second"], ["1 1 17-0", "1 2 18-0"])

    assert log.head().mark == "1 2 18-0"
    assert [each.mark for each in batches(log)] == ["1 1 17-0", "1 2 18-0"]


def test_an_entry_with_characters_that_end_lines_elsewhere_comes_back_as_it_was(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)

    log.append(["a\u2028b\x85c\u2029\x0bd".encode(), b"\n"])

    assert said(log) == ["a\u2028b\x85c\u2029\x0bd".encode(), b"\n"]


def test_the_signature_of_a_batch_stays_valid_when_an_entry_is_erased(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)
    before = log.head()

    first, second = log.append([b"first", b"second"], ["17-0", "18-0"])
    _, signature = load_batch(log.storage.read(batch_path(0)))

    key.trusted[key.public](signature, about_batch(before, [first.erased, second]))


def test_after_a_rotation_the_new_key_goes_on_with_the_log(tmp_path, key):
    old = key
    Log(Folder(tmp_path), "assent/test", old).append([b"first"])
    new = Key()
    new.trusted |= old.trusted

    Log(Folder(tmp_path), "assent/test", new).append([b"second"])

    assert said(Log(Folder(tmp_path), "assent/test", new)) == [b"first", b"second"]
    with pytest.raises(ValueError, match="not signed with a key"):
        Log(Folder(tmp_path), "assent/test", old).head()


def test_a_leaf_says_nothing_about_its_entry_without_the_salt(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)

    first, second = log.append([b"approve", b"approve"])

    assert first.leaf != second.leaf
    assert first.erased.is_sound
    assert not Salted(first.leaf, b"reject", first.salt).is_sound


def test_each_entry_is_proven_by_the_files_alone(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)
    for count in (1, 255, 300):
        log.append([b"x"] * count)

    assert check(log) == 556


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("at", range(1, 7))
def test_a_process_that_dies_at_any_write_loses_and_doubles_nothing(tmp_path, key, at, after):
    folder = Folder(tmp_path)
    Log(folder, "assent/test", key).append([b"%d" % number for number in range(255)])
    wanted = [b"255", b"256", b"257"]

    with suppress(KeyboardInterrupt):
        Log(Dying(folder, at, after), "assent/test", key).append(wanted)
    log = Log(folder, "assent/test", key)
    missing = 258 - log.head().size
    while missing:
        log.append(wanted[-missing:])
        missing = 258 - log.head().size

    assert said(log) == [b"%d" % number for number in range(258)]
    assert check(log) == 258


def test_two_that_write_at_once_make_one_log(tmp_path, key):
    def fill(_):
        log = Log(Folder(tmp_path), "assent/test", key)
        while (head := log.head()).size < 40:
            log.append([b"%d" % number for number in range(head.size, min(head.size + 7, 40))], after=head)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, range(4)))

    log = Log(Folder(tmp_path), "assent/test", key)
    assert said(log) == [b"%d" % number for number in range(40)]
    assert check(log) == 40


def test_a_batch_that_somebody_else_planted_stays_out(tmp_path, key):
    log, other = Log(Folder(tmp_path), "assent/test", key), Log(Folder(tmp_path), "assent/test", Key())
    other.append([b"planted"])
    (tmp_path / CHECKPOINT).unlink()

    with pytest.raises(ValueError, match="not signed with a key of the log"):
        log.append([b"mine"])

    assert log.head().size == 0


def test_a_checkpoint_of_another_key_ends_everything(tmp_path, key):
    Log(Folder(tmp_path), "assent/test", Key()).append([b"planted"])

    with pytest.raises(ValueError, match="not signed with a key"):
        Log(Folder(tmp_path), "assent/test", key).append([b"mine"])


def test_tiles_that_were_changed_are_noticed_before_anything_is_added(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)
    log.append([b"first", b"second"])
    tile = tmp_path / "tile" / "0" / "000.p" / "2"
    tile.write_bytes(bytes(64))

    with pytest.raises(ValueError, match="do not fit"):
        log.append([b"third"])


def test_an_entry_of_the_longest_kind_fits_and_a_longer_one_is_refused(tmp_path, key):
    log = Log(Folder(tmp_path), "assent/test", key)

    log.append([b"x" * 65_535])

    with pytest.raises(ValueError, match="65,536"):
        log.append([b"x" * 65_536])
    assert log.head().size == 1
