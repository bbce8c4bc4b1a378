"""The HTTP API by itself: who is let in, what is refused and how, what the description promises."""

import ast
import asyncio
import inspect
import io
import json
import logging
import sys
import textwrap
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from agent_adapter.contract.hitl import HITLRequest, WireModel
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.wire import check_request
from agent_adapter.errors import InvalidRequestError
from agent_adapter.redis.pool import open_redis
from bot.api.failures import MAX_WAITING, Rates, RefusedError
from bot.api.keys import KeyRing
from bot.api.messages import Ask, Body, Claiming, DecisionEvent, Failure, Report, Resumed, State
from bot.api.routes import DESCRIPTION, build_api
from playground.redis_server import RedisServer
from tests.support.http_api import a_key, a_pause, speaking
from tests.support.lanes import require


@pytest.fixture
async def bot(start_bot):
    return await start_bot(api_requests_per_minute=100_000)


@pytest.fixture
async def caller(bot, redis_url):
    """The agent `billing`, over HTTP."""
    async with speaking(bot.http.port, await a_key(redis_url)) as caller:
        yield caller


def code_of(answer):
    status, body = answer
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert body["error"]["message"]
    return status, body["error"]["code"]


# --- Who is let in ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/interrupts/x", "/openapi.json", "/anything"])
async def test_without_any_key_there_is_no_api(bot, path):
    """A bot whose operator never made a key serves nothing, and says how to change that."""
    async with speaking(bot.http.port) as nobody:
        status, body = await nobody.send("GET", path)

    assert status == 404
    assert "python -m bot keys create" in body["error"]["message"]


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ass_000000000000_" + "A" * 43, "Basic YTpi", "Bearer ключ"],
    ids=["none", "empty", "no key", "unknown key", "basic", "not ASCII"],
)
async def test_without_a_valid_key_nothing_is_answered(bot, redis_url, header):
    """The same answer for every wrong key, at every address."""
    await a_key(redis_url)
    async with speaking(bot.http.port) as nobody:
        headers = {} if header is None else {"Authorization": header}
        async with nobody.session.get("/v1/interrupts/billing." + "0" * 32, headers=headers) as answer:
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert code_of((answer.status, await answer.json())) == (401, "unauthorized")


async def test_a_revoked_key_is_refused_by_a_running_bot(bot, caller, redis_url):
    """Nothing has to be restarted; without any key the API is off again."""
    interrupt_id = await caller.ask()
    async with open_redis(redis_url) as redis:
        ring = KeyRing(redis, Keys("assent"))
        await ring.create("another")
        (own,) = [key for key in await ring.list() if key.agent == "billing"]
        await ring.revoke(own.id)

    assert code_of(await caller.send("GET", f"/interrupts/{interrupt_id}")) == (401, "unauthorized")


async def test_an_agent_never_sees_another_agents_interrupts(bot, caller, redis_url):
    """A foreign id is answered exactly as one that does not exist."""
    interrupt_id = await caller.ask()
    missing = "billing." + "0" * 32
    async with speaking(bot.http.port, await a_key(redis_url, "reports")) as other:
        for method, end in (
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/events"),
            ("POST", "/resumed"),
            ("POST", "/outcome"),
        ):
            foreign = await other.send(method, f"/interrupts/{interrupt_id}{end}")
            assert foreign == await other.send(method, f"/interrupts/{missing}{end}")
            assert code_of(foreign) == (404, "not_found")

    assert (await caller.send("GET", f"/interrupts/{interrupt_id}"))[1]["status"] == "pending"


@pytest.mark.parametrize(
    "interrupt_id", ["x", "billing.", "billing." + "0" * 32, "billing..%2F", "%FF%00", "a" * 5000]
)
async def test_an_unknown_id_is_404(caller, interrupt_id):
    """Whatever it looks like."""
    assert code_of(await caller.send("GET", f"/interrupts/{interrupt_id}")) == (404, "not_found")


