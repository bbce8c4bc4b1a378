"""`assent-claude check`: each way to lose the hook, tried with the real CLI of Claude Code, offline."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_adapter.claude.call import GATED
from agent_adapter.claude.messages import MessagesApi
from agent_adapter.claude.settings import Settings, is_ours, places, read, ways_around, without_hook, write
from agent_adapter.errors import InvalidRequestError

OLDEST = (2, 1, 295)
"""The first version of Claude Code that knows `onFailure`."""
_ALLOW = ["Bash", "Write", "Edit", "Bash(touch:*)"]
SAFE = "Nothing ran while Assent was set up."


@dataclass(frozen=True, slots=True)
class Way:
    """One way to lose the hook. In each, every file of settings allows the tools."""

    name: str
    command: str | None = None
    """What is in the place of the hook; `None` for nothing."""
    options: tuple[str, ...] = ("--permission-mode", "bypassPermissions")
    disabled: bool = False
    """Whether one file of settings disables all hooks."""
    broken: int | None = None
    """Which file of settings is not JSON."""


WAYS = (
    Way("the program of the hook is missing", "/nonexistent/assent-claude"),
    Way("the hook ends with exit code 1", "exit 1"),
    Way("the hook is killed", "kill -9 $$"),
    Way("the hook takes longer than its timeout", "sleep 20"),
    Way("the hook prints JSON that is not an answer", """echo '{"hookSpecificOutput": {"x": 1}}'"""),
    Way("the hook prints half of an answer, with exit code 0", "printf '{\"hookSpecificOutput\": {'"),
    Way("the hook prints nothing, with exit code 0", "true"),
    Way("the hook was removed from the settings, and permissions are bypassed"),
    Way("no hook, and the tools are allowed", options=("--allowedTools", *_ALLOW)),
    Way("no hook, and edits are accepted", options=("--permission-mode", "acceptEdits")),
    Way("disableAllHooks is on", "true", disabled=True),
    *(Way(f"{name} is not JSON", "exit 1", broken=index)
      for index, name in enumerate(("the user's file", ".claude/settings.json", ".claude/settings.local.json"))),
)  # fmt: skip


def find_cli() -> str | None:
    """Return the program of Claude Code: `claude`, or the one in `claude-agent-sdk`."""
    if found := shutil.which("claude"):
        return found
    spec = importlib.util.find_spec("claude_agent_sdk")
    bundled = Path(spec.origin).parent / "_bundled/claude" if spec and spec.origin else None
    return str(bundled) if bundled and bundled.exists() else None


def run(project: Path, cli: str | None) -> Iterator[str]:
    """Try every way, and say for each what would run; the last line is `SAFE` where nothing did."""
    if cli is None:
        raise InvalidRequestError("claude was not found: install Claude Code, or name its program with --cli")
    yield f"Claude Code {version_of(cli)}, {project}"
    found = [read(path) for path in places(project)]
    lacking = {*GATED}.difference(*((each.get("permissions") or {}).get("ask") or [] for each in found))
    yield f"tools without a prompt: {', '.join(sorted(lacking)) or 'none'}"
    control = tried(cli, [{}] * 3, Way("control", options=()))
    yield f"{control:8} without Assent, as it should"
    around = [*ways_around(project)]
    yield from around
    is_safe = control == "runs" and not lacking and not around
    for way in WAYS:
        result = tried(cli, found, way)
        yield f"{result:8} {way.name}"
        is_safe = is_safe and result == "refused"
    yield SAFE if is_safe else "NOT SAFE: run assent-claude init, and look at the lines above."


def version_of(cli: str) -> str:
    """Return the version of a CLI."""
    try:
        said = subprocess.run([cli, "--version"], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidRequestError(f"{cli} does not run: {error}") from error
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", said.stdout)
    if not numbers or tuple(map(int, numbers.groups())) < OLDEST:
        raise InvalidRequestError(f"{said.stdout.strip()} is too old: {'.'.join(map(str, OLDEST))} is needed")
    return numbers[0]


def tried(cli: str, found: Sequence[Settings], way: Way) -> str:
    """Let the real CLI try to make two files, in a folder and a home of its own: `runs`, `refused` or `unclear`."""
    with tempfile.TemporaryDirectory() as name:
        home, project = Path(name).resolve() / "home", Path(name).resolve() / "project"
        write(home / ".claude.json", {"projects": {str(project): {"hasTrustDialogAccepted": True}}})
        paths = (home / ".claude/settings.json", *places(project)[1:])
        for index, (path, settings) in enumerate(zip(paths, found, strict=True)):
            write(path, _weakened(settings, way))
            if index == way.broken:
                path.write_text("{")
        made = [project / "by-bash", project / "by-write"]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("Bash", {"command": f"touch {made[0]}"}),
            ("Write", {"file_path": str(made[1]), "content": "x"}),
        ]
        with MessagesApi(calls) as api:
            run_cli(cli, project, home, api.url, way.options)
        if any(path.exists() for path in made):
            return "runs"
        return "refused" if len(api.results) == len(calls) else "unclear"


def _weakened(settings: Settings, way: Way) -> Settings:
    changed = deepcopy(settings)
    changed.setdefault("permissions", {})["allow"] = _ALLOW
    if way.disabled:
        changed["disableAllHooks"] = True
    for event, groups in changed.get("hooks", {}).items():
        changed["hooks"][event] = groups if way.command else without_hook(groups)
        for hook in filter(is_ours, [each for group in groups for each in group["hooks"]]):
            hook.update(command=way.command, timeout=2)
    return changed


def run_cli(cli: str, project: Path, home: Path, url: str, options: Sequence[str] = (), **more: str) -> None:
    """Run the CLI without a terminal, against a stand-in for its service, with nothing of this user's environment."""
    subprocess.run(  # noqa: S603  # the user's own program
        [cli, "-p", "go", *options], cwd=project, env=environment(home, url) | more,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


def environment(home: Path, url: str) -> dict[str, str]:
    """Return the environment of a CLI that talks to a stand-in."""
    return {
        "PATH": os.environ.get("PATH", ""), "HOME": str(home),
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Without it, the CLI refuses to bypass permissions for root, as in a container.
        "IS_SANDBOX": "1",
    }  # fmt: skip
