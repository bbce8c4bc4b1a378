"""Which tool calls wait for a person, for frameworks that have no setting for it. Pure, except for the user's callables."""

import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypedDict

from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect

logger = logging.getLogger(__name__)

_SHOWN = 20
"""How many tools an error names."""


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
        tools: Collection[str] | None = None,
    ) -> None:
        if not isinstance(interrupt_on, Mapping):
            raise InvalidRequestError(
                f"interrupt_on must be a mapping, not {type(interrupt_on).__name__}; pass {{tool: True, False or a config}}"
            )
        if tools is not None:
            check_tools(interrupt_on, tools)
        self._rules = {
            tool: _Rule.of(tool, given, tuple(decisions))
            for tool, given in interrupt_on.items()
            if given is not False
        }

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
        """
        cure = "pass a list of calls, as in [ActionRequest(name='pay', args={…})]"
        actions, configs, indices = [], [], []
        for index, call in enumerate(calls):
            expect(call, ActionRequest, where=f"calls[{index}]", cure=cure)
            rule = self._rules.get(call.name)
            if rule and rule.gates(call):
                given = described_from[index] if described_from else (call.model_copy(deep=True),)
                actions.append(call.model_copy(update={"description": rule.describe(given)}))
                configs.append(rule.config_with((schemas or {}).get(call.name)))
                indices.append(index)
        if not actions:
            return None
        request = HITLRequest(action_requests=tuple(actions), review_configs=tuple(configs))
        return Review(request, tuple(indices))


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


@dataclass(frozen=True)
class _Rule:
    """How the calls of one tool are reviewed, after all checks."""

    config: ReviewConfig
    description: str | Callable[..., str] | None
    when: Callable[[ActionRequest], bool] | None

    @classmethod
    def of(cls, tool: Any, given: Any, possible: tuple[str, ...]) -> "_Rule":
        where = f"interrupt_on[{tool!r}]"
        given = {} if given is True else given
        if not isinstance(given, Mapping):
            raise InvalidRequestError(
                f'{where}: {given!r} is neither True, False nor a config such as {{"allowed_decisions": ["approve", "reject"]}}'
            )
        known = InterruptOnConfig.__annotations__
        for key in given:
            if key not in known:
                raise InvalidRequestError(
                    f"{where}: there is no key {key!r}{did_you_mean(key, known)}; the keys are {', '.join(known)}"
                )
        description, when = given.get("description"), given.get("when")
        if not (isinstance(description, str | None) or _is_plain_callable(description)):
            raise InvalidRequestError(
                f"{where}.description: {description!r} is neither a string nor a plain callable that returns one"
            )
        if not (when is None or _is_plain_callable(when)):
            raise InvalidRequestError(
                f"{where}.when: {when!r} is not a plain callable; pass one that takes the call and returns True or False"
            )
        asked = {key: value for key, value in given.items() if key not in {"description", "when"}}
        try:
            config = ReviewConfig(**{"action_name": tool, "allowed_decisions": possible, **asked})
        except WrongArgumentError as error:
            raise InvalidRequestError(f"{where}{str(error).removeprefix('ReviewConfig')}") from None
        for decision in config.allowed_decisions:
            if decision not in possible:
                raise InvalidRequestError(
                    f"{where}.allowed_decisions: {decision!r} cannot be carried out here; choose from {', '.join(possible)}"
                )
        return cls(config, description, when)

    def gates(self, call: ActionRequest) -> bool:
        if self.when is None:
            return True
        try:
            return self.when(call.model_copy(deep=True)) is not False
        except Exception:
            logger.exception("policy.when_failed", extra={"tool": call.name})
            return True

    def describe(self, given: tuple[Any, ...]) -> str | None:
        if not callable(self.description):
            return self.description
        where = f"interrupt_on[{self.config.action_name!r}].description: the callable"
        try:
            text = self.description(*given)
        except Exception as error:
            raise InvalidRequestError(f"{where} raised {error!r}; nothing was asked") from error
        if not isinstance(text, str):
            raise InvalidRequestError(
                f"{where} returned {type(text).__name__}, not a string; nothing was asked"
            )
        return text

    def config_with(self, schema: Mapping[str, Any] | None) -> ReviewConfig:
        if schema is None or self.config.args_schema is not None:
            return self.config
        return self.config.model_copy(update={"args_schema": dict(schema)})


def _is_plain_callable(value: Any) -> bool:
    """Whether a call of this returns the answer itself, and not a coroutine that nobody would await."""
    awaited = inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__)
    return callable(value) and not awaited
