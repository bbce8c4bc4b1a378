"""`python -m bot audit …`: who decided what, from Redis and the log, as one story in order of time."""

import asyncio
import csv
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_adapter.cipher import MARK, Cipher
from agent_adapter.contract.hitl import KNOWN_DECISIONS
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import open_redis
from agent_adapter.redis.server_check import check_keys
from bot.cli.exits import fail, plain_errors
from bot.domain.audit_entry import AuditEntry
from bot.domain.audit_export import COLUMNS, cells_of, json_line, neutral, ocsf_line
from bot.domain.errors import SettingsError
from bot.runtime.settings import load_access
from bot.store.audit import AuditStore
from bot.store.connected import FACTS
from bot.text.literal import one_line

audit_cli = typer.Typer(help="Show who decided what, when, and by which rule.", invoke_without_command=True)

_AGO = re.compile(r"(\d{1,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


Format = Literal["jsonl", "csv", "ocsf"]
"""How entries are exported."""
Form = Literal["table", Format]
"""How entries are printed."""

_As = Annotated[Form, typer.Option("--as", help="a table, JSON lines, CSV, or events of OCSF as JSON lines")]
_Who = Annotated[str, typer.Option(help="a person's id (U…), or their name at that time")]
_Tool = Annotated[str, typer.Option(help="the name of a tool")]
_Agent = Annotated[str, typer.Option(help="who asked")]
_Since = Annotated[
    str, typer.Option(help="from then on: 2026-11-22, 2026-11-22T14:30 (UTC), or 7d for seven days ago")
]
_Until = Annotated[str, typer.Option(help="until then, a day with its end: as --since")]
_Decision = Annotated[str, typer.Option(help=f"one of {', '.join(KNOWN_DECISIONS)}")]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries are printed. What is empty matches everything."""

    who: str = ""
    tool: str = ""
    agent: str = ""
    decision: str = ""

    def matches(self, entry: AuditEntry) -> bool:
        """Whether an entry is one of them."""
        return (
            (not self.who or self.who in entry["by"].split() or self.who.lower() == entry["name"].lower())
            and (not self.tool or self.tool in entry.tools)
            and (not self.agent or self.agent == entry.agent)
            and (not self.decision or self.decision == entry["decision"])
        )


@audit_cli.callback()
def audit(
    context: typer.Context,
    *,
    who: _Who = "",
    tool: _Tool = "",
    agent: _Agent = "",
    since: _Since = "",
    until: _Until = "",
    decision: _Decision = "",
    form: _As = "table",
) -> None:
    """Show entries of the audit trail, oldest first. Without options: all of them."""
    if not context.invoked_subcommand:
        _print_between(form, since, until, Wanted(who, tool, agent, decision))


@audit_cli.command()
def export(
    *,
    format: Annotated[Format, typer.Option(help="JSON lines, CSV, or events of OCSF as JSON lines")],
    who: _Who = "",
    tool: _Tool = "",
    agent: _Agent = "",
    since: _Since = "",
    until: _Until = "",
    decision: _Decision = "",
) -> None:
    """Print entries for another program, oldest first. Without options: all of them."""
    _print_between(format, since, until, Wanted(who, tool, agent, decision))


def _print_between(form: Form, since: str, until: str, wanted: Wanted) -> None:
    if wanted.decision and wanted.decision not in KNOWN_DECISIONS:
        raise typer.BadParameter(
            f"--decision: {wanted.decision!r} is not one of {', '.join(KNOWN_DECISIONS)}"
        )
    start, end = _moment("--since", since), _moment("--until", until, is_end=True)
    if start and end and end <= start:
        raise typer.BadParameter(f"--until {until} is not after --since {since}: no entry can match")
    if not _print(form, lambda trail: trail.entries(start, end), wanted):
        sys.stderr.write("no entry matches: leave an option out, or look at an earlier time\n")


@audit_cli.command()
def show(
    interrupt_id: Annotated[str, typer.Argument(help="the request, as the log and every entry name it")],
    form: _As = "table",
) -> None:
    """Show everything that happened to one request; exit 1 when the trail does not know it."""
    if not _print(form, lambda trail: trail.entries(about=interrupt_id), Wanted()):
        fail(
            f"the audit trail has no entry about {one_line(interrupt_id)}: look at its spelling, and whether ASSENT_AUDIT_DIR "
            "and ASSENT_NAMESPACE are those of the bot"
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


def _print(form: Form, ask: Callable[[AuditStore], AsyncIterator[AuditEntry]], wanted: Wanted) -> int:
    """Print what matches. Returns how many entries that are."""
    with audit_errors():
        return asyncio.run(_write(form, ask, wanted))


async def _write(form: Form, ask: Callable[[AuditStore], AsyncIterator[AuditEntry]], wanted: Wanted) -> int:
    count = locked = 0
    async with opened_trail() as trail:
        add, end = _printer(form)
        async for entry in ask(trail):
            if wanted.matches(entry):
                add(entry)
                count += 1
                locked += entry[FACTS].startswith(MARK)
        end()
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
    address, keys = address_of(access.redis_url), Keys(access.namespace)
    async with open_redis(
        access.redis_url,
        namespace=access.namespace,
        retries=0,
        keeps_bytes=True,
        credentials=access.redis_credentials,
    ) as redis:
        await check_keys(redis, keys, address)
        cipher = Cipher.parse(access.record_key)
        yield AuditStore(redis, keys, access.audit_dir or None, address=address, cipher=cipher)


def audit_errors() -> AbstractContextManager[None]:
    """End the command with a sentence when something is wrong. A line of the log that is wrong is a `ValueError`."""
    return plain_errors(
        lambda error: (
            f"ASSENT_AUDIT_DIR cannot be read: {error}: run this as the user of the bot, or correct the path"
        ),
        settings=(SettingsError, InvalidRequestError),
        others=(AgentAdapterError, ValueError),
    )


# --- Printing ---------------------------------------------------------------------------------------------------------

_WIDE = 1_000
"""Columns of a table that goes to a file or to another command: one line for each entry."""


def _printer(form: Form) -> tuple[Callable[[AuditEntry], object], Callable[[], object]]:
    """Give what prints an entry, and what is done after the last one."""
    if form in {"jsonl", "ocsf"}:
        line = json_line if form == "jsonl" else ocsf_line
        return lambda entry: typer.echo(line(entry)), lambda: None
    if form == "csv":
        rows = csv.writer(sys.stdout)
        rows.writerow(COLUMNS)
        return lambda entry: rows.writerow(map(neutral, cells_of(entry).values())), lambda: None
    table = Table(box=None, pad_edge=False)
    for name in ("time (UTC)", "what", "tool", "who", "rule", "how", "request"):
        # Folded, since an id that is cut cannot be looked up.
        table.add_column(name, overflow="fold")

    def end() -> None:
        if table.row_count:
            Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False).print(table)

    return lambda entry: table.add_row(*map(Text, _row(entry))), end


def _row(entry: AuditEntry) -> list[str]:
    cells = cells_of(entry)
    code, reason = one_line(entry["code"]), cells["reason"] and f"“{cells['reason']}”"
    index, waited = entry.said.get("index"), cells["waited"]
    after = f"after {timedelta(seconds=int(waited) // 1000)}" if waited.isdecimal() else ""
    columns = (
        [cells["at"].replace("T", " ").removesuffix("Z")[:19]],
        [cells["event"], cells["decision"], code, reason],
        [cells["tool"]],
        [cells["name"], cells["by"]],
        [cells["rule"], cells["policy"] and f"({cells['policy']})"],
        [cells["how"], after],
        [cells["id"], f"action {index + 1}" if type(index) is int else ""],
    )
    return [" ".join(filter(None, words)) for words in columns]
