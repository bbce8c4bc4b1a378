"""One trace from a tool call to the run that goes on, with the real SDK of OpenTelemetry, and what `/metrics` measures of it."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from agent_adapter import Context
from tests.conftest import until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.faults import eventually
from tests.support.http_api import a_key, a_pause, speaking
from tests.support.topologies import KEYS

ROOT = Path(__file__).parents[2]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OURS = {
    "assent.approval": "turn of the agent",
    "assent.publish": "assent.approval",
    "assent.admit": "assent.publish",
    "assent.post_card": "assent.publish",
    "assent.click": "assent.publish",
    "assent.update_card": "assent.publish",
    "assent.resume": "assent.approval",
    "pay_invoice": "assent.resume",
}
"""Every span of a request, and the one that it is in."""


class Traces:
    """The spans that have ended in this process: those of the agent and those of the bot."""

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("the agent's program")

    @property
    def spans(self):
        return self._exporter.get_finished_spans()

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    async def until(self, *names):
        """Wait until these spans have ended."""
        await until(lambda: {*names} <= {span.name for span in self.spans})


@pytest.fixture
def traces(monkeypatch):
    """A program that has set up OpenTelemetry. It can be set up only once in a process, and others run in this one."""
    found = Traces()
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", found.provider)
    return found


def trace_ids(spans):
    return {f"{span.context.trace_id:032x}" for span in spans}


async def test_a_tool_call_its_card_its_click_and_its_run_are_one_trace(traces, start_bot, client, erik):
    """The context travels in the record, and each span has its place in the one that caused it."""
    await start_bot()
    action = an_action("pay_invoice", {"number": "4711"})
    with traces.tracer.start_as_current_span("turn of the agent"):

        async def turn():
            async with client.reviewing(an_interrupt(action)):
                with traces.tracer.start_as_current_span("pay_invoice"):
                    pass

        running = asyncio.create_task(turn())
    await erik.press(await erik.card("rejected at"), "approve:0")
    await running
    await erik.card("the agent has resumed")
    await traces.until(*OURS)

    ours = [span for span in traces.spans if span.name in OURS]
    names = {span.context.span_id: span.name for span in traces.spans}
    assert len(trace_ids(traces.spans)) == 1
    assert {span.name: names[span.parent.span_id] for span in ours} == OURS
    posted, *_ = traces.named("assent.post_card")
    calls = [
        span for span in traces.named("assent.slack_call") if span.parent.span_id == posted.context.span_id
    ]
    assert {span.attributes["assent.method"]: span.attributes["assent.result"] for span in calls} == {
        "chat.postMessage": "ok"
    }
    (approval,) = traces.named("assent.approval")
    assert (approval.attributes["assent.outcome"], approval.attributes["assent.decisions"]) == (
        "decided",
        ("approve",),
    )
    (click,) = traces.named("assent.click")
    assert (click.attributes["assent.decision"], click.attributes["assent.outcome"]) == (
        "approve",
        "recorded",
    )


async def test_no_span_says_an_argument_a_text_or_a_person(traces, start_bot, client, erik):
    """Not the names of the arguments either; a rejection with a reason and an edit included."""
    await start_bot()
    secret = "secret-4711"
    action = an_action("pay_invoice", {"iban": secret}, description=f"Pays {secret}.")
    context = Context(requested_by="U0NOOR", title=secret)

    async def turn():
        async with client.reviewing(an_interrupt(action, action, context=context)):
            raise ValueError(f"the bank has refused {secret}")

    running = asyncio.create_task(turn())
    card = await erik.card("rejected at")
    await erik.fill(await erik.opened(card, "reject:0"), reason=secret)
    await erik.fill(await erik.opened(await erik.showing("edit:1"), "edit:1"), iban="another-secret")
    with pytest.raises(ValueError, match="the bank"):
        await running
    await traces.until("assent.update_card", "assent.approval")

    (approval,) = traces.named("assent.approval")
    assert approval.attributes["error.type"] == "ValueError"
    said = "\n".join(span.to_json() for span in traces.spans)
    assert [word for word in ("secret", "iban", "U0", "Erik", "Noor", "C0", "the bank") if word in said] == []


async def test_an_agent_over_http_sends_its_trace_as_a_header(start_bot, redis_url, redis, traces):
    """Its `traceparent` goes on in the record, beside what is asked."""
    bot = await start_bot()
    headers = {"traceparent": PARENT}
    async with speaking(bot.http.port, await a_key(redis_url)) as caller:
        _, state = await caller.send("POST", "/interrupts", json={"payload": a_pause()}, headers=headers)
    await traces.until("assent.post_card")

    assert trace_ids(traces.spans) == {PARENT[3:35]}
    assert (await redis.hget(KEYS.req(state["id"]), "traceparent"))[:36] == PARENT[:36]


async def test_without_a_program_that_traces_nothing_is_written(client, redis):
    interrupt_id = await client.publish(an_interrupt())

    assert await redis.hget(KEYS.req(interrupt_id), "traceparent") is None


def test_without_opentelemetry_everything_is_imported():
    """It is an extra of both distributions."""
    modules = "agent_adapter.client, agent_adapter.sync, bot.app"
    code = f"import sys; sys.modules['opentelemetry'] = None; import {modules}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


# --- Metrics -----------------------------------------------------------------------------------------------------------

NAMES = [f"assent_time_to_{what}_seconds_{of}" for of in ("count", "sum") for what in ("card", "agent")]


async def test_the_times_to_the_card_and_to_the_agent_are_measured_once(start_bot, client, dana):
    """However often the card is drawn. The numbers are those of all bots of this process."""
    bot = await start_bot()

    async def measured():
        async with speaking(bot.http.port) as anybody, anybody.session.get("/metrics") as answer:
            families = text_string_to_metric_families(await answer.text())
            samples = {sample.name: sample.value for each in families for sample in each.samples}
        return [samples[name] for name in NAMES]

    before = await measured()
    reviewing = review(client)
    await dana.press(await dana.card("if nobody"), "approve:0")
    await reviewing

    async def took():
        more = [now - was for now, was in zip(await measured(), before, strict=True)]
        return more if all(more[:2]) else None

    cards, answers, to_card, to_agent = await eventually(took)
    assert (cards, answers) == (1, 1)
    assert 0 < to_card < 20
    assert 0 <= to_agent < 20