async def test_more_requests_than_allowed_are_429_with_the_seconds_to_wait(start_bot, redis_url):
    """Each key has its own allowance, and so have those without one."""
    bot = await start_bot(api_requests_per_minute=3)
    first, second = await a_key(redis_url), await a_key(redis_url)
    path = "/interrupts/billing." + "0" * 32

    async with speaking(bot.http.port, first) as caller:
        statuses = [(await caller.send("GET", path))[0] for _ in range(4)]
        async with caller.session.get(f"/v1{path}") as answer:
            limited = (answer.status, await answer.json())
            assert 1 <= int(answer.headers["Retry-After"]) <= 20
    async with speaking(bot.http.port, second) as caller:
        other = (await caller.send("GET", path))[0]
    async with speaking(bot.http.port) as nobody:
        strangers = [(await nobody.send("GET", path))[0] for _ in range(4)]

    assert statuses == [404, 404, 404, 429]
    assert code_of(limited) == (429, "rate_limited")
    assert other == 404
    assert strangers == [401, 401, 401, 429]


# --- What is refused ----------------------------------------------------------------------------------------------


OWN = {
    "action_requests": [{"name": "pay", "args": {}, "description": "Pay it."}],
    "review_configs": [
        {
            "action_name": "pay",
            "allowed_decisions": ["approve", "reject"],
            "args_schema": {},
            "allow_always": False,
        }
        | {"headline": ["to"], "effects": []}
    ],
}


@pytest.mark.parametrize(
    ("body", "expected", "saying"),
    [
        (b"", (400, "malformed"), "body: it is empty: send a JSON object with payload"),
        (b"{", (400, "malformed"), "body: not JSON at line 1, column 2"),
        (b"\xff{}", (400, "malformed"), "not UTF-8"),
        (b"[]", (422, "invalid"), "body: "),
        (b"{}", (422, "invalid"), "body has no 'payload': add it"),
        (b'{"payload": 1}', (422, "unknown_dialect"), "not in a known dialect"),
        (b'{"payload": {"a": 1}, "dialect": "cobol"}', (422, "unknown_dialect"), "body.dialect: 'cobol' is none of"),
        (b'{"payload": {"a": 1}, "dialect": "langchain"}', (422, "unknown_dialect"), "body.payload: no pause of langchain"),
        (b'{"payload": "\\ud800", "dialect": "text"}', (422, "invalid"), "surrogate"),
        (b" " * 300_000, (413, "too_large"), "262,144 bytes"),
        (b" " * 3_000_000, (413, "too_large"), "262,144 bytes"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)  # fmt: skip
async def test_a_body_that_cannot_be_asked_is_refused_with_its_place(caller, body, expected, saying):
    """One clear sentence in the one form of every error; nothing was asked."""
    answer = await caller.send("POST", "/interrupts", data=io.BytesIO(body))

    assert code_of(answer) == expected
    assert saying in answer[1]["error"]["message"]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"expiresIn": 60}, "body has no 'expiresIn': did you mean 'expires_in'?"),
        ({"colour": 60}, "body has no 'colour': there are payload, dialect, run"),
        ({"expires_in": 0}, "body.expires_in"),
        ({"expires_in": "60"}, "body.expires_in"),
        ({"expires_in": True}, "body.expires_in"),
        ({"expires_in": 10**9}, "body.expires_in"),
        ({"on_expiry": "later"}, "body.on_expiry"),
        ({"context": {"links": [{"label": "a", "url": "b", "link": "c"}]}}, "body.context.links"),
        ({"payload": {**OWN, "review_configs": [{**OWN["review_configs"][0], "allow_alway": True}]}, "dialect": "langchain"},
         "body.payload.review_configs[0]: there is no 'allow_alway' (did you mean 'allow_always'?)"),
        ({"context": {"requestedBy": "U0DANA"}}, "body.context has no 'requestedBy': did you mean 'requested_by'?"),
        ({"run": "thread-1"}, "run and pause"),
        ({"pause": "p-1"}, "run and pause"),
        ({"run": "", "pause": "p-1"}, "body.run"),
        ({"run": "\ud800", "pause": "p-1"}, "run"),
        ({"payload": {**a_pause(), "reviewConfigs": []}}, "body.payload.review_configs"),
        ({"payload": a_pause(allowed=("maybe",))}, "allowed_decisions"),
        ({"payload": {**a_pause(), "extra": 1}}, "'extra'"),
        ({"payload": {**a_pause(), "extra": ["\ud800"]}, "dialect": "camel_case"}, "payload.extra[0]"),
    ],
    ids=str,
)  # fmt: skip
async def test_a_field_that_cannot_be_is_named(caller, given, place):
    """A misspelt option is refused rather than passed over: it might have said who may not approve."""
    body = json.dumps({"payload": a_pause(), **given})
    answer = await caller.send("POST", "/interrupts", data=body)

    assert answer[0] == 422
    assert place in answer[1]["error"]["message"]


