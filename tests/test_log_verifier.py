"""The audit log as somebody forges it: the product and the stand-alone verifier reject the same."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.signer import new_signer
from bot.domain.audit_chain import entry_line, hash_of, head_line, read, write
from bot.domain.audit_entry import Mark
from bot.runtime.bot_keys import problem_of_head
from bot.store.audit_log import AuditLog
from tests.support.changed_json import changes
from tests.support.logs import DAY, NOON, entries, make_keys, make_log
from tests.support.receipts import Signing, listed
from tests.test_verifiers import load

VERIFIER = Path(__file__).parents[1] / "verifiers/assent_log.py"
FIRST, SECOND = "2026-11-07.jsonl", "2026-11-08.jsonl"


@pytest.fixture(scope="module")
def verifier():
    return load("assent_log")


@pytest.fixture
def key(tmp_path):
    return make_keys(tmp_path)


@pytest.fixture
def folder(tmp_path, key):
    make_log(tmp_path / "trail", key)
    return tmp_path / "trail"


def lines_in(folder, file=FIRST):
    return (folder / file).read_bytes().splitlines()


def put(folder, lines, file=FIRST):
    (folder / file).write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.fixture
def said(verifier, folder, key, tmp_path):
    """What both say of the folder as it is now: empty when it is sound."""

    def say(*, against=(), has_key=True):
        verify = partial(problem_of_head, ring_of(tmp_path), "assent") if has_key else None
        ring = verifier.keys_in(tmp_path / "ring.json") if has_key else {}
        return [
            reason(ValueError, lambda: AuditLog(folder, "assent").check(verify, against)),
            reason(verifier.Changed, lambda: verifier.verify(folder, ring, [text.encode() for text in against])),
        ]  # fmt: skip

    return say


def ring_of(folder):
    return Ring.load(folder / "ring.json")


def reason(kind, work):
    try:
        work()
    except kind as error:
        return str(error)
    return ""


def test_a_log_as_it_was_written_is_sound(said, folder):
    heads = [
        line.decode() for file in (FIRST, SECOND) for line in lines_in(folder, file) if b'{"head"' in line
    ]

    assert said() == said(against=heads) == ["", ""]
    assert len(set(heads)) == 3


def changed(old, new):
    def forge(folder, _):
        first, second, *rest = lines_in(folder)
        put(folder, [first, second.replace(old, new, 1), *rest])

    return forge


def without(*gone, file=FIRST):
    def forge(folder, _):
        put(folder, [line for n, line in enumerate(lines_in(folder, file)) if n not in gone], file)

    return forge


def moved(folder, _):
    first, second, *rest = lines_in(folder)
    put(folder, [second, first, *rest])


def added(folder, _):
    """A line that follows the last one, by somebody without a key."""
    lines = lines_in(folder, SECOND)
    last = read(lines[-1])
    line = entry_line(entries("x")[0], last["n"] + 1, hash_of(last))
    put(folder, [*lines, write(line).encode()], SECOND)


def added_with_head(sign):
    """The same with a head of one's own."""

    def forge(folder, key):
        added(folder, key)
        lines = lines_in(folder, SECOND)
        last, head = read(lines[-1]), read(lines[-2])["head"]
        put(
            folder, [*lines, write(head_line(head, last["n"] + 1, hash_of(last), sign(key))).encode()], SECOND
        )

    return forge


def rewritten(folder, key, *, sign=None):
    """The whole log with another first line."""
    previous, last = "0" * 64, b""
    for name in (FIRST, SECOND):
        new = []
        for number, text in enumerate(lines_in(folder, name)):
            line = read(text)
            if name == SECOND and not number:
                new.append(last)
                continue
            if "head" in line:
                line = head_line(line["head"], line["n"], previous, sign)
            else:
                line = entry_line(entries("forged", seq=line["n"])[0], line["n"], previous)
            last, previous = write(line).encode(), hash_of(line)
            new.append(last)
        put(folder, new, name)


def without_first_day(folder, _):
    (folder / FIRST).unlink()


def without_second_day(folder, _):
    """In the middle: the next day begins with its head."""
    log = AuditLog(folder, "assent", _)
    log.append(entries("g", seq=7, at=NOON + 2 * DAY), log.mark(), NOON + 2 * DAY + 1000)
    (folder / SECOND).unlink()


