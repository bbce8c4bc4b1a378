"""Which tool calls wait for a person, for agents whose framework does not say it. Pure, callables aside."""

import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypedDict

from agent_adapter.contract.arguments import check_json
from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import InvalidRequestError

logger = logging.getLogger(__name__)


class InterruptOnConfig(TypedDict, total=False):
    """How the calls of one tool are reviewed. Every key may be left out."""

    allowed_decisions: Sequence[str]
    """What the reviewer is offered: all that the framework can carry out unless told."""
    description: str | Callable[..., str]
    """What the card says about the call. A callable is given the call; if it raises, so does `review`: nothing is asked, nothing runs."""
    args_schema: Mapping[str, Any]
    """JSON Schema of the arguments, for the edit form: the tool's own unless told."""
    when: Callable[[ActionRequest], bool]
    """Whether this call is gated. Only `False` lets it pass: a callable that raises, or forgets to answer, gates it."""
    allow_always: bool
    """Whether a decision may hold for all later calls of the tool in the run, where the framework can do that."""


InterruptOn: TypeAlias = Mapping[str, bool | InterruptOnConfig | Mapping[str, Any]]
"""By tool: `True` for every decision the framework can carry out, a config, or `False` for not gated, as is a tool left out."""


class Review(NamedTuple):
    """What is asked about some calls."""

    request: HITLRequest
    indices: tuple[int, ...]
    """Where each action of the request stands among the calls."""


class Policy:
    """Which calls are gated, and how each is reviewed.

    Args:
        interrupt_on: By tool: `True`, `False` or a config.
        decisions: Those the caller's framework can carry out; `True` stands for all of them.
        always: Whether the framework can keep a decision for later calls of a run.
        description_prefix: What the card says about a call that has no description of its own.
        tools: The names of all tools that the agent has, where they are known: a name that is not among them is an error.

    Raises:
        InvalidRequestError: naming tool, key and cure. Nothing is guessed: a misspelt policy is an error, never a gate left open.
    """

    def __init__(
        self,
        interrupt_on: InterruptOn,
        *,
        decisions: Sequence[str] = KNOWN_DECISIONS,
        always: bool = False,
        description_prefix: str = "",
        tools: Collection[str] | None = None,
    ) -> None:
        self._interrupt_on = _mapping(interrupt_on)
        self._tools = None if tools is None else _names(tools)
        if self._tools is not None:
            check_tools(self._interrupt_on, self._tools)
        if not isinstance(description_prefix, str):
            raise InvalidRequestError(
                f"description_prefix: {type(description_prefix).__name__} is no text; leave it out for none"
            )
        self._decisions = tuple(decisions)
        self._always = always
        self._prefix = description_prefix
        self._rules = {
            tool: _Rule.of(tool, given, self._decisions, always=always)
            for tool, given in self._interrupt_on.items()
            if given is not False
        }

    def overridden(self, interrupt_on: InterruptOn, *, description_prefix: str | None = None) -> "Policy":
        """Give the policy of one run: what is said here about a tool stands in place of what was said before.

        Tools that are not named keep their rule, so a run un-gates a tool only by naming it with `False`. (In
        LangChain JS and XpertAI the map of a run replaces the whole map: to loosen one tool un-gates all others.)

        Raises:
            InvalidRequestError: as the constructor.
        """
        return Policy(
            {**self._interrupt_on, **_mapping(interrupt_on)},
            decisions=self._decisions,
            always=self._always,
            description_prefix=self._prefix if description_prefix is None else description_prefix,
            tools=self._tools,
        )

    def allowed_decisions(self, tool: str) -> tuple[str, ...] | None:
        """Give what may be decided about the calls of a tool, `None` when it is not gated."""
        rule = self._rules.get(tool)
        return rule.allowed_decisions if rule else None

    def review(
        self,
        calls: Sequence[ActionRequest],
        *,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
        described_from: Sequence[tuple[Any, ...]] | None = None,
    ) -> Review | None:
        """Say what is asked about these calls, `None` when all of them may run.

        Args:
            calls: What the model wants to run, in its order.
            schemas: The tools' own argument schemas by name, for configs that bring none.
            described_from: What a `description` callable is given, for each call, where users of the framework expect
                something else than the call.

        Raises:
            InvalidRequestError: when a `description` callable fails.
        """
        gated = [
            (index, rule)
            for index, call in enumerate(calls)
            if (rule := self._rules.get(call.name)) and rule.gates(call)
        ]
        if not gated:
            return None
        given = described_from or [(call.model_copy(deep=True),) for call in calls]
        actions = tuple(
            calls[index].model_copy(
                update={"description": rule.describe(given[index]) or self._prefix or None}
            )
            for index, rule in gated
        )
        configs = tuple(rule.config((schemas or {}).get(rule.tool)) for _, rule in gated)
        return Review(
            HITLRequest(action_requests=actions, review_configs=configs), tuple(index for index, _ in gated)
        )


def check_tools(
    interrupt_on: Iterable[str], tools: Collection[str], *, where: str = "interrupt_on", cure: str = ""
) -> None:
    """Refuse the name of a tool that the agent does not have: the tool that was meant would not be gated.

    Args:
        interrupt_on: The names in it.
        tools: The names of all tools that the agent has.
        where: What the error calls the place of the names.
        cure: What else the caller may do.

    Raises:
        InvalidRequestError: with the first one, and the nearest that there is.
    """
    for tool in interrupt_on:
        if tool not in tools:
            there = ", ".join(sorted(tools)[:_TOLD]) + (", …" if len(tools) > _TOLD else "")
            raise InvalidRequestError(
                f"{where}[{tool!r}]: no tool has this name{did_you_mean(tool, tools)}; there are {there or 'no tools'}{cure}"
            )


_TOLD = 20
"""How many tools an error names."""


def from_camel_case(options: Mapping[str, Any]) -> "Options":
    """Read a policy as XpertAI and LangChain JS write it; give it to `Policy(**…)` or `overridden(**…)`.

    Args:
        options: `{"interruptOn": {…}, "descriptionPrefix": …}`, with `allowedDecisions` and `argsSchema` in the configs.
            `True` stands for approve, edit and reject, and `interruptOn` may be left out, which gates nothing, as there.

    Raises:
        InvalidRequestError: naming tool, key and cure.
    """
    if not isinstance(options, Mapping):
        raise InvalidRequestError(f'options: {type(options).__name__}, not {{"interruptOn": {{…}}}}')
    _check_keys(options, ("interruptOn", "descriptionPrefix"), where="options")
    interrupt_on = options.get("interruptOn", {})
    if not isinstance(interrupt_on, Mapping):
        raise InvalidRequestError("options: interruptOn must be an object; leave it out to gate nothing")
    read = Options(interrupt_on={tool: _camel(tool, given) for tool, given in interrupt_on.items()})
    if options.get("descriptionPrefix") is not None:
        read["description_prefix"] = options["descriptionPrefix"]
    return read


class Options(TypedDict):
    """Arguments of `Policy`."""

    interrupt_on: InterruptOn
    description_prefix: NotRequired[str]


_SNAKE = {"allowedDecisions": "allowed_decisions", "argsSchema": "args_schema", "allowAlways": "allow_always",
          "description": "description", "when": "when"}  # fmt: skip
_TRUE_IN_CAMEL_CASE = ("approve", "edit", "reject")


def _camel(tool: str, given: Any) -> Any:
    if given is True:
        return {"allowed_decisions": _TRUE_IN_CAMEL_CASE}
    if not isinstance(given, Mapping):
        return given
    _check_keys(given, tuple(_SNAKE), where=f"interruptOn[{tool!r}]")
    config = {_SNAKE[key]: value for key, value in given.items() if value is not None}
    return {"allowed_decisions": _TRUE_IN_CAMEL_CASE, **config}


