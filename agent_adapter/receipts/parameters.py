"""The parameters of a tool, beside the arguments that were approved."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.numbers import as_floats
from agent_adapter.errors import ReceiptError
from agent_adapter.receipts.kept import first_lost
from agent_adapter.receipts.values import first_difference, is_approved, is_equal

_OBJECTS = ("self", "cls")
"""First parameters of methods: the object that a method works on."""
_INJECTED = {
    "agents.run_context.RunContextWrapper",
    "agents.tool_context.ToolContext",
    "fastmcp.server.context.Context",
    "langchain_core.runnables.config.RunnableConfig",
    "langgraph.prebuilt.tool_node.ToolRuntime",
    "langgraph.runtime.Runtime",
    "langgraph.store.base.BaseStore",
    "mcp.server.fastmcp.server.Context",
    "mcp.server.mcpserver.server.Context",
}
"""Types that frameworks pass to tools by themselves. No person is asked about them."""
_INJECTED_MARK = "langchain_core.tools.base.InjectedToolArg"
_NOTHING = Parameter.empty


class Parameters:
    """The parameters of a function, and whether a call of it was approved."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._signature = inspect.signature(function)
        first = next(iter(self._signature.parameters), "")
        self._object = first if first in _OBJECTS else None
        self._adapters: dict[str, TypeAdapter[Any] | None] = {}
        # The body may change a list that is a default. The next call would run with that, and nobody was asked.
        self._untouched = {
            name: each.replace(default=_copied(each.default))
            for name, each in self._signature.parameters.items()
        }

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the value of every parameter, with defaults."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def first_difference(self, approved: Mapping[str, Any], values: Mapping[str, Any]) -> str | None:
        """Return the name of the first argument that differs from what was approved; `None` when none does.

        A value may be what the approved JSON becomes in the type of the parameter, such as a `datetime`. What was not
        approved must be the default, unless the framework passes it by itself.
        """
        if first_difference(approved, values) is None:
            return None
        left = dict(approved)
        for name, value in values.items():
            parameter = self._signature.parameters[name]
            if name == self._object:
                continue
            if parameter.kind is Parameter.VAR_KEYWORD and name not in left:
                each = next(
                    (key for key in value if not self._fits(name, left.pop(key, _NOTHING), value[key])), None
                )
                if each is not None:
                    return str(each)
            elif name not in left and name in self._injected:
                continue
            elif not self._is_approved(parameter, left.pop(name, _NOTHING), value):
                return name
        return next(iter(left), None)

    def _is_approved(self, parameter: Parameter, approved: Any, value: Any) -> bool:
        if approved is _NOTHING:
            return is_equal(_default(self._untouched[parameter.name]), value)
        return self._fits(parameter.name, approved, value)

    def _fits(self, name: str, approved: Any, value: Any) -> bool:
        if approved is _NOTHING:
            return False
        if is_approved(approved, value):
            return True
        if not any(is_equal(read, value) for read in self._read(name, approved)):
            return False
        self._check_kept(name, approved, value)
        return True

    def _check_kept(self, name: str, approved: Any, value: Any) -> None:
        kind = self._adapter(name)
        lost = first_lost(kind, approved, value) if kind else None
        if lost is not None:
            raise ReceiptError(
                f"{self._function.__name__}: {name}{lost} would not run as it was approved, because its type changes it or "
                "leaves it out: ask again with the value as the type writes it, or give the parameter a type that keeps it",
                code="arguments",
            )

    def _read(self, name: str, approved: Any) -> Iterator[Any]:
        """Yield what an approved value becomes in the type of a parameter: read from Python values, and from JSON.

        A field that the type does not know is an error, or is kept beside the others: it may not be left out unseen.
        """
        adapter = self._adapter(name)
        if adapter is None:
            return
        for read, given in (
            (adapter.validate_python, as_floats(approved)),
            (adapter.validate_json, encode(approved)),
        ):
            for extra in ("forbid", "allow"):
                with suppress(ValidationError, ValueError, TypeError):
                    yield read(given, extra=extra)

    def _adapter(self, name: str) -> TypeAdapter[Any] | None:
        if name not in self._adapters:
            try:
                hint = self._hints.get(name)
                self._adapters[name] = None if hint is None else TypeAdapter(hint)
            except (PydanticUserError, TypeError, NameError):
                self._adapters[name] = None
        return self._adapters[name]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        # At the first call: what a module defines below the tool is known by then.
        try:
            return get_type_hints(self._function, include_extras=True)
        except (NameError, TypeError, AttributeError):
            # Then only values that are JSON themselves can be what was approved.
            return {}

    @cached_property
    def _injected(self) -> frozenset[str]:
        return frozenset(name for name, hint in self._hints.items() if _is_injected(hint))


def _default(parameter: Parameter) -> Any:
    if isinstance(parameter.default, FieldInfo):
        return parameter.default.get_default(call_default_factory=True, validated_data={})
    empty: dict[Any, Any] = {Parameter.VAR_POSITIONAL: (), Parameter.VAR_KEYWORD: {}}
    return empty.get(parameter.kind, parameter.default)


def _copied(value: Any) -> Any:
    """Copy a value as it is now. What has no equal copy is compared as the object that it is."""
    with suppress(Exception):  # a default may be of any class
        copy = deepcopy(value)
        return copy if is_equal(copy, value) else value
    return value


def _is_injected(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        kind, *marks = get_args(hint)
        kinds = [mark if isinstance(mark, type) else type(mark) for mark in marks]
        return _is_injected(kind) or any(
            _name(base) == _INJECTED_MARK for each in kinds for base in each.__mro__
        )
    if get_origin(hint) in {Union, UnionType}:
        return all(_is_injected(each) for each in get_args(hint) if each is not NoneType)
    return _name(get_origin(hint) or hint) in _INJECTED


def _name(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}"
