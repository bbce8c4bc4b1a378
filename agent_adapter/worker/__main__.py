"""`python -m agent_adapter.worker module:registry` runs a worker; `--list` lists the runs that are owed to workers."""

import argparse
import asyncio
import importlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from agent_adapter.client import ApprovalClient
from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from agent_adapter.redis.address import address_of
from agent_adapter.worker.listing import allow_again, lines
from agent_adapter.worker.loop import Resumable, ResumeWorker, registry_of

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m agent_adapter.worker", description=__doc__)
    parser.add_argument(
        "registry",
        nargs="?",
        help="module:name of a list of agents, or of a function that returns or opens one",
    )
    parser.add_argument(
        "--agent",
        default=os.environ.get("ASSENT_AGENT"),
        help="the agent's name, as on the cards [ASSENT_AGENT]",
    )
    parser.add_argument("--namespace", default=os.environ.get("ASSENT_NAMESPACE", "assent"))
    parser.add_argument("--at-once", type=int, default=8, help="how many runs at the same time [8]")
    parser.add_argument(
        "--lease", type=float, default=30.0, help="seconds until others go on with what a dead worker held"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the runs that are owed to workers, and exit"
    )
    parser.add_argument(
        "--again",
        metavar="ID",
        help="let a run that was set aside go on, at the risk of running a call twice",
    )
    given = parser.parse_args()
    url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    level = os.environ.get("ASSENT_LOG_LEVEL", "INFO").upper()
    if level not in LEVELS:
        parser.error(f"ASSENT_LOG_LEVEL: {level!r} is not one of {', '.join(LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(Lines("%(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    try:
        address_of(url, where="REDIS_URL")
        if given.list:
            asyncio.run(_list(url, given.namespace))
        elif given.again:
            print(asyncio.run(allow_again(url, given.namespace, given.again)))  # noqa: T201  # for the operator
        elif given.registry and given.agent:
            asyncio.run(_work(given, url))
        else:
            parser.error("say which registry (module:name) and which agent (--agent or ASSENT_AGENT)")
    except AgentAdapterError as error:
        sys.exit(str(error))


class Lines(logging.Formatter):
    """Writes each event as one line, with its fields at the end."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's own name
        fields = ((name, getattr(record, name, None)) for name in ("interrupt_id", "next", "reason"))
        return " ".join([super().formatMessage(record), *(f"{name}={text}" for name, text in fields if text)])


async def _list(url: str, namespace: str) -> None:
    async for line in lines(url, namespace):
        print(line)  # noqa: T201  # this is what the command is for


async def _work(given: argparse.Namespace, url: str) -> None:
    lease = timedelta(seconds=given.lease)
    async with (
        _opened(given.registry) as registry,
        ApprovalClient.from_url(
            url,
            agent=given.agent,
            namespace=given.namespace,
            claim_lease=lease,
            credentials=os.environ.get("ASSENT_REDIS_CREDENTIALS"),
        ) as approvals,
    ):
        worker = ResumeWorker(approvals, registry, at_once=given.at_once, lease=lease)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        await worker.run()


@asynccontextmanager
async def _opened(name: str) -> AsyncIterator[Iterable[Resumable]]:
    """Open a registry: a list, a function that returns one, or an asynchronous context manager that opens one."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
        found = found() if callable(found) else found
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InvalidRequestError(f"{name!r} is not a registry: write module:name ({error})") from error
    if isinstance(found, AbstractAsyncContextManager):
        async with found as registry:
            yield registry_of(registry, where=name)
    else:
        yield registry_of(found, where=name)


if __name__ == "__main__":
    main()
