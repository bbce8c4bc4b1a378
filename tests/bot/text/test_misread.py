"""Words that read as other words are named; ordinary text of any language is left alone."""

# ruff: noqa: RUF001  # letters that look like others are what this is about

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.hitl import ApproveDecision, EditDecision, EditedAction
from agent_adapter.contract.interrupt import Context, Link
from bot.domain.votes import Vote, position_of
from bot.rendering.arguments import change_lines
from bot.rendering.card.card import render_card
from bot.rendering.modal.editing import render_edit_view
from bot.rendering.modal.forms import (
    render_agree_view,
    render_confirm_view,
    render_reject_view,
    render_respond_view,
)
from bot.rendering.modal.reading import render_reading_view
from bot.text.misread import SHOWN, misread_domains, misread_words, odd_domains
from bot.text.misread_signs import misread_signs
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_view,
    block_ids,
    block_of,
    literal_text,
    shown,
)
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.properties import bounded

ACME = "\u0410\u0421\u041c\u0415"
"""Four Cyrillic letters."""
EXAMPLE = "ex\u0430mple.com"
"""With a Cyrillic a."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("АСME", '"АСME" mixes Latin and Cyrillic: А (U+0410) looks like A, С (U+0421) looks like C'),
        (EXAMPLE, '"exаmple" mixes Latin and Cyrillic: а (U+0430) looks like a'),
        (ACME, f'"{ACME}" is in Cyrillic letters, and only looks like ACME'),
        (f"{ACME} Supplies GmbH", f'"{ACME}" is in Cyrillic letters, and only looks like ACME'),
        (f"{ACME} Supplies GmbH, оплата счёта", f'"{ACME}" is in Cyrillic letters, and only looks like ACME'),
        ("paypaл", '"paypaл" mixes Latin and Cyrillic: л (U+043B) is Cyrillic'),
        ("paρa", '"paρa" mixes Latin and Greek: ρ (U+03C1) looks like p'),
        ("gօօgle", '"gօօgle" mixes Latin and Armenian: օ (U+0585) looks like o'),
        ("ΝΙΚΕ", '"ΝΙΚΕ" is in Greek letters, and only looks like NIKE'),
        ("plan В", '"В" is in Cyrillic letters, and only looks like B'),
        ("З25 EUR", '"З25" is in Cyrillic letters, and only looks like 325'),
        ("1О0", '"1О0" is in Cyrillic letters, and only looks like 1O0'),
        ("user_аdmin", '"аdmin" mixes Latin and Cyrillic: а (U+0430) looks like a'),
        ("exámplе", '"examplе" mixes Latin and Cyrillic: е (U+0435) looks like e'),
        ("pɑypal", '"pɑypal" has an odd letter: ɑ (U+0251) looks like a'),
        ("ｅxample", '"ｅxample" has an odd letter: ｅ (U+FF45) looks like e'),
        ("oﬃce", '"oﬃce" has an odd letter: ﬃ (U+FB03) looks like ffi'),
        ("aǀb", '"aǀb" has an odd letter: ǀ (U+01C0) looks like l'),
        ("𝐀𝐦", '"𝐀𝐦" is in Mathematical letters, and only looks like Am'),
        ("𝐀𝐂𝐌𝐄", '"𝐀𝐂𝐌𝐄" is in Mathematical letters, and only looks like ACME'),
        ("ＡＣＭＥ", '"ＡＣＭＥ" is in odd Latin letters, and only looks like ACME'),
        ("exаmpleを開く", '"exаmple" mixes Latin and Cyrillic: а (U+0430) looks like a'),
    ],
)
def test_a_word_that_reads_as_another_is_named(text, said):
    """With its letters and what they look like."""
    assert misread_words([text]) == {said: (text,)}


URL = "https://bank.com\u2215@evil.com/pay"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (URL, f'"{URL}" has an odd sign: \u2215 (U+2215) looks like /'),
        ("https://bank.com\u2044x", "\u2044 (U+2044) looks like /"),
        ("https:\uff0f\uff0fbank.com", "\uff0f (U+FF0F) looks like /"),
        ("https:ノノbank.com", "ノ (U+30CE) looks like /"),
        ("httpsː//bank.com", "ː (U+02D0) looks like :"),
        ("my\u2010repo", "\u2010 (U+2010) looks like -"),
        ("my\u2011repo", "\u2011 (U+2011) looks like -"),
        ("bank\u2024com", "\u2024 (U+2024) looks like ."),
        ("a\ua789b", "\ua789 (U+A789) looks like :"),
        ("a\u2236b", "\u2236 (U+2236) looks like :"),
        ("a։b", "։ (U+0589) looks like :"),
        ("1\u201a000", "\u201a (U+201A) looks like ,"),
        ("run\u01c3", "\u01c3 (U+01C3) looks like !"),
        ("pay \u22125 EUR", '"\u22125" has an odd sign: \u2212 (U+2212) looks like -'),
        ("user\u02cd1", "\u02cd (U+02CD) looks like _"),
        ("a\ua78ab", "\ua78a (U+A78A) looks like ="),
        ("SELECT \u2217 FROM x", '"\u2217" has an odd sign: \u2217 (U+2217) looks like *'),
        ("\u2768a\u2769", "\u2768 (U+2768) looks like (, \u2769 (U+2769) looks like )"),
        ("a\u223cb", "\u223c (U+223C) looks like ~"),
        ("\ufe695", "\ufe69 (U+FE69) looks like $"),
        ("p\u237aypal", '"p\u237aypal" has an odd sign: \u237a (U+237A) looks like a'),
        ("payp\u212el.com", "\u212e (U+212E) looks like e"),
        ("Stor\u212e", "\u212e (U+212E) looks like e"),
        ("b\u2374ay", "\u2374 (U+2374) looks like p"),
        ("paypa\u2223", "\u2223 (U+2223) looks like l"),
        ("g\u0d02\u0d02gle", "\u0d02 (U+0D02) looks like o"),
        ("1\u300700 EUR", "\u3007 (U+3007) looks like O"),
        ("IBAN DE\u300712", "\u3007 (U+3007) looks like O"),
        ("acc\u2a2f", "\u2a2f (U+2A2F) looks like x"),
        ("\u222aSD 500", "\u222a (U+222A) looks like U"),
        ("\U0001f74computer", "\U0001f74c (U+1F74C) looks like C"),
        ("5०", '"5०" has Devanagari digits, and means 50'),
        ("हिन्दी में 5०", '"5०" has Devanagari digits, and means 50'),
        ("৪4", '"৪4" has Bengali digits, and means 44'),
        ("5۰", '"5۰" has Extended Arabic-Indic digits, and means 50'),
        ("المبلغ ١٥0", '"١٥0" has Arabic-Indic digits, and means 150'),
        ("المبلغ ١.5", '"١.5" has Arabic-Indic digits, and means 1.5'),
        ("١۲", '"١۲" has Arabic-Indic and Extended Arabic-Indic digits, and means 12'),
        ("IBAN ०००१", '"०००१" has Devanagari digits, and means 0001'),
        ("DE१२", '"१२" has Devanagari digits, and means 12'),
        ("pay ５００", '"５００" has Fullwidth digits, and means 500'),
        ("1𝟐", '"1𝟐" has Mathematical Bold digits, and means 12'),
    ],
)
def test_a_sign_or_digit_that_reads_as_another_is_named(text, said):
    """With what it looks like, or the number that it is part of."""
    ((line, texts),) = misread_signs([text]).items()

    assert said in line
    assert texts == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "Привет, как дела? Оплата с карты Visa на сайте Google за 90х, класс 5А",
        "Наш хор и оркестр. Сахар, роса, мама",
        "Москва", "Фёдор Ёлкин", "IT-отдел, email-адрес, USB-кабель",
        "ΑΘΗΝΑ, το νέο σπίτι μου στην Ελλάδα είναι ωραίο. Η Google είναι εδώ",
        "5 μm, ΔT = 3, λx, 4 kΩ, α = 0.05, β2, πr², µs, mean μ and σ",
        "GoogleのアカウントをACMEに。Tシャツ、αテスト、Σを計算、ロシア語のПривет、ＡＴＭ１２３",
        "用Google账户登录ACME", "한국어 Google계정", "ใช้Googleครับ สวัสดี",
        "مرحبا بك في Google، رقم ١٢٣", "שלום בGoogle וגם ל-Apple, הAPI",
        "Zażółć gęślą jaźń, İstanbul'da ışık, naïve café Ærø Þór, Tiếng Việt rất đẹp",
        "हिन्दी में Google का खाता", "Ղարաբաղ օգնություն հայերեն", "ეს არის ქართული",
        "Er sagte: „Nein, ‚nie‘ – wirklich …“ und ging. 10–20 €, »so« oder ›so‹",
        "L’été, c’est « bien » ; 5 × 3 ÷ 2 · 4 • 5 − 3 = 2, 5′ 30″, Na⁺, x⁽²⁾",
        "ООО «Ромашка» — 5 %, №7, комп’ютер, комп\u02bcютер, Hawai\u02bbi",
        "価格：５００円（税込）、１２３！〔注〕東京ノ港 丿", "第Ⅱ章 ⅲ ①",
        "المبلغ ١٥٠ ريال، ٪٥، قيمت ۱۲۳ تومان؛ ﴿قل﴾", "यह दुःख ५०० रुपये है।", "ราคา ๕๐๐ บาท", "২০২৪ সাল",
        "Ողջույն։ Ի՞նչ կա՝ լավ", "Δεν ξέρω· γιατί; 5 µm", "➕ yes ➖ no ❯ next",
        "A\u222aB, 3\u2a2f4, x\u2223y, p \u2228 q, f \u22a4 g, 10\u00d720, ax\u00d7by, 750 ml\u212e, \u212e 500 g, 2\u212e",
        "二\u3007二六年, 第1\u3007回, \u3007 \u3007", "മലയാളം Googleൽ സംഗീതം",
        "© 2024 ™ ½ №5 naïve — “quoted”", "thanks 👨\u200d👩\u200d👧 ❤\ufe0f", "ℹ\ufe0f Info: deploy done",
    ],
)  # fmt: skip
def test_ordinary_text_is_not_warned_of(text):
    """Each in its own letters, beside Latin names, with units and symbols: nobody learns to look past the warning."""
    assert misread_words([text]) | misread_signs([text]) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mail to kontakt@bücher.example now", "bücher.example is xn--bcher-kva.example"),
        ("MÜNCHEN.DE", "MÜNCHEN.DE is xn--mnchen-3ya.de"),
        ("ｅxample.com", "ｅxample.com is example.com"),
        ("пример.рф", "пример.рф is xn--e1afmkfd.xn--p1ai"),
        ("faß.de", "faß.de is xn--fa-hia.de"),
        ("例え。com", "例え。com is xn--r8jz45g.com"),
    ],
)
def test_a_domain_name_is_shown_as_computers_read_it(text, said):
    """What a browser would open has an ASCII form of its own. A name that reads as itself is nobody else's."""
    assert odd_domains([text]) == {said: (text,)}
    assert misread_domains([text]) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EXAMPLE, f'"{EXAMPLE}" is really xn--exmple-4nf.com, another address'),
        (
            "see https://аррӏе.example/login",
            '"аррӏе.example" is really xn--80ak6aa92e.example, another address',
        ),
    ],
)
def test_a_domain_name_that_looks_like_another_one_is_called_another_address(text, said):
    """That is what happens to who writes to it or opens it; its letters are only the reason."""
    assert misread_domains([text]) == {said: (text,)}
    assert odd_domains([text]) == {}


