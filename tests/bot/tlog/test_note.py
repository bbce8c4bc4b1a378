"""A checkpoint counts only with the signature of its log."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot.tlog.note import Checkpoint, open_checkpoint, sign_checkpoint

KEY = Ed25519PrivateKey.generate()
PUBLIC = KEY.public_key().public_bytes_raw()
HERE = Checkpoint("assent/billing", 70_000, b"r" * 32)


def opened(note, origin="assent/billing", key=KEY):
    public = key.public_key()
    return open_checkpoint(note, origin, {public.public_bytes_raw(): public.verify})


def test_a_signed_checkpoint_reads_as_it_was_written():
    assert opened(sign_checkpoint(HERE, PUBLIC, KEY.sign)) == HERE


def test_a_checkpoint_says_where_its_last_entry_was_taken_from():
    here = Checkpoint("assent/billing", 70_000, b"r" * 32, "1 70000 1763762484000-0")

    assert opened(sign_checkpoint(here, PUBLIC, KEY.sign)) == here


def test_a_signature_of_a_witness_beside_it_does_no_harm():
    note = sign_checkpoint(HERE, PUBLIC, KEY.sign) + "\u2014 witness.example/w AAAAAAAA\n"

    assert opened(note) == HERE


def test_one_changed_character_of_the_text_breaks_the_signature():
    note = sign_checkpoint(HERE, PUBLIC, KEY.sign).replace("70000", "70001")

    with pytest.raises(InvalidSignature):
        opened(note)


def test_another_key_or_another_log_is_refused():
    note = sign_checkpoint(HERE, PUBLIC, KEY.sign)

    with pytest.raises(ValueError, match="not signed with a key"):
        opened(note, key=Ed25519PrivateKey.generate())
    with pytest.raises(ValueError, match="not signed with a key"):
        opened(note, origin="assent/other")


@pytest.mark.parametrize(
    "note", ["", "\n\n", "assent/billing\n1\nAAAA\n", "assent/billing\n1\nAAAA\n\nx y\n"]
)
def test_what_is_not_a_signed_note_is_refused(note):
    with pytest.raises(ValueError, match="checkpoint"):
        opened(note)


@pytest.mark.parametrize("size", ["-1", "01", "1.0", "", "\u0661"])
def test_a_size_that_is_not_a_plain_number_is_refused(size):
    text = f"assent/billing\n{size}\n{'A' * 43}=\n"
    forged = Checkpoint("assent/billing", 1, b"")
    note = sign_checkpoint(forged, PUBLIC, lambda _: KEY.sign(text.encode())).replace(forged.text, text)

    with pytest.raises(ValueError, match="how long"):
        opened(note)
