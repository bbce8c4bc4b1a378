"""`python -m bot audit …`: who decided what, from Redis and the log, as one story in order of time; and the log itself."""

import asyncio
import getpass
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_adapter.cipher import MARK, Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError
from agent_adapter.receipts.ring import Ring
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import open_redis
from bot.cli.exits import fail, plain_errors
from bot.domain.audit_chain import read
from bot.domain.audit_entry import AuditEntry
from bot.domain.errors import SettingsError
from bot.runtime.bot_keys import problem_of_head
from bot.runtime.settings import load_access
from bot.store.audit import AuditStore
from bot.store.audit_log import AuditLog
from bot.store.connected import FACTS
from bot.text.literal import one_line

audit_cli = typer.Typer(help="Show who decided what, when, and by which rule.", invoke_without_command=True)

_AGO = re.compile(r"(\d{1,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


_Since = Annotated[
    str, typer.Option(help="from then on: 2026-11-22, 2026-11-22T14:30 (UTC), or 7d for seven days ago")
]
_Until = Annotated[str, typer.Option(help="until then, a day with its end: as --since")]


@audit_cli.callback()
def audit(context: typer.Context, *, since: _Since = "", until: _Until = "") -> None:
    """Show entries of the audit trail, oldest first. Without options: all of them."""
    if not context.invoked_subcommand:
        _print_between(since, until)


@audit_cli.command()
def export(*, since: _Since = "", until: _Until = "") -> None:
    """Print entries as JSON lines for another program, oldest first. Without options: all of them."""
    _print_between(since, until, as_json=True)


def _print_between(since: str, until: str, *, as_json: bool = False) -> None:
    start, end = _moment("--since", since), _moment("--until", until, is_end=True)
    if start and end and end <= start:
        raise typer.BadParameter(f"--until {until} is not after --since {since}: no entry can match")
    if not _print(lambda trail: trail.entries(start, end), as_json=as_json):
        sys.stderr.write("there is no entry of this time: look at an earlier time\n")


@audit_cli.command()
def show(
    interrupt_id: Annotated[str, typer.Argument(help="the request, as the log and every entry name it")],
) -> None:
    """Show everything that happened to one request; exit 1 when the trail does not know it."""
    if not _print(lambda trail: trail.entries(about=interrupt_id)):
        _fail_without_entry(interrupt_id)


def _fail_without_entry(about: str) -> NoReturn:
    fail(
        f"the audit trail has no entry about {one_line(about)}: look at its spelling, and whether ASSENT_AUDIT_DIR and "
        "ASSENT_NAMESPACE are those of the bot"
    )


def _moment(option: str, text: str, *, is_end: bool = False) -> datetime | None:
    if not text:
        return None
    if ago := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(text)
        if is_end and len(text) <= len("2026-11-22"):
            found += timedelta(days=1)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(
            f"{option}: {text!r} is not a time: write 2026-11-22, 2026-11-22T14:30, 30m, 4h or 7d"
        ) from error


# --- Reading ----------------------------------------------------------------------------------------------------------


_Ask: TypeAlias = Callable[[AuditStore], AsyncIterator[AuditEntry]]


def _print(ask: _Ask, *, as_json: bool = False) -> int:
    """Print entries. Returns how many."""
    with _plainly():
        return asyncio.run(_write(ask, as_json=as_json))


async def _write(ask: _Ask, *, as_json: bool) -> int:
    count = locked = 0
    table = _empty_table()
    async with opened_trail() as trail:
        async for entry in ask(trail):
            count += 1
            locked += entry[FACTS].startswith(MARK)
            if as_json:
                typer.echo(_line(entry))
            else:
                table.add_row(*_row(entry))
    if table.row_count:
        Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False).print(table)
    if locked:
        sys.stderr.write(
            f"{locked} of these {count} entries cannot be read in full: they are encrypted. "
            "Set ASSENT_RECORD_KEY_FILE to the key of the bots.\n"
        )
    for sentence in trail.broken:
        sys.stderr.write(
            f"entries are missing here, because a line of the log cannot be read: {one_line(sentence)}. `audit verify` says more\n"
        )
    if trail.broken:
        raise typer.Exit(1)
    return count


@asynccontextmanager
async def opened_trail() -> AsyncIterator[AuditStore]:
    """Open the audit trail that the settings of access name.

    Raises:
        SettingsError: when a setting is wrong.
        AgentAdapterError: when Redis does not answer, or something has overwritten a key there.
    """
    access = load_access()
    address, keys = address_of(access.redis_url, where="REDIS_URL"), Keys(access.namespace)
    async with open_redis(
        access.redis_url,
        namespace=access.namespace,
        retries=0,
        keeps_bytes=True,
        credentials=access.redis_credentials,
    ) as redis:
        cipher = Cipher.parse(access.record_key)
        yield AuditStore(redis, keys, access.audit_dir or None, address=address, cipher=cipher)


_plainly = partial(
    plain_errors,
    "ASSENT_AUDIT_DIR cannot be read: {}: run this as the user of the bot, or correct the path".format,
    others=(AgentAdapterError, ValueError),
)
"""Ends the command with a sentence when something is wrong. A line of the log that is wrong is a `ValueError`."""


# --- Printing ---------------------------------------------------------------------------------------------------------

_WIDE = 1_000
"""Columns of a table that goes to a file or to another command: one line for each entry."""


def _empty_table() -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("time (UTC)", "what", "tool", "who", "rule", "how", "request"):
        # Folded, since an id that is cut cannot be looked up.
        table.add_column(name, overflow="fold")
    return table


