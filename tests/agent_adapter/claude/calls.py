"""Tool calls as Claude Code sends them to a hook."""

import sys
from typing import Any

PYTHON = sys.executable
"""Not the one that stands in its place in these tests."""


def sent(tool: str, cwd: object = "/srv/app", **changed: Any) -> dict[str, Any]:
    """Give what a hook gets. What is not a field of it goes into the input of the tool."""
    fields = {
        "session_id": "session-1",
        "prompt_id": "prompt-1",
        "tool_use_id": "toolu_1",
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
    }
    given = {name: value for name, value in changed.items() if name not in fields}
    own = {name: value for name, value in changed.items() if name in fields}
    return {**fields, **own, "tool_name": tool, "cwd": str(cwd), "tool_input": given}


def prompted(tool: str, cwd: object = "/srv/app", **changed: Any) -> dict[str, Any]:
    """Give what the hook for a prompt gets: the same, without the id of the call."""
    found = sent(tool, cwd, hook_event_name="PermissionRequest", **changed)
    del found["tool_use_id"]
    return found
