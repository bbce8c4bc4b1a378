"""An agent that knows nothing but HTTP."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import open_redis
from bot.api.keys import KeyRing
from bot.domain.seal import Seal
from tests.support.redis_users import address_for

Json = dict[str, Any]


def a_pause(*names: str, allowed: tuple[str, ...] = ("approve", "edit", "reject")) -> Json:
    """Build a pause as LangChain JS and XpertAI write it."""
    names = names or ("send_email",)
    return {
        "actionRequests": [{"name": name, "args": {"to": "a@x.com", "count": 3}} for name in names],
        "reviewConfigs": [{"actionName": name, "allowedDecisions": list(allowed)} for name in names],
    }


async def a_key(redis_url: str, agent: str = "billing", *, seal_key: str = "", **given: Any) -> str:
    """Make a key as an operator does, with the seal key of the bots."""
    text = seal_key or os.environ.get("ASSENT_SEAL_KEY", "")
    seal = Seal.parse(text, namespace="assent") if text else None
    async with open_redis(address_for(redis_url, "operator")) as redis:
        return await KeyRing(redis, Keys("assent"), seal=seal).create(agent, **given)


@asynccontextmanager
async def speaking(port: int, key: str | None = None) -> AsyncIterator["Caller"]:
    """Speak to the bot on this port, with a key or without."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers) as session:
        yield Caller(session)


class Caller:
    """Sends requests and reads answers."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def send(self, method: str, path: str, **request: Any) -> tuple[int, Json]:
        """Give the status and the JSON of an answer."""
        async with self.session.request(method, f"/v1{path}", **request) as answer:
            return answer.status, await answer.json()

    async def ask(self, **body: Any) -> str:
        """Publish a pause and give its id."""
        status, state = await self.send("POST", "/interrupts", json={"payload": a_pause(), **body})
        assert status in {200, 201}, state
        return str(state["id"])

    async def read(self, interrupt_id: str, wait: float = 0) -> Json:
        """Give the state of an interrupt, after waiting so long for its answer."""
        status, state = await self.send("GET", f"/interrupts/{interrupt_id}", params={"wait": wait})
        assert status == 200, state
        return state

    async def events(self, interrupt_id: str, last: str | None = None) -> list[tuple[str, str, Json]]:
        """Read a stream of events to its end: (id, name, data)."""
        headers = {"Last-Event-ID": last} if last is not None else {}
        async with self.session.get(f"/v1/interrupts/{interrupt_id}/events", headers=headers) as answer:
            assert answer.content_type == "text/event-stream"
            return [read_event(block) for block in (await answer.text()).split("\n\n") if "data:" in block]


def read_event(block: str) -> tuple[str, str, Json]:
    """Read one event: (id, name, data)."""
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return fields.get("id", ""), fields["event"], json.loads(fields["data"])
