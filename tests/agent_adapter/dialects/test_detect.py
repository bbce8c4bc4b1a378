"""Telling the dialects apart."""

import subprocess
import sys

import pytest

from agent_adapter.dialects import DIALECTS, detect
from agent_adapter.errors import UnknownDialectError
from tests.agent_adapter.integrations.office import CONFIG, GO, TURN, Office


@pytest.mark.parametrize(("mode", "name"), [("batched", "langchain"), ("per_call", "langchain_per_call")])
async def test_real_pauses_are_recognised(mode, name):
    """By the keys that the framework writes."""
    pauses = (await Office().agent(TURN, mode=mode).ainvoke(GO, CONFIG))["__interrupt__"]

    assert {detect(pause.value) for pause in pauses} == {name}


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ("approve?", "found str, not an object"),
        (None, "found NoneType, not an object"),
        ({}, "found an empty object"),
        ({"question": "x", "options": []}, "found the keys 'question', 'options'"),
        ({"type": "something_else"}, "found the keys 'type'"),
    ],
)
def test_unknown_pause_says_what_was_looked_for_and_what_was_found(payload, found):
    """So that whoever writes the pause can see what is missing."""
    with pytest.raises(UnknownDialectError) as caught:
        detect(payload)

    assert found in str(caught.value)
    assert all(name in str(caught.value) for name in DIALECTS)
    assert "'action_requests'" in str(caught.value)


def test_dialects_import_no_framework():
    """They serve processes that have none installed."""
    program = (
        "import sys, agent_adapter.dialects\n"
        "print([m for m in sys.modules if m.partition('.')[0] in ('langchain', 'langchain_core', 'langgraph')])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert output.strip() == "[]"
