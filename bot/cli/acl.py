"""`python -m bot acl`: users of Redis, each with the rights of its role and no others."""

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_adapter.contract.access import Role, rules_of
from agent_adapter.contract.keys import Keys
from bot.domain.errors import SettingsError


@dataclass(frozen=True, slots=True)
class User:
    """One user of Redis."""

    name: str
    rules: tuple[str, ...]

    def line(self, password: str) -> str:
        """Write the user as a line of an ACL file. The password is in it as a digest."""
        hashed = hashlib.sha256(password.encode()).hexdigest()
        return f"user {self.name} on #{hashed} {' '.join(self.rules)}"


def users_of(keys: Keys, agents: Sequence[str], workers: Sequence[str]) -> list[User]:
    """Name the users of a namespace: one for the bots, one for operators, one for each agent and each worker.

    Args:
        keys: The namespace.
        agents: The agents.
        workers: The agents whose runs a worker resumes.
    """

    def user(role: Role, agent: str = "") -> User:
        name = "-".join(filter(None, (keys.namespace, role, agent)))
        return User(name, tuple(rules_of(role, keys, agent)))

    return [
        user("bot"),
        user("operator"),
        *(user("agent", agent) for agent in agents),
        *(user("worker", agent) for agent in workers),
    ]


def lines(users: Sequence[User], passwords: Path) -> Iterator[str]:
    """Write the users as an ACL file. Nobody else gets in: the user `default` is switched off.

    Args:
        users: The users.
        passwords: A file with `name password` in each line. Users that are not in it get a password there.

    Raises:
        SettingsError: when a line of the file has another form, or the file cannot be read or written.
    """
    try:
        known = _read(passwords)
        made = {user.name: secrets.token_urlsafe(32) for user in users if user.name not in known}
        if made:
            _add(passwords, made)
    except OSError as error:
        raise SettingsError(f"{passwords}: {error.strerror}") from error
    yield "user default off"
    for user in users:
        yield user.line({**known, **made}[user.name])


def _read(passwords: Path) -> dict[str, str]:
    text = passwords.read_text(encoding="utf-8") if passwords.exists() else ""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if len(words) != 2:
            raise SettingsError(
                f"{passwords}, line {number}: write the name of a user, a blank, and a password"
            )
        found[words[0]] = words[1]
    return found


def _add(passwords: Path, made: dict[str, str]) -> None:
    # Nobody else may read it, also while it is written.
    with os.fdopen(
        os.open(passwords, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
    ) as file:
        file.writelines(f"{name} {password}\n" for name, password in made.items())