@pytest.mark.parametrize(
    "text",
    [
        "example.com",
        "отчёт.pdf",
        "Übersicht.xlsx",
        "Привет.Как дела",
        "año.py",
        "é" * 300 + ".com",
        "é..com",
        "1.5 µm",
    ],
)
def test_text_that_is_not_a_domain_name_is_left_alone(text):
    """Files, sentences without a space, and names that no server has."""
    assert odd_domains([text]) == misread_domains([text]) == {}


def test_many_words_are_counted():
    """A text full of them gives a few, and their number."""
    found = list(misread_words([" ".join(f"аb{number}" for number in range(5_000))]))

    assert len(found) == SHOWN + 1
    assert found[-1] == "and 4,995 more"


WARNED = "*Possible fake*"


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (an_action("pay", {"beneficiary": f"{ACME} Supplies GmbH"}), f'beneficiary: "{ACME}" is in Cyrillic'),
        (an_action("pay", {"beneficiаry": "x"}), 'the name "beneficiаry": "beneficiаry" mixes'),
        (an_action("pаy", {"to": "x"}), 'the tool\'s name: "pаy" mixes'),
        (an_action("pay", {"to": "x"}, description=f"For {ACME}."), f'the agent\'s words: "{ACME}" is in'),
        (
            an_action("pay", {"rows": [{"to": EXAMPLE}]}),
            f'rows[0].to: "{EXAMPLE}" is really xn--exmple-4nf.com',
        ),
        (an_action("pay", {"the tool's name": ACME}), f'"the tool\'s name": "{ACME}" is in'),
        (
            an_action("pay", dict.fromkeys("abcde", ACME), description=ACME),
            f'a, b, c and 3 more: "{ACME}" is in',
        ),
        (an_action("pay", {"url": URL}), 'url: "https://bank.com\u2215@evil.com/pay" has an odd sign'),
        (an_action("pay", {"amount": "5۰"}), "and means 50"),
    ],
    ids=[
        *("value", "argument name", "tool", "description", "nested", "named like a tool's name", "several"),
        *("sign", "digit"),
    ],
)
def test_a_card_and_its_modals_warn_of_it(action, said):
    """Wherever the text is shown, the warning is beside it, and says in which argument."""
    state = a_state(an_interrupt(action))
    (card,) = render_card(state)
    views = [
        render_edit_view(state, 0),
        render_respond_view(state, 0),
        render_confirm_view(state, 0),
        render_reading_view(state, 0, 1, pages_read=0),
    ]
    assert_slack_takes_card((card,))

    assert WARNED in shown(card.blocks)
    assert said in literal_text(card.blocks, "a:0:misread")
    for view in views:
        assert_slack_takes_view(view)
        assert WARNED in shown(view)
        assert said in literal_text(view["blocks"], "misread")


