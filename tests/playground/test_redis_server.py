"""A private Redis comes from this machine, and where it has none, a person reads how to get one."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.pages import ROOT


@pytest.fixture
def asked(tmp_path):
    """Ask where the server is, on a machine that has these programs and no package of Python."""

    def ask(*programs):
        for name in programs:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        return subprocess.run(
            [sys.executable, "-S", "playground/redis_server.py"],
            cwd=ROOT, env={"PATH": os.fspath(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return ask


@pytest.mark.parametrize("name", ["redis-server", "valkey-server"])
def test_a_server_on_the_path_is_used(asked, tmp_path, name):
    """Redis or Valkey."""
    done = asked(name)

    assert (done.returncode, done.stdout) == (0, f"{tmp_path / name}\n")


def test_where_there_is_no_server_one_line_for_each_platform_says_how_to_get_one(asked):
    """As on Python 3.13, for which no package brings one."""
    done = asked()

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("no Redis server found. Install one:\n")
    for platform in ("Debian, Ubuntu", "Fedora", "Alpine", "macOS"):
        assert f"\n  {platform}: " in done.stderr
    assert "set REDIS_URL" in done.stderr


@pytest.mark.parametrize("target", ["demo", "playground", "test"])
def test_make_says_so_before_it_installs_anything(tmp_path, target):
    """On Python 3.13, which this one stands in for: it is asked whether it is that old, and says no."""
    (tmp_path / "playground").symlink_to(ROOT / "playground")
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 1\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)

    done = subprocess.run(
        [shutil.which("make"), "-f", ROOT / "Makefile", target, f"PYTHON={python}"],
        cwd=tmp_path, env={"PATH": os.fspath(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "no Redis server found. Install one:" in done.stderr
    assert (done.returncode, "installing" in done.stdout) == (2, False)
