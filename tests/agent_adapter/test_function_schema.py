"""What a function takes, as a person sees it and as the function gets it."""

import dataclasses
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, SecretStr, StringConstraints, computed_field

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.numbers import Number
from agent_adapter.errors import InvalidRequestError
from agent_adapter.function_schema import Inputs


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    since: date


class Shop(Address):
    owner: str


@dataclasses.dataclass
class Point:
    x: int
    y: int


def shown(function, **arguments):
    _, shown = Inputs.of(function).read(arguments)
    return shown


def one(annotation):
    """Make a function of one parameter."""

    def take(value):
        return value

    take.__annotations__ = {"value": annotation}
    return take


# --- Values -------------------------------------------------------------------------------------------------------

VALUES = [
    (str, "a", "a", "b", "b"),
    (int, 10**30, 10**30, 5, 5),
    (float, 5, 5.0, 1, 1.0),
    (datetime, datetime(2026, 11, 20, 12, tzinfo=UTC), "2026-11-20T12:00:00Z", "2026-11-21T12:00:00Z", datetime(2026, 11, 21, 12, tzinfo=UTC)),
    (Decimal, Decimal("1.50"), "1.50", "2.50", Decimal("2.50")),
    (Colour, Colour.RED, "red", "blue", Colour.BLUE),
    (Address, Address(street="A", since=date(2026, 1, 1)), {"street": "A", "since": "2026-01-01"}, {"street": "B", "since": "2026-01-01"}, Address(street="B", since=date(2026, 1, 1))),
    (Point, Point(1, 2), {"x": 1, "y": 2}, {"x": 1, "y": 3}, Point(1, 3)),
    (set[int], {2, 1}, [1, 2], [2], {2}),
    (dict[int, list[Colour]], {1: [Colour.RED]}, {"1": ["red"]}, {"2": ["blue"]}, {2: [Colour.BLUE]}),
    (bytes, b"abc", "abc", "abd", b"abd"),
    (int | None, None, None, 5, 5),
    (Any, {"deep": [1, None]}, {"deep": [1, None]}, [], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "value", "json", "edit", "runs"), VALUES, ids=[str(row[0]) for row in VALUES]
)
def test_the_function_gets_what_the_shown_or_edited_json_stands_for(annotation, value, json, edit, runs):
    """The person reads JSON, the function gets its own types."""
    inputs = Inputs.of(one(annotation))
    values, shown = inputs.read({"value": value})

    assert (values, shown) == ({"value": value}, {"value": json})
    assert inputs.edited(values, shown, {"value": json})["value"] is values["value"]
    edited = inputs.edited(values, shown, {"value": edit})["value"]
    assert (edited, type(edited)) == (runs, type(runs))


Tidy = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]


@pytest.mark.parametrize(
    ("annotation", "value", "typed", "said"),
    [
        (Annotated[int, AfterValidator(abs)], 5, -5000, "value: its type or a validator would change what was approved.*: ask again"),
        (Tidy, "ab", " ADMIN", "value: "),
        (list[float], [1.5], [2**53 + 1], r"value\[0\]: "),
        (float, 1.5, Number("9007199254740993.0"), "value: "),
        (list[Point], [Point(1, 2)], [{"x": 1, "y": 2, "z": 3}], r"value\[0\]\.z: "),
    ],
)  # fmt: skip
def test_an_edit_runs_as_it_was_shown_or_not_at_all(annotation, value, typed, said):
    """No type and no validator makes another value of what the person typed and the card shows."""
    inputs = Inputs.of(one(annotation))
    values, shown = inputs.read({"value": value})

    with pytest.raises(InvalidRequestError, match=f"take: {said}"):
        inputs.edited(values, shown, {"value": typed})


@pytest.mark.parametrize(
    ("annotation", "typed", "runs"),
    [
        (float, 5, 5.0),
        (datetime, "2026-11-21T12:00+00:00", datetime(2026, 11, 21, 12, tzinfo=UTC)),
        (set[str], ["b", "a", "c"], {"a", "b", "c"}),
        (list[Address], [{"since": "2026-01-01", "street": "A"}], [Address(street="A", since=date(2026, 1, 1))]),
    ],
)  # fmt: skip
def test_an_edit_may_write_the_same_value_in_another_way(annotation, typed, runs):
    """5 is the number 5.0, a moment may leave out its seconds, and sets and objects have no order."""
    edited = Inputs.of(one(annotation)).edited({"value": None}, {"value": None}, {"value": typed})

    assert edited["value"] == runs