def test_a_warning_begins_with_the_address_and_its_consequence():
    """Before the letters: a person has to know that a mail would go elsewhere. An honest domain name comes last."""
    args = {"company": "АСME", "email": f"ada@{EXAMPLE}", "site": "https://bücher.example"}
    (card,) = render_card(a_state(an_interrupt(an_action("pay", args))))

    assert literal_text(card.blocks, "a:0:misread").split("\n") == [
        f'email: "{EXAMPLE}" is really xn--exmple-4nf.com, another address',
        'company: "АСME" mixes Latin and Cyrillic: А (U+0410) looks like A, С (U+0421) looks like C',
        'email: "exаmple" mixes Latin and Cyrillic: а (U+0430) looks like a',
        "site: bücher.example is xn--bcher-kva.example",
    ]
    assert block_of(card.blocks, "a:0:hidden")["elements"][0]["text"] == (
        "⚠️ *Possible fake*: some letters, signs or digits only look like ordinary ones.\n"
        "Domain names below are written as computers read them."
    )


steps = st.sampled_from(["to", "a b", "a.b", "a[0]", "", "the name x", 0, 2])


@bounded(60)
@given(st.sampled_from(["to", "a b", "a.b", ""]), st.lists(steps, max_size=4))
def test_a_warning_names_the_argument_as_the_changes_of_an_edit_do(first, path):
    """However deep it stands, and whatever the names around it are."""

    def with_word(word):
        value = word
        for step in reversed(path):
            value = {"x": "plain", step: value} if isinstance(step, str) else [*["plain"] * step, value]
        return {first: value}

    (card,) = render_card(a_state(an_interrupt(an_action("pay", with_word(ACME)))))

    where = change_lines(with_word("plain"), with_word(ACME))[0].removesuffix(":")
    assert literal_text(card.blocks, "a:0:misread").startswith(f'{where}: "{ACME}" is in Cyrillic letters')


