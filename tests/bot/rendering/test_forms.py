"""Arguments become typed inputs, and what a person submits becomes arguments again."""

from datetime import UTC, datetime

import pytest

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.numbers import Number
from bot.domain.drafts import Draft
from bot.rendering.modal.argument_form import Edited, Errors, Unchanged, form_of, merged
from bot.rendering.modal.editing import form_for, render_edit_view
from bot.rendering.modal.field_types import BARE, BOXES, EMPTY, OTHERS, options_of
from tests.bot.rendering.slack_side import (
    all_inputs,
    assert_slack_takes_view,
    everything,
    inputs,
    labels,
    parse_form,
    shown,
    submitted,
)
from tests.support.builders import a_state, an_action, an_interrupt

JSON_FOR = [
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": "b"}),
    ({"minLength": 1}, None),
    ({}, []),
    ({"type": "integer"}, "four"),
    ({"type": "string"}, "a\u200bb"),
    ({"enum": list(range(1_001))}, 4),
]


def form(args, schema=None, *emptied):
    """The form, also as it comes back after somebody emptied fields."""
    state, draft = a_state(an_interrupt(an_action(args=args, schema=schema))), everything(args, schema)
    view = render_edit_view(state, 0, draft)
    if emptied:
        view = render_edit_view(state, 0, merged(draft, submitted(view, **dict.fromkeys(emptied))))
    assert_slack_takes_view(view)
    return view


def submit(args, schema=None, *emptied, trims=True, **typed):
    return parse_form(submitted(form(args, schema, *emptied), trims=trims, **typed), args, schema)