def cut_to_its_head(folder, _):
    """The lines before a head are gone, as if retention had taken them."""
    put(folder, lines_in(folder)[2:])


def spaced(folder, _):
    put(folder, [line.replace(b'{"n":', b'{"n": ') for line in lines_in(folder)])


def empty(folder, _):
    (folder / "2026-11-09.jsonl").touch()


def middle_without_its_end(folder, key):
    """The next day begins with the head of the day before it, which is nowhere else."""
    without_second_day(folder, key)
    (folder / SECOND).write_bytes(lines_in(folder)[-1] + b"\n")


def foreign(_):
    signer = new_signer()
    return lambda data: bytes.fromhex(signer.sign(data).signature)


def unsigned(folder, _):
    lines = lines_in(folder, SECOND)
    head = read(lines[-1])
    del head["sig"]
    put(folder, [*lines[:-1], write(head).encode()], SECOND)


FORGED = {
    "an event": (changed(b'"decided"', b'"resumed"'), "line 3"),
    "a hash": (changed(b'"by":"', b'"by":"0'), "line 2"),
    "a text": (changed(b"as agreed", b"as I like"), "the text of 'reason' was changed"),
    "a salt": (changed(b'"by":["', b'"by":["0'), "the text of 'by' was changed"),
    "a text whose beginning is put into its salt": (
        changed(b'","as agreed', b'as ","agreed'),
        "the text of 'reason' was changed",
    ),
    "spaces": (spaced, "not"),
    "a line dropped": (without(1), "does not follow"),
    "the end of a day dropped": (without(3, 4, 5), "it is not the last line of the file before"),
    "the first line of a day dropped": (without(0, file=SECOND), "it is not the last line of the file before"),
    "the last head dropped": (without(3, file=SECOND), "it ends before its head"),
    "lines moved": (moved, "does not follow"),
    "a line added": (added, "it ends before its head"),
    "a line added with a head that nobody signed": (added_with_head(lambda _: None), "not signed with a key"),
    "a line added with a head of a foreign key": (added_with_head(foreign), "not signed with a key"),
    "a signature dropped": (unsigned, "not signed with a key"),
    "written anew without a key": (rewritten, "not signed with a key"),
    "the lines before a head": (cut_to_its_head, "the lines before it are missing"),
    "a day in the middle": (without_second_day, "it is not the last line of the file before"),
    "all of a day but its first line": (without(1, 2, 3, file=SECOND), "line 2: it ends before its head"),
    "all of an earlier day but its first line": (middle_without_its_end, "it ends before its head"),
    "an empty day": (empty, "2026-11-09.jsonl"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_what_somebody_forged_is_rejected_by_both(said, folder, key, name):
    forge, told = FORGED[name]

    forge(folder, key)

    assert all(told in sentence for sentence in said()), said()


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        (lambda folder, _: (folder / SECOND).unlink(), "it was cut"),
        (without_first_day, "its files from before are gone"),
    ],
)
def test_a_head_from_before_shows_what_is_missing(said, folder, key, cut, told):
    """An older head alone is as good as what it covers: somebody has to have a newer one."""
    heads = [lines_in(folder)[2].decode(), lines_in(folder, SECOND)[-1].decode()]

    cut(folder, key)

    assert all(told in sentence for sentence in said(against=heads)), said(against=heads)


def test_somebody_with_the_key_who_writes_it_anew_is_found_by_a_head_from_before(said, folder, key):
    heads = [lines_in(folder)[2].decode()]

    rewritten(folder, key, sign=key.sign_head)

    assert said() == ["", ""]
    assert all("it was written anew" in sentence for sentence in said(against=heads))


def test_days_that_are_over_may_be_gone(said, folder, key):
    """A file begins with the last head of the one before."""
    without_first_day(folder, key)

    assert said() == ["", ""]


def test_what_was_erased_leaves_the_log_sound(said, folder):
    log = AuditLog(folder, "assent")

    count = log.erase(lambda entry: {"by", "name"} if entry["id"] == "billing.b" else set())

    assert count == 1
    assert said() == ["", ""]
    (entry,) = log.read(FIRST.removesuffix(".jsonl"), about="billing.b")
    assert (entry["by"], entry["name"], entry["tool"]) == ("", "", "pay")
    assert log.check(None).erased == 1


