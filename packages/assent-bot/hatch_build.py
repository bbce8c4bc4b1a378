"""What the bot's distribution says like the library's: read from the repository, or kept in an unpacked sdist."""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = Path(__file__).parents[2]


class OfTheRepository(MetadataHookInterface):
    """Fills in what `dynamic` names. Hatchling skips it in an sdist, where all of it is written down."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Take the library's own fields, and depend on the library of the same version."""
        library = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
        version = _version(
            (REPOSITORY / library["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
        )
        metadata.update({name: library["project"][name] for name in ("requires-python", "license", "urls")})
        metadata["version"] = version
        metadata["dependencies"] = [f"assent=={version}", *library["dependency-groups"]["bot"]]


def _version(source: str) -> str:
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    return version
