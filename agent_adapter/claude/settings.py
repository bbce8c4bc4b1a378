"""The settings of Claude Code that put the hook before each call: written once, and read for what weakens them."""

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from agent_adapter.claude.call import GATED, READING, home
from agent_adapter.contract.arguments import decode, encode_indented
from agent_adapter.errors import InvalidRequestError

Settings = dict[str, Any]
PROGRAM = "-m agent_adapter.claude hook"
"""How the commands of this hook are recognised."""
EVENTS = {"PreToolUse": f"^(?!(?:{'|'.join(READING)})$)", "PermissionRequest": "*"}
"""The hooks, each with the tools that it is for: one asks people, the other answers the prompt about the same call."""
_TAKES_OVER = re.compile(
    r"CLAUDE_CODE_SHELL|CLAUDE_(CONFIG|PROJECT)_DIR|LD_|DYLD_|BASH_ENV|REDIS_URL|ASSENT_"
)
SPARE = 120
"""Seconds that the hook may take longer than people may."""


def hook_command(options: Sequence[str]) -> str:
    """Return the command of the hook. Whatever it ends with, also when it is missing, becomes the exit code that refuses."""
    # With -I, no setting and no file of the project puts another module in the place of one of the hook.
    return f"{shlex.join([sys.executable, '-I', *shlex.split(PROGRAM), *options])} || exit 2"


def places(project: Path) -> list[Path]:
    """Return the files of settings that Claude Code reads in a project: that of the user, and the two of the project."""
    own = ("settings.json", "settings.local.json")
    return [home() / "settings.json", *(project / ".claude" / name for name in own)]


def install(project: Path, command: str, wait: int, *, for_user: bool = False) -> list[str]:
    """Write the hook into both files of a project, and into that of the user if wanted; say what was written.

    Claude Code ignores a file in which anything is wrong. So each file has all of it.
    """
    found, around = {path: read(path) for path in places(project)}, [*ways_around(project)]
    paths = list(found)[0 if for_user else 1 :]
    new = {path: with_hook(found[path], command, wait) for path in paths}
    changed = [path for path in paths if new[path] != found[path]]
    for path in changed:
        write(path, new[path])
    said = {True: "a hook before tool calls, and prompts", False: "nothing to change"}
    lines = [f"{path}: {said[path in changed]}" for path in paths]
    weak = [f"{path}: {point}; take it out" for path in found for point in weak_points(found[path])]
    return [*lines, f"not asked about: {', '.join(READING)}", *weak, *around]


def with_hook(found: Mapping[str, Any], command: str, wait: int) -> Settings:
    """Return settings with the hook before every call, and prompts for all gated tools. All else is kept."""
    settings = deepcopy(dict(found))
    hook = {"type": "command", "command": command, "timeout": wait + SPARE, "onFailure": "block"}
    for event, matcher in EVENTS.items():
        groups = _part(_part(settings, "hooks", dict), event, list)
        if (ours := {"matcher": matcher, "hooks": [hook]}) not in groups:
            groups[:] = [*without_hook(groups), ours]
    ask = _part(_part(settings, "permissions", dict), "ask", list)
    ask += [tool for tool in GATED if tool not in ask]
    # Else Claude Code prompts for no command that it runs in its sandbox.
    _part(settings, "sandbox", dict)["autoAllowBashIfSandboxed"] = False
    return settings


def without_hook(groups: Sequence[Any]) -> list[Any]:
    """Return groups of hooks without those of Assent."""
    left = [{**group, "hooks": [each for each in group["hooks"] if not is_ours(each)]} for group in groups]
    return [group for group in left if group["hooks"]]


def is_ours(hook: Any) -> bool:
    """Whether this is a hook of Assent, of any version."""
    return isinstance(hook, dict) and PROGRAM in str(hook.get("command"))


def _part(settings: Settings, name: str, kind: type) -> Any:
    part = settings.setdefault(name, kind())
    if not isinstance(part, kind):
        raise InvalidRequestError(f"{name}: Claude Code would not read this setting; correct it first")
    return part


def read(path: Path) -> Settings:
    """Read a file of settings; no file has no settings."""
    try:
        settings = decode(path.read_bytes()) if path.exists() else {}
    except (OSError, InvalidRequestError) as error:
        raise InvalidRequestError(f"{path}: {error}") from error
    if not isinstance(settings, dict):
        raise InvalidRequestError(f"{path}: this is not a JSON object")
    return settings


def write(path: Path, settings: Settings) -> None:
    """Write a file of settings as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(encode_indented(settings) + "\n", encoding="utf-8")
    new.replace(path)


def weak_points(settings: Settings) -> Iterator[str]:
    """Say what in these settings would let calls run, if the hook and its rules were lost."""
    permissions = settings.get("permissions") or {}
    rules = [rule for rule in permissions.get("allow") or [] if str(rule).partition("(")[0] not in READING]
    yield from (f"permissions.allow has {rule}" for rule in rules)
    if permissions.get("defaultMode") in {"acceptEdits", "auto", "bypassPermissions"}:
        yield f"permissions.defaultMode is {permissions['defaultMode']}"
    if settings.get("disableAllHooks"):
        yield "disableAllHooks is on, so nobody is asked"


def ways_around(project: Path) -> Iterator[str]:
    """Say which files put something else in the place of the hook, or take its prompts away."""
    for path in [*places(project), *home().glob("plugins/cache/*/*/*/hooks/hooks.json")]:
        found = read(path)
        if without_hook((found.get("hooks") or {}).get("PermissionRequest") or []):
            yield f"{path}: another hook for PermissionRequest, and the first one that answers decides"
        for name in filter(_TAKES_OVER.match, found.get("env") or ()):
            yield f"{path}: env has {name}, which can put something else in the place of the hook"
    for folder in (home(), project / ".claude"):
        for path in [
            each for kind in ("skills", "agents", "commands") for each in folder.glob(f"{kind}/**/*.md")
        ]:
            if re.search(r"^hooks:", path.read_text(errors="replace"), re.MULTILINE):
                yield f"{path}: it brings hooks of its own"
