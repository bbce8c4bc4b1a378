"""`python -m bot audit verify | prove | erase`: the sealed log of the audit trail."""

import asyncio
import getpass
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from cryptography.exceptions import InvalidSignature

from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from agent_adapter.receipts.ring import Ring
from bot.cli.audit import opened_trail
from bot.domain.audit_entry import AuditEntry, time_of
from bot.domain.erasure import Erasure, written_places
from bot.domain.errors import SettingsError
from bot.domain.sealing import Mark
from bot.runtime.log_key import RingLogKey
from bot.runtime.settings import load_access
from bot.store.audit_folder import AuditFolder
from bot.store.audit_log import FOLDER, AuditLogs, LaneLog
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
_ANCHOR = "name a file with the text of an anchor, as it came to a channel, a repository or an address"
_SHOWN = 20
"""So many files or keys are named one by one."""
_LONGEST_REASON = 1_000


def verify(
    *,
    against: Annotated[
        Path | None, typer.Option(help="a file of older checkpoints: the logs must still begin as they say")
    ] = None,
) -> None:
    """Check every file of the sealed logs; exit 1 when one is not what was signed."""
    with _plain_errors():
        logs = list(_logs())
        older = _anchor_in(against) if against else []
        used = set[str]()
        for log in logs:
            of_log = [note for note in older if note.startswith(f"{log.origin}\n")]
            used.update(of_log)
            found = _checked(log, lambda: examine(log, _opened(log, of_log)))  # noqa: B023  # called at once
            typer.echo(_say(log, found))
            for sentence in (*_erasures(log, found), *_beside(log, found.head.size)):
                typer.echo(sentence)
        if missing := [note.partition("\n")[0] for note in older if note not in used]:
            _fail(f"{against} has a checkpoint of {one_line(missing[0])}, and there is no such log here")


def prove(record: _Record) -> None:
    """Print a proof that the entries about one request are in the log. `verifiers/assent_log.py` checks it anywhere."""
    with _plain_errors():
        for log in _logs():
            note = log.file(CHECKPOINT).decode()
            head = _opened(log, [note])[0]
            found = [each for each in _checked(log, lambda: _about(log, record)) if each[0] < head.size]  # noqa: B023  # it is called at once
            if found:
                typer.echo(dump_proof(note, head.size, found, subtree_reader(head.size, log.file)))
                return
        _fail(
            f"no sealed log has an entry about {one_line(record)}: it may be erased, or not sealed yet, which takes a minute"
        )


