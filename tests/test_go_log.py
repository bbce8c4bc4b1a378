"""Go's sumdb, which checks the modules of every Go program, verifies a log of ours."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.tlog.log import CHECKPOINT
from tests.support.lanes import require
from tests.support.logs import TestLogKey, erase, make_log, vkey_of

PROGRAM = Path(__file__).parent / "go" / "verify_log.go"
PACKAGES = Path("/usr/share/gocode")
"""Where Debian has the sources of Go's libraries."""
ORIGIN = "assent/assent/00"


@pytest.fixture(scope="module")
def verify(tmp_path_factory):
    """Runs the program in Go on a log, and gives its exit code and what it says."""
    sumdb = PACKAGES / "src/golang.org/x/mod/sumdb/tlog"
    require(
        "Go",
        shutil.which("go") and sumdb.exists(),
        "Go with x/mod is not there: `make system` installs both on Debian and Ubuntu",
    )
    built = tmp_path_factory.mktemp("go") / "verify_log"
    # Without modules, so that nothing is fetched.
    environment = os.environ | {
        "GO111MODULE": "off",
        "GOPATH": str(PACKAGES),
        "GOFLAGS": "",
        "GOCACHE": str(built.parent / "cache"),
    }
    made = subprocess.run(
        ["go", "build", "-o", built, PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr

    def run(log, key, *older, origin=ORIGIN):
        command = [built, log.storage._path, vkey_of(key, origin), *older]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return ended.returncode, ended.stdout.strip()

    return run


@pytest.fixture(scope="module")
def key():
    return TestLogKey()


# Around the widths of tiles: half of one, exactly one, one more.
@pytest.mark.parametrize("batches", [[1], [2, 1], [255], [256], [256, 1], [300, 300, 7]], ids=str)
def test_go_verifies_the_checkpoint_every_tile_and_every_leaf(tmp_path, verify, key, batches):
    log = make_log(tmp_path, key, *(["entry"] * count for count in batches))

    assert verify(log, key) == (0, str(sum(batches)))


def test_go_sees_that_a_log_goes_on_from_each_older_checkpoint(tmp_path, verify, key):
    log, older = make_log(tmp_path / "log", key), []
    for count in (1, 6, 250, 43):
        log.append([b"entry"] * count)
        older.append(tmp_path / f"older-{count}")
        older[-1].write_bytes(log.storage.read(CHECKPOINT))

    assert verify(log, key, *older) == (0, "300")


def test_go_rejects_a_log_that_was_written_anew(tmp_path, verify, key):
    before = make_log(tmp_path / "before", key, ["a", "b"])
    anew = make_log(tmp_path / "anew", key, ["a", "B", "c"])

    code, said = verify(anew, key, tmp_path / "before" / CHECKPOINT)

    assert code == 1
    assert "invalid" in said or "tree" in said
    assert verify(before, key) == (0, "2")


@pytest.mark.parametrize("path", ["tile/0/000.p/2", "tile/entries/000.p/2", CHECKPOINT])
def test_go_rejects_one_flipped_bit(tmp_path, verify, key, path):
    log = make_log(tmp_path, key, ["a", "b"])
    data = bytearray(log.storage.read(path))
    data[20] ^= 1
    log.storage.put(path, bytes(data))

    assert verify(log, key)[0] == 1


def test_go_rejects_another_key(tmp_path, verify, key):
    assert verify(make_log(tmp_path, key, ["a"]), TestLogKey())[0] == 1


def test_go_verifies_a_log_with_erased_entries(tmp_path, verify, key):
    """The tree has digests only, so it stays as it was."""
    log = make_log(tmp_path, key, ["a", "b"])
    erase(log, 0, 1)

    assert verify(log, key) == (0, "2")
