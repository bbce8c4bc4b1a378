"""Lists have rows that are added, removed and moved; a value of several forms is chosen and then filled in."""

import pytest

from bot.domain.drafts import Draft
from bot.rendering.modal.argument_form import (
    ADD,
    DOWN,
    REMOVE,
    UP,
    Edited,
    Errors,
    Unchanged,
    form_of,
    merged,
)
from bot.rendering.modal.editing import asked_anew, form_for, render_edit_view
from bot.rendering.modal.field_types import EMPTY_WHOLE, LEFT_OUT
from tests.bot.rendering.slack_side import (
    assert_slack_takes_view,
    button_labels,
    everything,
    inputs,
    shown,
    submitted,
)
from tests.bot.rendering.test_forms import an_object
from tests.support.builders import a_state, an_action, an_interrupt


class Filling:
    """A person who fills in one form: presses its buttons, types and submits."""

    def __init__(self, args, schema=None):
        self.args, self.schema = args, schema
        self.draft = everything(args, schema)

    @property
    def view(self):
        state = a_state(an_interrupt(an_action(args=self.args, schema=self.schema)))
        view = render_edit_view(state, 0, self.draft)
        assert_slack_takes_view(view)
        return view

    def types(self, **typed):
        """Type into inputs, by their labels, and send the view."""
        self.draft = merged(self.draft, submitted(self.view, **typed))
        return self

    def presses(self, label, at=0):
        """Press a button of the form, the one at this place among those with the label."""
        self.types()
        [*found] = [
            element["action_id"].partition(":")[2]
            for block in self.view["blocks"]
            if block["type"] == "actions"
            for element in block["elements"]
            if element["text"]["text"] == label
        ]
        what, row, block_id = found[at].split(" ", 2)
        form = form_of(self.args, self.schema, (), self.draft)
        self.draft = form.with_rows(what, int(row), block_id)
        return self

    @property
    def result(self):
        return form_of(self.args, self.schema, (), self.draft).read(self.args, self.schema)

    @property
    def edited(self):
        assert isinstance(self.result, Edited), self.result
        return self.result.args


def a_list(items, **more):
    return {"type": "array", "items": items, **more}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ITEM = an_object(["sku", "count"], sku=TEXT, count=WHOLE, note=TEXT)
ORDER = an_object(["items"], items=a_list(ITEM, maxItems=4))
TWO = {"items": [{"sku": "a", "count": 1}, {"sku": "b", "count": 2, "note": "fragile"}]}
TAGS = {"tags": ["x", "y", "z"]}
TAG_LIST = an_object(["tags"], tags=a_list(TEXT))


@pytest.mark.parametrize("schema", [TAG_LIST, None], ids=["by schema", "by value"])
@pytest.mark.parametrize(
    ("steps", "tags"),
    [
        (["Add a row", {"tags → 4": "new"}], ["x", "y", "z", "new"]),
        ([{"tags → 3": "last"}, "Remove row 2"], ["x", "last"]),
        ([{"tags → 3": "last"}, ("Move up", 1)], ["x", "last", "y"]),
        ([{"tags → 3": "last"}, ("Move up", 1), ("Move down", 0)], ["last", "x", "y"]),
        (["Add a row", {"tags → 4": "gone"}, "Remove row 4", "Add a row", {"tags → 4": "new"}], [*"xyz", "new"]),
        (["Remove row 3", "Remove row 2", "Remove row 1"], []),
    ],
    ids=["added", "removed", "moved", "moved twice", "never again", "all removed"],
)  # fmt: skip
def test_rows_are_added_removed_and_moved_with_what_was_typed_in_them(steps, tags, schema):
    """A new row is empty, also when the last one was removed; each has its inputs, and labels say where it is now."""
    form = Filling(TAGS, schema)
    for step in steps:
        if isinstance(step, dict):
            added = inputs(form.view).get("tags → 4", {"element": {}})["element"]
            assert "initial_value" not in added
            form.types(**step)
        else:
            form.presses(*([step] if isinstance(step, str) else step))

    assert form.types().edited == {"tags": tags}
    assert list(inputs(form.view)) == [f"tags → {number}" for number, _ in enumerate(tags, 1)]


def test_a_row_that_was_added_and_not_filled_in_is_an_error_at_its_input():
    """It neither runs as an empty text nor goes without a word. A list may say how many rows it needs."""
    form = Filling(TAGS, TAG_LIST).presses("Add a row")
    assert list(form.types().result.by_block.values()) == ["This needs a value."]
    form = Filling(TWO, ORDER).presses("Add a row").types()
    assert set(form.result.by_block.values()) == {"This is required."}

    least = an_object(["tags"], tags=a_list(TEXT, minItems=1))
    form = Filling({"tags": ["x"]}, least).presses("Remove row 1").types()
    assert form.result == Errors({"f:/tags": "Must have at least 1 items."})


