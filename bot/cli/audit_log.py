"""`python -m bot audit verify | prove | erase`: the sealed log of the audit trail."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from cryptography.exceptions import InvalidSignature

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.ring import Ring
from bot.domain.audit_entry import AuditEntry
from bot.domain.errors import SettingsError
from bot.domain.sealing import Mark
from bot.runtime.log_key import RingLogKey
from bot.runtime.settings import load_access
from bot.store.audit_folder import AuditFolder
from bot.store.audit_log import FOLDER, AuditLogs
from bot.text.literal import one_line
from bot.tlog.batch import SAID, Salted
from bot.tlog.bucket import is_bucket
from bot.tlog.examine import Examined, entries_of, examine, notes_in
from bot.tlog.log import CHECKPOINT, Log
from bot.tlog.note import Checkpoint, open_checkpoint
from bot.tlog.proof import dump_proof
from bot.tlog.tiles import subtree_reader

_Record = Annotated[str, typer.Argument(help="the request, as the log and every entry name it")]
_T = TypeVar("_T")
_SHOWN = 20
"""So many erased entries are named one by one."""


def verify(
    *,
    against: Annotated[
        Path | None, typer.Option(help="a file of older checkpoints: the logs must still begin as they say")
    ] = None,
) -> None:
    """Check every file of the sealed logs; exit 1 when one is not what was signed."""
    with _plain_errors():
        logs = list(_logs())
        older = notes_in(_text_of(against)) if against else []
        used = set[str]()
        for log in logs:
            of_log = [note for note in older if note.startswith(f"{log.origin}\n")]
            used.update(of_log)
            found = _checked(log, lambda: examine(log, _opened(log, of_log)))  # noqa: B023  # called at once
            typer.echo(_say(log, found))
            for sentence in _beside(log, found.head.size):
                typer.echo(sentence)
        if missing := [note.partition("\n")[0] for note in older if note not in used]:
            _fail(f"{against} has a checkpoint of {one_line(missing[0])}, and there is no such log here")


def prove(record: _Record) -> None:
    """Print a proof that the entries about one request are in the log. `verifiers/assent_log.py` checks it anywhere."""
    with _plain_errors():
        for log in _logs():
            note = log.file(CHECKPOINT).decode()
            head = _opened(log, [note])[0]
            found = [each for each in _checked(log, lambda: _about(log, record)) if each[0] < head.size]  # noqa: B023
            if found:
                typer.echo(dump_proof(note, head.size, found, subtree_reader(head.size, log.file)))
                return
        _fail(
            f"no sealed log has an entry about {one_line(record)}: it may be erased, or not sealed yet, which takes a minute"
        )


def erase(
    record: _Record,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Erase what the sealed logs say about one request. The logs can still be checked."""
    with _plain_errors():
        if not yes:
            typer.confirm(f"Erase what the log says about {one_line(record)}, for ever?", abort=True)
        count = sum(lane.erase(record) for lane in _audit_logs().present().values())
        if not count:
            _fail(f"no sealed log has an entry about {one_line(record)}")
        typer.echo(f"erased {count} entries about {one_line(record)}")
        sys.stderr.write(
            "Redis has entries of the last 7 days, and the newest sealed one: when this request is as new as that, erase "
            "again after 7 days. Copies and backups are not changed.\n"
        )


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        # Nothing was checked, and nothing was found to be wrong.
        raise SettingsError(f"--against: {error}") from None


def _about(log: Log, record: str) -> list[tuple[int, Salted]]:
    return [
        (before.size + place, each)
        for before, batch, _ in entries_of(log)
        for place, each in enumerate(batch)
        if each.entry is not None and AuditEntry.of_line(each.entry.decode())["id"] == record
    ]


def _opened(log: Log, notes: list[str]) -> list[Checkpoint]:
    return [open_checkpoint(note, log.origin, log.key.trusted) for note in notes]


def _say(log: Log, found: Examined) -> str:
    head = found.head
    at = datetime.fromtimestamp(min(Mark.parse(head.mark).order[0] / 1000, 2**37), UTC)
    last = f", the last one of {at:%Y-%m-%d %H:%M:%S} UTC" if head.size else ""
    erased = ""
    if found.erased:
        erased = f" {len(found.erased):,} of them were erased: {_few(map(str, found.erased))}."
    return f"{log.origin}: {head.size:,} entries{last}.{erased} Every file is what the key has signed."


def _beside(log: Log, size: int) -> Iterator[str]:
    """Say what is beside the log, and is no part of it."""
    beyond = [name for name in log.storage.names(SAID) if not name.isdecimal() or int(name) >= size]
    if beyond:
        yield f"{log.origin}: not checked, because no checkpoint covers them: {_few(f'{SAID}/{name}' for name in beyond)}."
    first = next(entries_of(log), None)
    place = load_access().audit_dir
    if first is None or not place or is_bucket(place):
        return
    began = datetime.fromtimestamp(Mark.parse(first[1][0].mark).order[0] / 1000, UTC)
    later = [day for day in AuditFolder(place).days() if day > f"{began:%Y-%m-%d}"]
    if later:
        yield f"{log.origin}: not sealed, though newer than its first entry: {_few(f'{day}.jsonl' for day in later)}."


def _few(names: Iterable[str]) -> str:
    found = [one_line(name) for name in names]
    return ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")


def _audit_logs() -> AuditLogs:
    access = load_access()
    if not access.audit_dir:
        raise SettingsError("ASSENT_AUDIT_DIR is not set: name the folder of the log")
    return AuditLogs(access.namespace, access.audit_dir)


def _logs() -> Iterator[Log]:
    access, logs = load_access(), _audit_logs()
    if not access.ring:
        raise SettingsError("ASSENT_RING is not set: name the file with the public key of the log")
    key = RingLogKey(None, Ring.load(access.ring), access.namespace)
    present = logs.present()
    if not present:
        _fail(f"there is no sealed log in {Path(access.audit_dir, FOLDER)}")
    return (logs.numbered(number, key) for number in present)


def _checked(log: Log, work: Callable[[], _T]) -> _T:
    try:
        return work()
    except InvalidSignature:
        _fail(f"{log.origin}: a signature was not made by a key of the log")
    except ValueError as error:
        _fail(f"{log.origin}: {one_line(str(error))}")


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except (SettingsError, InvalidRequestError) as error:
        sys.stderr.write(f"{error}\n")
        raise typer.Exit(2) from None
    except InvalidSignature:
        _fail("a checkpoint is not signed by a key of the log")
    except (ValueError, OSError) as error:
        _fail(one_line(str(error)))


def _fail(sentence: str) -> NoReturn:
    sys.stderr.write(f"{sentence}\n")
    raise typer.Exit(1)