def an_object(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


def block_id(args, schema, label):
    return inputs(form(args, schema))[label]["block_id"]


def elements(args, schema=None):
    return {label: block["element"]["type"] for label, block in inputs(form(args, schema)).items()}


def offers(args, schema):
    """The choices of each input, by its label."""
    found = {
        label: block["element"].get("options", ()) for label, block in inputs(form(args, schema)).items()
    }
    return {label: [option["text"]["text"] for option in options] for label, options in found.items()}


def boxes(view):
    """What can be ticked, by the label of the box."""
    return {
        box.label: [option["text"]["text"] for option in block["element"]["options"]]
        for box in BOXES
        for block in view["blocks"]
        if block["block_id"] == box.block_id
    }


TEXT = an_object(["text"], text={"type": "string"})
NULLABLE_TEXT = an_object(["text"], text={"type": ["string", "null"]})
OPTIONAL_TEXT = an_object(text={"type": "string"})
NO_NUMBER = "This must be a number. Write a decimal point and no separators, as in 12500.5."
NO_NUMBERS = ("nan", "1,5", "1.5.", "٣", "1_000", "0x1F", "NaN", "Infinity")
NEEDS_VALUE = "This needs a value."


@pytest.mark.parametrize(
    ("spec", "value", "type_"),
    [
        ({"type": "string", "format": "date"}, "2026-11-20", "datepicker"),
        ({"type": "string", "format": "date"}, "tomorrow", "plain_text_input"),
        ({"type": "string", "format": "time"}, "09:30", "timepicker"),
        ({"type": "string", "format": "time"}, "09:30:15", "plain_text_input"),
        ({"type": "string", "format": "date-time"}, "2026-11-20T09:30:00Z", "datetimepicker"),
        ({"type": "string", "format": "date-time"}, "2026-11-20T09:30:00", "plain_text_input"),
        ({"type": "string", "format": "date-time"}, "2026-11-20T09:30:15Z", "plain_text_input"),
        ({"type": "string", "format": "email"}, "dana@example.com", "email_text_input"),
        ({"type": "string", "format": "email"}, "Dana <dana>", "plain_text_input"),
        ({"type": "string", "format": "uri"}, "https://example.com", "url_text_input"),
        ({"type": "string", "enum": [f"e{n}" for n in range(50)]}, "e7", "static_select"),
        ({"type": "string", "enum": ["x" * 80, "y"]}, "y", "radio_buttons"),
        ({"enum": [f"e{n}" for n in range(101)]}, "e100", "static_select"),
        ({"enum": [f"e{n}" for n in range(1_000)]}, "e700", "static_select"),
        ({"enum": [f"e{n}" for n in range(1_001)]}, "e700", "plain_text_input"),
        ({"type": "array", "items": {"enum": [f"e{n}" for n in range(300)]}}, ["e200"], "multi_static_select"),
        ({"enum": [1, "1"]}, "1", "radio_buttons"),
        ({"enum": ["(leave out)", "x"]}, "x", "radio_buttons"),
        ({"type": "array", "items": {"enum": ["x", None]}}, ["x"], "radio_buttons"),
        ({"const": "only"}, "only", "radio_buttons"),
        ({"type": "array", "items": {"enum": [f"e{n}" for n in range(50)]}}, ["e1"], "multi_static_select"),
        ({"type": "integer"}, 2**53, "number_input"),
        ({"type": "integer"}, 2**53 + 1, "plain_text_input"),
        ({"type": "integer"}, "seven", "plain_text_input"),
        ({"enum": ["x", "y"]}, "z", "plain_text_input"),
        ({"type": "number"}, 1e300, "plain_text_input"),
        ({"type": ["integer", "null"]}, 4, "number_input"),
        ({"allOf": [{"type": "boolean"}]}, True, "radio_buttons"),
        ({}, 5, "number_input"),
        (True, 5, "number_input"),
    ],
)  # fmt: skip
def test_the_input_suits_schema_and_value(spec, value, type_):
    """An input that could not hold the value exactly is not used."""
    schema = an_object(["a"], a=spec)

    assert list(elements({"a": value}, schema).values()) == [type_]
    assert submit({"a": value}, schema) == Unchanged()


NOON = int(datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp())
BOXES_OF_TWO = {"type": "array", "items": {"enum": ["card", "wrap"]}}
OF_250 = {"enum": [f"e{n}" for n in range(250)]}
ALIKE = {"enum": ["x" * 200 + "1", "x" * 200 + "2"]}
NONE = object()


@pytest.mark.parametrize(
    ("spec", "asked", "typed", "found"),
    [
        # Choices: those of one schema are told apart by kind, and numbered where they read as ours or look alike.
        ({"enum": [1, "1", True]}, 1, {"a": '"1"'}, "1"),
        ({"enum": [1, "1", True]}, 1, {"a": "true"}, True),
        ({"enum": ["x", " x"]}, "x", {"a": '" x"'}, " x"),
        ({"enum": ["(leave out)", "x"]}, "x", {"a": "1: (leave out)"}, "(leave out)"),
        (OF_250, "e7", {"a": "e249"}, "e249"),
        # Those that were chosen before keep their order.
        (BOXES_OF_TWO, ["wrap"], {"a": ["card", "wrap"]}, ["wrap", "card"]),
        (BOXES_OF_TWO, ["card"], {"a": []}, []),
        # A picker changes the minute, not the way it is written; `09:30` stays a time of minutes.
        ({"type": "string", "format": "date-time"}, "2026-11-20T09:30:00Z", {"a": NOON}, "2026-11-21T12:00:00Z"),
        ({"type": "string", "format": "date-time"}, "2026-11-20T09:30:00+02:00", {"a": NOON}, "2026-11-21T14:00:00+02:00"),
        ({"type": "string", "format": "date-time"}, NONE, {"a": NOON}, "2026-11-21T12:00:00Z"),
        ({"type": "string", "format": "time"}, "09:30", {"a": "10:00"}, "10:00"),
        ({"type": "string", "format": "time"}, "09:30:00", {"a": "10:00"}, "10:00:00"),
        ({"type": "string", "format": "time"}, NONE, {"a": "10:00"}, "10:00:00"),
        ({"type": "string", "format": "date"}, NONE, {"a": "2026-01-02"}, "2026-01-02"),
        # What its own input cannot hold is typed without quotes, and what is typed instead is a text.
        ({"type": "string", "format": "date-time"}, "2026-01-01T10:00:00.000Z", {"a": "12"}, "12"),
        ({"type": "string", "format": "time"}, "10:00:00Z", {"a": "12"}, "12"),
        ({"type": "string", "format": "date"}, '"2026-01-01"', {"a": "12"}, "12"),
        ({"type": "string", "format": "email"}, "Ada <a@b.de>", {"a": "12"}, "12"),
        ({"type": "string", "format": "uri"}, "urn:isbn:1", {"a": "12"}, "12"),
        # What is cleared is left out, else null, where the tool takes that.
        ({"type": "string"}, "  ", {"Leave out": ["a"]}, NONE),
        ({"type": ["string", "null"]}, "", {"Leave out": ["a"]}, NONE),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "needed": True}, "x", {"a": None}, None),
        ({"type": ["string", "null"], "needed": True}, "  ", {"Send as null": ["a"]}, None),
        ({"type": "string", "needed": True}, "y", {"a": None}, Errors({"f:/a": NEEDS_VALUE})),
        ({"type": "integer", "needed": True}, 1, {"a": None}, Errors({"f:/a": NEEDS_VALUE})),
    ],
)  # fmt: skip
def test_what_is_typed_chosen_or_ticked_is_what_runs(spec, asked, typed, found):
    """What nobody touches stays byte for byte, whatever Slack trims."""
    spec, args = dict(spec), {} if asked is NONE else {"a": asked}
    schema = an_object(["a"] if spec.pop("needed", False) else [], a=spec)

    assert submit(args, schema) == submit(args, schema, trims=False) == Unchanged()
    result = {} if found is NONE else {"a": found}
    assert submit(args, schema, **typed) == (found if isinstance(found, Errors) else Edited(result))


