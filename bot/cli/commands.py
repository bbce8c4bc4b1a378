"""The commands of `python -m bot` and `assent-bot`. Without a command, the bot runs."""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from agent_adapter.contract.access import Role, rules_of
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.names import is_person
from agent_adapter.contract.wire import agent_name
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import open_redis
from bot.api.keys import ApiKey, KeyRing
from bot.cli.audit import audit_cli
from bot.cli.exits import fail, plain_errors
from bot.cli.policy import policy_cli
from bot.cli.run import run
from bot.cli.signing import signing_cli
from bot.domain.errors import SettingsError
from bot.runtime.bot_keys import load_seal
from bot.runtime.settings import load_access, load_settings
from bot.slack.manifest import Mode, build_manifest, to_yaml

_T = TypeVar("_T")

cli = typer.Typer(
    name="bot",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
cli.command()(run)
cli.add_typer(policy_cli, name="policy")
cli.add_typer(audit_cli, name="audit")


@cli.callback(invoke_without_command=True)
def without_a_command(context: typer.Context) -> None:
    """Assent: a person between an AI agent's tool call and its execution, in Slack. Without a command, the bot runs."""
    if not context.invoked_subcommand:
        run()


keys = typer.Typer(
    help="Keys of the HTTP API, which is off until there is one, and keys that sign.", no_args_is_help=True
)
cli.add_typer(keys, name="keys")
keys.add_typer(signing_cli, name="signing")


@cli.command()
def doctor() -> None:
    """Check settings, Redis, Slack, the channel and the approvers; exit 1 when something has to be fixed."""
    from bot.cli.doctor import main  # noqa: PLC0415  # slow to import, and no other command needs it

    raise typer.Exit(main())


@cli.command()
def manifest(
    mode: Annotated[
        Mode, typer.Option(help="socket needs no public address; with http Slack calls the bot")
    ] = "socket",
    url: Annotated[
        str | None, typer.Option(help="where Slack reaches the bot in HTTP mode: https://…")
    ] = None,
    *,
    groups: Annotated[bool, typer.Option("--groups", help="user groups may be approvers")] = False,
    direct: Annotated[
        bool, typer.Option("--direct-messages", help="people may be asked in direct messages")
    ] = False,
    on_call: Annotated[
        bool, typer.Option("--on-call", help="people who are on call may be approvers")
    ] = False,
) -> None:
    """Print the manifest from which Slack makes the app: api.slack.com/apps, Create New App, From a manifest."""
    try:
        found = build_manifest(mode, url, groups=groups, direct=direct, on_call=on_call)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(to_yaml(found), nl=False)


@cli.command()
def acl(
    passwords: Annotated[
        Path,
        typer.Option(help="a file with `name password` in each line; users that are not in it are added"),
    ],
    agent: Annotated[list[str] | None, typer.Option(help="an agent; may be given several times")] = None,
    worker: Annotated[list[str] | None, typer.Option(help="an agent whose runs a worker resumes")] = None,
) -> None:
    """Print users of Redis (7.0 or newer, or Valkey) as an ACL file: for bots, operators, agents and workers."""
    with plain_errors(lambda error: f"{error.filename}: {error.strerror}"):
        agents, workers = ([agent_name(name) for name in names or ()] for names in (agent, worker))
        users = users_of(Keys(load_access().namespace), agents, workers)
        for line in lines(users, passwords):
            typer.echo(line)


@keys.command()
def create(
    agent: Annotated[str, typer.Argument(help="who asks with it: lower-case letters, digits and dashes")],
    requester: Annotated[
        str | None, typer.Option(help="the one person (U…) for whom the agent acts with this key")
    ] = None,
    *,
    may_name_requesters: Annotated[
        bool,
        typer.Option(
            "--may-name-requesters", help="believe what the agent says about for whom it acts, each time"
        ),
    ] = False,
) -> None:
    """Make a key for an agent and print it. It cannot be shown again."""
    if requester and may_name_requesters:
        raise typer.BadParameter(
            "give --requester, or --may-name-requesters: a key for one person names no others"
        )
    if requester and not is_person(requester):
        raise typer.BadParameter(
            f"--requester: {requester!r} is not a user id (U…): copy it from the profile in Slack"
        )
    with plain_errors(str):
        name = agent_name(agent)
        typer.echo(
            _with_ring(
                lambda ring: ring.create(name, requester=requester, may_name_requesters=may_name_requesters),
                needs_seal=True,
            )
        )


@keys.command("list")
def list_keys() -> None:
    """Show each key: its id, its agent, when it was made and last used."""
    with plain_errors(str):
        for key in _with_ring(KeyRing.list):
            typer.echo(_line(key))


@keys.command()
def revoke(key_id: Annotated[str, typer.Argument(help="as `keys list` shows it")]) -> None:
    """Revoke a key. It ends at once, in every bot."""
    with plain_errors(str):
        if not _with_ring(lambda ring: ring.revoke(key_id)):
            fail(f"there is no key {key_id}: python -m bot keys list shows them")


def _with_ring(work: Callable[[KeyRing], Awaitable[_T]], *, needs_seal: bool = False) -> _T:
    settings = load_settings()
    seal = load_seal(settings)
    if needs_seal and settings.ring and not seal:
        raise SettingsError(
            "ASSENT_RING is set, and ASSENT_SEAL_KEY is not: bots with a seal take no other keys, so give this command theirs"
        )

    async def with_redis() -> _T:
        url, namespace = settings.redis_url, settings.namespace
        async with open_redis(
            url, namespace=namespace, retries=0, credentials=settings.redis_credentials
        ) as redis:
            return await work(KeyRing(redis, Keys(namespace), address=address_of(url), seal=seal))

    return asyncio.run(with_redis())


def _line(key: ApiKey) -> str:
    names = f"  for {key.requester}" if key.requester else "  names requesters" * key.may_name_requesters
    used = f"used {key.used_at:%Y-%m-%d %H:%M}" if key.used_at else "never used"
    not_sealed = "" if key.sealed else "  not sealed, so bots refuse it"
    return f"{key.id}  {key.agent:<40}  made {key.created_at:%Y-%m-%d %H:%M}  {used}{names}{not_sealed}"


# --- Users of Redis, each with the rights of its role and no others -----------------------------------------------------


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
