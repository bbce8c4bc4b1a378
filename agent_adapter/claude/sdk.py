"""The Claude Agent SDK: people decide about the tool calls of an agent in this process."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, Unpack

from agent_adapter.asking import Asking
from agent_adapter.claude.call import READING, ToolCall
from agent_adapter.claude.hook import Json, to_hook, verdict
from agent_adapter.claude.settings import SPARE
from agent_adapter.client import ApprovalClient, expect_client

try:
    from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny
except ImportError as error:
    raise ImportError("The Claude Agent SDK is missing: pip install claude-agent-sdk") from error


def hooks(approvals: ApprovalClient, **asking: Unpack[Asking]) -> dict[Any, list[HookMatcher]]:
    """Return hooks for `ClaudeAgentOptions` that ask about every tool call but those that only read.

    They come before all permission rules and modes, and block the call when they fail:

        options = ClaudeAgentOptions(hooks=hooks(approvals, channel="C0123ABCD"))
    """
    expect_client(approvals)

    async def decide(sent: Any, tool_use_id: str | None, _: Any) -> Json:
        call = ToolCall.of({**sent, "tool_use_id": tool_use_id})
        if call.tool in READING:
            return {}
        return to_hook(await verdict(call, lambda: nullcontext(approvals), **asking))

    wait = asking.get("expires_in", timedelta(hours=1))
    seconds = wait.total_seconds() if isinstance(wait, timedelta) else wait
    return {"PreToolUse": [HookMatcher(hooks=[decide], timeout=seconds + SPARE, on_failure="block")]}


def can_use_tool(
    approvals: ApprovalClient, *, run: str, cwd: str, **asking: Unpack[Asking]
) -> Callable[[str, Json, Any], Awaitable[Any]]:
    """Return a `can_use_tool` for `ClaudeAgentOptions`. It sees only the calls that no rule and no mode has allowed before.

    `run` is the id of the run, and `cwd` the folder that the agent works in, as in its options.
    """
    expect_client(approvals)

    async def decide(tool: str, given: Json, context: Any) -> Any:
        call = ToolCall(tool, given, session=run, cwd=cwd, id=context.tool_use_id)
        found = await verdict(call, lambda: nullcontext(approvals), **asking)
        if found["behavior"] == "allow":
            return PermissionResultAllow(updated_input=found["updatedInput"])
        return PermissionResultDeny(message=found["message"])

    return decide