def test_long_choices_are_numbered_and_very_many_are_in_groups():
    """Slack takes a hundred in a row."""
    first, second = [
        each["text"]["text"]
        for each in inputs(form({"a": ALIKE["enum"][0]}, an_object(["a"], a=ALIKE)))["a"]["element"][
            "options"
        ]
    ]
    groups = inputs(form({"a": "e7"}, an_object(["a"], a=OF_250)))["a"]["element"]["option_groups"]

    assert (first[:4], second[:4]) == ("1: x", "2: x")
    assert [group["label"]["text"] for group in groups] == ["1 to 100", "101 to 200", "201 to 250"]


@pytest.mark.parametrize("schema", [None, TEXT, NULLABLE_TEXT, OPTIONAL_TEXT])
@pytest.mark.parametrize("typed", [{}, {"text": "other"}, {"text": None}])
def test_a_tick_makes_a_text_empty_whatever_its_field_holds(schema, typed):
    """On purpose, and nothing else does. It is there once somebody emptied the field."""
    args = {"text": "y", "n": 1}

    assert boxes(form(args, schema)) == {}
    assert boxes(form(args, schema, "text"))[EMPTY.label] == ["text"]
    assert submit(args, schema, "text", **typed, **{EMPTY.label: ["text"]}) == Edited({"text": "", "n": 1})


@pytest.mark.parametrize("spaces", [" ", "   ", "\n\t "])
def test_only_spaces_have_an_error_at_their_field(spaces):
    """They look like nothing, so they are neither a text nor an empty one; those of the agent stay."""
    sentence = "There are only spaces here. Write a text, or tick its name under “Send as an empty text”."

    assert submit({"text": "y"}, trims=False, text=spaces) == Errors({"f:/text": sentence})
    assert submit({}, OPTIONAL_TEXT, trims=False, text=spaces) == Errors({"f:/text": sentence})
    for trims in (True, False):
        args = {"text": spaces, "to": "dana"}
        assert submit(args, trims=trims) == Unchanged()
        assert submit(args, trims=trims, to="erik") == Edited({"text": spaces, "to": "erik"})
        assert submit(args, trims=trims, **{EMPTY.label: ["text"]}) == Edited({"text": "", "to": "dana"})


