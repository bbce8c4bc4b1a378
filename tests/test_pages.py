"""What the pages show is a program: pasted into files it passes mypy, against the wheel as it is installed."""

import importlib.util
import shutil
import subprocess
import sys

import pytest

from tests.support.distributions import environment, wheel
from tests.support.pages import PAGES, ROOT, fenced, files_of, name_of, page

pytestmark = pytest.mark.nightly

FOR_OPERATORS = {"docs/reference/playground.md"}
WITH_PYTHON = {name_of(path) for path in PAGES if fenced(page(name_of(path)), "python")}
CHECKED = sorted(WITH_PYTHON - FOR_OPERATORS)


@pytest.fixture(scope="module")
def python(distributions, tmp_path_factory):
    """A reader's environment: our wheel, and what this one has beside it."""
    return environment(tmp_path_factory.mktemp("environment"), wheel(distributions, "assent")) / "python"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of all pages, and the examples, in one folder."""
    folder = tmp_path_factory.mktemp("pages")
    for name in CHECKED:
        for file, source in files_of(name).items():
            assert not (folder / file).exists(), f"{name}: another page has a {file}, too"
            (folder / file).write_text(source)
    for example in ROOT.glob("examples/*.py"):
        assert not (folder / example.name).exists()
        shutil.copy(example, folder)
    if not importlib.util.find_spec("spoon_ai"):
        for path in folder.glob("*spoon*"):
            path.unlink()
    if not importlib.util.find_spec("claude_agent_sdk"):
        for path in folder.glob("*claude*"):
            path.unlink()
    return folder


@pytest.mark.timeout(600)
def test_what_the_pages_show_passes_mypy(python, written):
    """In its strict form."""
    # SpoonAI has type annotations, and does not say so (py.typed); securesystemslib does not list what it exports.
    settings = (
        "[mypy]\n[mypy-spoon_ai.*]\nfollow_untyped_imports = True\n"
        "[mypy-securesystemslib.*]\nimplicit_reexport = True\n"
    )
    (written / "mypy.ini").write_text(settings)

    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "."]
    done = subprocess.run(command, cwd=written, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
