"""The arguments of a function: types from its signature, values shown as JSON, and values built again from JSON. Pure."""

import dataclasses
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from functools import partial
from inspect import Parameter, Signature
from reprlib import Repr
from types import UnionType
from typing import Annotated, Any, Union, Unpack, get_args, get_origin

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError
from pydantic_core.core_schema import DecimalSchema

from agent_adapter.contract.arguments import check_json, decode, encode
from agent_adapter.contract.hitl import first_problem
from agent_adapter.contract.numbers import Number, as_floats
from agent_adapter.contract.wire import to_model
from agent_adapter.errors import InvalidRequestError

Values = dict[str, Any]
"""The arguments of a call, by parameter; `*args` and `**kwargs` are one entry each, under their own names."""

_UNSHOWN = ("self", "cls")
"""First parameters of methods. They are the object that a method works on, not an argument to review."""


@dataclass(frozen=True)
class Inputs:
    """The parameters of one function. Make it with `of`."""

    function: Callable[..., Any]
    name: str
    signature: Signature
    types: Mapping[str, TypeAdapter[Any]]
    """The type of every parameter that is shown."""
    schema: dict[str, Any]
    """JSON Schema of the arguments."""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Inputs":
        """Read a function's signature.

        Raises:
            InvalidRequestError: when it has none, or JSON cannot show a parameter; the message names the cure.
        """
        name = _name_of(function)
        signature = _signature_of(function, name)
        shown = {
            parameter.name: _type_of(parameter, where=f"{name}: {parameter.name}")
            for index, parameter in enumerate(signature.parameters.values())
            if not (index == 0 and parameter.name in _UNSHOWN)
        }
        return cls(function, name, signature, shown, _schema_of(shown, signature, name))

    @property
    def returns_text(self) -> bool:
        """Whether the function may return text, so that a reviewer's text can replace its result."""
        return _admits_text(self.signature.return_annotation)

    def read(self, arguments: Mapping[str, Any]) -> Values:
        """Return the value of every parameter, including defaults. A value that already has its type is kept as it is.

        Args:
            arguments: By parameter name, as Python values or as JSON.

        Raises:
            InvalidRequestError: naming the function and the parameter.
        """
        values = self._complete(arguments)
        for name in arguments.keys() & self.types.keys():
            values[name] = _typed(self.types[name], values[name], where=f"{self.name}: {name}")
        self._check_extra(values)
        return values

    def show(self, values: Values) -> Values:
        """Return the values as JSON. A value that JSON cannot represent exactly is refused.

        Raises:
            InvalidRequestError: naming the function and the parameter.
        """
        return {
            name: _shown(kind, values[name], where=f"{self.name}: {name}")
            for name, kind in self.types.items()
        }

    def edited(self, values: Values, shown: Values, edit: Mapping[str, Any]) -> Values:
        """Return the values after an edit of the shown JSON. A value that was not edited stays the same object.

        Raises:
            InvalidRequestError: naming the function and the parameter.
        """
        if unknown := sorted(edit.keys() - self.types.keys()):
            raise InvalidRequestError(f"{self.name}: there is no parameter {', '.join(unknown)}")
        kept = {name: value for name, value in values.items() if name not in self.types}
        for name, value in edit.items():
            untouched = encode(value) == encode(shown[name])
            kept[name] = values[name] if untouched else self._rebuilt(name, value)
        complete = self._complete(kept)
        self._check_extra(complete)
        return complete

    def call_with(self, values: Values) -> Callable[[], Any]:
        """Return a function without arguments that calls the function with these values."""
        bound = inspect.BoundArguments(self.signature, values)
        return partial(self.function, *bound.args, **bound.kwargs)

    def _complete(self, given: Mapping[str, Any]) -> Values:
        parameters = self.signature.parameters
        if unknown := sorted(given.keys() - parameters.keys()):
            raise InvalidRequestError(
                f"{self.name}: there is no parameter {', '.join(unknown)}; the parameters are: {', '.join(parameters) or 'none'}"
            )
        bound = inspect.BoundArguments(self.signature, dict(given))
        bound.apply_defaults()
        if missing := [name for name in parameters if name not in bound.arguments]:
            raise InvalidRequestError(f"{self.name}: {', '.join(missing)} is missing")
        return dict(bound.arguments)

    def _check_extra(self, values: Values) -> None:
        # Python does not allow the name of another parameter in `**kwargs`, but `BoundArguments` would call with it.
        parameters = self.signature.parameters.values()
        taken = {p.name for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}}
        for extra in (p.name for p in parameters if p.kind is p.VAR_KEYWORD):
            if twice := sorted(values[extra].keys() & taken):
                raise InvalidRequestError(
                    f"{self.name}: {extra}: {', '.join(twice)} is a parameter of its own"
                )

    def _rebuilt(self, name: str, value: Any) -> Any:
        kind, where = self.types[name], f"{self.name}: {name}"
        built = to_model(kind.validate_json, encode(value), where=where)
        check_kept(_as_it_runs(value, built), _shown(kind, built, where=where), where=where)
        return built


