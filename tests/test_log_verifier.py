"""The verifier in one file finds every change of a log, and needs nothing of Assent."""

import ast
import base64
import importlib.util
import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.domain.audit_entry import AuditEntry
from bot.domain.sealing import Mark, following
from bot.tlog.batch import Salted, batch_path, dump_batch, load_batch
from bot.tlog.log import CHECKPOINT
from tests.support.logs import TestLogKey, entries_of, erase, make_log, proof_of, rewritten, ring_of, vkey_of

VERIFIER = Path(__file__).parents[1] / "verifiers" / "assent_log.py"
ORIGIN = "assent/assent/00"
ANY = settings(max_examples=60, deadline=None)


def load():
    spec = importlib.util.spec_from_file_location("assent_log", VERIFIER)
    module = importlib.util.module_from_spec(spec)
    sys.modules["assent_log"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


assent_log = load()
Rejected = assent_log.Rejected


def verify(log, key, against=""):
    """What the verifier finds in the folder of a log, with the ring of a key."""
    return assent_log.verify(log.storage._path, assent_log.read_keys(ring_of(key)), against)


def said(log):
    """The paths of all batches."""
    folder = log.storage._path
    return sorted(path.relative_to(folder).as_posix() for path in (folder / "said").iterdir())


@pytest.fixture(scope="module")
def key():
    return TestLogKey()


@pytest.fixture(scope="module")
def log(tmp_path_factory, key):
    """A log of 300 entries in five batches. Its files of each moment are still there."""
    batches = [
        ["first"],
        ["a\u2028b", "\x85=1+1", "third"],
        [str(n) for n in range(4, 255)],
        ["x", "y"],
        ["z"] * 43,
    ]
    return make_log(tmp_path_factory.mktemp("log"), key, *batches)


@contextmanager
def changed(log, **files):
    """Have other files in a log for a while; `None` deletes one."""
    places = {log.storage._path / path: data for path, data in files.items()}
    before = {place: place.read_bytes() if place.exists() else None for place in places}
    try:
        write(places)
        yield
    finally:
        write(before)


def write(files):
    for place, data in files.items():
        if data is None:
            place.unlink(missing_ok=True)
        else:
            place.write_bytes(data)


def test_a_log_that_nobody_changed_is_verified(log, key):
    """The texts of people are in it as they are, with ends of lines that only some programs know."""
    assert verify(log, key) == [assent_log.Verified(ORIGIN, 300, (), 0)]


@given(data=st.data())
@ANY
def test_one_flipped_bit_in_any_file_is_rejected(log, key, data):
    """Also in files that only an older checkpoint needs, and in bits of base64 that nobody reads."""
    folder = log.storage._path
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    file = data.draw(st.sampled_from(files))
    whole = bytearray(file.read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    with changed(log, **{str(file.relative_to(folder)): bytes(whole)}), pytest.raises(Rejected):
        verify(log, key)


def test_each_bit_of_a_checkpoint_counts(log, key):
    """Those that pad the signature, too."""
    whole = log.storage.read(CHECKPOINT)
    for bit in range(8 * len(whole)):
        other = bytearray(whole)
        other[bit // 8] ^= 1 << bit % 8
        with changed(log, checkpoint=bytes(other)), pytest.raises(Rejected):
            verify(log, key)


@pytest.mark.parametrize("is_signed", [False, True], ids=["without the key", "with the key of the log"])
@given(data=st.data())
@ANY
def test_one_dropped_swapped_or_added_line_is_rejected(log, key, is_signed, data):
    """Even when whoever did it signs the batch again: the tree has the leaves."""
    path = data.draw(st.sampled_from(said(log)))
    batch, signature = load_batch(log.storage.read(path))
    at = data.draw(st.integers(0, len(batch) - 1))
    match data.draw(st.sampled_from(["drop", "swap", "add", "double"])):
        case "drop":
            other = batch[:at] + batch[at + 1 :]
        case "swap":
            other = [batch[at], *batch[:at], *batch[at + 1 :]]
        case "add":
            other = [*batch[:at], Salted.of(b"planted", "1 1 1-0"), *batch[at:]]
        case "double":
            other = [*batch[:at], batch[at], *batch[at:]]
    assume(other != batch)
    first = int(path.removeprefix("said/"))
    file = rewritten(log, first, other) if is_signed else dump_batch(other, signature)

    with changed(log, **{path: file}), pytest.raises(Rejected):
        verify(log, key)


@pytest.mark.parametrize(("old", "new"), [(b'{"', b'{ "'), (b"a", b"A"), (b'","mark', b'","none":"","mark')])
def test_a_line_in_another_form_is_rejected(log, key, old, new):
    """Also when it says the same: each entry is written in one form only."""
    path = said(log)[1]

    with changed(log, **{path: log.storage.read(path).replace(old, new)}), pytest.raises(Rejected):
        verify(log, key)


def with_longer_salt(entry: Salted, taken: int) -> Salted:
    """The same leaf, with the first bytes of the entry as the end of its salt."""
    return Salted(entry.leaf, entry.entry[taken:], entry.salt + entry.entry[:taken], entry.mark)


@pytest.mark.parametrize("taken", [1, 8, None], ids=["a byte", "some bytes", "the whole entry"])
def test_the_beginning_of_an_entry_cannot_pass_for_a_part_of_its_salt(log, key, taken):
    """The leaf would stay the same, and the entry would be gone or cut."""
    path = said(log)[1]
    (first, *others), signature = load_batch(log.storage.read(path))
    moved = with_longer_salt(first, len(first.entry) if taken is None else taken)
    assert sha256(moved.salt + moved.entry).digest() == first.leaf
    file = dump_batch([moved, *others], signature)

    with pytest.raises(ValueError, match="line 1 "):
        load_batch(file)
    with changed(log, **{path: file}), pytest.raises(Rejected):
        verify(log, key)


@pytest.mark.parametrize("place", ["said", "tile"])
def test_a_file_that_is_missing_is_rejected(log, key, place):
    """Every batch, and every tile that the checkpoint needs."""
    needed = (
        said(log)
        if place == "said"
        else ["tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1", "tile/entries/000"]
    )
    for path in needed:
        with changed(log, **{path: None}), pytest.raises(Rejected, match="missing"):
            verify(log, key)


def test_tiles_of_an_older_checkpoint_may_be_deleted(log, key):
    """The format allows it, since the larger tiles say the same."""
    with changed(log, **{"tile/0/000.p/1": None, "tile/entries/000.p/4": None}):
        assert verify(log, key)[0].size == 300


def test_a_batch_that_is_in_nobodys_place_is_rejected(log, key):
    """It would be read by a program that looks for files, and not for the chain of batches."""
    with (
        changed(log, **{"said/000000000002": log.storage.read("said/000000000001")}),
        pytest.raises(Rejected),
    ):
        verify(log, key)


def test_what_lies_beyond_the_checkpoint_is_counted_and_proves_nothing(log, key):
    """A copy of a log that is in use has it."""
    with changed(log, **{"said/000000000300": b"not read", "tile/0/001.p/45": b"not read"}):
        assert verify(log, key)[0].beyond == 2


def test_another_key_is_rejected(log):
    """As is one for another purpose, of another namespace, or a revoked one."""
    with pytest.raises(Rejected, match="not signed with a given key"):
        verify(log, TestLogKey())


@pytest.mark.parametrize(
    "changes",
    [{"purpose": "receipts", "team": "T0ASSENT"}, {"revoked": True}],
)
def test_a_key_that_may_not_sign_logs_is_none(log, key, changes):
    with pytest.raises(assent_log.Unreadable, match="no key for logs"):
        assent_log.read_keys(ring_of(key, **changes))


def test_a_key_of_another_namespace_is_rejected(log, key):
    keys = assent_log.read_keys(ring_of(key, namespace="other"))

    with pytest.raises(Rejected, match="not signed with a given key"):
        assent_log.verify(log.storage._path, keys)


def test_a_key_in_one_line_signs_the_log_that_it_names(log, key):
    """As programs around Go's sumdb pass it on."""
    line = vkey_of(key, ORIGIN)

    assert assent_log.verify(log.storage._path, assent_log.read_keys(line))[0].size == 300
    with pytest.raises(Rejected):
        assent_log.verify(log.storage._path, assent_log.read_keys(vkey_of(key, "assent/assent/01")))
    with pytest.raises(assent_log.Unreadable):
        assent_log.read_keys(line.replace("00+", "01+", 1))


@pytest.fixture
def growing(tmp_path, key):
    """A log with its checkpoint of before, when it had two entries."""
    log = make_log(tmp_path / "00", key, ["a", "b"])
    before = log.storage.read(CHECKPOINT).decode()
    log.append([b"c"])
    return log, before


def test_a_log_that_goes_on_from_an_older_checkpoint_is_verified_against_it(growing, key):
    log, before = growing

    assert verify(log, key, against=before)[0].against == (2,)


def test_an_older_checkpoint_in_place_of_the_newest_is_rejected_against_an_anchor(growing, key):
    """Alone, it is the sound log of an earlier day."""
    log, before = growing
    anchor = log.storage.read(CHECKPOINT).decode()
    log.storage.put(CHECKPOINT, before.encode())

    assert verify(log, key)[0].size == 2
    with pytest.raises(Rejected, match="was cut: it has 2 entries, and it had 3"):
        verify(log, key, against=anchor)


def test_a_log_that_somebody_with_its_key_wrote_anew_is_rejected_against_an_anchor(growing, key, tmp_path):
    """Alone, it is sound: so keep anchors where whoever has the key cannot write."""
    _, before = growing
    anew = make_log(tmp_path / "anew", key, ["a", "B", "c"])

    assert verify(anew, key)[0].size == 3
    with pytest.raises(Rejected, match="not those of the older checkpoint"):
        verify(anew, key, against=before)


def test_an_anchor_names_every_log_and_none_may_be_missing(tmp_path, key):
    """One lane of a namespace is one log."""
    logs = [
        make_log(tmp_path / "logs" / lane, key, [lane], origin=f"assent/assent/{lane}")
        for lane in ("00", "01")
    ]
    anchor = "\n".join(log.storage.read(CHECKPOINT).decode() for log in logs)
    keys = assent_log.read_keys(ring_of(key))

    assert [each.origin for each in assent_log.verify(tmp_path / "logs", keys, anchor)] == [
        "assent/assent/00",
        ORIGIN[:-1] + "1",
    ]
    shutil.rmtree(tmp_path / "logs" / "00")
    assert len(assent_log.verify(tmp_path / "logs", keys)) == 1
    with pytest.raises(Rejected, match="the log assent/assent/00 is missing"):
        assent_log.verify(tmp_path / "logs", keys, anchor)
    (tmp_path / "empty").mkdir()
    with pytest.raises(Rejected, match="the log assent/assent/00 is missing"):
        assent_log.verify(tmp_path / "empty", keys, anchor)
    shutil.copytree(tmp_path / "logs" / "01", tmp_path / "logs" / "00")
    with pytest.raises(Rejected, match="two folders have the log assent/assent/01"):
        assent_log.verify(tmp_path / "logs", keys)


def test_what_was_erased_is_reported_and_the_rest_still_holds(tmp_path, key):
    log = make_log(tmp_path, key, ["a", "b", "c", "d"], ["e"])
    erase(log, 0, 1, 2, 3)

    found = verify(log, key)[0]

    assert found.erased == (1, 2, 3)
    assert assent_log.say_log(found).endswith("Erased: 1-3.")
    assert b"entry" not in log.storage.read(batch_path(0)).split(b"\n")[1]


def sealed(log, *entries):
    """Seal entries of Redis, each with its number and its `seq`, as the bot does."""
    found = [
        AuditEntry("00", number, {"event": "resumed", "id": "billing.a", "seq": seq})
        for number, seq in entries
    ]
    sealings = [*following(Mark.parse(log.head().mark), found)]
    log.append([each.entry.line.encode() for each in sealings], [str(each.mark) for each in sealings])


def test_entries_that_went_missing_before_they_were_sealed_are_counted(tmp_path, key):
    """Also when they were the first of a batch. The log says so itself, and its mark stays when that entry is erased."""
    log = make_log(tmp_path, key)
    sealed(log, ("1-0", 5), ("2-0", 6), ("4-0", 9))
    sealed(log, ("9-0", 10), ("12-0", 14))

    found = verify(log, key)[0]

    assert (found.size, found.lost, found.restored) == (7, 5, 0)
    assert "5 more had been written, and went missing" in assent_log.say_log(found)


def test_a_redis_that_went_back_is_no_gap_and_is_reported(tmp_path, key):
    log = make_log(tmp_path, key)
    sealed(log, ("1-0", 5), ("2-0", 6))
    sealed(log, ("3-0", 6), ("4-0", 7))

    found = verify(log, key)[0]

    assert (found.lost, found.restored) == (0, 1)
    assert "Redis went back to an older state 1 time." in assent_log.say_log(found)


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_whatever_entries_say_they_are_verified_and_proven(tmp_path_factory, key, texts):
    log = make_log(tmp_path_factory.mktemp("any"), key, texts)

    proven = assent_log.check_proof(proof_of(log, *range(len(texts))), assent_log.read_keys(ring_of(key)))

    assert verify(log, key)[0].size == len(texts)
    assert [entry for _, entry in proven.entries] == texts


def test_each_entry_of_a_log_has_a_proof(log, key):
    keys = assent_log.read_keys(ring_of(key))
    entries = entries_of(log)

    proven = assent_log.check_proof(proof_of(log, *range(300)), keys)

    assert proven.entries == tuple((index, each.entry.decode()) for index, each in enumerate(entries))


@pytest.mark.parametrize(
    "change",
    [
        {"entry": "another"},
        {"index": 3},
        {"index": 300},
        {"index": True},
        {"path": []},
        {"salt": ""},
        {"leaf": "00" * 32},
        {"mark": "1 1 1-0"},
    ],
)
def test_a_proof_of_something_else_is_rejected(log, key, change):
    proof = json.loads(proof_of(log, 2))
    proof["entries"][0] |= change

    with pytest.raises(Rejected):
        assent_log.check_proof(json.dumps(proof), assent_log.read_keys(ring_of(key)))


def test_a_proof_that_counts_an_entry_twice_is_rejected(log, key):
    with pytest.raises(Rejected):
        assent_log.check_proof(proof_of(log, 2, 2), assent_log.read_keys(ring_of(key)))


def test_a_proof_by_another_key_or_about_nothing_is_rejected(log, key):
    keys = assent_log.read_keys(ring_of(TestLogKey()))
    with pytest.raises(Rejected, match="not signed"):
        assent_log.check_proof(proof_of(log, 2), keys)
    with pytest.raises(Rejected, match="no entry"):
        assent_log.check_proof(proof_of(log), assent_log.read_keys(ring_of(key)))


def test_a_key_of_small_order_is_refused():
    """Anybody can make signatures that verify under it."""
    ring = {
        "version": 1,
        "keys": [{"public": base64.b64encode(bytes(32)).decode(), "purpose": "log", "namespace": "assent"}],
    }

    with pytest.raises(assent_log.Unreadable, match="not one that can be trusted"):
        assent_log.read_keys(json.dumps(ring))


def test_it_is_written_for_python_3_9_and_imports_nothing_of_assent():
    """An auditor has the Python that they have."""
    tree = ast.parse(VERIFIER.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert not [name for name in imported if name.startswith(("bot", "agent_adapter", "tests"))]


@pytest.fixture
def command(tmp_path, growing, key):
    """Runs the verifier as an auditor does: a process in an empty folder."""
    log, before = growing
    for name, text in {
        "ring.json": ring_of(key),
        "anchor.txt": before,
        "proof.json": proof_of(log, 0, 2),
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def run(*arguments):
        ended = subprocess.run(
            [sys.executable, "-I", str(VERIFIER), *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return ended.returncode, ended.stdout, ended.stderr

    return run


def test_the_command_says_what_it_verified_and_ends_with_0(command):
    assert command("verify", "00", "--key", "ring.json", "--against", "anchor.txt") == (
        0,
        "Verified: assent/assent/00 has 3 entries, each as it was signed. It continues the older 1 checkpoint (of 2).\n",
        "",
    )


def test_the_command_prints_what_a_proof_proves_and_ends_with_0(command):
    code, output, _ = command("prove", "proof.json", "--key", "ring.json")

    assert code == 0
    assert [json.loads(line) for line in output.splitlines()[:-1]] == [
        {"index": 0, "entry": "a"},
        {"index": 2, "entry": "c"},
    ]
    assert output.splitlines()[-1] == "Proven: 2 of the 3 entries of the log assent/assent/00."


def test_the_command_says_why_it_rejects_a_log_and_ends_with_1(command, growing):
    log, _ = growing
    log.storage.put("tile/0/000.p/3", bytes(96))

    code, output, _ = command("verify", "00", "--key", "ring.json")

    assert (code, output) == (1, "Rejected: tile/0/000.p/3 does not fit the entries.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "00"],
        ["verify", "00", "--key", "nowhere.json"],
        ["verify", "nowhere", "--key", "ring.json"],
        ["verify", "00", "--key", "anchor.txt"],
        ["prove", "anchor.txt", "--key", "ring.json"],
        ["guess", "00", "--key", "ring.json"],
    ],
)
def test_the_command_that_is_called_wrongly_ends_with_2_and_verifies_nothing(command, arguments):
    code, output, errors = command(*arguments)

    assert (code, output) == (2, "")
    assert errors
