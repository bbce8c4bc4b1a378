"""A Python that finds this checkout although `-I` says that nothing else may lead it there, as one does with the library installed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUN = f"import runpy, sys; sys.path.insert(0, '{ROOT}'); runpy.run_module('agent_adapter.claude', run_name='__main__')"


@pytest.fixture(autouse=True)
def python(tmp_path_factory, monkeypatch):
    """Runs `python -I -m agent_adapter.claude …`."""
    program = tmp_path_factory.mktemp("bin") / "python"
    program.write_text(f'#!/bin/sh\nshift 3\nexec "{sys.executable}" -I -c "{RUN}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