def test_a_warning_of_very_long_names_stays_short_and_is_found_at_once():
    """A name of thousands of characters around thousands of values is written where it is needed, and cut."""
    args = {"k" * 30_000: {"n" * 20_000: {f"a{number}": f"{ACME}{number}" for number in range(500)}}}
    (card,) = render_card(a_state(an_interrupt(an_action("pay", args))))

    assert_slack_takes_card((card,))
    lines = literal_text(card.blocks, "a:0:misread").split("\n")
    assert lines[0].startswith('"kkkkkkk')
    assert "more characters" in lines[0]
    assert lines[-1] == "and 495 more"


def test_a_form_that_shows_a_line_of_the_call_warns_of_what_deceives_on_it():
    """The name of the tool, and the values."""
    state = a_state(an_interrupt(an_action("pаy", {"to": ACME})))

    view = render_reject_view(state, 0)

    assert_slack_takes_view(view)
    assert '"pаy" mixes' in literal_text(view["blocks"], "misread")
    assert "only looks like ACME" in shown(view)


def test_an_edit_that_brings_such_a_word_says_so():
    """Before others agree with it, and in what the card keeps of it."""
    asked = an_action("pay", {"to": "ACME", "note": ACME})
    edit = EditDecision(edited_action=EditedAction(name="pay", args={"to": EXAMPLE, "note": ACME}))
    interrupt = an_interrupt(asked)

    done = render_card(a_state(interrupt, decided={0: edit}))[0]
    vote = Vote("U0MIRA", position_of(edit), edit, "1790000000000")
    view = render_agree_view(a_state(interrupt, votes={0: (vote,)}), 0)

    said = literal_text(done.blocks, "a:0:told").split("\n")
    assert said[:2] == [
        f'⚠ to: "{EXAMPLE}" is really xn--exmple-4nf.com, another address',
        '⚠ to: "exаmple" mixes Latin and Cyrillic: а (U+0430) looks like a',
    ]
    assert literal_text(done.blocks, "a:0:arguments").startswith(f'to: "ACME" → "{EXAMPLE}"')
    assert 'to: "exаmple" mixes Latin and Cyrillic' in literal_text(view["blocks"], "proposal:misread")


