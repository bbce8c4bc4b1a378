"""What an integration needs beside this library, named so that it can be installed where the user is.

The library itself may come from a checkout or a wheel file, so its own extras are not named to pip.
"""

PACKAGES: dict[str, tuple[str, ...]] = {
    "langgraph": ("langchain>=1.4,<2", "langgraph>=1.2,<2"),
    "langchain-dev-utils": ("langchain>=1.4,<2", "langgraph>=1.2,<2", "langchain-dev-utils>=1.4.6,<2"),
    "openai-agents": ("openai-agents>=0.22,<0.25",),
    "spoon": ("spoon-ai-sdk>=0.4.10,<0.5", "fastmcp<3", "jsonschema>=4.20"),
    "encryption": ("cryptography>=45",),
}
"""By extra: the same as in pyproject.toml."""


def needs(what: str, extra: str, error: ImportError) -> str:
    """Say what to install, and what failed without it."""
    packages = " ".join(f'"{package}"' for package in PACKAGES[extra])
    return f"{what} needs: pip install {packages} ({error})"