def test_a_key_for_the_log_alone_counts_for_its_heads(said, tmp_path):
    ring = json.loads((tmp_path / "ring.json").read_text())
    ring["keys"][0]["purpose"] = "log"
    del ring["keys"][0]["team"]
    (tmp_path / "ring.json").write_text(json.dumps(ring))

    assert said() == ["", ""]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"revoked": True}, "is revoked"),
        ({"not_after": "2026-11-07T23:00:00Z"}, "only between"),
        ({"namespace": "other"}, "not signed with a key"),
        ({"purpose": "agent", "team": None, "agent": "billing"}, "not signed with a key"),
    ],
)
def test_a_key_that_does_not_count_is_rejected(said, folder, key, tmp_path, fields, told):
    ring = json.loads((tmp_path / "ring.json").read_text())
    changed = ring["keys"][0] | fields
    own = {name: value for name, value in changed.items() if value is not None}
    ring["keys"] = [own, listed(Signing())]
    (tmp_path / "ring.json").write_text(json.dumps(ring))

    assert all(told in sentence for sentence in said())


def test_a_log_of_another_namespace_is_rejected(said, folder, key):
    """Also one that the same key has signed."""
    own = key.key.model_copy(update={"namespace": "other"})
    for file in folder.iterdir():
        file.unlink()
    log = AuditLog(folder, "other", replace(key, key=own, ring=Ring([own])))
    log.append(entries("a"), Mark("1-0", 1), NOON)

    assert all("not signed with a key" in sentence for sentence in said())


def test_without_a_key_the_same_chain_is_checked(said, tmp_path, folder):
    for file in folder.iterdir():
        file.unlink()
    make_log(folder)

    assert said(has_key=False) == ["", ""]
    without(1)(folder, None)
    assert all("does not follow" in sentence for sentence in said(has_key=False))


def changed_lines(text):
    return (changed.encode() for _, changed in changes(json.loads(text), write))


def with_a_changed_end(lines):
    """The last entry changed, with a head that names its hash; then the last head changed."""
    for changed in changed_lines(lines[-2]):
        head = json.loads(lines[-1])
        with suppress(ValueError, RecursionError):
            head["prev"] = hash_of(json.loads(changed))
        yield [*lines[:-2], changed, write(head).encode()]
    for changed in changed_lines(lines[-1]):
        yield [*lines[:-1], changed]


def files_changed(first, second):
    """Both files cut, with a line dropped or there twice, and lines of one in the other."""
    for number in range(len(first) + 1):
        yield first[:number], second
        yield first[number:], second
        yield first[:number] + first[number + 1 :], second
        yield first[: number + 1] + first[number:], second
    for number in range(len(second) + 1):
        yield first, second[:number]
        yield first, second[number:]
        yield first, second[:number] + second[number + 1 :]
        yield first + second[:number], second[number:]


@pytest.mark.nightly
def test_both_say_the_same_of_a_log_in_which_anything_is_changed(said, folder):
    """Nothing but their own errors is raised, whatever stands there; what is left out of the middle is found."""
    first, second = lines_in(folder), lines_in(folder, SECOND)
    accepted = []
    changed = [(first, lines) for lines in with_a_changed_end(second)]
    for one, two in [*changed, *files_changed(first, second)]:
        put(folder, one)
        put(folder, two, SECOND)
        product, verifier = map(bool, said())
        assert product is verifier, said()
        accepted += [] if product else [(one, two)]

    assert {(len(one), len(two)) for one, two in accepted} == {(len(first), len(second))}


def test_the_verifier_runs_by_itself(folder, tmp_path):
    def run(*options):
        command = [sys.executable, VERIFIER, folder, *options]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        return ended.returncode, ended.stdout + ended.stderr

    code, told = run("--key", "ring.json")
    assert (code, "lines 1 to 9" in told, "Each head is signed" in told) == (0, True, True)
    assert run() == (2, "Nothing was checked: the heads are signed: name the ring after --key\n")  # fmt: skip
    assert run("--key", "ring.json", "--against", "ring.json")[0] == 2
    without(1)(folder, None)
    code, told = run("--key", "ring.json")
    assert code == 1
    assert told.startswith("REJECTED: 2026-11-07.jsonl line 2")