@dataclasses.dataclass
class Rated:
    tags: set[str]
    more: Annotated[set[str], Field(alias="moreTags")]


def test_sets_are_shown_in_one_order():
    """Each process has another one, and a question is found again by its arguments."""
    names = [f"{number:02}" for number in range(30)]
    given = {"value": {7: [{"tags": names, "moreTags": names}]}}

    assert shown(one(dict[int, list[Rated]]), **given) == {"value": {"7": given["value"][7]}}


class Order(BaseModel):
    count: int

    @computed_field
    def total(self) -> int:
        return 5 * self.count


def test_computed_values_of_a_model_are_not_arguments():
    """Only what can be edited is shown."""
    assert shown(one(Order), value=Order(count=2)) == {"value": {"count": 2}}


class Item(BaseModel):
    sku: str
    quantity: int = Field(1, alias="qty")


class Transfer(BaseModel):
    cents: int
    account: str = Field("ops", exclude=True)


@pytest.mark.parametrize(
    ("annotation", "value", "json", "runs"),
    [
        (Item, {"sku": "a", "qty": 2}, {"sku": "a", "qty": 2}, Item(sku="a", qty=2)),
        (Item | None, {"sku": "a"}, {"sku": "a", "qty": 1}, Item(sku="a")),
        (list[Item], [{"sku": "a"}], [{"sku": "a", "qty": 1}], [Item(sku="a")]),
    ],
    ids=["model", "optional", "list"],
)  # fmt: skip
def test_json_becomes_the_models_that_the_signature_names(annotation, value, json, runs):
    """A function that takes a model never gets a dictionary, and the card shows its defaults, too."""
    values, shown = Inputs.of(one(annotation)).read({"value": value})

    assert shown == {"value": json}
    assert (values["value"], type(values["value"])) == (runs, type(runs))


class ReadOtherwise(BaseModel):
    name: str = Field(validation_alias="fullName")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Address, Shop(street="A", since=date(2026, 1, 1), owner="Dana")),
        (Any, date(2026, 1, 1)),
        (float, float("nan")),
        (bytes, b"\xff"),
        (Any, object()),
        (Transfer, Transfer(cents=5, account="mine")),
        (Iterable[int], (number for number in range(3))),
        (ReadOtherwise, ReadOtherwise(fullName="a")),
    ],
)
def test_what_json_does_not_hold_is_refused(annotation, value):
    """Nobody is asked about less than what would run."""
    cure = "Field required; a renamed field needs an `alias`" if annotation is ReadOtherwise else ""
    with pytest.raises(InvalidRequestError, match=f"^take: value.*{cure}"):
        shown(one(annotation), value=value)


def test_what_is_beside_the_fields_is_not_shown_and_does_not_run():
    """The function gets a value of its own."""
    given = Point(1, 2)
    vars(given)["z"] = 3
    values, _ = Inputs.of(one(Point)).read({"value": given})

    assert vars(values["value"]) == {"x": 1, "y": 2}


def test_a_secret_is_refused_and_not_shown_in_the_error():
    """The error goes to logs."""
    with pytest.raises(InvalidRequestError) as refused:
        shown(one(SecretStr), value=SecretStr("hunter2"))

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("annotation", "value", "runs"), [(int, True, 1), (bool, 1, True), (list[int], [True], [1])]
)
def test_what_runs_is_of_the_type_that_is_shown(annotation, value, runs):
    """True for a number is shown as 1, and the function gets 1."""
    values, shown = Inputs.of(one(annotation)).read({"value": value})

    assert encode(shown["value"]) == encode(values["value"]) == encode(runs)


# --- Parameters ---------------------------------------------------------------------------------------------------


def everything(first: int, /, to: str, *, cc: str = "nobody") -> str:
    return f"{first} {to} {cc}"