def erase(
    record: _Record,
    *,
    reason: Annotated[str, typer.Option(help="why, for those who ask later")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Erase what the sealed logs say about one request, and enter who did. The logs can still be checked."""
    with _plain_errors():
        if len(reason) > _LONGEST_REASON:
            raise SettingsError(f"--reason: {len(reason):,} characters, at most {_LONGEST_REASON:,}")
        present = _audit_logs().present()
        if not any(lane.places(record) for lane in present.values()):
            _fail(
                f"no sealed log has an entry about {one_line(record)} that can be erased: they are erased already, "
                "not sealed yet, or there never were any"
            )
        if not yes:
            typer.confirm(f"Erase what the log says about {one_line(record)}, for ever?", abort=True)
        count = asyncio.run(_erase(present, record, reason))
        typer.echo(f"erased {count} entries about {one_line(record)}; the audit trail says that you did")
        sys.stderr.write(
            "Redis has entries of the last 7 days, and the newest sealed one: when this request is as new as that, erase "
            "again after 7 days. Copies and backups are not changed.\n"
        )


async def _erase(logs: Mapping[str, LaneLog], record: str, reason: str) -> int:
    """Enter the erasure, then erase. When it cannot be entered, nothing is erased."""
    async with opened_trail() as trail:
        if not await trail.is_of_bots():
            raise SettingsError(
                "this Redis has no bot in the namespace of ASSENT_NAMESPACE, so the erasure cannot be entered there and "
                "nothing was erased: name the Redis of the bots in REDIS_URL"
            )
        for number, log in logs.items():
            if places := log.places(record):
                await trail.note_erased(
                    number, record, by=who_runs(), places=written_places(places), reason=reason
                )
        return sum(log.erase(record) for log in logs.values())


def who_runs() -> str:
    """Name who runs this command, as far as this machine knows: `dana@host`."""
    try:
        name = os.environ.get("SUDO_USER") or getpass.getuser()
    except (OSError, KeyError):
        # A container may have no name for its user.
        name = str(os.getuid())
    return one_line(f"{name}@{socket.gethostname()}").replace(" ", "_")


def _anchor_in(file: Path) -> list[str]:
    # Where it cannot be read, nothing was checked, and nothing was found to be wrong.
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--against: {file}: {error.strerror}: {_ANCHOR}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"--against: {file} is not text: {_ANCHOR}") from None
    if not text.strip():
        raise SettingsError(f"--against: {file} is empty: {_ANCHOR}")
    try:
        return notes_in(text)
    except ValueError:
        raise SettingsError(
            f"--against: {file} has something else than signed checkpoints: keep only their lines, as they came"
        ) from None


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
    at = time_of(Mark.parse(head.mark).order[0])
    last = f", the last one of {at:%Y-%m-%d %H:%M:%S} UTC" if head.size else ""
    return f"{log.origin}: {head.size:,} entries{last}. Every file is what the key has signed."


def _erasures(log: Log, found: Examined) -> Iterator[str]:
    """Say which entries were erased, and who did, as far as entries say it."""
    unexplained = found.erased
    for erasure in _said_to_be_erased(found):
        places = [place for place in found.erased if erasure.covers(place)]
        unexplained = {place: each for place, each in unexplained.items() if place not in places}
        if places:
            entry = erasure.entry
            why = f": {one_line(entry['reason'])}" if entry["reason"] else ""
            yield (
                f"{log.origin}: an entry says: erased {written_places(places)}, about {one_line(entry['id'])}, by {one_line(entry['by'])} "
                f"on {entry.at:%Y-%m-%d %H:%M} UTC{why}."
            )
    if unexplained:
        newest = max(Mark.parse(each.mark).order[0] for each in unexplained.values())
        yield (
            f"{log.origin}: erased {written_places(unexplained)}, and no entry says by whom. The newest of them was of "
            f"{time_of(newest):%Y-%m-%d}: a bot erases what is older than ASSENT_AUDIT_DAYS, and enters other erasures within "
            "a minute."
        )


def _said_to_be_erased(found: Examined) -> Iterator[Erasure]:
    for place, each in enumerate(found.entries):
        if each.entry and (erasure := Erasure.of(AuditEntry.of_line(each.entry.decode()), place)):
            yield erasure


def _beside(log: Log, size: int) -> Iterator[str]:
    """Say what is beside the log, and is no part of it."""
    beyond = [name for name in log.storage.names(SAID) if not name.isdecimal() or int(name) >= size]
    if beyond:
        yield f"{log.origin}: not checked, because no checkpoint covers them: {_few(f'{SAID}/{name}' for name in beyond)}."
    first = next(entries_of(log), None)
    place = load_access().audit_dir
    if first is None or not place or is_bucket(place):
        return
    began = time_of(Mark.parse(first[1][0].mark).order[0])
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
    key = RingLogKey(None, Ring.load(access.ring, purpose="log"), access.namespace)
    present = logs.present()
    if not present:
        _fail(f"there is no sealed log in {Path(access.audit_dir, FOLDER)}")
    return (logs.numbered(number, key) for number in present)


def _checked(log: Log, work: Callable[[], _T]) -> _T:
    try:
        return work()
    except InvalidSignature:
        _fail(f"{log.origin}: a signature was not made by a key of the log{_revoked(log)}")
    except ValueError as error:
        _fail(f"{log.origin}: {one_line(str(error))}{_revoked(log)}")


def _revoked(log: Log) -> str:
    """Say which keys were revoked: what they signed does not count, also where nobody changed it."""
    revoked = log.key.revoked if isinstance(log.key, RingLogKey) else []
    if not revoked:
        return ""
    return (
        f". The ring has revoked {_few(revoked)}: nothing that such a key signed counts, whatever its date. To see whether "
        "anything else was changed, name the ring from before in ASSENT_RING, and an anchor from before with --against"
    )


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except (SettingsError, InvalidRequestError) as error:
        sys.stderr.write(f"{error}\n")
        raise typer.Exit(2) from None
    except AgentAdapterError as error:
        _fail(one_line(str(error)))
    except InvalidSignature:
        _fail("a checkpoint is not signed by a key of the log")
    except (ValueError, OSError) as error:
        _fail(one_line(str(error)))


def _fail(sentence: str) -> NoReturn:
    sys.stderr.write(f"{sentence}\n")
    raise typer.Exit(1)
