"""`keys signing`: keys in files, and a ring that everybody may read."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_adapter.receipts.key_files import held_ring, read_keys, write_keys
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import CREATE, LocalSigner
from bot.cli.commands import cli
from bot.cli.signing import _AGENT, _TEAM


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ASSENT_RING", "ASSENT_NAMESPACE", "ASSENT_SEAL_KEY", "ASSENT_SEAL_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)

    def call(*words):
        found = CliRunner().invoke(cli, ["keys", "signing", *words])
        return found.exit_code, found.stdout, found.stderr

    return call


@pytest.fixture
def signer_of():
    return [LocalSigner.generate() for _ in range(24)]


@pytest.fixture
def made(run):
    """The name of a key for receipts, in key.pem and ring.json."""
    assert run("create", "key.pem", "--ring", "ring.json", "--team", "T0ACME")[0] == 0
    return only(ring())


def ring():
    return {key["kid"]: key for key in json.loads(Path("ring.json").read_text())["keys"]}


def only(keys):
    (kid,) = keys
    return kid


def test_a_key_is_made_with_its_public_key_in_the_ring(run, tmp_path):
    code, printed, _ = run(
        "create", "key.pem", "--ring", "ring.json", "--team", "T0ACME", "--namespace", "pay"
    )

    key = ring()[only(ring())]
    assert code == 0
    assert key["kid"] in printed
    assert (key["purpose"], key["namespace"], key["team"]) == ("receipts", "pay", "T0ACME")
    assert LocalSigner.parse((tmp_path / "key.pem").read_text()).kid == key["kid"]


def test_a_key_for_the_seal_is_asked_for_where_there_is_none(run, monkeypatch):
    """Who moves to another namespace has one already: it is for both."""
    words = ("--ring", "ring.json", "--team", "T0ACME")
    asked = "a bot needs a key for its seal as well"

    assert asked in run("create", "key.pem", *words)[1]
    monkeypatch.setenv("ASSENT_SEAL_KEY_FILE", "seal-key")
    assert asked not in run("create", "key2.pem", *words)[1]


def test_only_its_owner_reads_a_private_key_and_everybody_the_ring(made, tmp_path):
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "ring.json").stat().st_mode) == 0o644


def test_a_private_key_is_never_overwritten_or_printed(run, made, tmp_path):
    before = (tmp_path / "key.pem").read_text(), ring()

    code, printed, said = run("create", "key.pem", "--ring", "ring.json", "--team", "T0ACME")

    assert (code, printed) == (1, "")
    assert said.startswith("key.pem is already there")
    assert before == ((tmp_path / "key.pem").read_text(), ring())
    assert before[0].splitlines()[1] not in run("publish", "--ring", "ring.json")[1]


def test_keys_of_the_log_and_of_agents_are_kept_in_the_same_ring(run, made):
    run("create", "log.pem", "--ring", "ring.json", "--purpose", "log")
    run("create", "agent.pem", "--ring", "ring.json", "--purpose", "agent", "--agent", "billing")

    assert sorted((key["purpose"], key.get("agent")) for key in ring().values()) == [
        ("agent", "billing"), ("log", None), ("receipts", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create", "key.pem", "--ring", "ring.json"), f"{_TEAM}\n"),
        (("create", "key.pem", "--ring", "ring.json", "--team", "acme"), f"{_TEAM}\n"),
        (
            ("create", "key.pem", "--team", "T0ACME"),
            "name the file of public keys: --ring ring.json, or set ASSENT_RING\n",
        ),
        (("create", "key.pem", "--ring", "ring.json", "--purpose", "agent"), f"{_AGENT}\n"),
        (("revoke", "0", "--ring", "ring.json"), "ring.json does not have the key 0: it has no key\n"),
        (
            ("publish", "--ring", "ring.json"),
            f"there is no ring.json: make a key with {CREATE}\n",
        ),
        (
            ("create", "away/key.pem", "--ring", "ring.json", "--team", "T0ACME"),
            "away/key.pem: No such file or directory: name a file in a folder that is there, and in which this user may write\n",
        ),
    ],
)
def test_a_mistake_changes_nothing_and_says_what_to_do(run, tmp_path, words, sentence):
    code, printed, said = run(*words)

    assert (code in {1, 2}, printed, said) == (True, "", sentence)
    assert list(tmp_path.iterdir()) == []


def test_keys_that_are_made_at_once_are_all_in_the_ring(signer_of, tmp_path):
    """Two commands at once lose none, whoever writes last."""
    path = tmp_path / "ring.json"

    def add(number):
        with held_ring(path) as keys:
            write_keys(path, [*keys, RingKey.of(signer_of[number].public, "log", namespace="assent")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))

    assert {key.kid for key in read_keys(path)} == {each.kid for each in signer_of}


@pytest.mark.parametrize("command", ["create", "rotate", "revoke"])
def test_a_command_that_changes_the_ring_waits_for_the_one_before_it(run, made, tmp_path, command):
    """What another process added meanwhile is kept."""
    words = {"create": ("log.pem", "--purpose", "log"), "rotate": (made, "next.pem"), "revoke": (made,)}
    other = RingKey.of(LocalSigner.generate().public, "log", namespace="assent")
    with ThreadPoolExecutor(1) as pool:
        with held_ring(tmp_path / "ring.json") as keys:
            ended = pool.submit(run, command, *words[command], "--ring", "ring.json")
            wait([ended], timeout=0.2)
            write_keys(tmp_path / "ring.json", [*keys, other])
        assert ended.result()[0] == 0

    assert other.kid in ring()
    assert len(ring()) == (2 if command == "revoke" else 3)


def test_a_broken_ring_is_named_and_kept(run, tmp_path):
    (tmp_path / "ring.json").write_text('{"version":1,"keys":[],"key":[]}')

    code, _, said = run("create", "key.pem", "--ring", "ring.json", "--team", "T0ACME")

    assert code == 1
    assert said.startswith("ring.json.key:")
    assert [each.name for each in tmp_path.iterdir()] == ["ring.json"]


def test_the_next_key_signs_at_once_and_the_old_one_for_a_while(run, made, tmp_path):
    before = datetime.now(UTC).replace(microsecond=0)
    code, _, _ = run("rotate", made, "next.pem", "--ring", "ring.json", "--overlap-hours", "2")

    keys = Ring.load("ring.json").keys
    following = LocalSigner.parse((tmp_path / "next.pem").read_text()).kid
    assert code == 0
    assert keys.keys() == {made, following}
    assert timedelta() <= keys[made].not_after - before - timedelta(hours=2) < timedelta(minutes=1)
    assert keys[following].not_before >= before
    assert (keys[following].team, keys[following].namespace) == ("T0ACME", "assent")


def test_a_key_that_was_rotated_is_not_rotated_again(run, made, tmp_path):
    run("rotate", made, "second.pem", "--ring", "ring.json", "--overlap-hours", "1")
    before = ring()

    code, _, said = run("rotate", made, "third.pem", "--ring", "ring.json", "--overlap-hours", "100")

    assert code == 1
    assert "was rotated already" in said
    assert ring() == before
    assert not (tmp_path / "third.pem").exists()


def test_a_revoked_key_stays_in_the_ring_and_signs_nothing(run, made):
    code, printed, _ = run("revoke", made, "--ring", "ring.json")

    assert code == 0
    assert "give this file to everybody who checks" in printed
    assert Ring.load("ring.json").keys[made].revoked
    assert run("rotate", made, "next.pem", "--ring", "ring.json")[0] == 1


def test_the_ring_is_printed_as_it_is_read(run, made, monkeypatch):
    monkeypatch.setenv("ASSENT_RING", "ring.json")

    code, printed, _ = run("publish")

    assert code == 0
    assert Ring.parse(printed).keys == Ring.load("ring.json").keys
