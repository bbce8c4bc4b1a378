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
    ("name", "wanted"),
    [
        ("Refund", True),
        ("re_fund", True),
        ("refund\u200b", True),
        ("refunds", False),
        ("refnd", False),
        ("fund", False),
    ],
)
def test_a_name_without_wildcards_is_compared_as_a_whole(name: str, *, wanted: bool):
    """Another word is another tool."""
    assert (resembled(name, ("refund",)) == "refund") is wanted


@pytest.mark.parametrize(
    ("name", "glob"),
    [
        ("1ookup", "lookup"),
        ("l0gin", "login"),
        ("l\u0d02gin", "login"),
        ("send_emaiI", "send_email"),
        ("tum_off", "turn_*"),
    ],
)
def test_figures_and_pairs_of_letters_that_look_like_others(name: str, glob: str):
    """One and l, nought and o, rn and m."""
    assert resembled(name, (glob,)) == glob


@pytest.mark.parametrize(
    ("name", "glob"),
    [
        ("TRANSFERNOW", "transfer*"),
        ("Transfernow", "transfer*"),
        ("USERNAME_RESET", "user*"),
        ("INTERNAL", "inter*"),
        ("TURN_OFF", "turn_*"),
        ("TUM_OFF", "turn_*"),
        ("PAYINVOICE", "pay_*"),
        ("PAYInvoice", "pay_*"),
        ("PAYINVOICE_NOW", "pay_*"),
    ],
)
def test_a_glob_ends_in_the_middle_of_a_name(name: str, glob: str):
    """The letters of a pair may stand on both sides of its end; a name in one word may have lost its separators."""
    assert resembled(name, (glob,)) == glob


@pytest.mark.parametrize("code", [0x3164, 0x2800, 0xFFFC, 0x115F, 0x1160, 0xFFA0, 0x200B, 0x34F, 0xE0041])
def test_characters_that_nobody_sees(code: int):
    """Whatever their category says of them, at the end and inside."""
    for name in (f"delete_db{chr(code)}", f"del{chr(code)}ete_db"):
        assert resembled(name, ("delete_db",)) == "delete_db"
    assert resembled(f"p{chr(code)}ay_invoice", ("pay_*",)) == "pay_*"


@pytest.mark.parametrize("sign", "\u2212\u00b7\u02cd\u2022\u30fb\u2010\u00a0\u2027\ua78f\u1427\u2044\ufe4d~")
def test_signs_that_separate_words(sign: str):
    """Minus, dots, bars and spaces of all kinds."""
    assert resembled(f"delete{sign}db", ("delete_db",)) == "delete_db"
    assert resembled(f"pay{sign}invoice", ("pay_*",)) == "pay_*"


@pytest.mark.parametrize(
    "name",
    [
        *("de\u01c0ete_db", "delete_d\u13cf", "delete_d\uab9f", "\u1d05e\u029fete_db", "\u1d05\u1d07\u029f\u1d07\u1d1b\u1d07_\u1d05\u0299"),
        *("\u217eelete_db", "delet\u0435_db", "\U0001d41delete_db", "\ua4d3ELETE_DB"),
    ],
)  # fmt: skip
def test_letters_of_the_table_that_cards_warn_by(name: str):
    """A click, Cherokee, small capitals, numerals, mathematical letters, Lisu."""
    assert resembled(name, ("delete_db",)) == "delete_db"


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