def check_kept(approved: Any, runs: Any, *, where: str) -> None:
    """Refuse an edited value that would run as a different value.

    Args:
        approved: The JSON that was typed and shown.
        runs: The JSON of the value that would run.
        where: The tool and the argument, for the error.

    Raises:
        InvalidRequestError: naming the place, both values and the cure.
    """
    if difference := _first_difference(approved, runs, where):
        path, one, other = difference
        raise InvalidRequestError(
            f"{path}: {_brief(one)} was approved, but {_brief(other)} would have run, because its type or a validator "
            "changes it: ask again with the value that should run"
        )


def check_arguments_kept(model: type[BaseModel], edit: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse edited arguments that do not fit a tool's model, or that the model would change into other values.

    Arguments that the person did not edit are not compared: they reach the tool as they would without an edit.

    Raises:
        InvalidRequestError: as in `check_kept`.
    """
    built = to_model(model.model_validate, as_floats(edit), where="args")
    try:
        text = built.model_dump_json(by_alias=True, round_trip=True, exclude_unset=True, warnings=False)
    except PydanticSerializationError as error:
        raise InvalidRequestError(
            f"args: what would run cannot be compared with the edit: {error}"
        ) from error
    runs = _as_it_runs(as_floats(decode(text)), built)
    given = _as_it_runs(dict(edit), built)
    for name, value in edit.items():
        if name not in asked or encode(value) != encode(asked[name]):
            check_kept(given[name], runs.get(name, _NOTHING), where=f"args.{name}")


def _name_of(function: Any) -> str:
    if isinstance(function, partial):
        return _name_of(function.func)
    if isinstance(function, classmethod | staticmethod):
        raise InvalidRequestError(
            f"{function!r} is not a function yet: put the decorator that gates it under @{type(function).__name__}"
        )
    if not inspect.isroutine(function):
        raise InvalidRequestError(f"{function!r} is not a function: pass a function or a method")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidRequestError(
            f"{function.__name__} is a generator: its body runs piece by piece, later than it is approved; "
            "gate a function that returns"
        )
    return str(function.__name__)


def _signature_of(function: Callable[..., Any], name: str) -> Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except NameError as error:
        raise InvalidRequestError(
            f"{name}: {error}: annotate with types of the module, not of a function"
        ) from error
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(
            f"{name} has no signature to take its inputs from: wrap it in a function"
        ) from error


def _type_of(parameter: Parameter, *, where: str) -> TypeAdapter[Any]:
    kind = Any if parameter.annotation is Parameter.empty else parameter.annotation
    if parameter.kind is Parameter.VAR_POSITIONAL:
        kind = tuple[kind, ...]  # type: ignore[valid-type]  # mypy takes a value for no type
    if parameter.kind is Parameter.VAR_KEYWORD:
        kind = get_args(kind)[0] if get_origin(kind) is Unpack else dict[str, kind]  # type: ignore[valid-type]  # as above
    try:
        adapter = TypeAdapter[Any](kind)
        adapter.json_schema(schema_generator=_AsShown)
    except PydanticUserError as error:
        raise InvalidRequestError(
            f"{where}: {kind!r} cannot be shown as JSON: {error.message}; change it, or keep it out of the signature: "
            "in a closure, `self` or functools.partial"
        ) from error
    return adapter


def _schema_of(types: Mapping[str, TypeAdapter[Any]], signature: Signature, name: str) -> dict[str, Any]:
    found, shared = TypeAdapter.json_schemas(
        [(key, "validation", kind) for key, kind in types.items()], schema_generator=_AsShown
    )
    properties = {parameter: found[parameter, "validation"] for parameter in types}
    required = []
    for parameter, kind in types.items():
        declared = signature.parameters[parameter]
        if declared.default is not Parameter.empty:
            default = _shown(kind, declared.default, where=f"{name}: the default of {parameter}")
            properties[parameter] = {**properties[parameter], "default": default}
        elif declared.kind not in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}:
            required.append(parameter)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **shared,
    }


class _AsShown(GenerateJsonSchema):
    """Makes schemas of values in the form in which they are shown."""

    def decimal_schema(self, schema: DecimalSchema) -> JsonSchemaValue:
        """Describe a decimal as a string only. pydantic would accept a number too, but a number loses the zeros of 5.00."""
        described = super().decimal_schema(schema)
        found = next((kind for kind in described.get("anyOf", ()) if kind.get("type") == "string"), described)
        # Before 2.14, pydantic adds a pattern with look-aheads, with which there would be no form.
        return {name: value for name, value in found.items() if name != "pattern"}


def _typed(kind: TypeAdapter[Any], value: Any, *, where: str) -> Any:
    if _is_json(value):
        # Even in strict mode, pydantic accepts a dictionary for a model and a string for a URL. So check what it builds.
        built = to_model(kind.validate_json, encode(value), where=where)
        return value if _lost(built, value) is None else built
    try:
        kind.validate_python(value, strict=True)
    except ValidationError:
        return to_model(kind.validate_python, value, where=where)
    return value


def _is_json(value: Any) -> bool:
    with suppress(InvalidRequestError):
        check_json(value, where="")
        return True
    return False


def _shown(kind: TypeAdapter[Any], value: Any, *, where: str) -> Any:
    try:
        text = kind.dump_json(value, by_alias=True, round_trip=True, warnings="error")
    except PydanticSerializationError as error:
        raise InvalidRequestError(
            f"{where}: {type(value).__name__} cannot be shown as JSON: {error}"
        ) from error
    # pydantic writes some floats differently from Python.
    shown = _as_it_runs(as_floats(decode(text)), value)
    rebuilt = _read_back(kind, shown, value, where=where)
    if (path := _lost(rebuilt, value)) is not None:
        raise InvalidRequestError(
            f"{where}{path}: JSON does not hold all of this {type(value).__name__}: pass plain values"
            + (" (a time in UTC or with a fixed offset)" if path.endswith(".tzinfo") else "")
            + ", annotate exactly what is passed, or keep it out of the signature"
        )
    return shown


def _read_back(kind: TypeAdapter[Any], shown: Any, value: Any, *, where: str) -> Any:
    try:
        return kind.validate_json(encode(shown))
    except ValidationError as error:
        cure = ""
        if error.errors(include_url=False, include_input=False)[0]["type"] == "missing":
            cure = (
                f": pydantic does not read back the JSON that it writes of this {type(value).__name__}: give a field an "
                "`alias`, which is read and written, not a serialization_alias or validation_alias alone"
            )
        raise InvalidRequestError(first_problem(error, where=where) + cure) from error


def _as_it_runs(shown: Any, value: Any) -> Any:
    """Return the JSON of a value, with integers where the value has them, and with sets in a fixed order.

    pydantic writes an integer as 1.0 where the annotation is `float`, and a set in another order in each process.
    """
    match shown, value:
        case float(), int() if type(value) is int and shown == value:
            return value
        case list(), set() | frozenset():
            its = {part: part for part in value}
            return sorted(
                (_as_it_runs(part, its.get(part)) if _is_number(part) else part for part in shown),
                key=_sorting,
            )
        case list(), list() | tuple() | deque() if len(shown) == len(value):
            return [_as_it_runs(part, its) for part, its in zip(shown, value, strict=True)]
        case dict(), dict():
            # JSON changes a key that is not a string, so its value is found by its position.
            its = {**dict(zip(shown, value.values(), strict=False)), **value}
            return {key: _as_it_runs(part, its.get(key, _NOTHING)) for key, part in shown.items()}
        case dict(), _:
            return {key: _as_it_runs(part, _field(value, key)) for key, part in shown.items()}
    return shown


def _field(value: Any, name: str) -> Any:
    """Return a field of a model or dataclass. It never reads a property, because a person may have typed the name."""
    kind = type(value)
    fields = kind.model_fields if isinstance(value, BaseModel) else getattr(kind, "__dataclass_fields__", ())
    return getattr(value, name, _NOTHING) if name in fields else _NOTHING


def _sorting(part: Any) -> tuple[bool, Any]:
    is_number = _is_number(part)
    return not is_number, part if is_number else encode(part)


def _first_difference(approved: Any, runs: Any, path: str) -> tuple[str, Any, Any] | None:
    """Return the first place where two JSON values differ. Different spellings of a number or a time do not differ."""
    match approved, runs:
        case dict(), dict():
            pairs = [
                (f".{name}", approved.get(name, _NOTHING), runs.get(name, _NOTHING))
                for name in {**approved, **runs}
            ]
        case list(), list() if len(approved) == len(runs):
            pairs = [(f"[{index}]", *pair) for index, pair in enumerate(zip(approved, runs, strict=True))]
        case _:
            return None if _is_same(approved, runs) else (path, approved, runs)
    found = (_first_difference(one, other, path + name) for name, one, other in pairs)
    return next((difference for difference in found if difference), None)


def _is_same(one: Any, other: Any) -> bool:
    if one is _NOTHING or other is _NOTHING:
        return False
    if _is_number(one) and _is_number(other):
        return Decimal(encode(one)) == Decimal(encode(other))
    return encode(one) == encode(other) or _is_same_moment(one, other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _is_same_moment(one: Any, other: Any) -> bool:
    for read in (datetime.fromisoformat, time.fromisoformat):
        with suppress(TypeError, ValueError):
            return read(one).isoformat() == read(other).isoformat()
    return False


def _brief(value: Any) -> str:
    if value is _NOTHING:
        return "no value"
    text = encode(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


_UNCOMPARED = ("fold", "maxlen", "default_factory", "__pydantic_extra__", "__pydantic_private__")
"""Parts of values of some types that are not in their attributes, and that their `==` does not compare."""

_NOTHING = object()
_SHORT = Repr()
_BRIEF = 100
"""Characters of a value that an error shows."""


def _lost(rebuilt: Any, value: Any) -> str | None:
    """Return the path to a part of a value that its JSON does not represent; `None` if the JSON represents all of it."""
    if rebuilt is value:
        return None
    if type(value) is tuple and type(rebuilt) is list:
        # JSON has only one kind of list, so a tuple that is annotated as Sequence comes back as a list.
        rebuilt = tuple(rebuilt)
    if type(rebuilt) is not type(value) and (type(rebuilt), type(value)) != (float, int):
        return ""
    if isinstance(value, datetime | time) and value.tzinfo and value.tzinfo.utcoffset(None) is None:
        # The time zone is a place whose offset depends on the date, and JSON shows only the offset.
        return ".tzinfo"
    for name, one, other in _parts(rebuilt, value):
        if (path := _lost(one, other)) is not None:
            return name + path
    if isinstance(value, list | tuple | deque | dict):
        return None if len(rebuilt) == len(value) else ""
    # The `==` of these compares what was compared above, and for it a list and a tuple are different.
    if isinstance(value, BaseModel) or getattr(getattr(value, "__dataclass_params__", None), "eq", False):
        return None
    return None if rebuilt == value else ""


def _parts(rebuilt: Any, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts of two values of one type in pairs, as far as both have them."""
    match value:
        case list() | tuple() | deque():
            yield from ((f"[{index}]", *pair) for index, pair in enumerate(zip(rebuilt, value, strict=False)))
        case dict():
            for (its_key, its_part), (key, part) in zip(rebuilt.items(), value.items(), strict=False):
                yield f"[{_SHORT.repr(key)}]", its_key, key
                yield f"[{_SHORT.repr(key)}]", its_part, part
        case set() | frozenset():
            equal = {part: part for part in rebuilt}
            yield from (("", equal.get(part), part) for part in value)
    fields: list[str] = []
    if dataclasses.is_dataclass(value):
        state = object.__getstate__(value)
        # For an object with slots, the state is a pair: its dictionary and its slots.
        fields = [
            *(field.name for field in dataclasses.fields(value)),
            *(state[1] if isinstance(state, tuple) else ()),
        ]
    own = [*getattr(value, "__dict__", ()), *getattr(rebuilt, "__dict__", ())]
    for name in dict.fromkeys([*fields, *own, *_UNCOMPARED]):
        yield f".{name}", getattr(rebuilt, name, _NOTHING), getattr(value, name, _NOTHING)


def _admits_text(returns: Any) -> bool:
    origin = get_origin(returns)
    if origin is Annotated:
        return _admits_text(get_args(returns)[0])
    if origin in {Union, UnionType}:
        return any(map(_admits_text, get_args(returns)))
    return returns in (Signature.empty, Any, object, str)
