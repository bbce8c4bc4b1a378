"""The state of a paused run as it travels."""

import pytest
from cryptography.fernet import Fernet

from agent_adapter.continuation import Seal
from agent_adapter.errors import InvalidRequestError, UnreadableContinuationError

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def test_without_a_key_the_state_travels_as_it_is():
    """And is read as it is."""
    assert Seal().close('{"a":1}') == '{"a":1}'
    assert Seal([NEW]).open('{"a":1}') == '{"a":1}'


def test_the_first_key_encrypts_and_every_key_reads():
    """So keys can be changed while runs wait."""
    closed = Seal([NEW, OLD]).close('{"täg":1}')

    assert "1" not in closed.partition(":")[0]
    assert Seal([NEW]).open(closed) == '{"täg":1}'
    assert Seal([NEW, OLD]).open(Seal([OLD]).close("{}")) == "{}"


@pytest.mark.parametrize(
    ("keys", "words"),
    [([], "give this worker the key in ASSENT_STATE_KEY"), ([OLD], "a key that is not in ASSENT_STATE_KEY")],
)
def test_what_is_encrypted_with_another_key_is_not_read(keys, words):
    """The sentence says which setting to look at."""
    with pytest.raises(UnreadableContinuationError, match=words):
        Seal(keys).open(Seal([NEW]).close("{}"))


def test_something_that_is_no_key_is_refused():
    """At the start, with how to make one."""
    with pytest.raises(InvalidRequestError, match="32 bytes in URL-safe base64; make one with"):
        Seal(["hunter2"])


def test_keys_come_from_the_environment_or_from_a_file(monkeypatch, tmp_path):
    """Newest first, with commas between."""
    monkeypatch.setenv("ASSENT_STATE_KEY", f"{NEW}, {OLD}")
    assert Seal.from_environment().open(Seal([OLD]).close("{}")) == "{}"

    (tmp_path / "keys").write_text(f"{NEW}\n")
    monkeypatch.setenv("ASSENT_STATE_KEY_FILE", str(tmp_path / "keys"))
    with pytest.raises(UnreadableContinuationError):
        Seal.from_environment().open(Seal([OLD]).close("{}"))
