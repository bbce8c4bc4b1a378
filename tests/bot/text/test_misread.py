"""Words and domain names that a person may read as others."""

import pytest

from bot.text.look_alikes import domains, imitates, misread_words


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
