"""One tool call of Claude Code: what its hook says about it, the question that people see, and the input that may run."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Self

from agent_adapter.claude.files import SeenFile, links_in
from agent_adapter.contract.arguments import MAX_ARGUMENTS_BYTES, digest, encode
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.wire import check_request
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError

READING = ("Read", "Glob", "Grep", "BashOutput", "TaskOutput",
           "ListAgents", "CronList", "TodoWrite", "ToolSearch")  # fmt: skip
"""The tools that run without a question: they read, within Claude Code's own rules, or write its own list of steps."""
GATED = (
    "Bash", "PowerShell", "Monitor", "KillShell", "TaskStop", "Edit", "Write", "NotebookEdit", "EnterWorktree",
    "ExitWorktree", "WebFetch", "WebSearch", "Agent", "Task", "SendMessage", "Skill", "Workflow", "ReportFindings",
    "CronCreate", "CronDelete", "ScheduleWakeup", "mcp__*",
)  # fmt: skip
"""The tools that Claude Code prompts for where it has lost the hook."""
REFUSED = {"AskUserQuestion": "it cannot be asked in Slack yet: write the question as your answer, and stop"}
"""The tools that are refused, each with the sentence for the model."""
_SHELLS = {"Bash", "PowerShell", "Monitor"}
_SUBJECTS = ("command", "file_path", "notebook_path", "url", "query", "prompt")
_CHANGES = {"Edit", "Write", "NotebookEdit"}
_PLACES = ("file_path", "notebook_path")
_NOTES = re.compile(r"plans/|projects/[^/]+/memory/")
"""What Claude writes for itself, in its own folder."""
_PROGRAM = (Path(sys.prefix).resolve(), Path(__file__).resolve().parents[1])  # of the hook
_STARTS = re.compile(r"/\.(claude(\.json/|/(?!worktrees/))|mcp\.json/|git/)", re.IGNORECASE)
"""The files in a project by which Claude Code or Git start programs."""


def home() -> Path:
    """Return the folder of Claude Code's own files of this user."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


@dataclass(frozen=True)
class ToolCall:
    """A tool call that Claude Code is about to make."""

    tool: str
    input: Mapping[str, Any]
    session: str
    cwd: str
    id: str = ""
    """Claude Code's id of the call. The hook for a prompt does not get it."""
    event: str = "PreToolUse"

    @classmethod
    def of(cls, sent: Any) -> Self:
        """Read what Claude Code sends to a hook."""
        if not isinstance(sent, dict) or not isinstance(sent.get("tool_input"), dict):
            raise InvalidRequestError("this is not what Claude Code sends to a hook for a tool call")
        event = _text(sent, "hook_event_name")
        if event not in {"PreToolUse", "PermissionRequest"}:
            raise InvalidRequestError(f"{event!r} is not an event that this hook answers")
        return cls(
            tool=_text(sent, "tool_name"), input=sent["tool_input"],
            session=_text(sent, "session_id"), cwd=_text(sent, "cwd"),
            id=_text(sent, "tool_use_id") if event == "PreToolUse" else "", event=event,
        )  # fmt: skip

    @property
    def is_protected(self) -> bool:
        """Whether it names Claude Code's settings or the program of the hook. No standing approval is enough for it."""
        said = f"{self.cwd} {encode(dict(self.input))}".casefold()
        names = (".claude", ".mcp.json", "/claude-code", str(home()), *map(str, _PROGRAM))
        return any(name.casefold() in said for name in names)

    def look(self) -> SeenFile | None:
        """Read the file that it changes; `None` for a tool that changes no single file."""
        if self.tool not in _CHANGES:
            return None
        named, *more = [self.input[name] for name in _PLACES if name in self.input] or [None]
        path = self._real(None if more else named)
        if why := self._why_not_changed(path, Path(self.cwd) / named):
            raise InvalidRequestError(f"{path} {why}: only a person changes it")
        return SeenFile.look(path)

    def _why_not_changed(self, path: Path, named: Path) -> str:
        given = (os.environ.get("CLAUDE_PROJECT_DIR", "."), "~", str(home()), gettempdir())
        project, user, own, temp = map(self._real, given)
        if path.is_relative_to(own) and _NOTES.match(str(path.relative_to(own))):
            return ""
        if not any(path.is_relative_to(each) and not user.is_relative_to(each) for each in (project, temp)):
            return f"is outside of the project, {project}"
        links = [each for each in links_in(project / ".claude", own) if not project.is_relative_to(each)]
        files = [self._real(f"{project}/{name}") for name in (".mcp.json", ".git")]
        starts = any(map(path.is_relative_to, (own, *_PROGRAM, *files, *links)))
        return "may start programs unasked" if starts or _STARTS.search(f"{path}/ {named}/") else ""

    def _real(self, named: Any) -> Path:
        if not isinstance(named, str) or "\0" in named or named != named.strip().strip("\ufeff"):
            raise InvalidRequestError("the path in this call is not a path")
        return Path(os.path.realpath(Path(self.cwd) / Path(named).expanduser()))

    def pause(self, file: SeenFile | None) -> str:
        """Return the id of its question: the same when its hook starts again and the file is as it was shown."""
        return digest("claude-call", self.id, self.tool, dict(self.input), file and file.digest)


