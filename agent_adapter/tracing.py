"""Spans, for a program that has set up OpenTelemetry. In any other program, nothing happens.

A record carries the trace in which it was asked, so the spans of the agent and of all bots are in one trace. They say which
request it is, how many calls it has, how long something took and how it ended: never an argument, a text or a person.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

from agent_adapter.contract.trace import TRACEPARENT, TraceContext

try:
    from opentelemetry import context as contexts
    from opentelemetry import trace as traces
except ImportError:  # the extra `otel`
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

Value: TypeAlias = str | int | float | bool | Sequence[str]


class Span:
    """One span, to add attributes to. It takes them as well where nothing is traced."""

    __slots__ = ("_span",)

    def __init__(self, span: "traces.Span | None" = None) -> None:
        self._span = span

    def note(self, **said: Value | None) -> None:
        """Add attributes. `None` is left out."""
        if self._span is not None:
            self._span.set_attributes(_named(said))


NOTHING = Span()


@contextmanager
def span(name: str, of: TraceContext | None, **said: Value | None) -> Iterator[Span]:
    """Make a span of the body.

    Args:
        name: Its name.
        of: Where the record stands in its trace. The span is in that trace, also when the program is in another one: then
            the span has a link to that. Without it, the span is in the trace of the program, or begins one.
        said: Its attributes, without the prefix `assent.`.
    """
    tracer = _tracer()
    if tracer is None:
        yield NOTHING
        return
    here = contexts.get_current()
    parent, links = _parent(of, here)
    started = tracer.start_span(name, parent, attributes=_named(said), links=links)
    contexts.attach(traces.set_span_in_context(started, here))
    try:
        yield Span(started)
    except BaseException as error:
        # Its class only: the message and the traceback may quote an argument.
        started.set_attribute("error.type", type(error).__name__)
        if isinstance(error, Exception):
            started.set_status(traces.StatusCode.ERROR)
        raise
    finally:
        # Not `detach`, which logs an error where a synchronous client leaves in another task than it entered.
        contexts.attach(here)
        started.end()


def span_within(name: str, of: TraceContext | None, **said: Value | None) -> AbstractContextManager[Span]:
    """Make a span of the body in this trace. Without a trace, make none."""
    return nullcontext(NOTHING) if of is None else span(name, of, **said)


@contextmanager
def step(name: str, **said: Value | None) -> Iterator[Span]:
    """Make a span of the body, if it is a part of something that is traced."""
    if IS_INSTALLED and traces.get_current_span().is_recording():
        with span(name, None, **said) as started:
            yield started
    else:
        yield NOTHING


def current() -> TraceContext | None:
    """Say where the program stands in a trace; `None` where nothing is traced."""
    if not IS_INSTALLED:
        return None
    found = traces.get_current_span().get_span_context()
    parent = f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"
    return TraceContext.read({TRACEPARENT: parent})


def _tracer() -> "traces.Tracer | None":
    """Return what makes spans; `None` where the program has set up nothing that would keep them."""
    if not IS_INSTALLED:
        return None
    provider = traces.get_tracer_provider()
    return None if isinstance(provider, traces.ProxyTracerProvider) else provider.get_tracer("assent")


def _parent(
    of: TraceContext | None, here: "contexts.Context"
) -> "tuple[contexts.Context, list[traces.Link]]":
    current = traces.get_current_span(here).get_span_context()
    if of is None or (current.is_valid and of.trace_id == f"{current.trace_id:032x}"):
        return here, []
    asked = traces.SpanContext(
        int(of.trace_id, 16),
        int(of.span_id, 16),
        is_remote=True,
        trace_flags=traces.TraceFlags(of.flags),
    )
    parent = traces.set_span_in_context(traces.NonRecordingSpan(asked), here)
    return parent, [traces.Link(current)] if current.is_valid else []


def _named(said: "dict[str, Value | None]") -> dict[str, Value]:
    return {f"assent.{name}": value for name, value in said.items() if value is not None}
