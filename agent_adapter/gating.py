"""Which tool calls wait for a person, for frameworks that have no setting for it. Pure, except for the user's callables."""

import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypedDict

from agent_adapter.contract.arguments import MAX_SCHEMA_NODES, check_json
from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import InvalidRequestError
from agent_adapter.expected import expect

logger = logging.getLogger(__name__)


class InterruptOnConfig(TypedDict, total=False):
    """How the calls of one tool are reviewed. Every key is optional."""

    allowed_decisions: Sequence[str]
    """The decisions that the reviewer can choose from; by default all that the framework can carry out."""
    description: str | Callable[..., str]
    """What the card says about the call. A callable gets the call; if it raises an error, nothing is asked and nothing runs."""
    args_schema: Mapping[str, Any]
    """JSON Schema of the arguments, for the edit form; by default the tool's own schema."""
    when: Callable[[ActionRequest], bool]
    """Gets the call and says whether it is gated. Only `False` lets it run: an error, or no answer, gates it."""
    allow_always: bool
    """Whether a decision may apply to all later calls of the tool in the run, if the framework can do that."""
    headline: Sequence[str]
    """Names of the arguments that are the subject of the call: they come first on its card, and stand in the notification."""


InterruptOn: TypeAlias = Mapping[str, bool | InterruptOnConfig | Mapping[str, Any]]
"""By tool name: `True` (gated, with every decision that the framework can carry out), a config, or `False` (not gated).

A tool that is left out is not gated.
"""


class Review(NamedTuple):
    """The question about those calls that are gated."""

    request: HITLRequest
    indices: tuple[int, ...]
    """For each action of the request, its position among the calls."""


class Gate:
    """Decides which tool calls wait for a person, and how each is reviewed.

        gate = Gate({"send_email": True, "search": False, "pay": {"allowed_decisions": ["approve", "reject"]}})
        review = gate.review([ActionRequest(name="pay", args={"amount": 5})])

    Args:
        interrupt_on: By tool name: `True`, `False` or a config.
        decisions: The decisions that the framework can carry out; `True` allows all of them.
        always: Whether the framework can keep a decision for later calls of a run.
        description_prefix: What the card says about a call that has no description.
        tools: The names of all tools of the agent, if they are known. Any other name in `interrupt_on` is then an error.

    Raises:
        InvalidRequestError: naming the tool, the key and the cure. A misspelt word is always an error; it never leaves a
            tool ungated.
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
        self._tools = tools
        if tools is not None:
            if isinstance(tools, str) or not all(isinstance(name, str) for name in tools):
                raise InvalidRequestError(
                    f"tools: {tools!r} are not names; pass the names of the agent's tools"
                )
            check_tools(self._interrupt_on, tools)
        if not isinstance(description_prefix, str):
            raise InvalidRequestError(
                f"description_prefix must be a string, not {type(description_prefix).__name__}; leave it out to have none"
            )
        self._decisions = tuple(decisions)
        self._always = always
        self._prefix = description_prefix
        self._rules = {
            tool: _Rule.of(tool, given, self._decisions, always=always)
            for tool, given in self._interrupt_on.items()
            if given is not False
        }

    def overridden(self, interrupt_on: InterruptOn, *, description_prefix: str | None = None) -> "Gate":
        """Return the gate of one run: its entries replace those of this gate, tool by tool.

        Tools that are not named keep their entry, so a run ungates a tool only with `False`. (In LangChain JS and
        XpertAI the map of a run replaces the whole map: an entry for one tool ungates all others.)

        Raises:
            InvalidRequestError: as in the constructor.
        """
        return Gate(
            {**self._interrupt_on, **_mapping(interrupt_on)},
            decisions=self._decisions,
            always=self._always,
            description_prefix=self._prefix if description_prefix is None else description_prefix,
            tools=self._tools,
        )

    def allowed_decisions(self, tool: str) -> tuple[str, ...] | None:
        """Return the decisions that a reviewer of this tool can choose from; `None` when the tool is not gated."""
        rule = self._rules.get(tool)
        return rule.allowed_decisions if rule else None

    def review(
        self,
        calls: Sequence[ActionRequest],
        *,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
        described_from: Sequence[tuple[Any, ...]] | None = None,
    ) -> Review | None:
        """Return the question about these calls; `None` when all of them may run.

        Args:
            calls: The calls of the model, in the model's order.
            schemas: The argument schemas of the tools, by name, for configs without `args_schema`.
            described_from: For each call, the arguments of a `description` callable, if the framework's users expect
                other arguments than the call.

        Returns:
            The request with one action per gated call, and the position of each of these calls.

        Raises:
            InvalidRequestError: when a `description` callable raises an error or does not return a string.
        """
        cure = "pass a list of calls, as in [ActionRequest(name='pay', args={…})]"
        for index, call in enumerate(calls):
            expect(call, ActionRequest, where=f"calls[{index}]", cure=cure)
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
    """Refuse the name of a tool that the agent does not have. Otherwise the tool that was meant would not be gated."""
    for tool in interrupt_on:
        if tool not in tools:
            there = ", ".join(sorted(tools)[:_SHOWN]) + (", …" if len(tools) > _SHOWN else "")
            raise InvalidRequestError(
                f"{where}[{tool!r}]: no tool has this name{did_you_mean(tool, tools)}; the tools are: {there or 'none'}{cure}"
            )


_SHOWN = 20
"""How many tools an error names."""


def from_camel_case(options: Mapping[str, Any]) -> "Options":
    """Read `interruptOn` as XpertAI and LangChain JS write it.

    Args:
        options: `{"interruptOn": {…}, "descriptionPrefix": …}`, with `allowedDecisions` and `argsSchema` in the configs.
            As in these frameworks, `True` means approve, edit and reject, and no `interruptOn` means that nothing is gated.

    Returns:
        The keyword arguments of `Gate(**…)` or `overridden(**…)`.

    Raises:
        InvalidRequestError: naming the tool, the key and the cure.
    """
    if not isinstance(options, Mapping):
        raise InvalidRequestError(f'options must be {{"interruptOn": {{…}}}}, not {type(options).__name__}')
    _check_keys(options, ("interruptOn", "descriptionPrefix"), where="options")
    interrupt_on = options.get("interruptOn", {})
    if not isinstance(interrupt_on, Mapping):
        raise InvalidRequestError("options: interruptOn must be an object; leave it out to gate nothing")
    read = Options(interrupt_on={tool: _camel(tool, given) for tool, given in interrupt_on.items()})
    if options.get("descriptionPrefix") is not None:
        read["description_prefix"] = options["descriptionPrefix"]
    return read


class Options(TypedDict):
    """Arguments of `Gate`."""

    interrupt_on: InterruptOn
    description_prefix: NotRequired[str]


_SNAKE = {"allowedDecisions": "allowed_decisions", "argsSchema": "args_schema", "allowAlways": "allow_always",
          "headline": "headline", "description": "description", "when": "when"}  # fmt: skip
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
    """How the calls of one tool are reviewed, after all checks."""

    tool: str
    allowed_decisions: tuple[str, ...]
    description: str | Callable[..., str] | None = None
    args_schema: Mapping[str, Any] | None = None
    when: Callable[[ActionRequest], bool] | None = None
    allow_always: bool = False
    headline: tuple[str, ...] = ()

    @classmethod
    def of(cls, tool: Any, given: Any, possible: tuple[str, ...], *, always: bool) -> "_Rule":
        where = f"interrupt_on[{tool!r}]"
        if not isinstance(tool, str) or not tool:
            raise InvalidRequestError(f"{where}: the name of a tool must be a string that is not empty")
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
        headline = tuple(given.get("headline", ()))
        return cls(tool, **{**given, "allowed_decisions": tuple(decisions), "headline": headline})

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
                f"interrupt_on[{self.tool!r}].description: the callable returned {type(text).__name__}, not a string; nothing was asked"
            )
        return text

    def config(self, schema: Mapping[str, Any] | None) -> ReviewConfig:
        own = self.args_schema if self.args_schema is not None else schema
        return ReviewConfig(
            action_name=self.tool,
            allowed_decisions=self.allowed_decisions,
            args_schema=None if own is None else dict(own),
            allow_always=self.allow_always,
            headline=self.headline,
        )


def _mapping(interrupt_on: Any) -> dict[Any, Any]:
    if not isinstance(interrupt_on, Mapping):
        raise InvalidRequestError(
            f"interrupt_on must be a mapping, not {type(interrupt_on).__name__}; pass {{tool: True, False or a config}}"
        )
    return dict(interrupt_on)


def _check_keys(given: Mapping[str, Any], known: Iterable[str], *, where: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidRequestError(
                f"{where}: there is no key {key!r}{did_you_mean(key, known)}; the keys are {', '.join(known)}"
            )


def _check_decisions(given: Any, possible: tuple[str, ...], *, where: str) -> None:
    if not isinstance(given, list | tuple):
        raise InvalidRequestError(f"{where}: {given!r} is not a list; pass some of {', '.join(possible)}")
    if not given:
        raise InvalidRequestError(
            f"{where}: the list is empty, so nobody could decide; pass some of {', '.join(possible)}, or False in "
            "place of the config to gate nothing"
        )
    for decision in given:
        if decision not in KNOWN_DECISIONS:
            meant = did_you_mean(decision, KNOWN_DECISIONS)
            raise InvalidRequestError(
                f"{where}: {decision!r} is not a decision{meant}; choose from {', '.join(possible)}"
            )
        if decision not in possible:
            raise InvalidRequestError(
                f"{where}: {decision!r} cannot be carried out here; choose from {', '.join(possible)}"
            )
    if len(set(given)) != len(given):
        raise InvalidRequestError(f"{where}: a decision is listed twice in {list(given)}; pass each once")


def _check_values(given: Mapping[str, Any], *, where: str, always: bool) -> None:
    for key, (fits, problem) in _VALUES.items():
        if key in given and not fits(given[key]):
            raise InvalidRequestError(f"{where}.{key}: {given[key]!r} {problem}")
    check_json(given.get("args_schema"), where=f"{where}.args_schema", most=MAX_SCHEMA_NODES)
    if given.get("allow_always") and not always:
        raise InvalidRequestError(
            f"{where}.allow_always: decisions cannot be kept for later calls here; leave it out"
        )


def _is_plain_callable(value: Any) -> bool:
    """Whether a call of this returns the answer itself, and not a coroutine that nobody would await."""
    awaited = inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__)
    return callable(value) and not awaited


_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "description": (
        lambda value: isinstance(value, str | None) or _is_plain_callable(value),
        "is neither a string nor a plain callable that returns one",
    ),
    "when": (
        lambda value: value is None or _is_plain_callable(value),
        "is not a plain callable; pass one that takes the call and returns True or False",
    ),
    "args_schema": (
        lambda value: isinstance(value, dict | None),
        "is not a JSON Schema; pass a dict, such as a model's model_json_schema()",
    ),
    "headline": (
        lambda value: (
            isinstance(value, list | tuple)
            and len(value) <= 10
            and all(isinstance(name, str) for name in value)
        ),
        "are not names; pass at most 10 names of arguments, such as ['amount', 'payee']",
    ),
    "allow_always": (lambda value: isinstance(value, bool), "is neither True nor False"),
}
"""For each key of a config beside the decisions: which values fit, and what an error says of another one."""
