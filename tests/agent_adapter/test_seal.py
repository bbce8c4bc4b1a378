"""States of paused runs as they are stored."""

import base64
import os

import pytest

from agent_adapter.errors import InvalidRequestError, UnreadableContinuationError
from agent_adapter.seal import MissingSeal, Seal

OLD, NEW = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
HERE = {"record": "billing.1", "field": "continuation"}


def test_without_a_key_the_state_is_stored_as_it_is():
    """And a reader without a key reads it."""
    assert Seal().close('{"a":1}', **HERE) == '{"a":1}'
    assert Seal().open('{"a":1}', **HERE) == '{"a":1}'


def test_where_decisions_are_signed_no_state_is_stored_or_taken_without_a_key():
    """Redis could say what runs. Until the day to which unsigned answers count, states without a key do, too."""
    missing, before = MissingSeal(lambda: False), MissingSeal(lambda: True)

    with pytest.raises(InvalidRequestError, match="set ASSENT_STATE_KEY too"):
        missing.close("{}", **HERE)
    with pytest.raises(UnreadableContinuationError, match="set ASSENT_STATE_KEY, in the process that asks"):
        missing.open("{}", **HERE)
    assert before.open(before.close("{}", **HERE), **HERE) == "{}"
    with pytest.raises(UnreadableContinuationError, match="the state is encrypted"):
        before.open(Seal([NEW]).close("{}", **HERE), **HERE)


def test_the_first_key_encrypts_and_every_key_reads():
    """So keys can be changed while runs wait."""
    closed = Seal([NEW, OLD]).close('{"täg":1}', **HERE)

    assert "täg" not in closed
    assert Seal([NEW]).open(closed, **HERE) == '{"täg":1}'
    assert Seal([NEW, OLD]).open(Seal([OLD]).close("{}", **HERE), **HERE) == "{}"


def test_the_same_state_never_looks_the_same_twice():
    """Nobody learns from Redis that two runs are in the same state."""
    seal = Seal([NEW])

    assert seal.close("{}", **HERE) != seal.close("{}", **HERE)


@pytest.mark.parametrize("place", [{**HERE, "record": "billing.2"}, {**HERE, "field": "output:0"}])
def test_a_state_that_was_copied_to_another_place_is_refused(place):
    """Neither another run nor another step of the same run resumes from it."""
    closed = Seal([NEW]).close("{}", **HERE)

    with pytest.raises(UnreadableContinuationError, match="or for another run"):
        Seal([NEW]).open(closed, **place)


def test_a_state_that_is_not_encrypted_is_refused_where_there_is_a_key():
    """Somebody who can write to Redis but has no key cannot say how a run goes on."""
    with pytest.raises(UnreadableContinuationError, match="not encrypted, but this worker has a key"):
        Seal([NEW]).open('{"a":1}', **HERE)


@pytest.mark.parametrize("cut", [slice(0, -4), slice(0, 20), slice(0, len("aes-256-gcm:")), slice(0, -1)])
def test_a_damaged_state_is_refused(cut):
    """It is the same error as for a wrong key, whatever was cut off."""
    closed = Seal([NEW]).close('{"a":1}', **HERE)

    with pytest.raises(UnreadableContinuationError, match="somebody changed what is stored"):
        Seal([NEW]).open(closed[cut], **HERE)


@pytest.mark.parametrize(
    ("keys", "words"),
    [([], "give this worker the key in ASSENT_STATE_KEY"), ([OLD], "a key that is not in ASSENT_STATE_KEY")],
)
def test_what_is_encrypted_with_another_key_is_not_read(keys, words):
    """The sentence says which setting to look at."""
    with pytest.raises(UnreadableContinuationError, match=words):
        Seal(keys).open(Seal([NEW]).close("{}", **HERE), **HERE)


@pytest.mark.parametrize(
    "key",
    ["hunter2", OLD[:-4], OLD + "AAAA", "ß" * 44],
    ids=["a word", "short", "long", "no letters of a key"],
)
def test_something_that_is_not_a_key_is_refused(key):
    """At the start, with how to make one."""
    with pytest.raises(InvalidRequestError, match="32 bytes in base64; make one with"):
        Seal([key])


def test_keys_of_both_alphabets_are_read():
    """Some tools write URL-safe base64."""
    raw = b"\xfb\xff" * 16
    plain, safe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()

    assert plain != safe
    assert Seal([safe]).open(Seal([plain]).close("{}", **HERE), **HERE) == "{}"


def test_keys_come_from_the_environment_or_from_a_file(monkeypatch, tmp_path):
    """Newest first, with commas between."""
    monkeypatch.setenv("ASSENT_STATE_KEY", f"{NEW}, {OLD}")
    assert Seal.from_environment().open(Seal([OLD]).close("{}", **HERE), **HERE) == "{}"

    (tmp_path / "keys").write_text(f"{NEW}\n")
    monkeypatch.delenv("ASSENT_STATE_KEY")
    monkeypatch.setenv("ASSENT_STATE_KEY_FILE", str(tmp_path / "keys"))
    with pytest.raises(UnreadableContinuationError):
        Seal.from_environment().open(Seal([OLD]).close("{}", **HERE), **HERE)


def test_a_key_that_is_set_and_in_a_file_is_refused(monkeypatch, tmp_path):
    """Both settings are named, since nobody can know which of them is meant. An empty one is not set."""
    (tmp_path / "keys").write_text(f"{NEW}\n")
    monkeypatch.setenv("ASSENT_STATE_KEY_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("ASSENT_STATE_KEY", " ")
    assert Seal.from_environment().open(Seal([NEW]).close("{}", **HERE), **HERE) == "{}"

    monkeypatch.setenv("ASSENT_STATE_KEY", NEW)
    with pytest.raises(InvalidRequestError, match="ASSENT_STATE_KEY and ASSENT_STATE_KEY_FILE are both set"):
        Seal.from_environment()


def test_a_key_file_that_cannot_be_read_is_named(monkeypatch, tmp_path):
    """With the setting that names it."""
    monkeypatch.setenv("ASSENT_STATE_KEY_FILE", str(tmp_path / "none"))

    with pytest.raises(InvalidRequestError, match=r"ASSENT_STATE_KEY_FILE: there is no file .*none"):
        Seal.from_environment()
