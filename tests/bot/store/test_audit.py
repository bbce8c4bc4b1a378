"""The audit trail: the last days in Redis, older ones in a folder, read as one story."""

import asyncio
import logging
from datetime import date

import pytest

from bot.domain.audit_entry import Mark
from bot.domain.errors import SlackError
from bot.jobs.audit_mover import FULL, HEAD, LOG, AuditMover, posting_to
from bot.runtime.health import Health
from bot.store.audit import AuditStore
from bot.store.audit_log import AuditLog
from tests.support.logs import make_log

DAY = 86_400_000


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "trail"


@pytest.fixture
def trail(redis, store, folder):
    """The trail with a folder."""
    return AuditStore(redis, store.keys, str(folder))


def mover(trail, *, process="one", max_bytes=10_000_000, days=365):
    return AuditMover(trail, Health(), process, max_bytes, days)


async def happened(redis, trail, *days_ago, size=1):
    """Write entries of earlier days, oldest first."""
    at = int((await redis.time())[0]) * 1000
    for number, ago in enumerate(sorted(days_ago, reverse=True)):
        for count in range(size):
            fields = {
                "event": "decided",
                "id": f"billing.{number}",
                "facts": f'{{"name":"Dana","number":{count}}}',
            }
            await redis.xadd(trail.keys.audit, fields, id=f"{at - int(ago * DAY)}-{count}")


async def told(trail, **asked):
    return [entry["id"] async for entry in trail.entries(**asked)]


async def in_redis(redis, trail):
    return [fields["id"] for _, fields in await redis.xrange(trail.keys.audit)]


def lines_in(folder):
    """The ids of the entries in the log, in order."""
    log = AuditLog(folder, "assent")
    return [entry["id"] for day in log.days() for entry in log.read(day)]


async def test_entries_are_in_the_log_at_once_and_leave_redis_after_seven_days(redis, trail, folder):
    """Whoever reads does not see where an entry is."""
    await happened(redis, trail, 30, 8, 6, 0)
    before = await told(trail)

    await mover(trail).tidy()

    assert await in_redis(redis, trail) == ["billing.2", "billing.3"]
    assert lines_in(folder) == before == [f"billing.{number}" for number in range(4)]
    assert await told(trail) == before
    assert trail.log.check(None).n == 5


@pytest.mark.parametrize("method", ["note_moved", "trim"])
async def test_a_crash_after_writing_writes_nothing_twice(redis, store, folder, trail, monkeypatch, method):
    """The next one sees in the log how far it had come."""
    await happened(redis, trail, 30, 8, 0)

    async def killed(*_, **__):
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(AuditStore, method, killed)
        with pytest.raises(asyncio.CancelledError):
            await mover(trail).tidy()
    assert await told(trail) == ["billing.0", "billing.1", "billing.2"]
    again = AuditStore(redis, store.keys, str(folder))
    await mover(again).tidy()

    assert await in_redis(redis, trail) == ["billing.2"]
    assert lines_in(folder) == await told(again) == ["billing.0", "billing.1", "billing.2"]


async def test_a_crash_while_writing_loses_nothing(redis, store, folder, trail):
    """Lines without a head did not count: they are dropped, and their entries come again."""
    await happened(redis, trail, 1)
    await mover(trail).tidy()
    await happened(redis, trail, 0)
    (file,) = folder.glob("*.jsonl")
    sound = file.read_bytes()
    file.write_bytes(sound + sound.splitlines(keepends=True)[0] + b'{"n":4,"pr')

    await mover(AuditStore(redis, store.keys, str(folder))).tidy()

    assert lines_in(folder) == ["billing.0", "billing.0"]
    assert file.read_bytes().startswith(sound)
    assert trail.log.check(None).n == 4


async def test_bots_with_folders_of_their_own_write_each_entry_once(redis, store, folder, trail, tmp_path):
    """One of them has the lease. The next one goes on where it was."""
    other = AuditStore(redis, store.keys, str(tmp_path / "other"))
    await happened(redis, trail, 3, 2)
    await asyncio.gather(mover(trail).tidy(), mover(other, process="two").tidy())
    await redis.hdel(trail.keys.audit_move, "owner")
    await happened(redis, trail, 1)

    await mover(other, process="two").tidy()

    assert lines_in(folder) + lines_in(tmp_path / "other") == ["billing.0", "billing.1", "billing.0"]
    assert await told(trail) == ["billing.0", "billing.1", "billing.0"]


async def test_when_redis_went_back_what_is_new_there_is_written(redis, trail, folder):
    """Also where its clock is behind: new entries may have numbers before the last one in the log."""
    await happened(redis, trail, 3, 2, 1)
    await mover(trail).tidy()
    stream = trail.keys.audit
    first = (await redis.xrange(stream))[0][0]
    await redis.delete(stream)
    await redis.xadd(stream, {"event": "decided", "id": "billing.0"}, id=first)
    later = f"{int(first.partition('-')[0]) + DAY // 2}-0"
    await redis.xadd(stream, {"event": "decided", "id": "billing.new"}, id=later)

    await mover(trail).tidy()

    assert lines_in(folder) == ["billing.0", "billing.1", "billing.2", "billing.new"]
    assert trail.log.check(None).n == 6


