#!/usr/bin/env python3
"""Whether a release says the same everywhere: its tag, the version, the changelog, and where the project lives.

Reads the tag from the variable TAG, or from the commit that is checked out. Needs Python alone, so that it runs first.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = "OWNER"


def problems(tag: str, version: str, changelog: str, source: str, repository: str) -> list[str]:
    """Say what has to be fixed before this tag can be released.

    Args:
        tag: Such as `v0.2.0`.
        version: What the code says.
        changelog: The text of CHANGELOG.md.
        source: Address of the project in pyproject.toml.
        repository: Where this runs, such as `acme/assent`; empty when nobody says so.
    """
    unreleased, *released = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    newest = released[0].partition("\n")[0] if released else "nothing"
    found = []
    if tag != f"v{version}":
        found.append(f"tag: {tag or 'this commit has none'}, but __version__ is {version}: tag it v{version}")
    if not re.fullmatch(rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d", newest):
        found.append(f"CHANGELOG.md: the newest entry is {newest}: write [{version}] and the date of today")
    if "- " in unreleased:
        found.append(f"CHANGELOG.md: there are entries under Unreleased: move them to [{version}]")
    if PLACEHOLDER in source:
        found.append(f"pyproject.toml: the address {source} has a placeholder: write who owns the repository")
    elif repository and not source.endswith(f"/{repository}"):
        found.append(f"pyproject.toml: the address is {source}, but this is {repository}")
    return found


def tag_of_this_commit() -> str:
    """Give the tag of what is checked out, or nothing."""
    git = ["git", "describe", "--tags", "--exact-match"]
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  # all of its words are ours


def main() -> None:
    """Print what is wrong, and end with 1 if anything is."""
    [version] = re.findall(
        r'^__version__ = "(.+)"$', (ROOT / "agent_adapter/__init__.py").read_text(), re.MULTILINE
    )
    found = problems(
        tag=os.environ.get("TAG") or tag_of_this_commit(),
        version=version,
        changelog=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        source=tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"],
        repository=os.environ.get("GITHUB_REPOSITORY", ""),
    )
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
