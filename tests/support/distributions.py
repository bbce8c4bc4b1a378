"""What is published, built as `make dist` does, and fresh environments that install it."""

import subprocess
import sys
import sysconfig
import zipfile
from importlib.util import find_spec
from pathlib import Path

from tests.support.lanes import require
from tests.support.pages import ROOT

SOURCES = (ROOT, ROOT / "packages/assent-bot")


def build(folder: Path) -> Path:
    """Build every distribution into a folder, without reaching an index."""
    require(
        "What builds distributions", find_spec("build") and find_spec("hatchling"), "`make dist` installs it"
    )
    for source in SOURCES:
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
    return folder


def wheel(folder: Path, name: str) -> Path:
    [path] = folder.glob(f"{name}-*.whl")
    return path


def inside(path: Path) -> set[str]:
    """The files in a wheel."""
    return {name for name in zipfile.ZipFile(path).namelist() if not name.endswith("/")}


def environment(folder: Path, *wheels: Path) -> Path:
    """Make an environment with these wheels, and with what this one has beside them: no checkout. Gives its `bin`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, *wheels], check=True)
    [site] = folder.glob("lib/python*/site-packages")
    (site / "beside.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent
