"""What the pages show is a program: pasted into files it passes the type checkers, against the wheel as it is installed."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig

import pytest

from tests.support.lanes import require
from tests.support.node import SCRIPTS, install
from tests.support.pages import PAGES, ROOT, fenced, files_of, name_of, page

FOR_OPERATORS = {"docs/reference/playground.md"}
WITH_PYTHON = {name_of(path) for path in PAGES if fenced(page(name_of(path)), "python")}
CHECKED = sorted(WITH_PYTHON - FOR_OPERATORS)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An environment with our wheel, and with what this one has beside it: no checkout, so no bot."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, ROOT]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    require("The wheel", installed.returncode == 0, f"it could not be built: {installed.stderr}")
    (folder / site / "frameworks.pth").write_text(sysconfig.get_path("purelib"))
    return python


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
    return folder


def check(folder, *command):
    """Run a checker over the folder, and give what it says."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_environment_has_the_library_and_no_bot(python, tmp_path):
    """So that the next tests say something about what a reader installs."""
    code, said = check(tmp_path, python, "-c", "import agent_adapter; print(agent_adapter.__file__)")
    assert (code, said.startswith(str(python.parents[1]))) == (0, True), said

    assert "No module named 'bot'" in check(tmp_path, python, "-c", "import bot")[1]


@pytest.mark.timeout(600)
def test_what_the_pages_show_passes_mypy(python, written):
    """In its strict form."""
    # SpoonAI has type annotations, and does not say so (py.typed).
    (written / "mypy.ini").write_text("[mypy]\n[mypy-spoon_ai.*]\nfollow_untyped_imports = True\n")

    code, said = check(written, sys.executable, "-m", "mypy", "--strict", "--python-executable", python, ".")

    assert code == 0, said


@pytest.mark.timeout(600)
def test_what_the_pages_show_passes_pyright(python, written):
    """As it comes."""
    install(SCRIPTS)

    code, said = check(
        written, "node", SCRIPTS / "node_modules/pyright/index.js", "--pythonpath", python, "."
    )

    assert code == 0, said
