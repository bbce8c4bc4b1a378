"""Texts in Redis that only those with a key read."""

import pytest

from agent_adapter.cipher import RECORD_KEY, STATE_KEY, Cipher
from agent_adapter.errors import InvalidRequestError, LockedRecordError, UnreadableContinuationError
from agent_adapter.redis.runs import Runs
from tests.support.builders import a_key

OLD, NEW = a_key(), a_key()
HERE = {"record": "billing.1", "field": "body"}


def test_without_a_key_texts_are_stored_as_they_are():
    assert Cipher().close('{"a":1}', **HERE) == '{"a":1}'
    assert Cipher().open('{"a":1}', **HERE) == '{"a":1}'


def test_the_first_key_encrypts_and_every_key_reads_also_what_is_not_encrypted():
    """So keys can be changed, and begun with, while cards are open."""
    closed = Cipher([NEW, OLD]).close('{"täg":1}', **HERE)

    assert "täg" not in closed
    assert Cipher([NEW]).open(closed, **HERE) == '{"täg":1}'
    for stored in (Cipher([OLD]).close("{}", **HERE), "{}"):
        assert Cipher([NEW, OLD]).open(stored, **HERE) == "{}"


@pytest.mark.parametrize("place", [{**HERE, "record": "billing.2"}, {**HERE, "field": "output:0"}])
def test_a_text_that_was_copied_to_another_place_is_not_read(place):
    with pytest.raises(LockedRecordError, match="or for another place"):
        Cipher([NEW]).open(Cipher([NEW]).close("{}", **HERE), **place)


@pytest.mark.parametrize("cut", [slice(0, -4), slice(0, 20), slice(0, len("aes-256-gcm:")), slice(0, -1)])
def test_a_damaged_text_is_not_read(cut):
    """It is the same error as for a wrong key, whatever was cut off."""
    closed = Cipher([NEW]).close('{"a":1}', **HERE)

    with pytest.raises(LockedRecordError, match="somebody changed what is stored"):
        Cipher([NEW]).open(closed[cut], **HERE)


@pytest.mark.parametrize(
    ("keys", "words"),
    [([], "set ASSENT_STATE_KEY to the key"), ([OLD], "a key that is not in ASSENT_STATE_KEY")],
)
def test_what_is_encrypted_with_another_key_is_not_read(keys, words):
    """The sentence says which setting to look at."""
    with pytest.raises(LockedRecordError, match=words):
        Cipher(keys, variable=STATE_KEY).open(Cipher([NEW]).close("{}", **HERE), **HERE)


@pytest.mark.parametrize(
    "key",
    ["hunter2", OLD[:-4], OLD + "AAAA", "ß" * 44],
    ids=["a word", "short", "long", "no letters of a key"],
)
def test_something_that_is_not_a_key_is_refused(key):
    """At the start, with how to make one."""
    with pytest.raises(InvalidRequestError, match="32 bytes in base64; make one with"):
        Cipher([key])


def test_keys_come_from_the_environment_or_from_a_file(monkeypatch, tmp_path):
    """Newest first, with commas between. Both at once are refused, since nobody can know which of them is meant."""
    closed = Cipher([OLD]).close("{}", **HERE)
    monkeypatch.setenv(RECORD_KEY, f"{NEW}, {OLD}")
    assert Cipher.from_environment(RECORD_KEY).open(closed, **HERE) == "{}"

    (tmp_path / "keys").write_text(f"{OLD}\n")
    monkeypatch.setenv(f"{RECORD_KEY}_FILE", str(tmp_path / "keys"))
    with pytest.raises(
        InvalidRequestError, match="ASSENT_RECORD_KEY and ASSENT_RECORD_KEY_FILE are both set"
    ):
        Cipher.from_environment(RECORD_KEY)
    monkeypatch.setenv(RECORD_KEY, " ")
    assert Cipher.from_environment(RECORD_KEY).open(closed, **HERE) == "{}"

    monkeypatch.setenv(f"{RECORD_KEY}_FILE", "/nowhere/key")
    with pytest.raises(InvalidRequestError, match=r"^ASSENT_RECORD_KEY_FILE: there is no file /nowhere/key"):
        Cipher.from_environment(RECORD_KEY)


# --- States of runs -----------------------------------------------------------------------------------------------


def states(*keys, is_signed=False):
    return Runs(None, None, Cipher(keys, variable=STATE_KEY), is_signed=is_signed)


def test_a_state_that_is_not_encrypted_is_refused_where_there_is_a_key_or_a_ring():
    """Somebody who can write to Redis but has no key cannot say how a run goes on."""
    assert states().open_state("{}", **HERE) == "{}"
    with pytest.raises(UnreadableContinuationError, match="not encrypted, but this worker has a key"):
        states(NEW).open_state("{}", **HERE)
    with pytest.raises(UnreadableContinuationError, match="set ASSENT_STATE_KEY, in the process that asks"):
        states(is_signed=True).open_state("{}", **HERE)


def test_a_state_with_another_key_is_for_another_worker():
    with pytest.raises(UnreadableContinuationError, match="a key that is not in ASSENT_STATE_KEY"):
        states(NEW).open_state(Cipher([OLD]).close("{}", **HERE), **HERE)