def shown_beside(call: ToolCall, file: SeenFile | None) -> dict[str, Any]:
    """Return what people see in front of the input, and an edit must keep: where a command runs, or what changes in a file."""
    if call.tool in _SHELLS:
        return {"cwd": call.cwd}
    if not file:
        return {}
    places = {name: call.input[name] for name in _PLACES if name in call.input}
    return {**places, "diff": file.difference(call.tool, call.input)}


def to_request(call: ToolCall, file: SeenFile | None = None) -> HITLRequest:
    """Return the question about a call, with the file that it changes. All of it is arguments, so a long one has to be read.

    Raises:
        InvalidRequestError: when it cannot be shown, as when it is too large, or does not fit its file.
    """
    given, beside = dict(call.input), shown_beside(call, file)
    for name in {*given} & {*beside}.difference(_PLACES):
        raise InvalidRequestError(f"{call.tool} has an argument {name}, which nobody knows here")
    # The model's words about the command do not run.
    said = given.pop("description", None) if call.tool in _SHELLS else None
    args = {**beside, **given}
    if file and len(encode(args).encode(errors="replace")) > MAX_ARGUMENTS_BYTES:
        raise InvalidRequestError("this change is too long to be shown: make several small edits instead")
    schema = {name: {"const": value} if name in beside else {} for name, value in args.items()}
    request = HITLRequest(
        action_requests=(ActionRequest(name=call.tool, args=args, description=said and str(said)),),
        review_configs=(
            ReviewConfig(
                action_name=call.tool,
                # Nobody would see the diff of an edited change. With a reason, Claude makes the other change itself.
                allowed_decisions=("approve", "reject") if file else ("approve", "edit", "reject"),
                args_schema={"type": "object", "properties": schema, "required": [*args]},
                headline=tuple(name for name in _SUBJECTS if name in args),
            ),
        ),
    )
    check_request(request)
    return request


def to_input(call: ToolCall, args: Mapping[str, Any], file: SeenFile | None = None) -> dict[str, Any]:
    """Return the input that Claude Code may run: exactly what people approved, without what was shown beside it."""
    beside = shown_beside(call, file)
    for name, value in beside.items():
        if args.get(name) != value:
            raise DecisionNotAllowedError(f"an edit changed {name}, and nobody saw the call in that place")
    return {name: value for name, value in args.items() if name in call.input or name not in beside}


def _text(sent: Mapping[str, Any], name: str) -> str:
    if not isinstance(value := sent.get(name), str) or not value:
        raise InvalidRequestError(f"{name}: Claude Code sent no text for it")
    return value
