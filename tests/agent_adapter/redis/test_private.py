"""What agents and people write, as records keep it."""

import base64
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.errors import InvalidRequestError, LockedRecordError
from agent_adapter.redis.private import RecordCipher

OLD, NEW = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1)


@given(TEXTS)
def test_a_text_is_read_again_as_it_was_written(text):
    """Whatever it is: a text that looks encrypted, too."""
    cipher = RecordCipher([NEW])
    closed = cipher.close(text, record="billing.1", field="body")

    assert text not in closed or len(text) < 20
    assert cipher.opened("billing.1", {"body": closed, "created": text}) == {"body": text, "created": text}


@given(LINE, LINE)
def test_the_words_that_scripts_write_before_a_text_stay(first, second):
    """Votes are lines, and what is in the text changes nothing about that."""
    cipher = RecordCipher([NEW])
    lines = [
        f"U{number} approve t{number} 17 {cipher.close(text, record='billing.1', field='d:0')}"
        for number, text in enumerate((first, second))
    ]

    opened = cipher.opened("billing.1", {"votes:0": "\n".join(lines)})

    assert opened == {"votes:0": f"U0 approve t0 17 {first}\nU1 approve t1 17 {second}"}


def test_the_same_text_in_the_same_place_looks_the_same():
    """Scripts compare texts. In another place it looks different, so nobody learns that two calls are the same."""
    cipher = RecordCipher([NEW, OLD])
    closed = cipher.close("{}", record="billing.1", field="d:0")

    assert closed == cipher.close("{}", record="billing.1", field="d:0")
    others = {cipher.close("{}", record=r, field=f) for r, f in (("billing.1", "d:1"), ("billing.2", "d:0"))}
    assert len({closed, *others}) == 3
    assert closed != RecordCipher([OLD, NEW]).close("{}", record="billing.1", field="d:0")


def test_every_key_reads_and_what_is_not_encrypted_is_read_too():
    """So keys can be changed, and begun with, while cards are open."""
    older = RecordCipher([OLD]).close("{}", record="billing.1", field="body")

    for stored in (older, "{}"):
        assert RecordCipher([NEW, OLD]).open(stored, record="billing.1", field="body") == "{}"


@pytest.mark.parametrize("keys", [[], [NEW]])
def test_without_its_key_a_text_is_not_read(keys):
    """The error names the setting."""
    closed = RecordCipher([OLD]).close("{}", record="billing.1", field="body")

    with pytest.raises(LockedRecordError, match="ASSENT_RECORD_KEY"):
        RecordCipher(keys).opened("billing.1", {"body": closed})


@pytest.mark.parametrize("name", ["d:1", "votes:1", "proposal:0", "body"])
def test_a_text_that_was_moved_to_another_field_is_not_read(name):
    """A decision about one action is none about another one. A vote may become the decision about its own action."""
    cipher = RecordCipher([NEW])
    closed = cipher.close("{}", record="billing.1", field="d:0")

    assert cipher.opened("billing.1", {"votes:0": f"U approve t 1 {closed}"}) == {
        "votes:0": "U approve t 1 {}"
    }
    with pytest.raises(LockedRecordError, match="for another place"):
        cipher.opened(
            "billing.1", {name: {"votes:1": "U a t 1 ", "proposal:0": "n 1 p 1 "}.get(name, "") + closed}
        )


@pytest.mark.parametrize("cut", [slice(0, -4), slice(0, 20), slice(0, len("aes-256-gcm:")), slice(0, -1)])
def test_a_damaged_text_is_not_read(cut):
    """It is the same error as for a wrong key."""
    closed = RecordCipher([NEW]).close("{}", record="billing.1", field="body")

    with pytest.raises(LockedRecordError, match="somebody changed what is stored"):
        RecordCipher([NEW]).open(closed[cut], record="billing.1", field="body")


def test_a_missing_file_of_keys_is_named_with_the_cure(monkeypatch):
    """By the setting that names it."""
    monkeypatch.delenv("ASSENT_RECORD_KEY", raising=False)
    monkeypatch.setenv("ASSENT_RECORD_KEY_FILE", "/nowhere/key")

    with pytest.raises(
        InvalidRequestError,
        match=r"^ASSENT_RECORD_KEY_FILE: there is no file /nowhere/key: name one that this user can read$",
    ):
        RecordCipher.from_environment()


def test_a_key_that_is_none_is_refused_when_it_is_read(monkeypatch):
    """The sentence says how to make one."""
    monkeypatch.setenv("ASSENT_RECORD_KEY", "short")

    with pytest.raises(InvalidRequestError, match="ASSENT_RECORD_KEY: each key is 32 bytes in base64"):
        RecordCipher.from_environment()
