"""One tool call of Claude Code: what its hook says about it, the question that people see, and the input that may run."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from agent_adapter.claude.files import SeenFile
from agent_adapter.contract.arguments import digest, encode
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.wire import check_request
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError

_FILES = "it reads files, which Claude Code limits by its own rules"
_OUTPUT = "it reads what an approved command prints"
READING: Mapping[str, str] = {
    **dict.fromkeys(("Read", "NotebookRead", "Glob", "Grep", "LS"), _FILES),
    **dict.fromkeys(("BashOutput", "TaskOutput"), _OUTPUT),
    **dict.fromkeys(("ListAgents", "CronList"), "it lists what this session has started"),
    "TodoWrite": "it writes Claude's own list of steps, which runs nothing",
    "ToolSearch": "it reads descriptions of tools",
}
"""The tools that run without a question, each with the reason. All others are asked about, also unknown ones."""
GATED = (
    "Bash", "PowerShell", "Monitor", "KillShell", "TaskStop",
    "Edit", "MultiEdit", "Write", "NotebookEdit", "EnterWorktree", "ExitWorktree",
    "WebFetch", "WebSearch", "Agent", "Task", "SendMessage", "Skill", "SlashCommand", "Workflow", "ReportFindings",
    "CronCreate", "CronDelete", "ScheduleWakeup", "mcp__*",
)  # fmt: skip
"""The tools that Claude Code prompts for where it has lost the hook."""
REFUSED = {"AskUserQuestion": "it cannot be asked in Slack yet: write the question as your answer, and stop"}
"""The tools that are refused, each with the sentence for the model."""
DECISIONS = ("approve", "edit", "reject")
_SHELLS = {"Bash", "PowerShell", "Monitor"}
_SUBJECTS = ("command", "file_path", "notebook_path", "url", "query", "prompt")
_CHANGES = {"Edit", "MultiEdit", "Write", "NotebookEdit"}
_PLACES = ("file_path", "notebook_path", "path")
_OWN = tuple({os.path.realpath(each) for each in (sys.prefix, Path(__file__).parents[1])})
"""Where the program of the hook is."""
_MARK = re.compile(r"\.claude|\.mcp\.json$", re.IGNORECASE)
_NAMED = (".claude", ".mcp.json", *(own.casefold() for own in _OWN if sys.prefix != sys.base_prefix))


@dataclass(frozen=True)
class ToolCall:
    """A tool call that Claude Code is about to make."""

    tool: str
    input: Mapping[str, Any]
    session: str
    cwd: str
    id: str = ""
    """Claude Code's id of the call. The hook for a prompt does not get it."""
    prompt: str = ""
    """Claude Code's id of the user's prompt, if it says one."""
    event: str = "PreToolUse"

    @classmethod
    def of(cls, sent: Any) -> Self:
        """Read what Claude Code sends to a hook.

        Raises:
            InvalidRequestError: when something is missing, or of the wrong kind.
        """
        if not isinstance(sent, dict) or not isinstance(sent.get("tool_input"), dict):
            raise InvalidRequestError("this is not what Claude Code sends to a hook for a tool call")
        event = _text(sent, "hook_event_name")
        if event not in {"PreToolUse", "PermissionRequest"}:
            raise InvalidRequestError(f"{event!r} is not an event that this hook answers")
        return cls(
            tool=_text(sent, "tool_name"),
            input=sent["tool_input"],
            session=_text(sent, "session_id"),
            cwd=_text(sent, "cwd"),
            id=_text(sent, "tool_use_id") if event == "PreToolUse" else "",
            prompt=_text(sent, "prompt_id") if "prompt_id" in sent else "",
            event=event,
        )

    @property
    def is_protected(self) -> bool:
        """Whether it is about Claude Code's settings or the program of the hook. No standing approval is enough for it."""
        paths = [self._real(each) for each in (".", *(self.input.get(name) for name in _PLACES)) if each]
        return (
            any(path.is_relative_to(own) for path in paths for own in _OWN)
            or any(_MARK.match(part) for path in paths for part in path.parts)
            or any(text in encode(dict(self.input)).casefold() for text in _NAMED)
        )

    @property
    def path(self) -> Path | None:
        """The file that it changes; `None` for a tool that changes no single file."""
        named = self.input.get("file_path", self.input.get("notebook_path"))
        return self._real(named) if self.tool in _CHANGES else None

    @property
    def place(self) -> dict[str, Any]:
        """What an edit must keep, because people see the call in this place."""
        if self.tool in _SHELLS:
            return {"cwd": self.cwd}
        return {name: self.input[name] for name in _PLACES if self.tool in _CHANGES and name in self.input}

    def _real(self, named: Any) -> Path:
        if not isinstance(named, str) or "\0" in named:
            raise InvalidRequestError("the path in this call is not a path")
        return Path(os.path.realpath(Path(self.cwd) / Path(named).expanduser()))

    def pause(self, file: SeenFile | None) -> str:
        """Return the id of its question: the same when its hook starts again and the file is as it was shown."""
        return digest("claude-call", self.id, self.tool, dict(self.input), file and file.digest)


def to_request(call: ToolCall, file: SeenFile | None = None) -> HITLRequest:
    """Return the question about a call. A shell command says where it runs; a change of a file shows the diff.

    Raises:
        InvalidRequestError: when it cannot be shown, as when it is too large, or does not fit its file.
    """
    args, said = dict(call.input), None
    if call.tool in _SHELLS:
        if "cwd" in args:
            raise InvalidRequestError(f"{call.tool} has an argument cwd, which nobody knows here")
        # The model's words about the command do not run.
        said = args.pop("description", None)
    elif file:
        said = file.difference(call.tool, call.input)
    args |= call.place
    schema = {name: {"const": value} if name in call.place else {} for name, value in args.items()}
    request = HITLRequest(
        action_requests=(ActionRequest(name=call.tool, args=args, description=said and str(said)),),
        review_configs=(
            ReviewConfig(
                action_name=call.tool,
                allowed_decisions=DECISIONS,
                args_schema={"type": "object", "properties": schema},
                headline=tuple(name for name in _SUBJECTS if name in args),
            ),
        ),
    )
    check_request(request)
    return request


def to_input(call: ToolCall, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input that Claude Code may run: exactly what people approved, without the place that they were shown.

    Raises:
        DecisionNotAllowedError: when an edit changed the place.
    """
    for name, value in call.place.items():
        if args.get(name) != value:
            raise DecisionNotAllowedError(f"an edit changed {name}, and nobody saw the call in that place")
    return {name: value for name, value in args.items() if name in call.input or name not in call.place}


def _text(sent: Mapping[str, Any], name: str) -> str:
    if not isinstance(value := sent.get(name), str) or not value:
        raise InvalidRequestError(f"{name}: Claude Code sent no text for it")
    return value
