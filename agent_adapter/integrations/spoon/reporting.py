"""Reports what became of a decided call.

SpoonAI writes an error of a tool into a text like any other answer. So the agent's tool manager is watched: it knows what the
tool really answered.
"""

from collections.abc import Awaitable
from contextvars import ContextVar
from functools import wraps
from typing import Any

from spoon_ai.middleware.base import ToolCallResult

from agent_adapter.contract.outcome import Outcome
from agent_adapter.integrations.spoon.turn import Call

_WATCHED = "_assent_watched"
_answers: ContextVar[list[tuple[Any, str, Any]] | None] = ContextVar("assent_answers", default=None)
"""What tools answered: the manager, the name of the tool, the answer."""


async def reported(call: Call, agent: Any, tool: str, running: Awaitable[ToolCallResult]) -> ToolCallResult:
    """Run a decided call, and report what becomes of it."""
    manager = getattr(agent, "available_tools", None)
    _watch(manager)
    answers: list[tuple[Any, str, Any]] = []
    token = _answers.set(answers)
    try:
        with call.running():
            result = await running
    except BaseException as error:
        call.report(Outcome.failed(error))
        raise
    finally:
        _answers.reset(token)
    # A tool may run a subagent, whose tools answer before it does.
    own = [answer for by, name, answer in answers if by is manager and name == tool]
    if own:
        call.report(_outcome_of(own[-1]))
    elif result.error:
        call.report(Outcome.failed(result.error))
    # Otherwise it ran at an MCP server, and the text may be a result or an error.
    return result


def _outcome_of(answer: Any) -> Outcome:
    error = str(answer) if isinstance(answer, Exception) else getattr(answer, "error", None)
    return Outcome.failed(error) if error else Outcome.done(getattr(answer, "output", answer))


def _watch(manager: Any) -> None:
    """Have a tool manager note what its tools answer. Outside of `reported`, it does what it did before."""
    execute = getattr(manager, "execute", None)
    if execute is None or hasattr(execute, _WATCHED):
        return

    @wraps(execute)
    async def noted(*, name: str, tool_input: Any = None) -> Any:
        answer = await execute(name=name, tool_input=tool_input)
        if (answers := _answers.get()) is not None:
            answers.append((manager, name, answer))
        return answer

    setattr(noted, _WATCHED, True)
    manager.execute = noted