ONLY_OURS = {"allow_always", "headline", "effects"}


def misspelt():
    """Each field of a request, and each decision, with two letters that changed places, once in words of JavaScript."""
    for part, [fields] in OWN.items():
        for name in fields:
            wrong = {name[:3] + name[4] + name[3] + name[5:] if len(name) > 4 else name[::-1]: fields[name]}
            yield {**OWN, part: [fields | wrong]}
    for wrong in ("aprove", "Approve", "yes", "accept", ""):
        config = OWN["review_configs"][0]
        yield {**OWN, "review_configs": [config | {"allowed_decisions": ["reject", wrong]}]}
    for name in (" pay", "pa\u200by"):
        yield {"action_requests": [{"name": name, "args": {}}], "review_configs": [OWN["review_configs"][0] | {"action_name": name}]}  # fmt: skip


async def test_what_the_library_refuses_is_refused_over_http(caller):
    """Whoever writes a request by hand misspells the same words there. In JavaScript's spelling, too."""
    assert (await caller.send("POST", "/interrupts", json={"payload": OWN}))[0] == 201
    for wrong in misspelt():
        with pytest.raises(InvalidRequestError):
            check_request(HITLRequest(**wrong))
        camel = {
            to_camel(part): [{to_camel(name): fields[name] for name in fields.keys() - ONLY_OURS} for fields in listed]
            for part, listed in wrong.items()
        }  # fmt: skip
        for payload in (wrong, camel):
            assert (await caller.send("POST", "/interrupts", json={"payload": payload}))[0] == 422, payload


@pytest.mark.parametrize(
    "query", ["wait=-1", "wait=61", "wait=soon", "wait=nan", "wait=inf", "wait=", "wiat=5"]
)
async def test_a_wait_that_cannot_be_is_refused(caller, query):
    """From 0 to 60 seconds. Misspelt, it would be no wait, and the caller would ask without end."""
    answer = await caller.send("GET", f"/interrupts/{await caller.ask()}?{query}")

    assert code_of(answer) == (422, "invalid")
    says = {"wait": "wait: seconds from 0 to 60", "wiat": "wiat: no such parameter (did you mean 'wait'?)"}
    assert answer[1]["error"]["message"] == says[query.partition("=")[0]]


async def test_other_addresses_and_methods_are_refused_in_the_same_form(caller):
    """Nothing answers in another form than JSON."""
    assert code_of(await caller.send("GET", "/nothing")) == (404, "not_found")
    assert code_of(await caller.send("PUT", "/interrupts")) == (405, "method_not_allowed")
    wrong = {"Content-Encoding": "gzip"}
    assert code_of(await caller.send("POST", "/interrupts", data=b"plain", headers=wrong)) == (415, "encoded")


async def test_redis_that_does_not_answer_is_503(start_bot, tmp_path):
    """The request may be sent again, and is then served."""
    server = RedisServer(tmp_path / "redis")
    server.start()
    try:
        bot = await start_bot(REDIS_URL=server.url)
        async with speaking(bot.http.port, await a_key(server.url)) as caller:
            interrupt_id = await caller.ask()
            server.stop()
            assert code_of(await caller.send("GET", f"/interrupts/{interrupt_id}")) == (503, "unavailable")
            server.start()
            assert (await caller.send("GET", f"/interrupts/{interrupt_id}"))[0] == 200
    finally:
        server.stop()


