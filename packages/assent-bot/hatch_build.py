"""What the bot's distribution takes from the repository around it. In an unpacked sdist all of it is there already."""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
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
        groups = library["dependency-groups"]
        metadata["dependencies"] = [f"assent=={version}", *groups["bot"]]
        metadata["optional-dependencies"] = {extra: groups[extra] for extra in ("calendar", "otel")}


class WithThePackage(BuildHookInterface):
    """Adds the package `bot`, which lies at the top of a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        """Take it from there, unless it lies here."""
        if not (Path(self.root) / "bot").is_dir():
            build_data["force_include"][str(REPOSITORY / "bot")] = "bot"


def _version(source: str) -> str:
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    return version