def test_no_more_rows_can_be_added_than_the_tool_takes():
    """And where the agent asked for more of them, the form says so."""
    schema = an_object(tags=a_list(TEXT, maxItems=2))
    assert "Add a row" not in button_labels(Filling({"tags": ["x"]}, schema).presses("Add a row").view)

    result = Filling(TAGS, schema).types(**{"tags → 1": "y"}).result
    assert [*result.by_block.values()] == ["tags: Must have at most 2 items."]


def ticks(view, box):
    return [
        option["text"]["text"]
        for block in view["blocks"]
        if block["block_id"] == box.block_id
        for option in block["element"]["options"]
    ]


def test_an_object_or_a_list_that_was_given_is_left_out_with_a_tick():
    """Whatever is in its fields. Those that the tool needs cannot be ticked, and are made null where it takes null."""
    schema = an_object(
        ["needed"], address=an_object(["street"], street=TEXT), tags=a_list(TEXT), needed=a_list(TEXT)
    )
    args = {"address": {"street": "Main"}, "tags": [], "needed": ["x"]}
    form = Filling(args, schema)
    assert ticks(form.view, LEFT_OUT) == ["tags", "address"]

    assert form.types(**{"Leave out": ["address"], "address → street": None}).edited == {
        "tags": [],
        "needed": ["x"],
    }
    assert form.types(**{"Leave out": ["address", "tags"]}).edited == {"needed": ["x"]}
    assert form.types(**{"Leave out": []}).types(**{"address → street": "Main"}).result == Unchanged()

    schema = an_object(["who"], who={"anyOf": [an_object(["name"], name=TEXT), {"type": "null"}]})
    form = Filling({"who": {"name": "Ada"}}, schema)
    assert ticks(form.view, LEFT_OUT) == []
    assert form.types(**{"Send as null": ["who"]}).edited == {"who": None}


def test_an_object_with_something_masked_cannot_be_left_out():
    """It would take the masked value with it."""
    schema = an_object(login=an_object(user=TEXT, password=TEXT))
    form = form_of({"login": {"user": "ada", "password": "hunter2"}}, schema, {"password"})

    assert [unit.path for unit in form.units] == [("login", "user"), ("login", "password")]
    assert LEFT_OUT.block_id not in {block["block_id"] for block in form.blocks(form.units)}


def test_rows_with_long_menus_are_shown_fewer_at_a_time():
    """Each of them is in a view that Slack takes."""
    units = an_object(["unit"], unit={"enum": [f"unit of measure number {number}" for number in range(400)]})
    args = {"rows": [{"unit": "unit of measure number 7"}] * 9}
    form = Filling(args, an_object(rows=a_list(units)))
    assert "of 9" in shown(form.view)
    while "Next rows" in button_labels(form.view):
        form.presses("Next rows")

    form.types(**{"rows → 9 → unit": "unit of measure number 399"})
    assert form.edited["rows"][-1] == {"unit": "unit of measure number 399"}
    form.presses("Add a row").types(**{"rows → 10 → unit": "unit of measure number 1"})
    assert form.edited["rows"][-1] == {"unit": "unit of measure number 1"}


CARD = {**an_object(["kind", "number"], kind={"const": "card"}, number=TEXT), "title": "Card"}
BANK = {**an_object(["kind", "iban"], kind={"const": "bank"}, iban=TEXT, bic=TEXT), "title": "Bank"}
PAY = an_object(["pay"], pay={"oneOf": [CARD, BANK]})
BY_CARD = {"pay": {"kind": "card", "number": "4111"}}


@pytest.mark.parametrize("union", ["oneOf", "anyOf"])
def test_a_value_of_several_forms_is_chosen_and_then_filled_in(union):
    """What is fixed for the form is set by itself."""
    schema = an_object(["pay"], pay={union: [CARD, BANK]})
    form = Filling(BY_CARD, schema)
    assert form.types().result == Unchanged()
    assert list(inputs(form.view)) == ["pay · form", "pay → kind", "pay → number"]

    form.types(**{"pay · form": "Bank"})
    assert list(inputs(form.view)) == ["pay · form", "pay → kind", "pay → iban", "pay → bic"]
    form.types(**{"pay → iban": "DE02"})
    assert form.edited == {"pay": {"kind": "bank", "iban": "DE02"}}


@pytest.mark.parametrize(
    "spec", [{"anyOf": [TEXT, a_list(TEXT, minItems=1)]}, {"type": ["string", "array"], "items": TEXT}]
)
def test_a_list_in_place_of_a_text_is_filled_in_before_it_is_judged(spec):
    """The form comes again with a button for rows, also where an empty list is allowed."""
    form = Filling({"to": "dana"}, an_object(["to"], to=spec))
    before = form.view
    form.types(**{"to · form": "a list"})

    action = a_state(an_interrupt(an_action(args=form.args, schema=form.schema))).actions[0]
    assert "f:/to?1:rows" in asked_anew(form_for(action, form.draft), before)
    assert not asked_anew(form_for(action, form.draft), form.view)
    assert form.presses("Add a row").types(**{"to → 1": "dana"}).edited == {"to": ["dana"]}


