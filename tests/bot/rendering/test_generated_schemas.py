"""Schemas as pydantic, zod and other generators write them: what one allows can be sent, and nothing offered is refused."""

from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, Field, create_model

from bot.domain.drafts import Draft, Raw
from bot.domain.schemas import fits_schema, fitting, flatten
from bot.rendering.modal.argument_form import Edited, Errors, Form, Unchanged, form_of
from bot.rendering.modal.field_types import BOXES, LEAVE_OUT, ROWS
from bot.rendering.modal.form_tree import all_in, held, inputs_in
from tests.bot.rendering.filling import filled_in
from tests.support.properties import bounded

NAMES = st.sampled_from(["a", "b", "c"])
TEXT, WHOLE, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
DEFAULTS = st.sampled_from([None, 3, "x", "", [], {}, True])
"""Generators write them as they are, whether the schema allows them or not."""

# --- pydantic ----------------------------------------------------------------------------------------------------------


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str | None


def models(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Classes of up to three arguments; each has to be given, or has a default."""
    fields = st.dictionaries(NAMES, st.tuples(types, st.just(...) | DEFAULTS), min_size=1)
    return fields.map(lambda found: create_model("Model", **found))


def _list_of(item: Any, least: int, more: int | None) -> Any:
    return Annotated[list[item], Field(min_length=least, max_length=None if more is None else least + more)]


ANNOTATIONS = st.recursive(
    st.sampled_from([
        *(str, int, float, bool, date, datetime, UUID, AnyUrl, Size, Cat, dict[str, int], set[Size], set[int]),
        *(Literal["a", "b"], Literal["a", 1] | None, Literal["only"], list[Literal["x", "y", "z"]]),
        Annotated[int, Field(gt=0, le=10)],
        Annotated[float, Field(ge=0, multiple_of=0.5)],
        Annotated[str, Field(min_length=2, max_length=5)],
        Annotated[str, Field(pattern="^[a-z]{1,4}$")],
        Annotated[Cat | Dog, Field(discriminator="kind")],
    ]),
    lambda inner: st.one_of(
        inner.map(lambda each: each | None),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: Union[tuple(some)]),  # noqa: UP007
        st.builds(_list_of, inner, st.integers(0, 2), st.none() | st.integers(0, 2)),
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),
        models(inner),
    ),
    max_leaves=4,
)  # fmt: skip
BY_PYDANTIC = models(ANNOTATIONS).map(lambda model: model.model_json_schema())

# --- zod, OpenAPI 3.0, draft 7 and forms ---------------------------------------------------------------------------------

DAY = r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))"
HOUR = r"T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
PLAIN = st.sampled_from([
    *(TEXT, WHOLE, {"type": "boolean"}, {**TEXT, "minLength": 1}, {**TEXT, "const": "only"}, {"enum": [1, "1"]}),
    {"type": "number", "exclusiveMinimum": 0, "maximum": 10},
    {**TEXT, "format": "date", "pattern": f"^{DAY}$"},
    {**TEXT, "format": "date-time", "pattern": rf"^{DAY}{HOUR}(?:\.\d+)?(?:Z))$"},
    {**TEXT, "format": "date-time", "pattern": rf"^{DAY}{HOUR}\.\d{{3}}(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))$"},
    {**TEXT, "format": "time"},
    {**TEXT, "format": "email", "pattern": r"^[A-Za-z0-9_'+\-]+@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"},
    {**TEXT, "format": "uri"},
    {**TEXT, "enum": ["a", "b"]},
    {**TEXT, "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    {**TEXT, "enum": ["a", None, 7]},
    {"type": ["string", "null"], "enum": ["a", "b"]},
    {"type": ["string", "null"], "const": "a"},
    {**TEXT, "nullable": True},
    {**TEXT, "nullable": True, "enum": ["a", None]},
    {"type": ["string", "integer", "null"], "minLength": 2},
    {"type": ["array", "string", "null"], "items": TEXT, "minItems": 1},
    {"anyOf": [{**TEXT, "const": "a"}, {**TEXT, "const": "b"}]},
    {**TEXT, "oneOf": [{"const": "t_1", "title": "Support"}, {"const": "t_2", "title": "Sales"}]},
    {"oneOf": [{"const": "auto"}, WHOLE, {"const": None}]},
    {"anyOf": [TEXT, {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1}]},
    {"type": "object", "propertyNames": TEXT, "additionalProperties": {"type": "number"}},
    {"$ref": "#/definitions/address"},
    {"allOf": [{"$ref": "#/definitions/address"}], "description": "Where to."},
])  # fmt: skip
ADDRESS = {
    "type": "object",
    "properties": {"street": TEXT, "zip": {"type": ["string", "null"]}},
    "required": ["street"],
}


def _an_object(properties: dict[str, Any], needed: list[str], *, closed: bool) -> dict[str, Any]:
    found = {
        "type": "object",
        "properties": properties,
        "required": [name for name in needed if name in properties],
    }
    return {**found, "additionalProperties": False} if closed else found


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        _an_object,
        st.dictionaries(NAMES, inner, min_size=1),
        st.lists(NAMES, unique=True),
        closed=st.booleans(),
    )


def _told_apart(kinds: dict[str, Any]) -> dict[str, Any]:
    named = [
        {**kind, "properties": {**kind["properties"], "kind": {"const": name}}}
        for name, kind in kinds.items()
    ]
    return {"oneOf": [{**kind, "required": [*kind["required"], "kind"]} for kind in named]}


WRITTEN = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(lambda each, default: {**each, "default": default}, inner, DEFAULTS),
        inner.map(lambda each: {"anyOf": [each, NULL]}),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: {"anyOf": some}),
        st.dictionaries(NAMES, objects(inner), min_size=2).map(_told_apart),
        st.builds(lambda each, least: {"type": "array", "items": each, "minItems": least}, inner, st.integers(0, 2)),
        inner.map(lambda each: {"type": "array", "items": each, "maxItems": 1}),
        inner.map(lambda each: {"type": "array", "items": [each, TEXT], "additionalItems": False, "minItems": 1}),
        objects(inner),
    ),
    max_leaves=4,
)  # fmt: skip
BY_OTHERS = objects(WRITTEN).map(lambda found: {**found, "definitions": {"address": ADDRESS}})
SCHEMAS = (BY_PYDANTIC | BY_OTHERS).map(flatten)

# --- Values --------------------------------------------------------------------------------------------------------------

TEXTS = {
    "date": ["2026-01-31", "2024-02-29"],
    "time": ["09:30:00", "23:59:00"],
    "date-time": ["2026-01-31T09:30:00Z", "2024-02-29T23:59:00Z"],
    "email": ["a@example.com", "dana@example.org"],
    "uri": ["https://example.com", "http://example.org/a?b=c"],
    "uuid": ["550e8400-e29b-41d4-a716-446655440000", "00000000-0000-0000-0000-000000000000"],
}
"""Texts of each format as Slack's inputs give them."""
EXACT = ["2026-01-31T09:30:00.125Z", "2024-02-29T23:59:59.000+02:00"]
BY_TYPE = {
    "integer": st.integers(-3, 12),
    "number": st.integers(-3, 12) | st.sampled_from([0.5, 1.25]),
    "boolean": st.booleans(),
    "null": st.none(),
}
LEFT_OUT = object()


def values_of(node: Any) -> st.SearchStrategy[Any]:
    """Values that a flattened schema allows, written as a form writes them."""
    return _any_of(node).filter(lambda value: fits_schema(node, value))


def _any_of(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    for union in ("anyOf", "oneOf", "allOf"):
        if union in node:
            return st.one_of(*map(values_of, node[union]))
    if "const" in node or "enum" in node:
        return st.sampled_from(node.get("enum") or [node["const"]])
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return st.one_of(*(_of_type(node, name) for name in types))


def _of_type(node: dict[str, Any], name: str) -> st.SearchStrategy[Any]:
    if name == "string":
        return st.sampled_from(
            fitting(node, TEXTS.get(node.get("format"), ["", "ab", "abc", "x y"])) or EXACT
        )
    if name == "array" and "prefixItems" in node:
        return st.tuples(*map(values_of, node["prefixItems"])).map(list)
    if name == "array":
        least, items = node.get("minItems", 0), node["items"]
        # A box is ticked once.
        ways = [len(items[key]) for key in ("enum", "anyOf", "oneOf") if key in items] or [
            int("const" in items)
        ]
        is_choice = least <= ways[0]
        return st.lists(
            values_of(items),
            min_size=least,
            max_size=node.get("maxItems", least + 2),
            unique_by=repr if is_choice or node.get("uniqueItems") else None,
        )
    if name == "object" and "properties" in node:
        return st.fixed_dictionaries(
            {
                key: _argument(child, required=key in node.get("required", ()))
                for key, child in node["properties"].items()
            }
        ).map(lambda found: {key: value for key, value in found.items() if value is not LEFT_OUT})
    if name == "object":
        return st.dictionaries(NAMES, values_of(node["additionalProperties"]), max_size=2)
    return BY_TYPE[name]


def _argument(node: dict[str, Any], *, required: bool) -> st.SearchStrategy[Any]:
    """A value, or none. Null and an empty list that are the default are what leaving out means, so they are not told apart."""
    if required:
        return values_of(node)
    default = node.get("default", LEFT_OUT)
    return st.just(LEFT_OUT) | values_of(node).filter(
        lambda value: value not in (None, [], {}) or value != default
    )


# --- What holds ------------------------------------------------------------------------------------------------------------


@bounded(600)
@given(SCHEMAS, st.data())
def test_whatever_a_schema_allows_can_be_typed_chosen_and_ticked(schema, data):
    """From any other call that it allows."""
    asked, wanted = data.draw(values_of(schema)), data.draw(values_of(schema))

    found = filled_in(asked, schema, wanted)

    sent = found.args if isinstance(found, Edited) else asked if isinstance(found, Unchanged) else found
    assert _ticked_in_any_order(sent) == _ticked_in_any_order(wanted)


def _ticked_in_any_order(value: Any) -> Any:
    """Boxes to tick keep the order of what was ticked before, so no order is wanted of them."""
    if isinstance(value, dict):
        return {name: _ticked_in_any_order(each) for name, each in value.items()}
    if isinstance(value, list):
        found = [_ticked_in_any_order(each) for each in value]
        return (
            sorted(found)
            if set(map(str, found)) <= {"a", "b", "x", "y", "z", "s", "l", "small", "large"}
            else found
        )
    return value


@bounded(600)
@given(SCHEMAS, st.data())
def test_nothing_that_a_form_offers_is_refused(schema, data):
    """Each choice, each tick, each other form of a value and what it begins with."""
    asked = data.draw(values_of(schema))
    form = form_of(asked, schema)
    known = {field.block_id for field in inputs_in(form.root)}
    for block in form.blocks(form.units):
        for block_id, raw in _offers(block):
            after = form_of(asked, schema, (), Draft(typed={block_id: raw}))
            brought = [field for field in inputs_in(after.root) if field.block_id not in known]
            held_by = [
                field.question for field in brought if field.question.is_given and field.question.value != []
            ]
            assert all(question.takes(question.value) for question in held_by)
            result = after.read(asked, schema)
            if isinstance(result, Errors):
                needed = _empty(after)
                # An input that an offer brings is filled in first.
                is_unfilled = not needed.isdisjoint(field.block_id for field in brought)
                assert is_unfilled or set(result.by_block) <= needed, (block, raw, result)


def _offers(block: dict[str, Any]) -> list[tuple[str, Raw]]:
    """Each choice of an input that takes one, and each box of ours."""
    block_id, options = block["block_id"], block.get("element", {}).get("options", ())
    if block_id in {box.block_id for box in BOXES}:
        return [(block_id, [option["value"]]) for option in options]
    return [(block_id, option["value"]) for option in options if block["element"]["type"] == "radio_buttons"]


def _empty(form: Form) -> set[str]:
    """The inputs that hold nothing, and the lists without a row: an offer may need more than itself."""
    fields = {
        each.block_id for each in inputs_in(form.root) if held(each, form.draft) in (None, "", [], LEAVE_OUT)
    }
    return fields | {part.block_id for part in all_in(form.root) if part.kind == ROWS and not part.inner}