@pytest.mark.parametrize("asked", [" x ", "x\n", "\r\nx", "\tx y\nz \r\n"])
@pytest.mark.parametrize("trims", [True, False])
def test_spaces_around_a_text_go_when_somebody_says_so(asked, trims):
    """A missing space may be Slack's doing, so only the tick takes them off; inside, everything stays."""
    args = {"a": asked, "to": "dana"}

    assert boxes(form(args)) == {BARE.label: ["a"]}
    assert submit(args, trims=trims, to="erik") == Edited({"a": asked, "to": "erik"})
    assert submit(args, trims=trims, a=asked.strip()) == Unchanged()
    assert submit(args, trims=trims, **{BARE.label: ["a"]}) == Edited({"a": asked.strip(), "to": "dana"})
    assert submit(args, trims=trims, a=" new ", **{BARE.label: ["a"]}) == Edited({"a": "new", "to": "dana"})
    assert isinstance(submit(args, trims=trims, a=None, **{BARE.label: ["a"]}), Errors)


def test_only_a_schema_says_that_a_number_is_whole():
    """An invoice of 900 may be one of 899.50."""
    whole = {"properties": {"a": {"type": "integer"}}}

    assert submit({"a": 900}, a="899.5") == Edited({"a": 899.5})
    assert submit({"a": 900}, schema=whole, a="899.5") == Errors(
        {"f:/a": "This must be a whole number. Write digits only, as in 12500."}
    )


@pytest.mark.parametrize(
    ("value", "typed", "sentence"),
    [
        (1, "two", NO_NUMBER),
        *((1.5, typed, NO_NUMBER) for typed in NO_NUMBERS),
        (1.5, "1e999", "This has more digits than a number can hold."),
        (1.5, "1e-9999999999999999999", "This has more digits than a number can hold."),
        (1.5, "0.1000000000000000001", "This has more digits than a number can hold."),
        (1.5, "0.12345678901234567890123", "This has more digits than a number can hold."),
        ({}, "[1", "This must be JSON: not JSON at line 1, column 3: Expecting ',' delimiter."),
        ({}, '[{"a": 1, "a": 2}]', "This must be JSON: key 'a' appears twice in one object; send it once."),
        ({}, "[NaN]", "This must be JSON: NaN is not JSON; send null or a string."),
        # The limits of a publish hold for an edit.
        ({}, '{"a":' * 40 + "1" + "}" * 40, f"args{'.a' * 33}: nested deeper than 32 levels; send the inner part as a string."),
    ],
)  # fmt: skip
def test_a_wrong_value_has_an_error_at_its_input(value, typed, sentence):
    """In plain words, and the person's other inputs stay as typed."""
    label = "a · JSON" if isinstance(value, dict) else "a"

    assert submit({"a": value, "b": 1}, **{label: typed, "b": "2"}) == Errors({"f:/a": sentence})


@pytest.mark.parametrize(
    ("schema", "inner", "written"),
    [
        (None, "deep → in → 1", "{}"),
        (an_object(n={"type": "integer"}, deep={"type": "object"}), "deep · JSON", '{{"in": [{}]}}'),
    ],
    ids=["by value", "by schema"],
)
def test_a_whole_number_that_the_agent_cannot_keep_is_not_accepted(schema, inner, written):
    """Inside lists and objects, too; the smallest and the largest that it keeps are."""
    args, kept = {"n": 1, "deep": {"in": [2]}}, (-(2**63), 2**64 - 1)

    def read(**typed):
        view = submitted(form(args, schema), **typed)
        return form_of(args, schema, (), merged(Draft(), view)).read(args, schema, kept)

    for bad in (2**64, -(2**63) - 1):
        for typed in ({"n": str(bad)}, {inner: written.format(bad)}):
            assert "only keep whole numbers from -9223372036854775808 to" in str(read(**typed))
    for good in kept:
        assert read(n=str(good)).args["n"] == good


LONG = ["arn:aws:iam::123456789012:role/service/" + "team-" * 8 + name for name in ("east", "west-2", "home")]


def test_of_long_choices_the_beginning_and_the_end_are_seen():
    """Also of the forms of a value, whose titles are long."""
    for spec in ({"enum": LONG}, {"anyOf": [{**an_object(), "title": name} for name in LONG]}):
        (found,) = offers({}, an_object(["a"], a=spec)).values()
        assert all(label.endswith(name[-20:]) for label, name in zip(found, LONG, strict=True))
        assert all("arn:aws:iam::123" in label for label in found)


