"""Agents write schemas: one is made harmless before it is used, or it is not used."""

import pytest

from bot.domain.schemas import UnsafeSchemaError, flatten, violations
from bot.sentences import in_field


def test_a_reference_beside_other_rules_keeps_them_all():
    """Neither side loosens the other."""
    flat = flatten(
        {
            "properties": {"n": {"$ref": "#/$defs/n", "minimum": 5, "maximum": 99}},
            "$defs": {"n": {"minimum": 1, "maximum": 9}},
        }
    )

    assert [v.sentence for v in violations(flat, {"n": 10})] == ["Must be 9 or less."]
    assert [v.sentence for v in violations(flat, {"n": 3})] == ["Must be 5 or more."]


def doubling(levels):
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {}}}


def nested(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "http://127.0.0.1:9/schema"}, "a reference that leaves it"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "a reference that leaves it"),
        ({"$ref": "#"}, "references in a circle"),
        ({"$ref": 7}, "a reference that leaves it"),
        ({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}, "a reference that leaves it"),
        ({"properties": {"a": {"$id": "http://a/b", "items": {"$ref": "#/$defs/a"}}}, "$defs": {"a": {}}}, "own"),
        ({"$ref": "#/$defs/a/items", "$defs": {"a": {"$id": "http://a/b", "items": {}}}}, "own"),
        ({"$ref": "#/$defs/none"}, "a reference to nothing"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "circle"),
        ({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"next": {"$ref": "#/$defs/t"}}}}}, "circle"),
        (doubling(12), "more than 200 references"),
        (nested(40), "nested deeper"),
        ({"properties": {"a": {"pattern": "a" * 1_001}}}, "a pattern of more"),
        ({"patternProperties": {"a" * 1_001: {}}}, "a pattern of more"),
        ({"properties": {"a": {"enum": list(range(5_001))}}}, "a choice of more"),
        ({"properties": {"a": {"pattern": "(?=look)"}}}, "not a valid JSON Schema"),
        ({"type": "spaceship"}, "not a valid JSON Schema"),
        ({"$schema": "http://127.0.0.1:9/meta", "type": "object"}, "not a valid JSON Schema"),
        ({"$dynamicRef": "#x"}, "$dynamicRef is not supported"),
        ({"properties": {"a": 7}}, "not a schema"),
    ],
)  # fmt: skip
def test_an_unsafe_schema_is_refused_with_the_reason(schema, reason):
    """No fetch, no file, no loop, no explosion."""
    with pytest.raises(UnsafeSchemaError, match=reason.replace("$", r"\$")):
        flatten(schema)


def test_violations_are_plain_sentences_without_the_value():
    """A person reads them beside the input; a secret typed by mistake is not repeated."""
    flat = flatten(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 3, "pattern": "^[a-z]+$"},
                "age": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
                "both": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "never": False,
            },
            "required": ["name", "age"],
            "additionalProperties": False,
        }
    )

    found = violations(flat, {"name": "S3", "tags": ["secret", "a"], "both": [], "never": 1, "extra": 1})

    assert {(v.path, v.sentence) for v in found} == {
        (("name",), "Must have at least 3 characters."),
        (("name",), "Must match the pattern ^[a-z]+$"),
        (("age",), "This is required."),
        (("tags", 0), "Must be one of the values that the tool accepts."),
        (("both",), "Does not fit the tool's schema (anyOf)."),
        (("never",), "The tool does not accept this."),
        (("extra",), "The tool does not accept this."),
    }
    assert [v.sentence for v in violations(flat, {"name": "abc", "age": -1})] == ["Must be 0 or more."]


def test_a_pattern_that_would_take_for_ever_does_not():
    """The engine is linear, so this returns at all."""
    flat = flatten({"properties": {"a": {"pattern": "^(a+)+$"}}})

    assert violations(flat, {"a": "a" * 2_000 + "!"})


def items(rule, count=900):
    return {"properties": {"v": {"type": "array", "items": {"allOf": [rule] * count}}}}


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        (items({"multipleOf": 0.01}), {"v": [0.37] * 4_900}),
        (items({"type": "integer"}), {"v": [1] * 4_900}),
        ({"properties": {"v": {"allOf": [{"uniqueItems": True}] * 900}}}, {"v": [[n] for n in range(2_400)]}),
        ({"properties": {"v": {"allOf": [{"pattern": "([a-c]{1,3}){1,300}z"}] * 20}}}, {"v": "ab" * 30_000}),
        ({"patternProperties": {f"(a*)*b{n}$": {} for n in range(400)}}, {"a" * 40 + str(n): 1 for n in range(900)}),
        ({"properties": {"v": {"items": {"enum": list(range(200))}}}}, {"v": [-1] * 4_900}),
        ({"additionalProperties": {"allOf": [{}] * 900}}, {str(n): 1 for n in range(900)}),
        ({"propertyNames": {"allOf": [{"pattern": "a{200}"}] * 90}}, {"a" * 60 + str(n): 1 for n in range(900)}),
    ],
    ids=["fractions", "many rules", "unique", "patterns", "names", "choices", "others", "property names"],
)  # fmt: skip
def test_what_takes_too_long_to_check_is_not_checked_and_not_taken(schema, args):
    """The library would work for seconds, and nobody else with it: the form says so."""
    assert [each.sentence for each in violations(flatten(schema), args)] == [in_field.TOO_MUCH_TO_CHECK]
