"""A bot's records in Redis, the people whom Slack knows, and its commands in processes of their own."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientTimeout
from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import freeze_meta
from bot.domain.approval import Approval
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.store.records import ApprovalStore
from bot.use_cases.decide import Decisions
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.who_may_decide import Judge
from playground import Playground
from tests.support.commands import ROOT, run_bot
from tests.support.deciding import AS_BEFORE


@pytest.fixture
async def store(redis: Redis) -> ApprovalStore:
    return ApprovalStore(redis, await freeze_meta(redis, "assent", begins=True), address="here")


@pytest.fixture
def keys(store: ApprovalStore) -> Keys:
    return store.keys


@pytest.fixture
def card_of(store: ApprovalStore):
    """Read the bot's side of a record, as Redis keeps it."""

    async def card_of(state: Approval) -> dict[str, str]:
        return await store._redis.hgetall(store.keys.card(state.id))

    return card_of


@pytest.fixture
async def directory(playground: Playground) -> AsyncIterator[Directory]:
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        slack = SlackClient(playground.bot_token, playground.api_url, session)
        await slack.who_am_i()
        yield Directory(slack)


@pytest.fixture
def decisions(store: ApprovalStore, directory: Directory) -> Decisions:
    return Decisions(store, Judge(directory), AS_BEFORE)


@pytest.fixture
def approvals(store: ApprovalStore, directory: Directory) -> StandingApprovals:
    return StandingApprovals(store, Judge(directory))


@pytest.fixture
def environment(playground: Playground, redis_url: str) -> dict[str, str | None]:
    """Everything that a bot needs, and nothing else of this machine. What is `None` is not set."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": playground.bot_token,
        "SLACK_APP_TOKEN": playground.app_token,
        "SLACK_API_URL": playground.api_url,
        "REDIS_URL": redis_url,
        "ASSENT_APPROVERS": "U0DANA, U0ERIK",
        "ASSENT_CHANNEL": "C0APPROVALS",
        "ASSENT_HTTP_HOST": "127.0.0.1",
        "ASSENT_HTTP_PORT": "0",
    }


@pytest.fixture
def command(environment, tmp_path: Path):
    """Run a command to its end, in a folder without a .env; give its exit code, its output and its errors."""

    async def run(*arguments: str, **changed: str | None):
        given = {name: value for name, value in {**environment, **changed}.items() if value is not None}
        return await run_bot(*arguments, folder=tmp_path, environment=given)

    return run


@pytest.fixture
def start(environment, tmp_path: Path):
    """Start the bot in that folder."""

    async def start(**changed: str | None):
        given = {name: value for name, value in {**environment, **changed}.items() if value is not None}
        command = (sys.executable, "-m", "bot")
        return await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=given, stdout=PIPE, stderr=PIPE
        )

    return start
