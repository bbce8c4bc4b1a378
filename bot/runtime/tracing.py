"""The spans of a bot: each is about one record, in the trace in which its agent asked."""

from contextlib import AbstractContextManager, nullcontext

from agent_adapter.tracing import NOTHING, Span, Value, span
from bot.domain.approval import Published


def span_about(state: Published, name: str, **said: Value | None) -> AbstractContextManager[Span]:
    """Make a span of the body in the agent's trace. An agent without traces gets none."""
    if state.trace is None:
        return nullcontext(NOTHING)
    return span(name, state.trace, interrupt_id=state.id, agent=state.agent, **said)
