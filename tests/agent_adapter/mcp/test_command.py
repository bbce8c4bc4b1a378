"""The command, as its users start it: real processes, real clients over standard input and over HTTP."""

# ruff: noqa: E402  # where mcp 2 is not installed there is nothing to import

import asyncio
import os
import signal
import sys

import pytest

from agent_adapter.testing import ScriptedReviewer, approve
from tests.conftest import until
from tests.support.deciding import person, record
from tests.support.lanes import require_mcp

require_mcp()

import httpx2
from mcp import Client, MCPError, StdioServerParameters

from agent_adapter.errors import InvalidRequestError
from agent_adapter.mcp import upstream
from agent_adapter.mcp.__main__ import main
from agent_adapter.mcp.tokens import Tokens
from tests.agent_adapter.mcp.places import GATEWAY, ORDER, PAID, over_http, question, words

CALLS = """
import asyncio, sys, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(address, token, mode):
    headers = {"Authorization": f"Bearer {token}", "Assent-Run": "nightly"}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
            await client.call_tool("pay", {"order": 7})

asyncio.run(main(*sys.argv[1:]))
"""


async def test_over_standard_input(place, redis_url):
    """The server behind it gets neither the address of Redis nor our settings."""
    place.environment["ASSENT_NAMESPACE"] = "assent"
    async with person(redis_url, ScriptedReviewer([approve()])), Client(place.stdio()) as client:
        assert words(await client.call_tool("pay", ORDER)) == "pay: done"

    started, *done = place.lines
    assert started.endswith("with []")
    assert done == [PAID]


async def test_a_gateway_that_is_killed_while_a_tool_runs_repeats_nothing(place, redis_url, store):
    """Nobody knows what became of the call. Another process with the same run asks anew, and the card says that."""
    async with Client(place.stdio("--run", "nightly")) as client:
        async with person(redis_url, ScriptedReviewer([approve()])):
            call = asyncio.create_task(client.call_tool("hang"))
            await until(lambda: place.done)
        os.kill(place.gateway, signal.SIGKILL)
        with pytest.raises(MCPError, match="Connection closed"):
            await call
    async with Client(place.stdio("--run", "nightly")) as client:
        call = asyncio.create_task(client.call_tool("hang"))
        asked = (await store.load(await question(store, 2))).interrupt
        call.cancel()

    assert "nobody knows what became of it" in asked.context.again
    assert len(place.done) == 1


async def test_a_server_that_has_ended_is_started_again(place, redis_url):
    """The call that it died in is not repeated: the client reads that the connection has ended."""
    people = ScriptedReviewer([approve(), approve()])
    async with person(redis_url, people), Client(place.stdio()) as client:
        with pytest.raises(MCPError, match="the connection to shop has ended"):
            await client.call_tool("end")
        assert words(await client.call_tool("pay", ORDER)) == "pay: done"

    assert place.done == ["end {}", PAID]


async def test_an_upstream_over_http(place, redis_url, capsys):
    """Here another gateway, with a token in the setting for that."""
    place.environment["ASSENT_MCP_UPSTREAM_TOKEN"] = place.token("U0NOOR", capsys)
    async with place.http("--allow", "pay") as address:
        before = StdioServerParameters(
            command=sys.executable,
            args=[*GATEWAY, address],
            env=place.environment,
        )
        async with person(redis_url, ScriptedReviewer([approve()])), Client(before) as client:
            assert words(await client.call_tool("pay", ORDER)) == "pay: done"

    assert place.done == [PAID]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_http_a_token_says_who_calls(place, store, capsys, mode):
    """Two people make the same call in the same run, and each has a question of their own."""
    tokens = [place.token(person, capsys) for person in ("U0NOOR", "U0MIRA")]
    async with place.http("--hold", "0.01") as address:
        for token in tokens:
            async with over_http(address, token, mode) as client:
                assert "Still pending" in words(await client.call_tool("pay", ORDER))
        noor, mira = await question(store), await question(store, 2)
        people = [(await store.load(each)).requested_by for each in (noor, mira)]
        await record(store, mira, {0: approve()})
        said = []
        for token in tokens:
            async with over_http(address, token, mode) as client:
                said.append(words(await client.call_tool("pay", ORDER)))

    assert people == ["U0NOOR", "U0MIRA"]
    assert "Still pending" in said[0]
    assert (said[1], place.done) == ("pay: done", [PAID])


async def test_over_http_nobody_calls_without_a_token(place, capsys):
    """Neither without one nor with a wrong one."""
    place.token("U0NOOR", capsys)
    async with place.http() as address, httpx2.AsyncClient() as http:
        for headers in ({}, {"Authorization": "Bearer asm_wrong"}):
            answer = await http.post(address, json={}, headers=headers)
            assert answer.status_code == 401


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_http_a_client_that_is_killed_has_dropped_its_call(place, store, capsys, mode):
    """Nothing runs when people approve it then. It runs when the call comes again."""
    token = place.token("U0NOOR", capsys)
    async with place.http() as address:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CALLS, address, token, mode, env=place.environment
        )
        asked = await question(store)
        process.kill()
        await process.wait()
        await record(store, asked, {0: approve()})
        async with over_http(address, token, mode) as client:
            assert words(await client.call_tool("pay", ORDER)) == "pay: done"

    assert place.done == [PAID]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--", "no-such-program"], "shop cannot be reached: .*no-such-program"),
        (["http://127.0.0.1:1/mcp"], "shop cannot be reached: .*connection attempts failed"),
        (["http://127.0.0.1:1/mcp", "x"], "x: nothing comes after the URL"),
        (["--", "sleep", "9"], "shop cannot be reached: it does not answer"),
        (["--requested-by", "noor", "--", "true"], "not the Slack id of a person"),
        (["--http", "127.0.0.1:1", "--", "true"], "pass both or none"),
        (["--http", "1", "--tokens", "TOKENS", "--", "true"], "is not HOST:PORT"),
        (["--http", "h:1", "--tokens", "nowhere", "--", "true"], "nowhere cannot be read"),
        (["--http", "h:1", "--tokens", "TOKENS", "--run", "r", "--", "true"], "the header Assent-Run"),
        (["--wait", "0", "--", "true"], "expires_in: .* is not from 1 second to 7 days"),
    ],
)
def test_a_command_that_cannot_work_says_why(place, monkeypatch, options, said):
    """Before a client has connected."""
    monkeypatch.setenv("REDIS_URL", place.environment["REDIS_URL"])
    monkeypatch.setattr(upstream, "ANSWERS_WITHIN", 0.5)
    place.tokens.write_text(f"U0NOOR {'0' * 64}")
    given = [str(place.tokens) if each == "TOKENS" else each for each in options]
    with pytest.raises(SystemExit, match=said):
        main(["gateway", "--upstream", "shop", *given])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# nobody yet\n", "has no token, so nobody could call"),
        (f"\nnoor {'0' * 64}", "line 2: this is not a token: write a Slack id and a hash"),
        ("U0NOOR asm_secret", "line 1: this is not a token"),
    ],
)
def test_a_file_of_tokens_that_cannot_be_used_is_refused(tmp_path, text, said):
    """With the line and the cure. A token itself has no place in it."""
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(InvalidRequestError, match=said):
        Tokens.load(tmp_path / "tokens")


def test_without_redis_the_command_says_so(monkeypatch):
    """Nobody could be asked."""
    monkeypatch.delenv("REDIS_URL", raising=False)
    with pytest.raises(SystemExit, match="REDIS_URL is not set"):
        main(["gateway", "--upstream", "shop", "--", "true"])