def test_what_the_agent_says_about_the_run_is_looked_at():
    """A link's address is a domain name like any other."""
    context = Context(title="Pay", links=(Link(label="Invoice", url=f"https://{EXAMPLE}/1"),))
    (card,) = render_card(a_state(an_interrupt(an_action(), context=context)))

    assert f'links[0].Invoice: "{EXAMPLE}" is really xn--exmple-4nf.com' in literal_text(
        card.blocks, "run:misread"
    )


def test_a_warning_does_not_show_masked_values():
    """Neither masked values nor those of a modal stand in a card's warnings."""
    terms = {"mask": ("iban",), "modal_only": ("note",)}
    state = a_state(an_interrupt(an_action("pay", {"iban": ACME, "note": EXAMPLE})))
    each = tuple(found.model_copy(update=terms) for found in state.admission.terms)
    admission = state.admission.model_copy(update={"terms": each})
    state = a_state(state.interrupt, admission=admission)
    (card,) = render_card(state)

    assert not {"a:0:hidden", "a:0:misread"} & set(block_ids(card.blocks))
    read = render_reading_view(state, 0, 1, pages_read=0)
    assert EXAMPLE in literal_text(read["blocks"], "misread")
    assert ACME not in shown(read)


def test_an_ordinary_card_has_no_warning():
    """Also in other languages, and with emoji."""
    args = {"to": "Dana", "note": "Спасибо 👩🏽\u200d🚒 ❤\ufe0f, café 東京"}
    for decided in ({}, {0: ApproveDecision()}):
        (card,) = render_card(a_state(an_interrupt(an_action(args=args)), decided=decided))

        assert not {"a:0:hidden", "a:0:misread"} & set(block_ids(card.blocks))
        assert args["note"] in shown(card.blocks)


def test_two_spellings_of_one_word_are_told_apart_quietly():
    """The mark is small, and a line says what it means; it is no warning."""
    (card,) = render_card(a_state(an_interrupt(an_action(args={"a": "café", "b": "cafe\u0301"}))))

    assert literal_text(card.blocks, "a:0:arguments") == 'a: "café"\nb: "cafe\u0301\\+"'
    said = shown([block for block in card.blocks if block["block_id"] == "a:0:hidden"])
    assert said == (
        "Some letters look the same as usual and are stored in another way. "
        "They have a `\\+` after them, or are written as `\\u{…}`."
    )
