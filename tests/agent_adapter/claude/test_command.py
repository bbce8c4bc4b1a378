"""`assent-claude hook` as Claude Code runs it: a process, whose exit code 2 refuses the call, on a real Redis."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from agent_adapter.claude.__main__ import main
from agent_adapter.claude.settings import hook_command
from agent_adapter.testing import ScriptedReviewer, approve, reject
from tests.agent_adapter.claude.calls import sent
from tests.support.deciding import admit, is_waited_for, person, record
from tests.support.faults import eventually
from tests.support.workers import ids

ROOT = Path(__file__).parents[3]
RM = sent("Bash", command="rm -rf build")


@pytest.fixture
def hook(redis_url, tmp_path):
    """Start the command that `init` writes, as Claude Code does; the rest of its environment is empty."""

    async def start(**changed):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "REDIS_URL": redis_url,
        }
        environment |= changed
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
        command = hook_command(["--agent", "billing", "--wait", "60"])
        return await asyncio.create_subprocess_shell(
            command,
            cwd=tmp_path,
            env={k: v for k, v in environment.items() if v},
            start_new_session=True,
            **pipes,
        )

    return start


async def ended(process, given):
    """Give what a hook got; return its exit code, what it printed and its sentence."""
    text = given if isinstance(given, bytes) else json.dumps(given).encode()
    output, errors = await process.communicate(text)
    return process.returncode, output, errors.decode()


async def test_a_decision_is_printed_with_exit_code_0(hook, redis_url):
    """And nothing else is printed."""
    async with person(redis_url, ScriptedReviewer([approve(), reject("no")])):
        code, output, _ = await ended(await hook(), RM)
        assert (code, json.loads(output)["hookSpecificOutput"]["permissionDecision"]) == (0, "allow")

        code, output, _ = await ended(await hook(), {**RM, "tool_use_id": "toolu_2"})
        assert (code, json.loads(output)["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")


@pytest.mark.parametrize(
    ("given", "changed", "sentence"),
    [
        (b"", {}, "not JSON"),
        (b"\xff", {}, "not UTF-8"),
        (b'{"tool_name": "Bash", "tool_name": "Read"}', {}, "twice"),
        (b"[]", {}, "not what Claude Code sends"),
        (RM, {"HOME": "/dev/null"}, "/dev/null"),
    ],
)
async def test_an_error_refuses_with_a_sentence(hook, redis_url, given, changed, sentence):
    """Exit code 2 alone stops a call. With any other, Claude Code may run it."""
    async with person(redis_url, ScriptedReviewer({"Bash": approve()})):
        code, output, errors = await ended(await hook(**changed), given)

    assert (code, output) == (2, b"")
    assert sentence in errors


@pytest.mark.parametrize(
    ("given", "changed", "sentence"),
    [
        (RM, {"REDIS_URL": ""}, "REDIS_URL is not set"),
        (RM, {"REDIS_URL": "nonsense"}, "not the address of a Redis"),
        (RM, {"REDIS_URL": "redis://127.0.0.1:1/0"}, "127.0.0.1:1"),
        (RM, {"ASSENT_NAMESPACE": "two words"}, "namespace"),
        (sent("Bash", command="\ud800"), {}, "surrogate"),
        (sent("Write", file_path="a", content="x" * 70_000), {}, "too long to be shown"),
        (RM, {"ASSENT_RING": "/nonexistent"}, "ASSENT_RING"),
    ],
)
async def test_every_doubt_is_a_no_with_a_sentence(hook, redis_url, given, changed, sentence):
    """Claude reads it as the reason."""
    async with person(redis_url, ScriptedReviewer({"Bash": approve(), "Write": approve()})):
        code, output, _ = await ended(await hook(**changed), given)

    said = json.loads(output)["hookSpecificOutput"]
    assert (code, said["permissionDecision"]) == (0, "deny")
    assert sentence in said["permissionDecisionReason"]


@pytest.mark.parametrize("program", ["/nonexistent/python", "false"])
async def test_a_program_that_cannot_start_refuses(hook, monkeypatch, program):
    """Python's own exit code would be 1, and that of a missing program 127."""
    monkeypatch.setattr(sys, "executable", program)

    code, output, errors = await ended(await hook(), RM)

    assert (code, output) == (2, b""), errors


def test_the_prompt_tool_says_which_package_it_needs(monkeypatch):
    """It is not installed with the library."""
    monkeypatch.setitem(sys.modules, "mcp.server", None)

    with pytest.raises(SystemExit, match=r'pip install "mcp>=2'):
        main(["prompt"])


async def test_a_file_of_the_project_is_not_imported(hook, redis_url, tmp_path):
    """Claude may write files there, and the hook must not become what it wrote, whatever Python's own settings say."""
    for name in ("redis.py", "sitecustomize.py"):
        (tmp_path / name).write_text("import os; os._exit(0)")

    async with person(redis_url, ScriptedReviewer([reject()])):
        code, output, _ = await ended(await hook(PYTHONPATH=str(tmp_path)), RM)

    assert (code, b'"deny"' in output) == (0, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_hook_that_is_ended_refuses_and_withdraws_its_question(hook, store, number):
    """People do not decide about a call that nobody waits for."""
    process = await hook()
    process.stdin.write(json.dumps(RM).encode())
    process.stdin.close()
    id = await asked(store)

    os.killpg(process.pid, number)

    assert await process.wait() in {2, -number}  # the shell around it may end by the same signal
    await eventually(lambda: withdrawn(store, id))


@pytest.mark.cell("Claude Code", "Batch: a card each", "Partly decided: runs", "Withdrawn: told")
async def test_calls_of_one_turn_have_a_question_each(hook, store):
    """One that is approved does not wait for the other, which is withdrawn then."""
    one = asyncio.create_task(ended(await hook(), RM))
    first = await asked(store)
    other = asyncio.create_task(ended(await hook(), {**RM, "tool_use_id": "toolu_2"}))
    await admit(store, first)
    await record(store, first, {0: approve()})
    assert b'"allow"' in (await one)[1]

    async def both():
        return len(found := await ids(store)) == 2 and found

    (second,) = {*await eventually(both)} - {first}
    await admit(store, second)
    await store.settle(second, "withdrawn", reason="not needed")
    assert b"withdrawn: not needed" in (await other)[1]


@pytest.mark.cell("Claude Code", "Process ended: found again")
async def test_a_hook_that_starts_again_finds_its_question(hook, redis_url, store):
    """The first one was killed, and could do nothing."""
    process = await hook()
    process.stdin.write(json.dumps(RM).encode())
    process.stdin.close()
    id = await asked(store)
    os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

    async with person(redis_url, ScriptedReviewer([approve()])):
        code, output, _ = await ended(await hook(), RM)

    assert (code, b'"allow"' in output, await ids(store)) == (0, True, [id])


async def asked(store):
    """Wait until a question is there, and somebody waits for its answer."""
    await eventually(lambda: ids(store))
    (id,) = await ids(store)
    await eventually(lambda: is_waited_for(store, id))
    return id


async def withdrawn(store, id):
    await store.take_inbox("billing")
    return (await store.load(id)).withdraw_asked