def test_a_value_too_long_for_an_input_is_shown_and_kept():
    """It says so, and how much of it is not shown."""
    args = {"body": {"x": ["y" * 100] * 90}, "to": "dana"}
    schema = an_object(body={"type": "object"}, to={"type": "string"})

    view = form(args, schema)

    assert list(inputs(view)) == ["to"]
    assert "It stays exactly as it is" in shown(view)
    assert "more characters" in shown(view)


PARAGRAPHS = "\n\n".join(f"{number} " + "word " * 150 + "end." for number in range(8))
"""6,000 characters."""


@pytest.mark.parametrize("trims", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        PARAGRAPHS, "x" * 9_000, "\n\n" + PARAGRAPHS + " \r\n", " " * 4_000, "日本語" * 2_000, "😀" * 4_000,
        "a " * 3_000,
    ],
)  # fmt: skip
def test_a_part_that_is_changed_leaves_the_others_byte_for_byte(text, trims):
    """And parts that nobody touches change nothing."""
    assert submit({"body": text}, trims=trims) == Unchanged()

    name = next(label for label in labels(form({"body": text})) if " · part 2 of " in label)
    before = inputs(form({"body": text}))[name]["element"].get("initial_value", "")
    changed = submit({"body": text}, trims=trims, **{name: "new"}).args["body"]
    assert len(changed) >= len(text) - 2_500
    assert "new" in changed
    if text is PARAGRAPHS:
        assert changed == text.replace(before, "new")


def chosen(args, *names, schema=None):
    """The form of those arguments that a person chose."""
    state = a_state(an_interrupt(an_action(args=args, schema=schema)))
    wanted = [unit.block_id for unit in form_of(args, schema).units if unit.path[-1] in names]
    view = render_edit_view(state, 0, Draft(typed={OTHERS.block_id: wanted}))
    assert_slack_takes_view(view)
    return view


def offered(args):
    """What a person can choose besides, with the values."""
    found = options_of(all_inputs(chosen(args)).get(OTHERS.label, {}))
    return {option["text"]["text"]: option.get("description", {}).get("text", "") for option in found}


@pytest.mark.parametrize(("count", "asks"), [(8, False), (9, True)])
def test_above_eight_inputs_those_that_matter_most_are_shown_and_the_others_offered(count, asks):
    """Each other argument is offered with its value, and the chosen ones get an input."""
    args = {f"k{number}": f"value {number}" for number in range(count)}

    assert bool(offered(args)) == asks
    if asks:
        assert offered(args)["k3"] == "value 3"
        assert list(inputs(chosen(args, "k3", "k7"))) == ["k0", "k1", "k2", "k3", "k7"]


@pytest.mark.parametrize(
    ("policy", "agent", "leads"),
    [
        (("k5", "deep"), ("k6",), ["k5", "deep → a", "deep → b"]),
        ((), ("k6",), ["k6"]),
        (("gone",), (), ["k0", "amount", "to"]),
        ((), (), ["k0", "amount", "to"]),
    ],
)
def test_what_the_card_is_about_is_an_input_at_once(policy, agent, leads):
    """The headline, else what matters first. Slack says of the others that they are optional, as they are."""
    args = {**{f"k{n}": n % 2 == 0 or "x" for n in range(9)}, "k0": "x", "to": "Al", "amount": 5}
    action = an_action(args={**args, "deep": {"a": "x", "b": "y"}}, headline=agent)
    view = render_edit_view(a_state(an_interrupt(action), headline=policy), 0)
    assert_slack_takes_view(view)

    assert sorted(inputs(view)) == sorted(leads)
    assert all_inputs(view)[OTHERS.label]["optional"]


