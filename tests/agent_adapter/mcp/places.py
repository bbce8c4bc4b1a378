"""Where the command runs: a Redis, a shop behind it, and how it is started."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from agent_adapter.mcp.__main__ import main
from playground.redis_server import free_port
from tests.support.deciding import admit
from tests.support.faults import eventually
from tests.support.workers import ids

ROOT = Path(__file__).parents[3]
SHOP = [sys.executable, str(Path(__file__).parent / "shop.py")]
GATEWAY = ["-m", "agent_adapter.mcp", "gateway", "--upstream", "shop", "--agent", "billing"]
ORDER = {"order": 7}
PAID = 'pay {"order": 7}'


class Place:
    """Where a gateway runs: its Redis, the book of the shop behind it, and how it is started."""

    def __init__(self, redis_url, folder):
        self.book = folder / "book"
        self.tokens = folder / "tokens"
        self.environment = {"PATH": os.environ["PATH"], "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}

    @property
    def lines(self):
        return self.book.read_text().splitlines() if self.book.exists() else []

    @property
    def done(self):
        """What the shop did."""
        return [line for line in self.lines if not line.startswith("started")]

    @property
    def gateway(self):
        """The id of the last gateway's process."""
        (*_, line) = (line for line in self.lines if line.startswith("started"))
        return int(line.split()[2])

    def command(self, *options):
        return [*GATEWAY, *options, "--", *SHOP, str(self.book)]

    def stdio(self, *options):
        return StdioServerParameters(
            command=sys.executable, args=self.command(*options), env=self.environment
        )

    def token(self, person, capsys):
        """Make a token as the operator does, and add its line to the file."""
        main(["token", person])
        token, line = (each.partition(": ")[2].strip() for each in capsys.readouterr().out.splitlines())
        with self.tokens.open("a") as file:
            file.write(line + "\n")
        return token

    @asynccontextmanager
    async def http(self, *options):
        """Start a gateway that serves HTTP; give its address."""
        port = free_port()
        more = ["--http", f"127.0.0.1:{port}", "--tokens", str(self.tokens)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, *self.command(*options, *more), env=self.environment
        )

        async def answers():
            async with httpx2.AsyncClient() as http:
                try:
                    return await http.get(f"http://127.0.0.1:{port}/mcp")
                except httpx2.TransportError:
                    return None

        try:
            await eventually(answers)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            await process.wait()


@asynccontextmanager
async def over_http(address, token, mode):
    """Connect the official client with a token, in a run that has a name, as through a proxy."""
    headers = {"Authorization": f"Bearer {token}", "Assent-Run": "nightly", "Host": "gateway.example.com"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


async def question(store, number=1, **terms):
    """Wait until so many questions were asked, admit the last of them as a bot does, and give its id."""

    async def asked():
        return found[number - 1] if len(found := await ids(store)) >= number else None

    id = await eventually(asked)
    await admit(store, id, **terms)
    return id


def words(result):
    """Give the text of a result."""
    (part,) = result.content
    return part.text
