"""One trace from a tool call to the run that goes on, with the real SDK of OpenTelemetry."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from agent_adapter import Context
from agent_adapter.integrations.langgraph import run
from agent_adapter.sync import SyncApprovalClient
from tests.acceptance.test_process import environment
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO
from tests.conftest import an_agent, until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.http_api import a_key, a_pause, speaking
from tests.support.redis_users import address_for
from tests.support.scripted_model import ScriptedModel, says
from tests.support.topologies import KEYS, connected

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


def asked_with(redis_url, interrupt_id):
    """Where the record says that it stands in a trace."""
    with connected(redis_url) as redis:
        found = redis.hget(KEYS.req(interrupt_id), "traceparent")
    return found and found.decode()


async def decided(client, erik, interrupt, button="approve:0"):
    """Ask, press a button, and give the id of the record once the agent has the answer."""

    async def reviewed():
        async with client.reviewing(interrupt) as resume:
            return resume.interrupt_id

    reviewing = asyncio.create_task(reviewed())
    await erik.press(await erik.card("wants to run"), button)
    return await reviewing


# --- One trace ----------------------------------------------------------------------------------------------------------


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
    await erik.press(await erik.card("wants to run"), "approve:0")
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


@pytest.mark.parametrize("kind", ["async def", "def"])
async def test_a_tool_of_langgraph_is_in_the_span_of_the_run(traces, start_bot, client, erik, kind):
    """Also one that LangGraph calls in a thread. The span of the whole turn is around everything."""
    await start_bot()

    def pay_invoice(to: str) -> str:
        """Pay it."""
        with traces.tracer.start_as_current_span("pay_invoice"):
            return f"paid {to}"

    async def pay_invoice_soon(to: str) -> str:
        """Pay it."""
        return pay_invoice(to)

    agent = create_agent(
        ScriptedModel(turns=[says(("pay_invoice", {"to": "a@x.com"})), DONE]),
        [tool("pay_invoice")(pay_invoice if kind == "def" else pay_invoice_soon)],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay_invoice": True})],
        checkpointer=InMemorySaver(),
    )

    async def turn():
        with traces.tracer.start_as_current_span("turn of the agent"):
            return await run(agent, GO, approvals=client, config=CONFIG)

    running = asyncio.create_task(turn())
    await erik.press(await erik.card("wants to run"), "approve:0")
    await running

    (paid,), (resumed,) = traces.named("pay_invoice"), traces.named("assent.resume")
    assert paid.parent.span_id == resumed.context.span_id
    await traces.until("assent.click", "assent.post_card")
    assert len(trace_ids(traces.spans)) == 1


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
    card = await erik.card("wants to run")
    await erik.fill(await erik.opened(card, "reject:0"), reason=secret)
    await erik.fill(await erik.opened(card, "edit:1"), iban="another-secret")
    with pytest.raises(ValueError, match="the bank"):
        await running
    await traces.until("assent.update_card", "assent.approval")

    (approval,) = traces.named("assent.approval")
    assert approval.attributes["error.type"] == "ValueError"
    said = "\n".join(span.to_json() for span in traces.spans)
    assert [word for word in ("secret", "iban", "U0", "Erik", "Noor", "C0", "the bank") if word in said] == []


async def test_a_slack_that_is_busy_is_a_call_with_its_wait(traces, start_bot, client, erik, slack):
    """The span says for how long Slack wants to be left alone, and the next one that it worked."""
    # A slow machine is not a call that timed out.
    await start_bot(lease_seconds=60)
    await slack.fault("chat.postMessage", "ratelimited", seconds=1)
    reviewing = review(client)
    await erik.press(await erik.card("wants to run"), "approve:0")
    await reviewing

    posts = [
        span.attributes
        for span in traces.named("assent.slack_call")
        if span.attributes["assent.method"] == "chat.postMessage"
    ]
    assert [(post["assent.result"], post.get("assent.retry_after")) for post in posts] == [
        ("ratelimited", 1.0),
        ("ok", None),
    ]


async def test_a_run_that_another_process_goes_on_with_stays_in_the_trace(traces, start_bot, redis_url, erik):
    """It has a trace of its own, to which its span has a link."""
    await start_bot()
    interrupt = an_interrupt()
    async with an_agent(redis_url) as first:
        interrupt_id = await first.publish(interrupt)
    await erik.press(await erik.card("wants to run"), "approve:0")
    async with an_agent(redis_url) as second:
        await second.wait(interrupt_id)
        with traces.tracer.start_as_current_span("another process") as own:
            async with second.resuming(interrupt_id, interrupt=interrupt):
                pass

    (published,), (resumed,) = traces.named("assent.publish"), traces.named("assent.resume")
    assert trace_ids([published]) == trace_ids([resumed]) == {asked_with(redis_url, interrupt_id)[3:35]}
    assert [link.context.span_id for link in resumed.links] == [own.get_span_context().span_id]


async def test_tools_of_a_synchronous_agent_are_in_the_span_of_the_run(traces, start_bot, redis_url, erik):
    """Although the client works in another thread, on a loop of its own; and OpenTelemetry complains of nothing."""
    await start_bot()

    def turn():
        with (
            SyncApprovalClient.from_url(
                address_for(redis_url, "agent", "billing"), agent="billing"
            ) as client,
            traces.tracer.start_as_current_span("turn of the agent"),
            client.reviewing(an_interrupt()),
            traces.tracer.start_as_current_span("pay_invoice"),
        ):
            pass
        return trace.get_current_span()

    running = asyncio.create_task(asyncio.to_thread(turn))
    await erik.press(await erik.card("wants to run"), "approve:0")
    after = await running

    (resumed,), (tool,) = traces.named("assent.resume"), traces.named("pay_invoice")
    (approval,), (agent,) = traces.named("assent.approval"), traces.named("turn of the agent")
    assert tool.parent.span_id == resumed.context.span_id
    assert approval.parent.span_id == agent.context.span_id
    assert after is trace.INVALID_SPAN


# --- Over HTTP ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("traces")
async def test_an_agent_over_http_sends_its_trace_as_a_header(start_bot, redis_url, traces):
    """Its `traceparent` goes on in the record, beside what is asked."""
    bot = await start_bot()
    async with speaking(bot.port, await a_key(redis_url)) as caller:
        _, state = await caller.send(
            "POST", "/interrupts", json={"payload": a_pause()}, headers={"traceparent": PARENT}
        )
    await traces.until("assent.post_card")

    assert trace_ids(traces.spans) == {PARENT[3:35]}
    assert asked_with(redis_url, state["id"])[:36] == PARENT[:36]


@pytest.mark.parametrize("header", ["00-1-2-01", PARENT + "-more", PARENT.upper(), "x" * 4000])
async def test_a_header_that_is_no_trace_is_ignored(start_bot, redis_url, header):
    """The request is as good without it."""
    bot = await start_bot()
    async with speaking(bot.port, await a_key(redis_url)) as caller:
        status, state = await caller.send(
            "POST", "/interrupts", json={"payload": a_pause()}, headers={"traceparent": header}
        )

    assert status == 201
    assert asked_with(redis_url, state["id"]) is None


async def test_a_bot_that_traces_nothing_passes_the_header_on(start_bot, redis_url):
    """So metrics have their examples, and another bot that traces has the trace."""
    bot = await start_bot()
    async with speaking(bot.port, await a_key(redis_url)) as caller:
        _, state = await caller.send(
            "POST", "/interrupts", json={"payload": a_pause()}, headers={"traceparent": PARENT}
        )

    assert asked_with(redis_url, state["id"]) == PARENT


# --- What others write, and what is not there -----------------------------------------------------------------------


@pytest.mark.parametrize("written", ["<!channel>", PARENT + "\n", "00-" + "0" * 32 + PARENT[35:], "é" * 9000])
async def test_what_somebody_writes_in_the_place_of_a_trace_is_ignored(
    traces, start_bot, client, erik, redis_url, written
):
    """The card is drawn and decided as ever, shows nothing of it, and the bot makes no span of it."""
    interrupt_id = await client.publish(an_interrupt())
    with connected(redis_url) as redis:
        redis.hset(
            KEYS.req(interrupt_id),
            mapping={"traceparent": written, "tracestate": written},
        )
    await start_bot()
    card = await erik.card("wants to run")
    await erik.press(card, "approve:0")
    await client.wait(interrupt_id)
    await erik.card("waiting for the agent")

    assert written.strip() not in json.dumps(card, ensure_ascii=False)
    assert {span.name for span in traces.spans} == {"assent.publish"}


async def test_without_a_program_that_traces_nothing_is_written(start_bot, client, erik, redis_url):
    """No field in the record, however it ends."""
    await start_bot()
    interrupt_id = await decided(client, erik, an_interrupt())

    assert asked_with(redis_url, interrupt_id) is None


@pytest.mark.parametrize("module", ["agent_adapter.client", "agent_adapter.sync", "bot.app"])
def test_without_opentelemetry_everything_is_imported(module):
    """It is an extra of both distributions."""
    code = f"import sys; sys.modules['opentelemetry'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


# --- Metrics and the bot's own process ------------------------------------------------------------------------------


async def test_the_times_to_card_and_agent_name_a_trace_as_their_example(traces, start_bot, client, erik):
    """For a scraper that reads OpenMetrics. Others read what they always did."""
    bot = await start_bot()
    await decided(client, erik, an_interrupt())
    (published,) = traces.named("assent.publish")
    wanted = f"{published.context.trace_id:032x}"

    async def metrics(**headers):
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{bot.port}/metrics", headers=headers) as answer,
        ):
            return answer.content_type, await answer.text()

    async def examples():
        kind, text = await metrics(Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        assert kind == "application/openmetrics-text"
        samples = [sample for each in text_string_to_metric_families(text) for sample in each.samples]
        found = [sample for sample in samples if sample.exemplar]
        return {sample.name for sample in found if sample.exemplar.labels["trace_id"] == wanted}

    async with asyncio.timeout(20):
        while await examples() != {
            "assent_time_to_card_seconds_bucket",
            "assent_time_to_agent_seconds_bucket",
        }:
            await asyncio.sleep(0.1)
    for accepted in ("*/*", "text/plain", "application/openmetrics", ";;,"):
        kind, text = await metrics(Accept=accepted)
        assert (kind, wanted in text, "# EOF" in text) == ("text/plain", False, False)


async def test_a_bot_under_opentelemetry_instrument_sends_its_spans(
    traces, playground, redis_url, client, erik
):
    """With nothing but the variables that OpenTelemetry has for every program."""
    sent = []

    async def collect(request):
        sent.append(ExportTraceServiceRequest.FromString(await request.read()))
        return web.Response(body=b"", content_type="application/x-protobuf")

    collector = web.Application()
    collector.add_routes([web.post("/v1/traces", collect)])
    runner = web.AppRunner(collector)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-c",
            "from opentelemetry.instrumentation import auto_instrumentation as it; it.run()",
        ),
        *(sys.executable, "-m", "bot"),
        cwd=ROOT,
        env=environment(
            playground,
            redis_url,
            ASSENT_APPROVERS="U0ERIK",
            ASSENT_RECORD_KEY=os.environ.get("ASSENT_RECORD_KEY"),
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{host}:{port}",
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
            OTEL_SERVICE_NAME="assent-bot",
            OTEL_METRICS_EXPORTER="none",
            OTEL_LOGS_EXPORTER="none",
        ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await decided(client, erik, an_interrupt())
    await erik.card("the agent has resumed")
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        await process.communicate()
    await runner.cleanup()

    of_bot = [each for batch in sent for each in batch.resource_spans]
    spans = [span for each in of_bot for scope in each.scope_spans for span in scope.spans]
    assert process.returncode == 0
    assert {"assent.admit", "assent.post_card", "assent.click"} <= {span.name for span in spans}
    assert {span.trace_id.hex() for span in spans} == trace_ids(traces.named("assent.publish"))
    names = {a.value.string_value for each in of_bot for a in each.resource.attributes if a.key == "service.name"}  # fmt: skip
    assert names == {"assent-bot"}