def test_a_choice_that_one_view_cannot_hold_is_asked_again():
    """Nothing that was chosen is left out without a word."""
    args = {f"k{number}": "x" for number in range(200)}
    state = a_state(an_interrupt(an_action(args=args)))
    everything_chosen = everything(args)

    assert form_for(state.actions[0], everything_chosen).is_too_much
    view = render_edit_view(state, 0, everything_chosen)
    assert list(inputs(view)) == ["k0", "k1", "k2"]
    assert len(all_inputs(view)[OTHERS.label]["element"]["initial_options"]) == 197


@pytest.mark.parametrize(
    ("value", "element", "typed", "found", "taken_out"),
    [
        ("x", {"odd": "plain_text_input"}, {"odd": "y"}, "y", {"odd": None}),
        ("12", {"odd": "plain_text_input"}, {"odd": "13"}, "13", {"odd": None}),
        ('"x"', {"odd": "plain_text_input"}, {"odd": "null"}, "null", {"odd": None}),
        (12, {"odd": "number_input"}, {"odd": "13"}, 13, {"odd": None}),
        (False, {"odd": "radio_buttons"}, {"odd": "true"}, True, {"odd": "(leave out)"}),
        ({"n": "1"}, {"odd → n": "plain_text_input"}, {"odd → n": "2"}, {"n": "2"}, {"Leave out": ["odd"]}),
        (["1"], {"odd → 1": "plain_text_input"}, {"odd → 1": "2"}, ["2"], {"Leave out": ["odd"]}),
    ],
)
def test_an_argument_that_the_schema_does_not_know_follows_its_value(value, element, typed, found, taken_out):
    """A text stays a text, also where it reads as a number or as JSON. The schema may refuse what it does not name.

    A text and a number are removed, a choice has a value for it, and an object or a list a box.
    """
    schema, args = an_object(a={"type": "integer"}), {"a": 1, "odd": value}
    closed = {**schema, "additionalProperties": False}

    assert elements(args, schema) == {"a": "number_input", **element}
    assert submit(args, schema) == Unchanged()
    assert submit(args, schema, **typed) == Edited({"a": 1, "odd": found})
    assert submit(args, schema, **taken_out) == Edited({"a": 1})
    (refused,) = submit(args, closed, a="2").by_block.values()
    assert refused.endswith("The tool does not accept this.")


@pytest.mark.parametrize(
    ("asked", "typed", "kept"),
    [
        ("1", "1.0", "1"),
        ("1.0", "1", "1.0"),
        ("100", "1e2", "100"),
        ("1e2", "100.00", "1e2"),
        ("1", "2.0", "2.0"),
        ("1.0", "2", "2"),
        ("1", "2e2", "200.0"),
        ("0", "-0", "0"),
        ("5", "-0", "0"),
        ("5", "007", "7"),
    ],
)
def test_a_number_is_a_change_only_if_it_is_another_number(asked, typed, kept):
    """Slack may write 1.0 as 1, so only another number tells that somebody typed it. The last step shows how it is written."""
    args = decode(f'{{"n":{asked},"x":"y"}}')
    found = submit(args, an_object(n={"type": "number"}, x={"type": "string"}), n=typed, x="z")

    assert encode(found.args) == f'{{"n":{kept},"x":"z"}}'


def test_a_long_text_is_emptied_part_by_part():
    """A required one needs a text; an optional one is then left out."""
    names = [f"body · part {number} of 3" for number in (1, 2, 3)]
    emptied = dict.fromkeys(names)
    needed, optional = an_object(["body"], body={"type": "string"}), an_object(body={"type": "string"})

    shorter = submit({"body": PARAGRAPHS}, needed, **{names[0]: "Hello", names[1]: None, names[2]: None})
    assert shorter.args["body"].strip() == "Hello"
    assert list(submit({"body": PARAGRAPHS}, needed, **emptied).by_block.values()) == ["This needs a value."]
    assert submit({"body": PARAGRAPHS}, optional, **emptied) == Edited({})


NUMBERS = '{"amount":9007199254740993.99,"rate":1.10,"big":1E5,"zero":-0,"note":"x","rows":[{"n":1.10},{"n":0.1000000000000000001}]}'