async def test_who_lost_the_lease_takes_nothing_out_of_redis(redis, trail):
    """A process that stood still wakes up after another one took over."""
    await happened(redis, trail, 8)
    (entry,) = [entry async for entry in trail.in_redis()]
    assert await trail.lease("other", 1000)

    assert not await trail.trim("one", entry.number)
    assert not await trail.note_moved("one", Mark(entry.number, 1))
    assert await in_redis(redis, trail) == ["billing.0"]


async def test_a_log_that_somebody_changed_is_not_gone_on_with(redis, store, trail, folder):
    """The entries stay in Redis. When they take too many bytes, nobody is asked any more."""
    await happened(redis, trail, 8)
    await mover(trail).tidy()
    (file,) = folder.glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b"decided", b"resumed"))
    await happened(redis, trail, 7.5, size=50)
    moving = mover(AuditStore(redis, store.keys, str(folder)), max_bytes=1_000)

    await moving.tidy()

    assert len(await in_redis(redis, trail)) == 51
    assert "does not follow the line before" in moving.health.warnings[LOG]
    assert FULL in moving.health.faults


async def test_a_folder_that_cannot_be_written_loses_nothing(redis, trail, folder, caplog):
    """The entries stay in Redis, and `/readyz` and the log say why."""
    await happened(redis, trail, 8)
    folder.write_text("a file, where the folder should be")
    moving = mover(trail)

    await moving.tidy()
    await moving.tidy()

    assert await in_redis(redis, trail) == ["billing.0"]
    assert "cannot be written to ASSENT_AUDIT_DIR" in moving.health.warnings[LOG]
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "audit.not_written"
    ]
    folder.unlink()
    await moving.tidy()
    assert LOG not in moving.health.warnings
    assert lines_in(folder) == ["billing.0"]


class Channel:
    """Takes what is posted to it, or nothing."""

    is_open = True

    def __init__(self):
        self.posted = []

    async def reach(self, place):
        if not self.is_open:
            raise SlackError("chat.postMessage", "not_in_channel")
        return place

    async def post_message(self, channel, *, text, blocks, thread_ts):
        self.posted.append((channel, text, blocks[1]["elements"][0]["elements"][0]["text"]))


async def test_the_head_is_posted_once_a_day_and_after_a_start(redis, trail):
    """With the number of lines that it covers, and again until Slack takes it."""
    channel = Channel()
    await happened(redis, trail, 0)
    moving = mover(trail)
    moving.post = posting_to(channel, "C0AUDIT")

    channel.is_open = False
    await moving.tidy()
    assert "not_in_channel" in moving.health.warnings[HEAD]
    channel.is_open = True
    await moving.tidy()
    await moving.tidy()

    assert HEAD not in moving.health.warnings
    head = ("C0AUDIT", "Head of the audit log: 2 lines.", trail.log.chain.last)
    assert channel.posted == [head]
    assert head[2].startswith('{"head":')
    moving._posted -= 1
    await moving.tidy()
    again = mover(trail)
    again.post = moving.post
    await again.tidy()
    assert channel.posted == [head] * 3


async def test_without_a_folder_entries_stay_in_redis_for_as_long_as_a_folder_would_keep_them(
    redis, store, caplog
):
    """So they outlive their request. What is older goes, as the settings say; that is no error."""
    trail = AuditStore(redis, store.keys)
    await happened(redis, trail, 366, 364, 8, 6)

    await mover(trail).tidy()

    assert await told(trail) == ["billing.1", "billing.2", "billing.3"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_too_many_bytes_are_dropped_with_an_error(redis, store, caplog):
    """Without a folder, the oldest entries go: that is an error in the log."""
    trail = AuditStore(redis, store.keys)
    await happened(redis, trail, 3, 2, 1, size=500)
    used = await trail.size()
    moving = mover(trail, max_bytes=int(used * 1.1))

    await moving.tidy()
    assert len(await told(trail)) == 1500
    moving.max_bytes = int(used * 0.9)
    await moving.tidy()

    left = await told(trail)
    assert 900 < len(left) < 1500
    assert left[-1] == "billing.2"
    assert "audit.dropped_early" in [record.message for record in caplog.records]


async def test_the_folder_forgets_after_its_time(redis, trail, folder):
    """Days that are older than the setting says are deleted whole, and the rest can still be checked."""
    log = make_log(folder)

    assert log.forget(date(2026, 11, 7)) == []
    assert log.forget(date(2030, 1, 1)) == ["2026-11-07"]

    assert (log.check(None).first, log.check(None).n) == (6, 9)