def test_a_press_on_a_row_that_is_gone_changes_nothing():
    """Two windows may show different rows."""
    form = form_of(TAGS, TAG_LIST, (), Draft())

    for what in (REMOVE, UP, DOWN):
        assert form.with_rows(what, 99, "f:/tags").rows == {"f:/tags": (0, 1, 2)}
    assert form.with_rows(ADD, 0, "f:/nothing") == Draft()


def test_an_object_that_was_not_given_has_inputs_and_stays_out_while_they_are_empty():
    """What it needs is asked for once something is in it."""
    schema = an_object(address=an_object(["street"], street=TEXT, zip=WHOLE), n=WHOLE)
    assert all(block["optional"] for block in inputs(Filling({"n": 1}, schema).view).values())
    assert Filling({"n": 1}, schema).types(n="2").edited == {"n": 2}
    street = Filling({"n": 1}, schema).types(**{"address → street": "Main"})
    assert street.edited == {"n": 1, "address": {"street": "Main"}}
    only_zip = Filling({"n": 1}, schema).types(**{"address → zip": "12"})
    assert only_zip.result == Errors({"f:/address/street": "This is required."})


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.nightly)])
def test_a_long_list_is_shown_some_rows_at_a_time(count):
    """Each row can be reached, and those out of sight stay as they are."""
    args = {"rows": [{"n": number, "name": f"row {number}"} for number in range(count)]}
    form = Filling(args)
    while "Next rows" in button_labels(form.view):
        form.presses("Next rows")

    assert f"of {count}" in shown(form.view)
    form.types(**{f"rows → {count} → name": "changed"})
    assert form.edited["rows"][:-1] == args["rows"][:-1]
    assert form.edited["rows"][-1]["name"] == "changed"
    form.presses("Previous rows")
    assert form.edited["rows"][-1]["name"] == "changed"


def test_a_form_of_a_value_begins_with_nothing_that_belongs_to_another():
    """A default of the argument is one of one form at most, and the names of the forms are their types."""
    limit = {"anyOf": [WHOLE, TEXT, {"type": "null"}], "default": None, "title": "Limit"}
    form = Filling({"limit": None}, an_object(limit=limit)).types(**{"limit · form": "text"})

    (found,) = [block["element"] for label, block in inputs(form.view).items() if label == "limit"]
    assert (found["type"], found.get("initial_value")) == ("plain_text_input", None)
    assert form.types(limit="hello").edited == {"limit": "hello"}


@pytest.mark.parametrize("default", [[], None])
def test_an_empty_list_that_was_not_given_is_sent_with_a_tick(default):
    """Where that is not what leaving it out means."""
    form = Filling({}, an_object(tags=a_list(TEXT, default=default)))

    assert ticks(form.view, EMPTY_WHOLE) == ([] if default == [] else ["tags"])
    if default is None:
        assert form.types(**{EMPTY_WHOLE.label: ["tags"]}).edited == {"tags": []}


def test_an_object_of_values_with_several_forms_is_sent_empty_with_a_tick():
    form = Filling({}, an_object(pay=an_object(by={"oneOf": [CARD, BANK]})))

    assert form.types(**{EMPTY_WHOLE.label: ["pay"]}).edited == {"pay": {}}


def test_what_is_missing_in_a_form_of_a_value_is_said_beside_it():
    """And not as a form that does not fit."""
    form = Filling(BY_CARD, PAY).types(**{"pay · form": "Bank"}).types()

    assert form.result == Errors({"f:/pay?1/iban": "This is required."})


def test_what_was_typed_in_one_form_is_there_again_after_another_was_chosen():
    """A person may look at the other one first."""
    form = Filling(BY_CARD, PAY).types(**{"pay → number": "4222"}).types(**{"pay · form": "Bank"})
    form.types(**{"pay → iban": "DE02"}).types(**{"pay · form": "Card"})

    assert form.edited == {"pay": {"kind": "card", "number": "4222"}}


def test_a_value_that_has_none_of_the_forms_stays_until_one_is_chosen():
    """The agent's value is an error, and the person says what it is instead."""
    args = {"pay": {"kind": "cash"}, "n": 1}
    schema = an_object(pay={"oneOf": [CARD, BANK]}, n=WHOLE)

    assert isinstance(Filling(args, schema).types(n="2").result, Errors)
    form = Filling(args, schema).types(**{"pay · form": "Card"})
    assert form.types(**{"pay → number": "1"}).edited == {"pay": {"kind": "card", "number": "1"}, "n": 1}
