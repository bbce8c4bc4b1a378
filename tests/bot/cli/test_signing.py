"""`keys signing`: keys in files, and a ring that everybody may read."""

import json
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.signer import read_signer
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
    assert read_signer((tmp_path / "key.pem").read_text()).public_key.keyid == key["kid"]


def test_only_its_owner_reads_a_private_key_and_everybody_the_ring(made, tmp_path):
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "ring.json").stat().st_mode) == 0o644


def test_a_private_key_is_never_overwritten(run, made, tmp_path):
    before = (tmp_path / "key.pem").read_text(), ring()

    code, printed, said = run("create", "key.pem", "--ring", "ring.json", "--team", "T0ACME")

    assert (code, printed) == (2, "")
    assert said.startswith("key.pem is already there")
    assert before == ((tmp_path / "key.pem").read_text(), ring())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create", "key.pem", "--ring", "ring.json"), f"{_TEAM}\n"),
        (("create", "key.pem", "--ring", "ring.json", "--team", "acme"), f"{_TEAM}\n"),
        (("create", "key.pem", "--team", "T0ACME"), "name the file of public keys: --ring ring.json, or set ASSENT_RING\n"),
        (("create", "key.pem", "--ring", "ring.json", "--purpose", "agent"), f"{_AGENT}\n"),
        (("rotate", "0", "key.pem", "--ring", "ring.json"), "ring.json does not have the key 0: it has no key\n"),
        (("revoke", "0", "--ring", "ring.json"), "ring.json does not have the key 0: it has no key\n"),
        (
            ("create", "away/key.pem", "--ring", "ring.json", "--team", "T0ACME"),
            "away/key.pem: No such file or directory: name a file in a folder that is there, and in which this user may write\n",
        ),
    ],
)  # fmt: skip
def test_a_mistake_changes_nothing_and_says_what_to_do(run, tmp_path, words, sentence):
    code, printed, said = run(*words)

    assert (code in {1, 2}, printed, said) == (True, "", sentence)
    assert list(tmp_path.iterdir()) == []


def test_the_next_key_signs_at_once_and_the_old_one_for_a_while(run, made, tmp_path):
    before = datetime.now(UTC).replace(microsecond=0)
    code, _, _ = run("rotate", made, "next.pem", "--ring", "ring.json", "--overlap-hours", "2")

    keys = Ring.load("ring.json").keys
    following = read_signer((tmp_path / "next.pem").read_text()).public_key.keyid
    assert code == 0
    assert keys.keys() == {made, following}
    assert timedelta() <= keys[made].not_after - before - timedelta(hours=2) < timedelta(minutes=1)
    assert keys[following].not_before >= before
    assert (keys[following].team, keys[following].namespace) == ("T0ACME", "assent")
    assert "was rotated already" in run("rotate", made, "third.pem", "--ring", "ring.json")[2]


def test_a_revoked_key_stays_in_the_ring_and_signs_nothing(run, made):
    code, printed, _ = run("revoke", made, "--ring", "ring.json")

    assert code == 0
    assert "give this file to everybody who checks" in printed
    assert Ring.load("ring.json").keys[made].revoked
    assert run("rotate", made, "next.pem", "--ring", "ring.json")[0] == 2


def test_a_key_for_the_log_has_no_next_one(run, made):
    """No bot would sign with it."""
    before = re.sub('"team": "T0ACME",?', "", Path("ring.json").read_text().replace('"receipts"', '"log"'))
    Path("ring.json").write_text(before)
    code, _, said = run("rotate", made, "next.pem", "--ring", "ring.json")

    assert (code, Path("ring.json").read_text()) == (2, before)
    assert "which the key for receipts signs: rotate that" in said
