"""The packages that an integration needs, as a command that installs them.

The command names the packages and not an extra of this library, because the library may come from a checkout or a wheel file.
"""

PACKAGES: dict[str, tuple[str, ...]] = {
    "langgraph": ("langchain>=1.4.6", "langgraph>=1.2.20"),
    "langchain-dev-utils": ("langchain>=1.4.6", "langgraph>=1.2.20", "langchain-dev-utils>=1.4.6"),
    "openai-agents": ("openai-agents>=0.22",),
    "pydantic-ai": ("pydantic-ai-slim>=2.55",),
    "mcp": ("mcp>=2.3,<3",),
    "spoon": ("spoon-ai-sdk>=0.4.10", "fastmcp<3", "jsonschema>=4.20"),
    "encryption": ("cryptography>=45",),
    "receipts": ("securesystemslib[crypto]>=1.4", "pydantic>=2.12"),
    "otel": ("opentelemetry-api>=1.35",),
}
"""By extra; the same as in pyproject.toml."""


def needs(what: str, extra: str, error: ImportError) -> str:
    """Say what to install, and which import failed without it."""
    packages = " ".join(f'"{package}"' for package in PACKAGES[extra])
    return f"{what} needs: pip install {packages} ({error})"
