"""Names that look the same to a person and are different to a rule; words and domain names that may be read as others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.look_alikes import domains, imitates, misread_words, resembled


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


HIDDEN = [0x3164, 0x2800, 0xFFFC, 0x115F, 0x1160, 0xFFA0, 0x200B, 0x34F, 0xE0041]
SIGNS = "\u2212\u00b7\u02cd\u2022\u30fb\u2010\u00a0\u2027\ua78f\u1427\u2044\ufe4d~"


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("refund", ["Refund", "re_fund", "refund\u200b"]),
        # One and l, nought and o, rn and m.
        ("lookup", ["1ookup"]), ("login", ["l0gin", "l\u0d02gin"]), ("send_email", ["send_emaiI"]),
        # The letters of a pair may stand on both sides of the end of a glob; a name in one word may have lost its separators.
        ("transfer*", ["TRANSFERNOW", "Transfernow"]), ("user*", ["USERNAME_RESET"]), ("inter*", ["INTERNAL"]),
        ("turn_*", ["TURN_OFF", "TUM_OFF", "tum_off"]), ("pay_*", ["PAYINVOICE", "PAYInvoice", "PAYINVOICE_NOW"]),
        # Characters that nobody sees, at the end and inside; minus, dots, bars and spaces of all kinds.
        ("delete_db", [text for code in HIDDEN for text in (f"delete_db{chr(code)}", f"del{chr(code)}ete_db")]),
        ("pay_*", [f"p{chr(code)}ay_invoice" for code in HIDDEN]),
        ("delete_db", [f"delete{sign}db" for sign in SIGNS]), ("pay_*", [f"pay{sign}invoice" for sign in SIGNS]),
        # A click, Cherokee, small capitals, numerals, mathematical letters, Lisu.
        ("delete_db", ["de\u01c0ete_db", "delete_d\u13cf", "delete_d\uab9f", "\u1d05e\u029fete_db", "\u217eelete_db",
                       "delet\u0435_db", "\U0001d41delete_db", "\ua4d3ELETE_DB", "\u1d05\u1d07\u029f\u1d07\u1d1b\u1d07_\u1d05\u0299"]),
    ],
)  # fmt: skip
def test_whatever_looks_like_a_name_of_the_policy_is_found(glob: str, names: list[str]):
    assert [name for name in names if resembled(name, (glob,)) != glob] == []


@pytest.mark.parametrize("name", ["refunds", "refnd", "fund"])
def test_a_name_without_wildcards_is_compared_as_a_whole(name: str):
    assert resembled(name, ("refund",)) is None


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


@pytest.mark.parametrize("word", ["r\u0430ypal", "\u0440\u0430yp\u0430l", "\u0391laska", "Pri\u0432\u0435t"])
def test_a_word_of_several_alphabets_that_look_alike_is_named(word):
    assert misread_words([f"pay {word}, now", word]) == [word]


@pytest.mark.parametrize(
    "text",
    [
        "paypal", "Z\u00fcrich", "\u043f\u0440\u0438\u0432\u0435\u0442 hello", "\u0394T = 5 \u00b5m",
        "Slack\u3067\u9001\u4fe1", "\u201ca\u201d \u2014 b",
    ],
)  # fmt: skip
def test_ordinary_text_is_not(text):
    """Also of several languages side by side."""
    assert misread_words([text]) == []


@pytest.mark.parametrize(
    ("text", "host", "read"),
    [
        ("https://\u0440\u0430ypal.com/x", "\u0440\u0430ypal.com", "xn--ypal-43d9g.com"),
        ("mail a@b\u00fccher.example", "b\u00fccher.example", "xn--bcher-kva.example"),
        ("see z\u00fcrich.ch.", "z\u00fcrich.ch", "xn--zrich-kva.ch"),
        ("www.\u0430\u0440\u0440\u04cf\u0435.bank", "www.\u0430\u0440\u0440\u04cf\u0435.bank", "www.xn--80ak6aa92e.bank"),
    ],
)  # fmt: skip
def test_a_domain_outside_of_ascii_is_written_as_computers_read_it(text, host, read):
    assert domains([text]) == {host: read}


@pytest.mark.parametrize(
    "text",
    [
        "paypal.com",
        "r\u00e9sum\u00e9.pdf",
        "sch\u00f6n.py",
        "\u043a\u043e\u043d\u0435\u0446.\u041d\u043e\u0432\u043e\u0435",
        "\u00e9" * 300 + ".com",
    ],
)
def test_a_file_or_a_sentence_is_no_domain(text):
    assert domains([text]) == {}


@pytest.mark.parametrize(
    ("host", "is_fake"),
    [
        ("\u0430\u0440\u0440\u04cf\u0435.com", True),
        ("\u0430\u0440\u0440\u04cf\u0435\u3002com", True),
        ("m\u0131crosoft.com", True),
        ("m\u00fcnchen.de", False),
        ("\u043c\u043e\u0441\u043a\u0432\u0430.com", False),
    ],
)
def test_a_domain_imitates_another_where_all_its_other_letters_look_like_ascii(host, is_fake):
    assert imitates(host) is is_fake