def test_a_row_that_is_edited_keeps_the_numbers_of_the_others():
    """What a person writes is a number that every reader keeps; what was there stays as it was sent."""
    args = decode(NUMBERS)

    kept = submit(args, **{"rows → 1 → n": "2.50"})
    assert encode(kept.args["rows"]) == '[{"n":2.5},{"n":0.1000000000000000001}]'
    refused = submit(args, **{"rows → 2 → n": "0.1000000000000000002"})
    assert list(refused.by_block.values()) == ["This has more digits than a number can hold."]


def test_text_that_an_input_could_not_tell_apart_is_spelled():
    """A joined emoji, a letter with its mark and a hidden character stay exactly as they are, whatever Slack does to them."""
    args = {
        "family": "👨\u200d👩\u200d👧",
        "name": "cafe\u0301",
        "plain": "café 😀",
        "to": "dana\u200b@example.com",
    }
    view = form(args)

    found = {label: block["element"].get("initial_value") for label, block in inputs(view).items()}
    assert found == {
        "family · JSON": '"👨\\u200d👩\\u200d👧"',
        "name · JSON": '"cafe\\u0301"',
        "plain": "café 😀",
        "to · JSON": '"dana\\u200b@example.com"',
    }
    assert submit(args) == Unchanged()
    assert submit(args, plain="x").args == {**args, "plain": "x"}
    assert submit(args, **{"to · JSON": '"dana@example.com"'}).args == {**args, "to": "dana@example.com"}
    assert submit(args, **{"to · JSON": '"a\\u200b"'}).args == {**args, "to": "a\u200b"}


def test_just_what_may_be_empty_can_be_submitted_empty():
    """Slack itself holds back a form whose needed inputs are empty, so those that may be cleared say so."""
    schema = an_object(
        ["n", "maybe", "text", "code", "c"],
        n={"type": "integer"},
        maybe={"type": ["integer", "null"]},
        text={"type": "string"},
        code={"type": "string", "minLength": 1},
        c={"enum": ["x", None]},
        left_out={"type": "integer"},
    )
    view = form({"n": 1, "maybe": 2, "text": "x", "code": "x", "c": "x"}, schema)

    found = [label for label, block in inputs(view).items() if block["optional"]]
    assert found == ["maybe", "left_out"]


def test_an_empty_text_of_the_agent_stays_when_untouched():
    """Its field is empty from the beginning, and nobody emptied it; there is nothing to tick."""
    args = {"text": "", "to": "dana"}
    schema = an_object(["text", "to"], text={"type": "string"}, to={"type": "string"})
    view = form(args, schema)

    assert [label for label, block in inputs(view).items() if block["optional"]] == ["text"]
    assert boxes(view) == {}
    assert boxes(form(args, schema, "text", "to")) == {EMPTY.label: ["to"]}
    assert submit(args, schema, to="erik") == Edited({"text": "", "to": "erik"})
    assert submit(args, schema, text="now there is one") == Edited({**args, "text": "now there is one"})


def test_the_whole_is_held_against_the_schema():
    """Each problem stands beside the input it is about."""
    schema = an_object(
        n={"type": "integer", "maximum": 5},
        who=an_object(name={"type": "string", "maxLength": 3}),
        tags={"type": "array", "items": {"type": "string", "maxLength": 1}},
    )
    args = {"n": 1, "who": {"name": "abc"}, "tags": ["a", "b"]}

    found = submit(args, schema, **{"n": "9", "who → name": "abcd", "tags → 2": "bc"})

    assert found == Errors(
        {
            "f:/n": "Must be 5 or less.",
            "f:/who/name": "Must have at most 3 characters.",
            "f:/tags#1": "Must have at most 1 characters.",
        }
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"enum": ["x", None]}, ["x", "(null)"]),
        ({"type": ["string", "null"], "enum": ["x", "y"]}, ["x", "y"]),
        ({"type": ["string", "null"], "const": "x"}, ["x"]),
        ({"type": "string", "nullable": True, "enum": ["x", None]}, ["x", "(null)"]),
        ({"type": "string", "enum": ["x", 7, None]}, ["x"]),
        ({"enum": ["x", "yy"], "maxLength": 1}, ["x"]),
        ({"anyOf": [{"const": "x"}, {"type": "null"}], "not": {"const": None}}, ["x"]),
    ],
)
def test_just_what_the_whole_schema_allows_is_a_choice(spec, expected):
    """Null and each other value, whatever one keyword alone says."""
    assert offers({"a": "x"}, an_object(["a"], a=spec)) == {"a": expected}