async def test_no_argument_and_no_key_is_logged(caller, caplog):
    """Logs name ids only, also when something is refused."""
    caplog.set_level(logging.DEBUG, logger="bot")
    pause = a_pause()
    pause["actionRequests"][0]["args"] = {"to": "private@example.com"}
    await caller.ask(payload=pause)
    await caller.send("POST", "/interrupts", json={"payload": {"secret": "hush-hush"}})

    said = "\n".join(str(record.__dict__) for record in caplog.records)
    assert "api.asked" in said
    assert "private@example.com" not in said
    assert "hush-hush" not in said
    assert caller.session.headers["Authorization"].split("_", 2)[2] not in said


# --- What is told -------------------------------------------------------------------------------------------------


class Schemas(GenerateJsonSchema):
    """Writes a decision as any of its kinds: one of a newer version is only known by its type."""

    def tagged_union_schema(self, schema):
        return {"anyOf": super().tagged_union_schema(schema)["oneOf"]}


async def test_the_description_has_the_routes_and_the_messages_that_there_are(bot, redis_url):
    """The file is what a bot serves. Its schemas are those of the models."""
    await a_key(redis_url)
    async with speaking(bot.http.port) as anybody:
        status, served = await anybody.send("GET", "/openapi.json")

    assert (status, served) == (200, json.loads(DESCRIPTION))
    routes = {
        (route.method.lower(), f"/v1{route.resource.canonical}")
        for route in build_api(None, Rates(1)).router.routes()
    }
    assert routes == {
        (verb, path) for path, verbs in served["paths"].items() for verb in verbs if verb != "parameters"
    }
    models = [
        (model, "validation") for model in (Ask, Claiming, Resumed, Report, State, DecisionEvent, Failure)
    ]
    _, found = models_json_schema(
        models, ref_template="#/components/schemas/{model}", schema_generator=Schemas
    )
    schemas = json.loads(json.dumps(found["$defs"]))
    for model in {*models_of(WireModel), *models_of(Body)}:
        for field, description in described(model).items() if model.__name__ in schemas else ():
            schemas[model.__name__]["properties"][field]["description"] = description
    assert served["components"]["schemas"] == schemas


def models_of(kind):
    yield from ([kind] if kind.model_fields else [])
    for inner in kind.__subclasses__():
        yield from models_of(inner)


def described(model):
    """What stands under each field. A bot that starts would take a tenth of a second to read it from the sources."""
    found = {}
    for kind in reversed(model.__mro__):
        if issubclass(kind, WireModel | Body):
            lines = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body
            for field, text in pairwise(lines):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    found[field.target.id] = inspect.cleandoc(text.value.value)
    return found


@pytest.mark.nightly
async def test_the_description_holds_for_everything_that_schemathesis_sends(start_bot, redis_url):
    """Generated requests, right and wrong, alone and in sequences: each answer is one that the document announces."""
    schemathesis = Path(sys.executable).with_name("st")
    require("schemathesis", schemathesis.exists(), "it is not installed beside this Python")
    # In an archived channel every question is refused at once, so no generated wait lasts.
    bot = await start_bot(api_requests_per_minute=100_000, channel="C0OLD")
    run = await asyncio.create_subprocess_exec(
        str(schemathesis), "run", f"http://127.0.0.1:{bot.http.port}/v1/openapi.json",
        "--header", f"Authorization: Bearer {await a_key(redis_url)}",
        "--max-examples", "15", "--seed", "1", "--generation-database", "none", "--no-color",
        # A payload is any JSON, and only the dialects say which of it they take; what was withdrawn can still be read.
        "--exclude-checks", "positive_data_acceptance,use_after_free",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd="/",
    )  # fmt: skip
    printed, _ = await run.communicate()

    assert run.returncode == 0, printed.decode()


def test_requests_that_wait_hold_only_some_of_the_connections():
    """Whoever waits holds a connection: those of all keys together leave room for everybody else."""
    rates = Rates(600)
    with ExitStack() as waiting:
        for _ in range(MAX_WAITING):
            waiting.enter_context(rates.waiting())
        with pytest.raises(RefusedError, match="500 requests wait at this bot already") as refused:
            waiting.enter_context(rates.waiting())
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    with rates.waiting():
        pass
