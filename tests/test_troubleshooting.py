"""The pages about trouble have a line for everything that the code can say, and none for what it does not say."""

import ast
import importlib
import re

import pytest

from tests.support import sources
from tests.support.pages import ROOT, page

PAGE = page("docs/how-to/troubleshooting.md") + page("docs/how-to/log-events.md")
SOURCES = sorted(path for name in ("agent_adapter", "bot") for path in (ROOT / name).rglob("*.py"))
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


def section(title):
    """Give a part of the page, up to the next heading of its level or above."""
    level = len(title.partition(" ")[0])
    return re.split(rf"^#{{2,{level}}} ", PAGE.partition(f"\n{title}\n")[2], maxsplit=1, flags=re.MULTILINE)[
        0
    ]


def named(text):
    """Give what the rows of its tables are about."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def parsed():
    """Give each module of the library and the bot."""
    return [(path, sources.parsed(path.read_text(encoding="utf-8"))) for path in SOURCES]


def strings(node):
    """Give the texts that an expression may be: one, or one of two."""
    if isinstance(node, ast.IfExp):
        return strings(node.body) | strings(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) else set()


def calls(tree, *names):
    """Give the calls of functions and methods with these names."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (getattr(node.func, "attr", None) or getattr(node.func, "id", None)) in names
    ]


# --- The log ----------------------------------------------------------------------------------------------------------

# Modules in which the text of an event is handed to the function that logs it: its name there.
HANDED_ON = {"slack_watch.py": ("_doubt",), "loop.py": ("_warn_once",)}
# What `check_server` warns of is logged by whoever asked it: app.py and client.py.
JUDGED = {"does not say", "keeps no append-only file", "evicts approvals once it is full"}


def logged():
    """Give every text that is logged, as it stands in the code, and the places whose text comes from elsewhere."""
    found, from_elsewhere = set(), set()
    for path, tree in parsed():
        for call in calls(tree, *LEVELS):
            if getattr(call.func.value, "id", "") == "logger":
                texts = strings(call.args[0])
                found |= texts
                from_elsewhere |= set() if texts else {path.name}
        for call in calls(tree, *HANDED_ON.get(path.name, ())):
            found |= {
                text for argument in call.args for text in strings(argument) if re.search(r"[ .]", text)
            }
    return {re.sub(r"%[rsd]", "…", text) for text in found}, from_elsewhere


EVENTS, FROM_ELSEWHERE = logged()
LOGS = ("## In the log of the bot", "## In the agent", "## In a worker")
ROWS = [row for title in LOGS for row in named(section(title))]


def test_the_texts_of_the_log_are_all_found():
    """Those that come from elsewhere are known, so no event is missed."""
    assert {"app.py", "client.py", *HANDED_ON} == FROM_ELSEWHERE
    assert len(EVENTS) > 90


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_event_of_the_log_has_a_line(event):
    """An event by its name, a sentence by how it begins."""
    is_name = re.fullmatch(r"[a-z_.]+", event)

    assert any(event == row if is_name else event.startswith(row.rstrip("…")) for row in ROWS)


def test_every_line_is_about_an_event():
    """A name that the code does not log any more is taken out."""
    texts = EVENTS | {f"Redis at … {judged}" for judged in JUDGED}

    assert [row for row in ROWS if not any(text.startswith(row.rstrip("…")) for text in texts)] == []


def test_what_is_said_of_the_server_has_a_line():
    """Its sentences are in server_check.py."""
    source = page("agent_adapter/redis/server_check.py")

    assert [text for text in JUDGED if text not in source or f"Redis at … {text}" not in ROWS] == []


def test_no_event_has_two_lines():
    """So that there is one answer."""
    assert sorted(set(ROWS)) == sorted(ROWS)


# --- /readyz ----------------------------------------------------------------------------------------------------------


def value(node, module):
    """Give the text of an expression in a module: what it says, or the name of what it says."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return getattr(module, node.id, None)
        case ast.JoinedStr():
            return f"{node.values[0].value.strip()} …"
        case ast.BinOp():
            return f"{value(node.left, module).strip()} …"


def reasons():
    """Give the names under which something is a fault or a warning in /readyz."""
    faults, loops, warnings = {"redis", "slack"}, set(), set()
    for path, tree in parsed():
        if path.name not in {"app.py", "wiring.py", "replies.py"} and path.parent.name not in {
            "jobs",
            "on_call",
            "runtime",
        }:
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        faults |= {value(call.args[0], module) for call in calls(tree, "fault")}
        loops |= {value(call.args[0], module) for call in calls(tree, "Job", "start") if len(call.args) > 1}
        warnings |= {value(call.args[0], module) for call in calls(tree, "warn")}
        for node in ast.walk(tree):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Subscript) and getattr(target.value, "attr", "") == "warnings":
                    warnings.add(value(target.slice, module))
        # `health.py` warns of a method by its name, which a call hands to it.
        warnings |= {module.POST, module.EDIT} if path.name == "slack_trouble.py" else set()
    return faults - {None}, loops - {None}, warnings - {None}


def test_every_reason_of_readyz_has_a_line():
    """And no line is about something else."""
    faults, loops, warnings = reasons()

    assert set(named(section("### Faults"))) == faults | loops
    assert set(named(section("### Warnings"))) == warnings


# --- Exit codes -------------------------------------------------------------------------------------------------------


def codes(*names):
    """Give the codes with which a command may end: what its module says, or 1 for a sentence and 2 for a wrong option."""
    found = {0, 2}
    for name in names:
        tree = ast.parse(page(name))
        found |= {keyword.value.value for node in ast.walk(tree) if isinstance(node, ast.Call)
                  for keyword in node.keywords if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)}  # fmt: skip
        for call in calls(tree, "Exit", "exit"):
            found |= {argument.value if isinstance(argument, ast.Constant) else 1 for argument in call.args}
    return found


def test_every_exit_code_has_a_line():
    """Of the bot, and of a worker."""
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|", section("## Exit codes"), re.MULTILINE)
    of_worker = {int(code) for command, code in rows if "worker" in command}
    of_bot = {int(code) for command, code in rows if "worker" not in command}

    assert of_worker == codes("agent_adapter/worker/__main__.py")
    assert of_bot == codes("bot/cli/commands.py", "bot/cli/exits.py")
