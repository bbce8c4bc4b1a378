"""Who calls over HTTP: each bearer token belongs to one person. Only hashes of tokens are stored."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mcp.server.auth.provider import AccessToken

from agent_adapter.contract.names import is_person
from agent_adapter.errors import InvalidRequestError

_HASH = re.compile(r"[0-9a-f]{64}")
CURE = (
    "write a Slack id and a hash on each line, as `python -m agent_adapter.mcp token U0123ABCD` prints them"
)


@dataclass(frozen=True)
class Tokens:
    """The tokens of a file, for the MCP package."""

    principals: Mapping[str, str]
    """By the SHA-256 of a token."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            InvalidRequestError: naming the line that is wrong.
        """
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequestError(f"--tokens: {path} cannot be read: {error}") from error
        found: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            if words and (len(words) != 2 or not is_person(words[0]) or not _HASH.fullmatch(words[1])):
                raise InvalidRequestError(f"{path}, line {number}: this is not a token: {CURE}")
            if words:
                found[words[1]] = words[0]
        if not found:
            raise InvalidRequestError(f"--tokens: {path} has no token, so nobody could call: {CURE}")
        return cls(found)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token this is; `None` when nobody has it."""
        # 256 random bits cannot be guessed, and a fast hash protects them as well as a slow one.
        principal = self.principals.get(hashed(token))
        return (principal and AccessToken(token=token, client_id=principal, scopes=[])) or None


def hashed(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()
