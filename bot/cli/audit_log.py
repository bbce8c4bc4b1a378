"""`python -m bot audit verify | erase`: the log of the audit trail."""

import asyncio
import getpass
import os
import re
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from agent_adapter.receipts.ring import Ring
from bot.cli.audit import audit_errors, opened_trail
from bot.cli.exits import fail
from bot.domain.audit_chain import read
from bot.domain.audit_entry import AuditEntry
from bot.domain.errors import SettingsError
from bot.runtime.log_key import keys_of_log, problem_of
from bot.runtime.settings import load_access
from bot.store.audit_log import AuditLog
from bot.text.literal import one_line

ERASED = "erased"
"""The event of the entry that says who erased others. It is not erased with them."""
_OF_PEOPLE = {"name", "note", "reason"}
"""What an entry about a person says of them beside their id."""
_LONGEST_REASON = 1_000


def verify(
    *,
    against: Annotated[
        Path | None, typer.Option(help="a file of heads from before: the log must still have them")
    ] = None,
) -> None:
    """Check every line of the log; exit 1 when one is not as it was written."""
    with audit_errors():
        log, access = _log(), load_access()
        ring = Ring.load(access.ring, purpose="log") if access.ring else None
        keys = keys_of_log(ring, access.namespace) if ring else {}
        found = log.check(partial(problem_of, keys) if keys else None, _heads_in(against) if against else ())
        if found.is_signed and not keys:
            raise SettingsError("the heads are signed: name the file with the key of the log in ASSENT_RING")
        signed = "Each head is signed" if keys else "No head is signed: who can write there can write it anew"
        typer.echo(
            f"{found.log}: lines {found.first:,} to {found.n:,} of {found.at} follow each other. {signed}."
        )
        if found.erased:
            typer.echo(f"Of {found.erased:,} lines something was erased. The events `{ERASED}` say who did.")


def erase(
    record: Annotated[str, typer.Argument(help="the request, as the log and every entry name it")] = "",
    *,
    person: Annotated[str, typer.Option(help="in its place, a person: U…")] = "",
    reason: Annotated[str, typer.Option(help="why, for those who ask later")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Erase what the log says about one request or one person, and enter who did. It can still be checked."""
    with audit_errors():
        if bool(record) == bool(person):
            raise SettingsError("name one request, or one person with --person")
        if len(reason) > _LONGEST_REASON:
            raise SettingsError(f"--reason: {len(reason):,} characters, at most {_LONGEST_REASON:,}")
        log, about = _log(), one_line(record or person)
        if not yes:
            typer.confirm(f"Erase what the log says about {about}, for ever?", abort=True)
        asyncio.run(_enter(record, reason))
        count = log.erase(lambda entry: _names_of(entry, record, person))
        typer.echo(f"erased something in {count} lines about {about}; the audit trail says that you did")
        sys.stderr.write(
            "Redis has the entries of the last 7 days, and each bot with a folder of its own has its own log: erase there, "
            "too. Copies and backups are not changed.\n"
        )


async def _enter(record: str, reason: str) -> None:
    """Enter the erasure. When it cannot be entered, nothing is erased."""
    async with opened_trail() as trail:
        if not await trail.is_of_bots():
            raise SettingsError(
                "this Redis has no bot in the namespace of ASSENT_NAMESPACE, so the erasure cannot be entered there and "
                "nothing was erased: name the Redis of the bots in REDIS_URL"
            )
        await trail.note_erased(record, by=who_runs(), reason=reason)


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
        fail(f"there is no log in {access.audit_dir}")
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
