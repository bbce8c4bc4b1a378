"""The Python of the documentation, as a reader pastes it into files, and what runs and checks these files."""

import asyncio
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.commands import program
from tests.support.redis_users import address_for

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
REDIS = "redis://localhost:6379/0"
CLAUDE = '__import__("langchain_anthropic").ChatAnthropic(model="claude", max_retries=0)'
"""The client of LangChain that is installed. A second try would hide that a connection is of no use."""


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def fenced(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def files_of(name: str) -> dict[str, str]:
    """All Python of a page, pasted from top to bottom into one file, or into the files that it names: `# office.py`."""
    own = Path(name).stem.lower().replace("-", "_") + ".py"
    pasted: dict[str, list[str]] = {}
    for source in fenced(page(name), "python"):
        named = re.match(r"# (\w+\.py)\n", source)
        pasted.setdefault(named[1] if named else own, []).append(source)
    return {file: "\n\n".join(sources) for file, sources in pasted.items()}


class Ran(NamedTuple):
    """What a program has left behind."""

    names: dict[str, Any]
    printed: str


async def run_page(name: str, redis_url: str, instead: dict[str, Any] | None = None) -> Ran:
    """Run the one program of a page, in a thread, since it has an event loop of its own.

    Args:
        name: Of the page.
        redis_url: Stands in the place of the page's.
        instead: By a piece of the page's source, the value that stands in its place: a scripted model for `"gpt-5"`.
    """
    (source,) = files_of(name).values()
    return await run_program(source, name, redis_url, instead)


def _with_users(source: str, redis_url: str) -> str:
    """Give each agent of a program the address with its own user."""

    def own(found: re.Match[str]) -> str:
        return f'"{address_for(redis_url, "agent", found[2])}"{found[1]}'

    source = re.sub(rf'"{re.escape(REDIS)}"(,\s*agent="([a-z0-9-]+)")', own, source)
    agent = re.search(r'agent="([a-z0-9-]+)"', source)
    return source.replace(REDIS, address_for(redis_url, "agent", agent[1]) if agent else redis_url)


async def run_program(source: str, name: str, redis_url: str, instead: dict[str, Any] | None = None) -> Ran:
    names: dict[str, Any] = {"__name__": "__main__"}
    source = _with_users(source, redis_url)
    for number, (piece, value) in enumerate((instead or {}).items()):
        assert piece in source, f"{name} does not say {piece}"
        source = source.replace(piece, f"instead_{number}")
        names[f"instead_{number}"] = value
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        await asyncio.to_thread(exec, compile(source, name, "exec"), names)
    if isinstance(runner := names.get("loop"), asyncio.Runner):
        await asyncio.to_thread(runner.close)
    return Ran(names, printed.getvalue())


async def start_page(name: str, redis_url: str, model_url: str, instead: dict[str, str] | None = None) -> str:
    """Run the first program of a page in a process of its own, with the model behind this address, and give what it printed."""
    source, *_ = files_of(name).values()
    source = re.sub('"openai:[^"]+"', CLAUDE, _with_users(source, redis_url))
    for piece, other in (instead or {}).items():
        source = source.replace(piece, other)
    model = {"OPENAI_BASE_URL": f"{model_url}/v1", "ANTHROPIC_BASE_URL": model_url, "OPENAI_API_KEY": "none",
             "ANTHROPIC_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **model}
    async with program(sys.executable, "-c", source, errors=subprocess.PIPE, env=environment) as process:
        printed, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return printed.decode()
