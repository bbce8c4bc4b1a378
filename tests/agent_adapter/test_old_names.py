"""Import paths that older documentation names work for one more minor version, and say where to go."""

import importlib
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GONE_WITH = "0.3"
MOVED = {
    "agent_adapter.policy": (
        "agent_adapter.gating",
        (
            *("InterruptOn", "InterruptOnConfig", "Options", "Policy", "Review", "check_tools"),
            "from_camel_case",
        ),
    ),
    "agent_adapter.resumables": (
        "agent_adapter.worker",
        ("Finished", "GoneOn", "Over", "Paused", "Resumable", "Tell", "Turn"),
    ),
    "agent_adapter.resumables.langgraph": (
        "agent_adapter.worker.langgraph",
        ("FRAMEWORK", "ResumableGraph"),
    ),
    "agent_adapter.resumables.openai_agents": (
        "agent_adapter.worker.openai_agents",
        ("FRAMEWORK", "ResumableAgent"),
    ),
}
"""By the old module: the new one, and every public name that the old one had in version 0.1."""
RENAMED = {"Policy": "Gate", "Tell": "Notify"}
NOT_EXPORTED = dict.fromkeys(("Tell", "Turn"), "agent_adapter.worker.resumable")


@pytest.mark.parametrize("old", MOVED)
def test_an_old_import_path_gives_the_same_things_with_a_warning(old: str):
    """An agent that was not changed yet goes on working, and its log says what to import instead, and until when."""
    new, names = MOVED[old]
    for module in [module for module in sys.modules if module in {"agent_adapter.resumables", old}]:
        del sys.modules[module]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = importlib.import_module(old)

    for name in names:
        there = importlib.import_module(NOT_EXPORTED.get(name, new))
        assert getattr(found, name) is getattr(there, RENAMED.get(name, name))
    assert sorted(found.__all__) == sorted(names)
    sentence = f"{old} is now {new}; the old name goes with version {GONE_WITH}"
    assert sentence in [str(warning.message) for warning in warned]


@pytest.mark.parametrize("page", ["CHANGELOG.md", "docs/reference/versions.md"])
def test_the_pages_say_the_same_version(page: str):
    """Whoever plans an upgrade reads it there."""
    text = (ROOT / page).read_text(encoding="utf-8")

    assert f"the old name goes with version {GONE_WITH}" in text or f"go with version {GONE_WITH}" in text


def test_the_old_paths_are_there_no_longer_than_they_say():
    """The version that they go with has no file of theirs."""
    version = importlib.import_module("agent_adapter").__version__
    is_over = tuple(map(int, version.split(".")[:2])) >= tuple(map(int, GONE_WITH.split(".")))

    assert is_over is not (ROOT / "agent_adapter/policy.py").is_file()
