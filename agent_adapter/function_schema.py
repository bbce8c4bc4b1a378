"""The arguments of a function: types from its signature, shown as JSON, and built from the JSON that was shown. Pure."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError
from pydantic_core.core_schema import DecimalSchema

from agent_adapter.contract.arguments import check_json, decode, encode
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.wire import to_model
from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.kept import first_lost

Values = dict[str, Any]
"""The arguments of a call, by parameter."""

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
        """Read a function's signature."""
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

    def read(self, arguments: Mapping[str, Any]) -> tuple[Values, Values]:
        """Return every argument, including defaults: built from its JSON, as it runs; and this JSON, as it is shown."""
        values, shown = self._complete(arguments), {}
        for name, kind in self.types.items():
            values[name], shown[name] = _shown(kind, values[name], where=f"{self.name}: {name}")
        return values, shown

    def edited(self, values: Values, shown: Values, edit: Mapping[str, Any]) -> Values:
        """Return the values after an edit of the shown JSON."""
        if unknown := sorted(edit.keys() - self.types.keys()):
            raise InvalidRequestError(f"{self.name}: there is no parameter {', '.join(unknown)}")
        kept = {name: value for name, value in values.items() if name not in self.types}
        for name, value in edit.items():
            untouched = encode(value) == encode(shown[name])
            kept[name] = values[name] if untouched else self._rebuilt(name, value)
        return self._complete(kept)

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

    def _rebuilt(self, name: str, value: Any) -> Any:
        kind, where = self.types[name], f"{self.name}: {name}"
        built = to_model(kind.validate_json, encode(value), where=where)
        _check_kept(kind, value, built, where=where)
        return built


def check_arguments_kept(model: type[BaseModel], edit: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse edited arguments that do not fit a tool's model, or that the model would change into other values."""
    built = to_model(model.model_validate, as_floats(edit), where="args")
    check_edit_kept(edit, asked, built, kind=TypeAdapter(model))


_ANY = TypeAdapter[Any](Any)


def check_edit_kept(
    edit: Mapping[str, Any], asked: Mapping[str, Any], built: Any, *, kind: TypeAdapter[Any] = _ANY
) -> None:
    """Refuse edited arguments that a tool has read as other values.

    Arguments that the person did not edit are not compared: they reach the tool as they would without an edit.
    """
    changed = {
        name: value
        for name, value in edit.items()
        if name not in asked or encode(value) != encode(asked[name])
    }
    _check_kept(kind, changed, built, where="args")


def _check_kept(kind: TypeAdapter[Any], approved: Any, runs: Any, *, where: str) -> None:
    """Refuse an edited value that would run as a different value."""
    if (path := first_lost(kind, approved, runs)) is not None:
        raise InvalidRequestError(
            f"{where}{path}: its type or a validator would change what was approved, or leave it out: ask again with the "
            "value that should run"
        )


def _name_of(function: Any) -> str:
    if isinstance(function, partial):
        return _name_of(function.func)
    if isinstance(function, classmethod | staticmethod) or not inspect.isroutine(function):
        raise InvalidRequestError(
            f"{function!r} is not a function: pass a function or a method, below @staticmethod and @classmethod"
        )
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
    if parameter.kind in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}:
        raise InvalidRequestError(
            f"{where} takes any number of arguments: take one list or dictionary instead"
        )
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
            _, default = _shown(kind, declared.default, where=f"{name}: the default of {parameter}")
            properties[parameter] = {**properties[parameter], "default": default}
        else:
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


def _shown(kind: TypeAdapter[Any], value: Any, *, where: str) -> tuple[Any, Any]:
    """Return what the JSON of a value stands for, and this JSON. A value of which JSON cannot hold all is refused."""
    if _is_json(value):
        given = to_model(kind.validate_json, encode(value), where=where)
    else:
        given = to_model(kind.validate_python, value, where=where)
    try:
        text = kind.dump_json(given, by_alias=True, round_trip=True, warnings="error")
    except PydanticSerializationError as error:
        raise InvalidRequestError(
            f"{where}: {type(value).__name__} cannot be shown as JSON: {error}"
        ) from error
    parts = given
    with suppress(TypeError, ValueError):  # sets of models have no such form
        parts = kind.dump_python(given, by_alias=True, round_trip=True, warnings=False)
    # pydantic writes some floats differently from Python.
    shown = _in_order(as_floats(decode(text)), parts)
    try:
        built = to_model(kind.validate_json, encode(shown), where=where)
    except InvalidRequestError as error:
        cure = "; a renamed field needs an `alias`, not a serialization_alias or validation_alias alone"
        raise InvalidRequestError(f"{error}{cure if 'Field required' in str(error) else ''}") from error
    if _with_lists(built) != _with_lists(given):
        raise InvalidRequestError(
            f"{where}: JSON does not hold all of this {type(value).__name__}: pass plain values, annotate exactly what is "
            "passed, or keep it out of the signature"
        )
    return built, shown


def _is_json(value: Any) -> bool:
    with suppress(InvalidRequestError):
        check_json(value, where="")
        return True
    return False


def _in_order(shown: Any, parts: Any) -> Any:
    """Give sets a fixed order: in each process they have another one, and a question is found again by its arguments."""
    match shown, parts:
        case list(), set() | frozenset():
            return sorted(shown, key=encode)
        case list(), list() | tuple() if len(shown) == len(parts):
            return list(map(_in_order, shown, parts))
        case dict(), dict() if len(shown) == len(parts):
            # JSON changes a key that is not a string, so its value is found by its position.
            return dict(zip(shown, map(_in_order, shown.values(), parts.values()), strict=True))
    return shown


def _with_lists(value: Any) -> Any:
    """JSON has one kind of list, so a tuple that is annotated as Sequence comes back as a list."""
    if type(value) in {list, tuple}:
        return [_with_lists(part) for part in value]
    if type(value) is dict:
        return {name: _with_lists(part) for name, part in value.items()}
    return value


def _admits_text(returns: Any) -> bool:
    origin = get_origin(returns)
    if origin is Annotated:
        return _admits_text(get_args(returns)[0])
    if origin in {Union, UnionType}:
        return any(map(_admits_text, get_args(returns)))
    return returns in (Signature.empty, Any, object, str)
