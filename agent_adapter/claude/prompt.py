"""What `assent-claude prompt` is: an MCP server whose one tool answers the prompts of a run without a terminal."""

import os
from typing import Any, Unpack

from agent_adapter.asking import Asking
from agent_adapter.claude.call import ToolCall
from agent_adapter.claude.hook import Connect, take_grant, verdict
from agent_adapter.contract.arguments import encode
from agent_adapter.errors import InvalidRequestError
from agent_adapter.extras import needs

STAYS = "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR"


def serve(connect: Connect, **asking: Unpack[Asking]) -> None:
    """Answer the prompts of the Claude Code that started this process, until it ends."""
    try:
        from mcp.server import MCPServer  # noqa: PLC0415  # nothing else here needs it
    except ImportError as error:
        raise InvalidRequestError(needs("the prompt tool", "mcp", error)) from error
    server = MCPServer("assent")

    # Claude Code takes a single text, and no structured content beside it.
    @server.tool(structured_output=False)
    async def approve(tool_name: str, input: dict[str, Any], tool_use_id: str) -> str:
        """Ask people about a tool call."""
        session = os.environ["CLAUDE_CODE_SESSION_ID"]
        call = ToolCall(tool_name, input, session=session, cwd=os.getcwd(), id=tool_use_id)  # noqa: PTH109
        if take_grant(call):
            return encode({"behavior": "allow", "updatedInput": input})
        if sentence := _moved(call):
            return encode({"behavior": "deny", "message": sentence})
        return encode(await verdict(call, connect, **asking))

    server.run("stdio")


def _moved(call: ToolCall) -> str:
    """Say why nobody could know the folder that a command runs in. A prompt does not have it; a hook does."""
    if os.environ.get(STAYS) != "1":
        return f"{STAYS} is not 1, so nobody knows the folder of a command: set it where you start claude"
    is_worktree = "worktree" in f"{call.tool} {call.input.get('isolation')}".casefold()
    return "a worktree is another folder than people are shown: work without one" if is_worktree else ""
