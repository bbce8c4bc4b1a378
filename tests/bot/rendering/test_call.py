"""How a card draws a call: short arguments beside their names, long ones in boxes, and what it is about first."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import encode
from bot.rendering.card.card import render_card
from tests.bot.rendering.slack_side import assert_slack_takes_card, block_ids, block_of, literal_text, shown
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.properties import bounded

PAYMENT = {
    "amount": 1_250_000,
    "currency": "EUR",
    "iban": "DE89370400440532013000",
    "beneficiary": "ACME Supplies GmbH",
}


def drawn(args, *more, **terms):
    interrupt = an_interrupt(*(an_action("send_payment", each) for each in (args, *more)))
    parts = render_card(a_state(interrupt, **terms))
    assert_slack_takes_card(parts)
    return parts[0]


def arguments(args, **terms):
    return block_of(drawn(args, **terms).blocks, "a:0:arguments")["elements"]


def test_short_arguments_stand_side_by_side_with_the_value_as_code():
    """As many on a line as a phone shows. Only plain words have no quotes. Lists of few plain values are short, too."""
    (section,) = arguments({"amount": 5, "to": "Dana", "on": "2026-11-24", "tags": ["a", "b"], "x": "true"})

    assert section["type"] == "rich_text_section"
    assert [(leaf["text"], *leaf.get("style", {})) for leaf in section["elements"]] == [
        ("amount ",),
        ("5", "code"),
        ("   to ",),
        ("Dana", "code"),
        ("   on ",),
        ("2026-11-24", "code"),
        ("\ntags ",),
        ('["a","b"]', "code"),
        ("   x ",),
        ('"true"', "code"),
    ]


@pytest.mark.parametrize(
    ("terms", "left"),
    [
        ({}, "amount 1250000   currency EUR\niban DE89370400440532013000\nbeneficiary ACME Supplies GmbH"),
        ({"headline": ("amount", "currency", "beneficiary")}, "iban DE89370400440532013000"),
        ({"headline": ("amount", "iban"), "mask": ("iban",)}, "amount 1250000   iban •••• (masked)\ncurrency EUR\nbeneficiary ACME Supplies GmbH"),
        ({"title": "Pay {amount} {currency}"}, "iban DE89370400440532013000\nbeneficiary ACME Supplies GmbH"),
    ],
)  # fmt: skip
def test_only_what_the_policy_puts_into_the_title_is_left_out_below(terms, left):
    """What the title holds in the words of nobody counts as not shown, and so does a hidden value."""
    part = drawn(PAYMENT, **terms)

    assert literal_text(part.blocks, "a:0:arguments") == left
    assert ("a:0:title" in block_ids(part.blocks)) == ("title" in terms)
    if terms.get("headline") == ("amount", "currency", "beneficiary"):
        assert part.text.startswith('billing: send_payment 1250000 EUR "ACME Supplies GmbH". Rejected at ')


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("select 1;\ndrop table x;", "│ select 1;\n│ drop table x;"),
        ("word " * 40, '"' + "word " * 40 + '"'),
        ({"name": "ACME", "bic": None}, 'name: "ACME"\nbic:  null'),
        ([{"a": 1}, {"a": 2}], "- a: 1\n- a: 2"),
    ],
)
def test_a_long_one_has_a_box_of_its_own_below_its_name(value, text):
    """Among short ones, in its place. Nothing in it is wrapped by the bot, however long its lines are."""
    first, name, box, last = arguments({"before": 1, "value": value, "after": 2})

    assert [leaf["text"] for leaf in first["elements"]] == ["before ", "1"]
    assert [leaf["text"] for leaf in name["elements"]] == ["value:"]
    assert box["type"] == "rich_text_preformatted"
    assert "".join(leaf["text"] for leaf in box["elements"]) == text
    assert [leaf["text"] for leaf in last["elements"]] == ["after ", "2"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.sampled_from(["", "1", "true", "null", "[1]", '["a"]', "- 1", '"', 'a" b', "a\n", "\u200b", "a: 1", "│ 1"]) | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a: 1", ""]), children, max_size=2),
    max_leaves=5,
)  # fmt: skip


@bounded(300)
@given(_VALUES, _VALUES)
def test_two_different_values_never_look_the_same(one, other):
    """Whatever they are: texts that look like numbers, lists, names or boxes among them."""
    assume(encode(one) != encode(other))

    assert arguments({"value": one}) != arguments({"value": other})


@pytest.mark.parametrize("headline", [(), ("to", "note", "<@U2>")])
def test_nothing_of_an_agent_is_active_in_a_notification(headline):
    """It is one line, and a long value ends with … in its quotes."""
    text = drawn({"to": "<!channel> <@U1>", "<@U2>": 1, "note": "x\n" * 100}, headline=headline).text

    assert "&lt;!channel&gt; &lt;@U1&gt;" in text
    assert "<@" not in text
    assert "\n" not in text
    assert '…"' in text


def test_a_value_that_a_title_cuts_stands_below_it():
    """So does one that the title writes otherwise."""
    for name in ("x" * 130, "two\nlines"):
        blocks = drawn({"name": name, "n": 1}, headline=("name", "n")).blocks
        assert literal_text(blocks, "a:0:arguments").startswith("name")


def test_what_is_masked_is_no_code_so_that_no_text_looks_like_it():
    """The bot says it, and not the agent."""
    (section,) = arguments({"password": "x", "fake": "•••• (masked)"}, mask=("password",))

    masked, fake = section["elements"][1], section["elements"][3]
    assert masked == {"type": "text", "text": "•••• (masked)"}
    assert fake == {"type": "text", "text": '"•••• (masked)"', "style": {"code": True}}


def test_a_card_of_one_call_has_no_number_and_several_have():
    """Its title names the tool."""
    alone, several = drawn({"a": 1}), drawn({"a": 1}, {"a": 2})

    assert not {"a:0:title", "a:0:divider"} & {*block_ids(alone.blocks)}
    assert {"a:0:title", "a:0:divider", "a:1:title", "a:1:divider"} <= {*block_ids(several.blocks)}


def test_very_many_arguments_are_in_one_box():
    """Nothing is cut, and no call needs another message for its looks."""
    part = drawn({f"argument_{n}": n for n in range(40)})

    (box,) = block_of(part.blocks, "a:0:arguments")["elements"]
    assert box["type"] == "rich_text_preformatted"
    assert all(f"argument_{n}:" in literal_text(part.blocks, "a:0:arguments") for n in range(40))


@pytest.mark.parametrize("hidden", ["mask", "modal_only"])
@pytest.mark.parametrize("headline", [(), ("secret", "to", "amount")])
def test_a_notification_keeps_what_the_card_does_not_show(hidden, headline):
    """At any depth."""
    args = {"secret": "hunter2", "to": {"secret": "hunter2", "name": "Dana"}, "amount": 5}
    part = drawn(args, headline=headline, **{hidden: ("secret",)})

    assert "hunter2" not in f"{part.text} {shown(part.blocks)}"
    assert " 5 " in part.text


def test_the_policy_names_the_headline_before_the_agent_does():
    """What the agent names counts where the policy is silent."""
    named = an_interrupt(an_action("pay", PAYMENT, headline=("iban",)))

    of_policy, of_agent = (a_state(named, headline=names).actions[0].headline for names in (("amount",), ()))
    assert (of_policy, of_agent) == (("amount",), ("iban",))
