"""The Claude Agent SDK: its hooks and its callback, with the real package and the program in it."""

import pytest

from agent_adapter.claude import check
from agent_adapter.claude.messages import MessagesApi
from agent_adapter.testing import approve, edit, reject
from tests.support.deciding import deciding
from tests.support.lanes import require_claude

require_claude()

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient  # noqa: E402

from agent_adapter.claude.sdk import can_use_tool, hooks  # noqa: E402

TOUCH = ("Bash", {"command": "touch made"})


async def run(tmp_path, calls, **options):
    """Let an agent make these calls; give what it got back for each."""
    with MessagesApi(calls) as api:
        environment = check.environment(tmp_path / "home", api.url)
        given = ClaudeAgentOptions(cwd=tmp_path, env=environment, setting_sources=[], **options)
        async with ClaudeSDKClient(given) as client:
            await client.query("go")
            async for _ in client.receive_response():
                pass
    return [*api.results.values()]


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
@pytest.mark.parametrize(
    ("answer", "made"),
    [
        (approve(), ["made"]),
        (edit({"command": "touch other", "cwd": "CWD"}), ["other"]),
        (reject(), []),
        (None, []),
    ],
)
async def test_hooks_let_run_what_people_decided(tmp_path, mode, answer, made):
    """Also in an agent that bypasses permissions."""
    if callable(answer):
        answer = edit({"command": "touch other", "cwd": str(tmp_path)})
    async with deciding(answer) as approvals:
        await run(tmp_path, [TOUCH], hooks=hooks(approvals), permission_mode=mode)

    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == made


async def test_a_hook_that_fails_blocks_the_call(tmp_path):
    """Here, the client is closed."""
    approvals = deciding(approve())
    await approvals.close()
    approvals.interrupt = None

    await run(tmp_path, [TOUCH], hooks=hooks(approvals), permission_mode="bypassPermissions")

    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("answer", "is_made"), [(approve(), True), (reject("no"), False), (None, False)])
async def test_the_callback_lets_run_what_people_decided(tmp_path, answer, is_made):
    """It sees the calls that nothing has allowed before."""
    async with deciding(answer) as approvals:
        ask = can_use_tool(approvals, run="run-1", cwd=str(tmp_path))
        (result,) = await run(tmp_path, [TOUCH], can_use_tool=ask)

    assert ((tmp_path / "made").exists(), "no" in result or is_made or not answer) == (is_made, True)
