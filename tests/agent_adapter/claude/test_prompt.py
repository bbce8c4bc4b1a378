"""The permission prompt tool, with the real program of Claude Code, offline: it runs what people approved, and nothing else."""

import asyncio
import os
import signal
import sys

import pytest

from agent_adapter.claude import check
from agent_adapter.claude.messages import MessagesApi
from agent_adapter.claude.prompt import STAYS
from agent_adapter.claude.settings import hook_command, install, write
from agent_adapter.contract.arguments import encode
from agent_adapter.testing import ScriptedReviewer, approve, edit, reject
from tests.agent_adapter.claude.test_command import asked
from tests.agent_adapter.claude.test_real_cli import CLI
from tests.support.deciding import person
from tests.support.lanes import require_claude
from tests.support.workers import ids

require_claude()

TOUCH = ("Bash", {"command": "touch made"})
OPTIONS = ["--agent", "billing", "--wait", "60"]


@pytest.fixture
def project(tmp_path):
    """A folder without a hook."""
    folder = tmp_path / "project"
    folder.mkdir()
    write(tmp_path / "home/.claude.json", {"projects": {str(folder): {"hasTrustDialogAccepted": True}}})
    return folder


@pytest.fixture
def claude(project, redis_url):
    """Let Claude Code make a call, with the tool for its prompts; give what it sent back."""
    command = [sys.executable, "-I", "-m", "agent_adapter.claude", "prompt", *OPTIONS]
    server = {"command": "sh", "args": ["-c", 'echo $$ > pid; exec "$@"', "sh", *command]}
    options = ("--mcp-config", encode({"mcpServers": {"assent": server}}))
    options += ("--permission-prompt-tool", "mcp__assent__approve")

    async def run(*calls, **changed):
        environment = {"REDIS_URL": redis_url, STAYS: "1", **changed}
        with MessagesApi(calls) as api:
            home = project.parent / "home"
            await asyncio.to_thread(check.run_cli, CLI, project, home, api.url, options, **environment)
        return [*api.results.values()]

    return run


def made(project):
    return sorted(path.name for path in project.iterdir() if path.is_file() and path.name != "pid")


@pytest.mark.parametrize(
    ("answer", "files", "said"),
    [(approve(), ["made"], ""), ("edit", ["other"], ""), (reject("not today"), [], "did not run: not today")],
)
async def test_a_prompt_is_answered_as_people_decided(claude, project, redis_url, answer, files, said):
    """It is the question that the hook asks."""
    if answer == "edit":
        answer = edit({"command": "touch other", "cwd": str(project)})
    async with person(redis_url, ScriptedReviewer([answer])):
        (result,) = await claude(TOUCH)

    assert (made(project), said in result) == (files, True)


async def test_nothing_runs_when_the_server_is_killed_while_people_decide(claude, project, store):
    """Claude Code gets no answer to its prompt."""
    run = asyncio.create_task(claude(TOUCH))
    await asked(store)

    os.kill(int((project / "pid").read_text()), signal.SIGKILL)
    await run

    assert made(project) == []


@pytest.mark.parametrize(
    ("call", "changed", "said"),
    [
        (TOUCH, {STAYS: ""}, f"{STAYS} is not 1"),
        (TOUCH, {"REDIS_URL": ""}, "REDIS_URL is not set"),
        (("EnterWorktree", {"name": "a"}), {}, "worktree"),
    ],
)
async def test_nobody_is_asked_where_it_is_unknown_what_would_run(
    claude, project, store, call, changed, said
):
    """A prompt does not say which folder Claude Code is in."""
    (result,) = await claude(call, **changed)

    assert (made(project), await ids(store), said in result) == ([], [], True)


async def test_a_call_that_the_hook_has_asked_about_is_not_asked_twice(claude, project, redis_url, store):
    """Claude Code prompts in both ways at once, for the call as people have edited it."""
    install(project, hook_command(OPTIONS), wait=60)
    answer = edit({"command": "touch other", "cwd": str(project)})

    async with person(redis_url, ScriptedReviewer([answer])):
        await claude(TOUCH)

    assert (made(project), len(await ids(store))) == (["other"], 1)
