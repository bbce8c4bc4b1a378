"""`python -m bot keys signing`: makes keys that sign, and keeps the ring of their public keys."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.key_files import read_keys, write_keys, write_seal_key, write_secret
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import CREATE, new_signer, public_of
from bot.cli.exits import plain_errors
from bot.domain.errors import SettingsError
from bot.runtime.settings import is_given, load_access

signing_cli = typer.Typer(
    help="Keys that sign what people decide, and the ring with their public keys.", no_args_is_help=True
)

_TEAM = (
    "--team: give the id of a workspace, as in T0ACME. It stands in the address of Slack in a browser, "
    "https://app.slack.com/client/T…"
)
_AGENT = "--agent: give the name of the agent that signs with this key, as it names itself: --agent billing"
_KeyFile = Annotated[
    Path, typer.Argument(help="a new file for the private key, which only its owner can read")
]
_Kid = Annotated[str, typer.Argument(help="the name of the key, as the ring has it under kid")]
_RingFile = Annotated[
    Path | None,
    typer.Option("--ring", help="the file of public keys; otherwise the one that ASSENT_RING names"),
]


@signing_cli.command()
def create(
    key_file: _KeyFile,
    *,
    ring: _RingFile = None,
    purpose: Annotated[Literal["receipts", "agent"], typer.Option(help="what the key may sign")] = "receipts",
    namespace: Annotated[
        str | None, typer.Option(help="the namespace in Redis; otherwise ASSENT_NAMESPACE")
    ] = None,
    team: Annotated[
        str | None, typer.Option(help="the id (T…) of the Slack workspace, for a key for receipts")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="the name of the agent, for a key of an agent")] = None,
) -> None:
    """Make a key: the private one into a new file, the public one into the ring."""
    with plain_errors(_unusable):
        path = _ring_file(ring)
        if purpose == "receipts" and not re.fullmatch(r"[TE][A-Z0-9]+", team or ""):
            raise InvalidRequestError(_TEAM)
        if purpose == "agent" and not agent:
            raise InvalidRequestError(_AGENT)
        signer = new_signer()
        key = RingKey.of(
            public_of(signer),
            purpose,
            namespace=namespace or load_access().namespace,
            team=team,
            agent=agent,
            not_before=datetime.now(UTC).replace(microsecond=0),
        )
        keys = read_keys(path)
        write_secret(key_file, signer.private_bytes)
        write_keys(path, [*keys, key])
        typer.echo(f"made the key {key.kid} for {key.purpose}; its public key is in {path}")
        if purpose == "receipts" and not is_given("ASSENT_SEAL_KEY"):
            typer.echo("a bot needs a key for its seal as well: `keys signing seal` makes one")


@signing_cli.command()
def seal(
    key_file: Annotated[Path, typer.Argument(help="a new file for the key, which only its owner can read")],
) -> None:
    """Make a key that seals what bots keep in Redis. All bots have the same one, and nobody else has it."""
    with plain_errors(_unusable):
        write_seal_key(key_file)
        typer.echo(f"made a key in {key_file}: give it to all bots, as ASSENT_SEAL_KEY_FILE")


@signing_cli.command()
def rotate(
    kid: _Kid,
    key_file: _KeyFile,
    *,
    ring: _RingFile = None,
    overlap_hours: Annotated[int, typer.Option(min=0, max=720, help="how long the old key still signs")] = 24,
) -> None:
    """Make the next key in place of one. What the old key signs before its end stays valid."""
    with plain_errors(_unusable):
        path, now = _ring_file(ring), datetime.now(UTC).replace(microsecond=0)
        end = now + timedelta(hours=overlap_hours)
        signer = new_signer()
        keys = read_keys(path)
        old = _find(keys, kid, path)
        if old.purpose == "log":
            raise InvalidRequestError(f"{kid} is for the log, which the key for receipts signs: rotate that")
        if old.revoked or (old.not_after and old.not_after <= now):
            raise InvalidRequestError(f"the key {kid} has ended already: make a new one with {CREATE}")
        if old.not_after:
            raise InvalidRequestError(f"the key {kid} was rotated already: rotate the key that came after it")
        bound = old.model_dump(include={"namespace", "team", "agent"})
        key = RingKey.of(public_of(signer), old.purpose, **bound, not_before=now)
        ended = old.model_copy(update={"not_after": end})
        write_secret(key_file, signer.private_bytes)
        write_keys(path, [*(ended if each is old else each for each in keys), key])
        typer.echo(f"made the key {key.kid}; the key {kid} signs until {end:%Y-%m-%d %H:%M} UTC")


@signing_cli.command()
def revoke(kid: _Kid, *, ring: _RingFile = None) -> None:
    """Revoke a key: nothing that it signed counts any more, whatever its date."""
    with plain_errors(_unusable):
        path = _ring_file(ring)
        keys = read_keys(path)
        old = _find(keys, kid, path)
        revoked = old.model_copy(update={"revoked": True})
        write_keys(path, [revoked if each is old else each for each in keys])
        typer.echo(f"the key {kid} is revoked in {path}: give this file to everybody who checks")


def _ring_file(given: Path | None) -> Path:
    named = load_access().ring
    if not given and not named:
        raise SettingsError("name the file of public keys: --ring ring.json, or set ASSENT_RING")
    return given or Path(named)


def _find(keys: tuple[RingKey, ...], kid: str, path: Path) -> RingKey:
    for key in keys:
        if key.kid == kid:
            return key
    known = ", ".join(key.kid for key in keys) or "no key"
    raise InvalidRequestError(f"{path} does not have the key {kid}: it has {known}")


def _unusable(error: OSError) -> str:
    cure = "name a file in a folder that is there, and in which this user may write"
    return f"{error.filename}: {error.strerror}: {cure}"
