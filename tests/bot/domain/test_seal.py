"""The mark of a fact: only its keys make it, and it fits nothing else."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import SettingsError
from bot.domain.seal import Seal

OLD, NEW = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
FACT = ("billing.1", "fact", ["approvers", "U0DANA"])


def seal(text=NEW, namespace="assent"):
    return Seal.parse(text, namespace=namespace)


@pytest.mark.parametrize(
    "other",
    [
        ("billing.2", "fact", ["approvers", "U0DANA"]),
        ("billing.1", "deadline", ["approvers", "U0DANA"]),
        ("billing.1", "fact", ["quorum", "U0DANA"]),
        ("billing.1", "fact", ["approvers", "U0ERIK"]),
        ("billing.1", "fact", ["approversU0DANA"]),
        ("billing.1", "fact", ["approvers", "U0DANA", ""]),
        ("billing.1", "fact", []),
    ],
)
def test_a_mark_holds_for_nothing_else(other):
    assert not seal().holds(seal().mark(*FACT), *other)


def test_a_mark_of_another_namespace_or_another_key_does_not_hold():
    assert not seal(namespace="other").holds(seal().mark(*FACT), *FACT)
    assert not seal(OLD).holds(seal().mark(*FACT), *FACT)


def test_the_first_key_makes_marks_and_all_keys_check_them():
    """So a key is changed while cards are open."""
    rotated = seal(f"{NEW}, {OLD}")

    assert rotated.holds(seal(OLD).mark(*FACT), *FACT)
    assert rotated.mark(*FACT) == seal(NEW).mark(*FACT)


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_two_facts_never_have_the_same_mark(one, other):
    """However their parts are cut."""
    same = seal().mark("r", "n", one) == seal().mark("r", "n", other)

    assert same == (one == other)


@pytest.mark.parametrize("text", ["", "c2hvcnQ=", "not base64!", f"{NEW},", f"{NEW},{OLD[:-4]}"])
def test_what_is_not_a_key_is_refused_and_not_repeated(text):
    with pytest.raises(SettingsError, match="ASSENT_SEAL_KEY: entry") as refused:
        seal(text)
    assert not text or text not in str(refused.value)
    assert refused.value.__cause__ is None
