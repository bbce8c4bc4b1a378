"""What people read in Slack is said in `bot/sentences`, and nowhere else."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BOT = Path(__file__).parents[2] / "bot"
LOOKED_AT = ("domain", "jobs", "listeners", "rendering", "slack", "store", "text", "use_cases")
FOR_OPERATORS = {
    "domain/role.py": "a warning in the log and in /readyz",
    "jobs/admit.py": "reasons in the log",
    "jobs/anchor_targets.py": "names of the log and of git, a commit",
    "jobs/anchoring.py": "a warning in /readyz",
    "jobs/audit_mover.py": "warnings in /readyz",
    "jobs/old_namespace.py": "a warning in the log and in /readyz, a line of the doctor",
    "jobs/policy_watch.py": "warnings in the log and in /readyz",
    "jobs/sealer.py": "warnings in /readyz",
    "jobs/slack_call.py": "the reason that the agent gets",
    "jobs/slack_trouble.py": "notices to agents, warnings in /readyz",
    "jobs/quarantine.py": "notices to agents, lists of the doctor",
    "jobs/redis_restore.py": "the reason that the agent gets, a warning in /readyz",
    "jobs/slack_link.py": "reasons in /readyz",
    "listeners/bolt_app.py": "reasons in the log",
    "listeners/payloads.py": "reasons in the log",
    "jobs/lost_clicks.py": "what agents that wait hear",
    "slack/client.py": "the cure of a wrong token, in /readyz",
    "slack/directory.py": "types in quotes, and the name of a task",
    "slack/manifest.py": "the app's own page in Slack: the manifest is written once, before the bot runs",
    "slack/socket_mode.py": "reasons in /readyz",
    "store/durability.py": "errors at the start, a warning in the log and in /readyz",
}
"""Nobody reads their sentences on a card, in a form, an answer, a thread or a list."""
_SEVERAL_WORDS = re.compile(r"[A-Za-z]{2}.*\S \S|\S \S.*[A-Za-z]{2}", re.DOTALL)


def own_sentences(path: Path) -> list[str]:
    """Give the texts of several words in a file that are not a docstring, a log entry or an error."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed_over = {id(node) for found in _not_shown(tree) for node in ast.walk(found)}
    texts = (
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in passed_over
    )
    return [node.value for node in texts if isinstance(node.value, str) and _SEVERAL_WORDS.search(node.value)]


def _not_shown(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            # A text that is a statement of its own is a docstring.
            case ast.Expr(value=ast.Constant()) | ast.Raise():
                yield node
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "re"))):
                yield node
            # The text of an error.
            case ast.Call(func=ast.Attribute(attr="__init__")):
                yield node


FILES = {
    str(path.relative_to(BOT)): own_sentences(path)
    for room in LOOKED_AT
    for path in sorted((BOT / room).rglob("*.py"))
}


@pytest.mark.parametrize("name", sorted(FILES.keys() - FOR_OPERATORS.keys()))
def test_a_file_has_no_sentence_of_its_own(name: str):
    """A translation finds every sentence in one package."""
    assert FILES[name] == []


@pytest.mark.parametrize("name", sorted(FOR_OPERATORS))
def test_an_exception_is_still_needed(name: str):
    """A file without sentences of its own is not on the list."""
    assert FILES[name]


_IMPORTS_ALL = """
import importlib, pkgutil
from contextvars import ContextVar
from bot.sentences import language
import bot

def refuse():
    raise AssertionError("a sentence was taken when a module was imported")

language._spoken = ContextVar("language", default=refuse)
for module in pkgutil.walk_packages(bot.__path__, "bot."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_no_sentence_is_taken_before_its_reader_is_known():
    """One that is kept when a module is imported would be English for everybody."""
    done = subprocess.run([sys.executable, "-c", _IMPORTS_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