def test_every_kind_of_parameter_is_shown_by_its_name_and_reaches_the_function():
    """Also a default, and what an edit leaves out."""
    inputs = Inputs.of(everything)
    values, shown = inputs.read({"first": 1, "to": "dana"})

    assert shown == {"first": 1, "to": "dana", "cc": "nobody"}
    assert inputs.call_with(values)() == "1 dana nobody"
    assert inputs.call_with(inputs.edited(values, shown, {"first": 5, "to": "erik"}))() == "5 erik nobody"


def test_the_schema_says_what_the_form_needs():
    """Types, descriptions, defaults, what is required; models of one name stay apart."""

    def send(to: Annotated[str, Field(description="Who gets it")], colour: Colour = Colour.RED) -> None: ...

    assert Inputs.of(send).schema == {
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "Who gets it"},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        },
        "required": ["to"],
        "additionalProperties": False,
        "$defs": {"Colour": {"enum": ["red", "blue"], "title": "Colour", "type": "string"}},
    }


class Office:
    def send(self, to: str) -> str:
        return f"{type(self).__name__} to {to}"


def test_the_object_of_a_method_is_not_shown_and_cannot_be_edited():
    """`self` says on what a method works, and is nobody's input."""
    inputs = Inputs.of(Office.send)
    values, shown = inputs.read({"self": Office(), "to": "dana"})

    assert shown == {"to": "dana"}
    assert inputs.call_with(inputs.edited(values, {"to": "dana"}, {"to": "erik"}))() == "Office to erik"
    with pytest.raises(InvalidRequestError, match="send: there is no parameter self"):
        inputs.edited(values, {"to": "dana"}, {"self": 5, "to": "erik"})


def test_bound_methods_and_partials_show_what_is_left_to_give():
    """What is fixed already is no input."""
    assert shown(Office().send, to="dana") == {"to": "dana"}
    assert shown(partial(everything, 1), to="dana") == {"to": "dana", "cc": "nobody"}
    assert Inputs.of(partial(everything, 1)).name == "everything"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"to": "dana"}, "everything: first is missing"),
        ({"first": 1, "to": "dana", "bcc": 5}, "everything: there is no parameter bcc; the parameters are: first, to, cc"),
        ({"first": "one", "to": "dana"}, "everything: first: Input should be a valid integer"),
    ],
)  # fmt: skip
def test_the_error_names_arguments_that_do_not_fit(arguments, problem):
    with pytest.raises(InvalidRequestError, match=problem):
        Inputs.of(everything).read(arguments)


# --- What cannot be gated -----------------------------------------------------------------------------------------


def _generator(to: str):
    yield to


async def _stream(to: str):
    yield to


def _unknown(to: "Nowhere"):  # noqa: F821  # the name is missing on purpose
    ...


def _wrong_default(to: str = None): ...  # noqa: RUF013  # as it is found in the wild


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_generator, "_generator is a generator"),
        (_stream, "_stream is a generator"),
        (
            one(Callable[[int], int]),
            "take: value: .* cannot be shown as JSON: .*; change it, or keep it out of the signature",
        ),
        (_unknown, "_unknown: name 'Nowhere' is not defined: annotate with types of the module"),
        (_wrong_default, "_wrong_default: the default of to: Input should be a valid string"),
        (Office, "is not a function: pass a function or a method"),
        (5, "5 is not a function"),
        (staticmethod(_wrong_default), "is not a function: pass a function or a method, below @staticmethod"),
        (lambda *to: to, "to takes any number of arguments: take one list"),
        (lambda **to: to, "to takes any number of arguments: take one list or dictionary"),
        (getattr, "getattr has no signature to take its inputs from: wrap it in a function"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_with_the_cure(function, problem):
    """A function whose calls a person could not read is not gated half."""
    with pytest.raises(InvalidRequestError, match=problem):
        Inputs.of(function)


# --- Results ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returns", "text"),
    [
        (str, True),
        (Any, True),
        (str | None, True),
        (None, False),
        (int, False),
        (Literal["sent"], False),
        (Address, False),
    ],
)
def test_words_may_stand_for_a_result_where_it_may_be_text(returns, text):
    """An answer in a person's words is no number."""
    function = one(int)
    function.__annotations__["return"] = returns

    assert Inputs.of(function).returns_text is text