@pytest.mark.parametrize("box", [dict, lambda spec: {"type": "array", "items": spec}])
@pytest.mark.parametrize(
    "spec",
    [
        {"type": "string", "oneOf": [{"const": "t_1", "title": "Support"}, {"const": "t_2", "title": "Sales"}]},
        {"type": "string", "enum": ["t_1", "t_2"], "enumNames": ["Support", "Sales"]},
    ],
)  # fmt: skip
def test_a_choice_has_the_name_that_the_schema_gives_it_below_its_value(spec, box):
    """A person knows the name, and the tool gets the value."""
    found = inputs(form({}, an_object(a=box(spec))))["a"]["element"]["options"]

    named = [(option["text"]["text"], option["description"]["text"]) for option in found[:2]]
    assert named == [("t_1", "Support"), ("t_2", "Sales")]


def test_a_text_too_long_for_an_input_is_edited_in_parts():
    """They end where paragraphs end, and what stands between them is kept."""
    args = {"body": PARAGRAPHS, "to": "dana"}
    found = inputs(form(args))

    assert list(found) == ["body · part 1 of 3", "body · part 2 of 3", "body · part 3 of 3", "to"]
    held = [block["element"]["initial_value"] for block in found.values()][:3]
    assert "\n\n".join(held) == PARAGRAPHS
    assert all(part.endswith("end.") for part in held)


@pytest.mark.parametrize("count", [96, 799])
def test_every_one_of_very_many_arguments_can_be_chosen(count):
    """More than a view has blocks for: they are choices of one menu."""
    args = {f"key number {number}": "x" * 40 for number in range(count)}
    last = f"key number {count - 1}"

    assert list(offered(args))[-1] == last
    answered = parse_form(submitted(chosen(args, last), **{last: "x"}), args, None)
    assert answered == Edited({**args, last: "x"})


def test_a_limit_of_the_schema_is_about_the_exact_number():
    """More than 1000 by the last digit is more than 1000."""
    schema = an_object(amount={"type": "number", "maximum": 1000}, note={"type": "string"})

    assert submit(decode('{"amount":1E3,"note":"x"}'), schema, note="y") == Edited(
        {"amount": Number("1E3"), "note": "y"}
    )
    over = submit(decode('{"amount":1000.00000000000000000001,"note":"x"}'), schema, note="y")
    assert list(over.by_block.values()) == ["Must be 1000 or less."]


@pytest.mark.parametrize(("spec", "value"), JSON_FOR)
def test_json_is_typed_for_what_the_page_about_forms_lists(spec, value):
    """With a reason for each."""
    schema = an_object(a=spec, b={"type": "string"})
    args = {} if spec == {"minLength": 1} else {"a": value}

    assert elements(args, schema)["a · JSON"] == "plain_text_input"


def test_the_default_of_the_tool_stands_below_the_input():
    """So a person knows what an empty input means."""
    schema = an_object(a={"type": "integer", "default": 3, "description": "How often."}, b={"default": None})

    assert (
        inputs(form({}, schema))["a"]["hint"]["text"]
        == "How often. (If left out: 3) Digits only, as in 12500."
    )
    assert "hint" not in inputs(form({}, schema))["b · JSON"]


def test_rows_of_which_all_is_masked_have_an_error_that_can_be_shown():
    """It is about the list, because no input is left."""
    schema = an_object(rows={"type": "array", "minItems": 3, "items": an_object(key={"type": "string"})})
    args = {"rows": [{}, {}]}
    found = form_of(args, schema, {"key"}, Draft(rows={"f:/rows": (1,)})).read(args, schema)

    assert found == Errors({"f:/rows": "Must have at least 3 items."})
