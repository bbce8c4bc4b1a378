"""Names that look the same to a person and are different to a rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.look_alikes import resembled


@pytest.mark.parametrize(
    "name",
    [
        "Pay_invoice", "PAY_INVOICE", "pay-invoice", "pay.invoice", "pay invoice", "payInvoice", "PayInvoice",
        "p\u0430y_invoice", "\u0440ay_invoice", "\u03a1AY_invoice", "\uff50\uff41\uff59_invoice",
        "p\u00e1y_invoice", "pa\u200by_invoice", "pay\u2010invoice", "pa\u0443_invoice", "p\u237ay_invoice",
    ],
)  # fmt: skip
def test_a_name_that_looks_like_one_that_a_glob_takes(name: str):
    """Case, humps, separators, other alphabets, accents, hidden characters."""
    assert resembled(name, ("refund", "pay_*")) == "pay_*"


@pytest.mark.parametrize(
    "name",
    [
        "payroll_list", "payroll", "payment", "prepay_invoice", "\u652f\u4ed8_invoice", "\u043a\u043e\u0434_x",
        "mail",
    ],
)  # fmt: skip
def test_a_name_that_is_another_one(name: str):
    """Also one that only begins alike, and one in another language."""
    assert resembled(name, ("pay_*", "refund")) is None


def test_a_name_that_matches_resembles_nothing():
    """There is nothing to warn of, also where another entry is close."""
    assert resembled("pay_invoice", ("Pay_*", "pay_*")) is None
    assert resembled("anything", ("*",)) is None


@given(st.text(max_size=20), st.text(alphabet=st.characters(exclude_characters="[]"), max_size=20))
def test_any_two_texts_can_be_compared(name: str, glob: str):
    """Whatever an agent calls its tool, and whatever stands in a file."""
    assert resembled(name, (glob,)) in {None, glob}