def _row(entry: AuditEntry) -> list[Text]:
    """Give the cells of an entry. What agents and people wrote cannot act on a terminal."""
    index, waited, reason, policy = entry.said.get("index"), entry["waited"], entry["reason"], entry["policy"]
    columns = (
        [entry.written_at.replace("T", " ")[:19]],
        [entry["event"], entry["decision"], entry["code"], reason and f"“{reason}”"],
        [", ".join(entry.tools)],
        [entry["name"], entry["by"]],
        [entry["rule"], policy and f"({policy})"],
        [entry["how"], f"after {timedelta(seconds=int(waited) // 1000)}" if waited.isdecimal() else ""],
        [entry["id"], f"action {index + 1}" if type(index) is int else ""],
    )
    return [Text(one_line(" ".join(filter(None, words)))) for words in columns]


def _line(entry: AuditEntry) -> str:
    """Give an entry as JSON. With everything but ASCII escaped, nothing in it acts on a terminal."""
    return json.dumps(json.loads(entry.line))


# --- The log ----------------------------------------------------------------------------------------------------------

ERASED = "erased"
"""The event of the entry that says who erased others. It is not erased with them."""
_OF_PEOPLE = {"name", "note", "reason"}
"""What an entry about a person says of them beside their id."""
_LONGEST_REASON = 1_000


@audit_cli.command()
def verify(
    *,
    against: Annotated[
        Path | None, typer.Option(help="a file of heads from before: the log must still have them")
    ] = None,
) -> None:
    """Check every line of the log; exit 1 when one is not as it was written."""
    with _plainly():
        log, access = _log(), load_access()
        ring = Ring.load(access.ring) if access.ring else None
        verify = partial(problem_of_head, ring, access.namespace) if ring else None
        found = log.check(verify, _heads_in(against) if against else ())
        if found.is_signed and not ring:
            raise SettingsError("the heads are signed: name the file of public keys in ASSENT_RING")
        signed = "Each head is signed" if ring else "No head is signed: who can write there can write it anew"
        typer.echo(
            f"{found.log}: lines {found.first:,} to {found.n:,} of {found.at} follow each other. {signed}."
        )
        if found.erased:
            typer.echo(f"Of {found.erased:,} lines something was erased. The events `{ERASED}` say who did.")


@audit_cli.command()
def erase(
    record: Annotated[str, typer.Argument(help="the request, as the log and every entry name it")] = "",
    *,
    person: Annotated[str, typer.Option(help="in its place, a person: U…")] = "",
    reason: Annotated[str, typer.Option(help="why, for those who ask later")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Erase what the log says about one request or one person, and enter who did. It can still be checked."""
    with _plainly():
        if bool(record) == bool(person):
            raise SettingsError("name one request, or one person with --person")
        if len(reason) > _LONGEST_REASON:
            raise SettingsError(f"--reason: {len(reason):,} characters, at most {_LONGEST_REASON:,}")
        log, about = _log(), one_line(record or person)
        if not yes:
            typer.confirm(f"Erase what the log says about {about}, for ever?", abort=True)
        if not asyncio.run(_enter(record, person, reason)):
            _fail_without_entry(about)
        count = log.erase(lambda entry: _names_of(entry, record, person))
        typer.echo(f"erased something in {count} lines about {about}; the audit trail says that you did")
        sys.stderr.write(
            "Redis has the entries of the last 7 days, and each bot with a folder of its own has its own log: erase there, "
            "too. Copies and backups are not changed.\n"
        )


async def _enter(record: str, person: str, reason: str) -> bool:
    """Enter the erasure, if there is something to erase. When it cannot be entered, nothing is erased."""
    async with opened_trail() as trail:
        if not await trail.is_of_bots():
            raise SettingsError(
                "this Redis has no bot in the namespace of ASSENT_NAMESPACE, so the erasure cannot be entered there and "
                "nothing was erased: name the Redis of the bots in REDIS_URL"
            )
        found = [each async for each in trail.entries(about=record) if _names_of(each, record, person)]
        # A line that cannot be read may be the one, and is named when the log is rewritten.
        if found or trail.broken:
            await trail.note_erased(record, by=who_runs(), reason=reason)
        return bool(found or trail.broken)


def _names_of(entry: AuditEntry, record: str, person: str) -> set[str]:
    """Name the texts of an entry that go."""
    if record:
        return set(entry.said) if entry["id"] == record and entry["event"] != ERASED else set()
    named = {name for name in entry.said if re.search(rf"\b{re.escape(person)}\b", entry[name])}
    return named | _OF_PEOPLE if "by" in named else named


def who_runs() -> str:
    """Name who runs this command, as far as this machine knows: `dana@host`."""
    name = str(os.getuid())
    # A container may have no name for its user.
    with suppress(OSError, KeyError):
        name = os.environ.get("SUDO_USER") or getpass.getuser()
    return one_line(f"{name}@{socket.gethostname()}").replace(" ", "_")


def _log() -> AuditLog:
    access = load_access()
    if not access.audit_dir:
        raise SettingsError("ASSENT_AUDIT_DIR is not set: name the folder of the log")
    log = AuditLog(Path(access.audit_dir), access.namespace)
    if not log.days():
        raise SettingsError(f"there is no log in {access.audit_dir}: name its folder in ASSENT_AUDIT_DIR")
    return log


def _heads_in(file: Path) -> list[str]:
    # Where it cannot be read, nothing was checked, and nothing was found to be wrong.
    with suppress(OSError, ValueError):
        lines = [*filter(None, map(str.strip, file.read_text(encoding="utf-8").splitlines()))]
        if lines and all("head" in read(line.encode()) for line in lines):
            return lines
    raise SettingsError(
        f"--against: {file} is not a file of heads: keep only their lines, as they came to the channel"
    )
