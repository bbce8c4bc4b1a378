"""`python -m bot acl`: users of Redis, each with the rights of its role and no others."""

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agent_adapter.contract.access import Role, rules_of
from agent_adapter.contract.keys import Keys
from bot.domain.errors import SettingsError


def users_of(keys: Keys, agents: Sequence[str], workers: Sequence[str]) -> dict[str, str]:
    """Give the rules of each user of a namespace: one for the bots, one for operators, one for each agent and each worker.

    Args:
        keys: The namespace.
        agents: The agents.
        workers: The agents whose runs a worker resumes.
    """
    roles: list[tuple[Role, str]] = [("bot", ""), ("operator", "")]
    roles += [("agent", agent) for agent in agents]
    roles += [("worker", agent) for agent in workers]
    return {
        "-".join(filter(None, (keys.namespace, role, agent))): " ".join(rules_of(role, keys, agent))
        for role, agent in roles
    }


def lines(users: Mapping[str, str], passwords: Path) -> Iterator[str]:
    """Write the users as an ACL file. Nobody else gets in: the user `default` is switched off.

    Args:
        users: The rules of each.
        passwords: A file with `name password` in each line. Users that are not in it get a password there.

    Raises:
        SettingsError: when a line of the file has another form, or the file cannot be read or written.
    """
    try:
        known = _read(passwords)
        made = {name: secrets.token_urlsafe(32) for name in users if name not in known}
        if made:
            # Nobody else may read it, also while it is written.
            there = os.open(passwords, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(there, "a", encoding="utf-8") as file:
                file.writelines(f"{name} {password}\n" for name, password in made.items())
    except OSError as error:
        raise SettingsError(f"{passwords}: {error.strerror}") from error
    yield "user default off"
    for name, rules in users.items():
        digest = hashlib.sha256((known | made)[name].encode()).hexdigest()
        yield f"user {name} on #{digest} {rules}"


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
