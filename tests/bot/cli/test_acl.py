"""`python -m bot acl` prints users of Redis as an ACL file."""

import contextlib
import stat
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.exceptions import ConnectionError as LostConnectionError
from typer.testing import CliRunner

from bot.cli.commands import cli
from playground.redis_server import RedisServer
from tests.support.lanes import require
from tests.support.redis_users import has_users


def printed(passwords: Path, *options: str) -> list[str]:
    ran = CliRunner().invoke(cli, ["acl", "--passwords", str(passwords), *options])
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout.splitlines()


def test_each_role_has_a_user_and_nobody_else_gets_in(tmp_path: Path):
    """The user that needs no password is switched off."""
    first, *users = printed(tmp_path / "p", "--agent", "billing", "--agent", "hr", "--worker", "billing")

    assert first == "user default off"
    assert [line.split()[1] for line in users] == [
        "assent-bot", "assent-operator", "assent-agent-billing", "assent-agent-hr", "assent-worker-billing",
    ]  # fmt: skip
    assert all(" -@all " in line and " resetkeys " in line for line in users)


def test_passwords_are_made_once_and_stand_in_the_file_only(tmp_path: Path):
    """What is printed has their digests. A user who comes later changes no other password."""
    file = tmp_path / "p"
    before = printed(file, "--agent", "billing")
    after = printed(file, "--agent", "billing", "--agent", "hr")

    assert after[: len(before)] == before
    known = dict(line.split() for line in file.read_text().splitlines())
    assert {*known} == {"assent-bot", "assent-operator", "assent-agent-billing", "assent-agent-hr"}
    assert not any(password in line for password in known.values() for line in after)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("assent-bot\n", (), "line 1: write the name of a user, a blank, and a password"),
        ("", ("--agent", "Billing Dept"), "cannot be the name of an agent"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, options: tuple[str, ...], said: str):
    """And nothing is printed that a server would take."""
    (tmp_path / "p").write_text(text)

    ran = CliRunner().invoke(cli, ["acl", "--passwords", str(tmp_path / "p"), *options])

    assert ran.exit_code != 0
    assert said in ran.stderr
    assert "user " not in ran.stdout


def test_users_get_in_and_an_operator_adds_one_while_the_server_runs(tmp_path: Path, redis_url: str):
    """With all agents in one command: whom it does not name has no user any more."""
    require("Redis with users", has_users(redis_url), "this server is older than 7.0", possible=False)
    file, passwords = tmp_path / "users.acl", tmp_path / "p"

    def write(*options: str) -> None:
        _, *users = printed(passwords, *options)
        # The server's own check that it has started needs no password.
        file.write_text("\n".join(["user default on nopass -@all +ping", *users]) + "\n")

    def known() -> dict[str, str]:
        return dict(line.split() for line in passwords.read_text().splitlines())

    def as_user(name: str) -> Redis:
        return Redis.from_url(server.url.replace("unix://", f"unix://{name}:{known()[name]}@"))

    write("--agent", "billing")
    server = RedisServer(tmp_path / "redis", ("--aclfile", str(file)))
    server.start()
    try:
        for name in known():
            with as_user(name) as redis:
                assert redis.ping()
        write("--agent", "hr")

        # With the answer, Redis may close the connections of all whose user it has read anew.
        with as_user("assent-operator") as redis, contextlib.suppress(LostConnectionError):
            assert redis.execute_command("ACL", "LOAD")
        with as_user("assent-operator") as redis, pytest.raises(NoPermissionError):
            redis.execute_command("ACL", "SETUSER", "assent-operator", "+@all")
        with as_user("assent-agent-hr") as redis:
            assert redis.ping()
        with as_user("assent-agent-billing") as redis, pytest.raises(AuthenticationError):
            redis.ping()
    finally:
        server.stop()