@dataclass(frozen=True)
class _Rule:
    """How the calls of one tool are reviewed, checked."""

    tool: str
    allowed_decisions: tuple[str, ...]
    description: str | Callable[..., str] | None = None
    args_schema: Mapping[str, Any] | None = None
    when: Callable[[ActionRequest], bool] | None = None
    allow_always: bool = False

    @classmethod
    def of(cls, tool: Any, given: Any, possible: tuple[str, ...], *, always: bool) -> "_Rule":
        where = f"interrupt_on[{tool!r}]"
        if not isinstance(tool, str) or not tool:
            raise InvalidRequestError(f"{where}: a tool is named by a text that is not empty")
        if given is True:
            return cls(tool, possible)
        if not isinstance(given, Mapping):
            raise InvalidRequestError(
                f'{where}: {given!r} is neither True, False nor a config such as {{"allowed_decisions": ["approve", "reject"]}}'
            )
        _check_keys(given, InterruptOnConfig.__annotations__, where=where)
        decisions = given.get("allowed_decisions", possible)
        _check_decisions(decisions, possible, where=f"{where}.allowed_decisions")
        _check_values(given, where=where, always=always)
        return cls(tool, **{**given, "allowed_decisions": tuple(decisions)})

    def gates(self, call: ActionRequest) -> bool:
        if self.when is None:
            return True
        try:
            return self.when(call.model_copy(deep=True)) is not False
        except Exception:
            logger.exception("policy.when_failed", extra={"tool": self.tool})
            return True

    def describe(self, given: tuple[Any, ...]) -> str | None:
        if not callable(self.description):
            return self.description
        try:
            text = self.description(*given)
        except Exception as error:
            raise InvalidRequestError(
                f"interrupt_on[{self.tool!r}].description: the callable raised {error!r}; nothing was asked"
            ) from error
        if not isinstance(text, str):
            raise InvalidRequestError(
                f"interrupt_on[{self.tool!r}].description: the callable gave {type(text).__name__}, not text; nothing was asked"
            )
        return text

    def config(self, schema: Mapping[str, Any] | None) -> ReviewConfig:
        own = self.args_schema if self.args_schema is not None else schema
        return ReviewConfig(
            action_name=self.tool,
            allowed_decisions=self.allowed_decisions,
            args_schema=None if own is None else dict(own),
            allow_always=self.allow_always,
        )


def _mapping(interrupt_on: Any) -> dict[Any, Any]:
    if not isinstance(interrupt_on, Mapping):
        raise InvalidRequestError(
            f"interrupt_on: {type(interrupt_on).__name__} is no mapping; pass {{tool: True, False or a config}}"
        )
    return dict(interrupt_on)


def _names(tools: Collection[str]) -> frozenset[str]:
    if isinstance(tools, str) or not all(isinstance(name, str) for name in tools):
        raise InvalidRequestError(f"tools: {tools!r} are not names; pass the names of the agent's tools")
    return frozenset(tools)


def _check_keys(given: Mapping[str, Any], known: Iterable[str], *, where: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidRequestError(
                f"{where}: there is no key {key!r}{did_you_mean(key, known)}; there are {', '.join(known)}"
            )


def _check_decisions(given: Any, possible: tuple[str, ...], *, where: str) -> None:
    if not isinstance(given, list | tuple):
        raise InvalidRequestError(f"{where}: {given!r} is no list; pass some of {', '.join(possible)}")
    if not given:
        raise InvalidRequestError(
            f"{where}: the list is empty, so nobody could decide; pass some of {', '.join(possible)}, or False in "
            "place of the config to gate nothing"
        )
    for decision in given:
        if decision not in KNOWN_DECISIONS:
            meant = did_you_mean(decision, KNOWN_DECISIONS)
            raise InvalidRequestError(
                f"{where}: {decision!r} is no decision{meant}; there are {', '.join(possible)}"
            )
        if decision not in possible:
            raise InvalidRequestError(
                f"{where}: {decision!r} cannot be carried out here; there are {', '.join(possible)}"
            )
    if len(set(given)) != len(given):
        raise InvalidRequestError(f"{where}: a decision stands twice in {list(given)}; pass each once")


def _check_values(given: Mapping[str, Any], *, where: str, always: bool) -> None:
    description, schema, when = given.get("description"), given.get("args_schema"), given.get("when")
    if not (description is None or isinstance(description, str) or _is_plain_callable(description)):
        raise InvalidRequestError(
            f"{where}.description: {description!r} is neither text nor a plain callable that gives text"
        )
    if not (when is None or _is_plain_callable(when)):
        raise InvalidRequestError(
            f"{where}.when: {when!r} is no plain callable; pass one that takes the call and gives True or False"
        )
    if schema is not None:
        if not isinstance(schema, dict):
            raise InvalidRequestError(
                f"{where}.args_schema: {schema!r} is no JSON Schema; pass a dict, such as a model's model_json_schema()"
            )
        check_json(schema, where=f"{where}.args_schema")
    allow_always = given.get("allow_always", False)
    if not isinstance(allow_always, bool):
        raise InvalidRequestError(f"{where}.allow_always: {allow_always!r} is neither True nor False")
    if allow_always and not always:
        raise InvalidRequestError(
            f"{where}.allow_always: decisions cannot be kept for later calls here; leave it out"
        )


def _is_plain_callable(value: Any) -> bool:
    """Tell whether calling this gives the answer, not a coroutine that nobody would await."""
    awaited = inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__)
    return callable(value) and not awaited
