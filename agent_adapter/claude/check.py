"""`assent-claude check`: each way to lose the hook, tried with the real CLI of Claude Code, offline."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_adapter.claude.call import GATED
from agent_adapter.claude.messages import MessagesApi
from agent_adapter.claude.settings import EVENTS, Settings, is_ours, places, read, weak_points, without_hook
from agent_adapter.contract.arguments import encode
from agent_adapter.errors import InvalidRequestError

OLDEST = (2, 1, 295)
"""The first version of Claude Code that knows `onFailure`."""
_ALLOW = ["Bash", "Write", "Edit", "Bash(touch:*)"]
_BYPASS = ("--permission-mode", "bypassPermissions")
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Way:
    """One way to lose the hook: the command that is in its place, and the settings and options around it."""

    name: str
    command: str | None = None
    """`None` where no hook is left."""
    options: tuple[str, ...] = _BYPASS
    local: Mapping[str, Any] | None = None


WAYS = (
    Way("the program of the hook is missing", "/nonexistent/assent-claude hook || exit 2"),
    Way("the program is missing, and the command does not say what then", "/nonexistent/assent-claude hook"),
    Way("the hook ends with exit code 1", "exit 1"),
    Way("the hook is killed", "kill -9 $$"),
    Way("the hook takes longer than its timeout", "sleep 20"),
    Way("the hook prints JSON that is not an answer", """echo '{"hookSpecificOutput": {"x": 1}}'"""),
    Way("the hook prints half of an answer, and exit code 0", "printf '{\"hookSpecificOutput\": {'"),
    Way("the hook prints nothing, and exit code 0", "true"),
    Way("the hook is no longer in the settings"),
    Way("disableAllHooks in the local settings", "true", local={"disableAllHooks": True}),
    Way("no hook; the tools are allowed in every file of settings, and on the command line", options=("--allowedTools", *_ALLOW)),
    Way("no hook; edits are accepted", options=("--permission-mode", "acceptEdits")),
)  # fmt: skip
"""In each, the tools are also allowed in the settings of the user and of the project."""


def find_cli() -> str | None:
    """Return the program of Claude Code: `claude`, or the one in `claude-agent-sdk`."""
    if found := shutil.which("claude"):
        return found
    spec = importlib.util.find_spec("claude_agent_sdk")
    bundled = Path(spec.origin).parent / "_bundled/claude" if spec and spec.origin else None
    return str(bundled) if bundled and bundled.exists() else None


def main(project: Path, cli: str | None) -> int:
    """Try every way, and print what would run. Returns the exit code.

    Raises:
        InvalidRequestError: when there is no CLI, it is too old, or this project has no hook of Assent.
    """
    if cli is None:
        raise InvalidRequestError("claude was not found: install Claude Code, or name its program with --cli")
    version = version_of(cli)
    found = {path: read(path) for path in places(project)}
    own = found[project / ".claude/settings.json"]
    problems = list(problems_of(own))
    print(f"Claude Code {version}, {project}")  # noqa: T201  # this is what the command is for
    for line in (
        *problems,
        *(f"note: {path}: {each}" for path in found for each in weak_points(found[path])),
    ):
        print(line)  # noqa: T201  # likewise
    results = [("control: without Assent", tried(cli, {}, Way("", options=())))]
    results += [(way.name, tried(cli, own, way)) for way in WAYS]
    for name, result in results:
        print(f"{result:8} {name}")  # noqa: T201  # likewise
    is_closed = results[0][1] == "runs" and all(result == "refused" for _, result in results[1:])
    print("Nothing ran." if is_closed and not problems else "NOT SAFE: see above.")  # noqa: T201  # likewise
    return 0 if is_closed and not problems else 1


def version_of(cli: str) -> str:
    """Return the version of a CLI.

    Raises:
        InvalidRequestError: when it does not run, or is too old.
    """
    try:
        said = subprocess.run([cli, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True)  # noqa: S603  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidRequestError(f"{cli} does not run: {error}") from error
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", said.stdout)
    if not numbers or tuple(map(int, numbers.groups())) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise InvalidRequestError(
            f"Claude Code {said.stdout.strip()} lets calls run when a hook fails: {needed} is needed"
        )
    return numbers[0]


def problems_of(settings: Settings) -> Iterator[str]:
    """Say what these settings of a project lack."""
    for event in EVENTS:
        hooks = [each for group in (settings.get("hooks") or {}).get(event, []) for each in group["hooks"]]
        ours = [each for each in hooks if is_ours(each)]
        if len(ours) != 1 or ours[0].get("onFailure") != "block" or not ours[0].get("timeout"):
            yield f"problem: hooks.{event} has no hook of Assent that blocks on failure: run assent-claude init"
    asked = (settings.get("permissions") or {}).get("ask") or []
    if missing := [tool for tool in GATED if tool not in asked]:
        yield f"problem: permissions.ask lacks {', '.join(missing)}: run assent-claude init"


def tried(cli: str, settings: Settings, way: Way) -> str:
    """Let the real CLI try to make a file, in a folder and a home of their own: `runs`, `refused` or `unclear`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        home, project = folder / "home", folder / "project"
        made = [project / "by-bash", project / "by-write"]
        allowed = {"permissions": {"allow": _ALLOW}}
        mine = deepcopy(settings)
        mine.setdefault("permissions", {})["allow"] = _ALLOW
        _replace_hook(mine, way.command)
        _write(home / ".claude.json", {"projects": {str(project): {"hasTrustDialogAccepted": True}}})
        _write(home / ".claude/settings.json", allowed)
        _write(project / ".claude/settings.json", mine)
        _write(project / ".claude/settings.local.json", {**allowed, **(way.local or {})})
        calls = [
            ("Bash", {"command": f"touch {made[0]}"}),
            ("Write", {"file_path": str(made[1]), "content": "x"}),
        ]
        with MessagesApi(calls).serving() as api:
            run_cli(cli, project, home, api.url, way.options)
        if any(path.exists() for path in made):
            return "runs"
        return "refused" if len(api.results) == len(calls) else "unclear"


def run_cli(
    cli: str, project: Path, home: Path, url: str, options: Sequence[str] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the CLI without a terminal, against a stand-in for its service, with nothing of this user's environment."""
    given = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Without it, the CLI refuses to bypass permissions for root, as in a container.
        "IS_SANDBOX": "1",
        **more,
    }
    return subprocess.run(  # noqa: S603  # the user's own program
        [cli, "-p", "go", "--output-format", "json", *options],
        cwd=project, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip


def _replace_hook(settings: Settings, command: str | None) -> None:
    """Put a command in the place of the hook, with a timeout that passes."""
    hooks = settings.get("hooks", {})
    for event, groups in hooks.items():
        if command is None:
            hooks[event] = without_hook(groups)
        for group in groups:
            for each in filter(is_ours, group["hooks"]):
                each.update(command=command, timeout=2)


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(encode(value))
