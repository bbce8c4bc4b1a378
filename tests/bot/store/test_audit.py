"""The audit trail: the last days in Redis, older ones in a folder, read as one story."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.jobs.audit_mover import WARNING, AuditMover
from bot.runtime.health import Health
from bot.store.audit import AuditStore

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


async def test_entries_older_than_seven_days_move_to_the_folder_and_the_story_stays_the_same(
    redis, trail, folder
):
    """One file a day; whoever reads does not see where an entry is."""
    await happened(redis, trail, 30, 8, 6, 0)
    before = await told(trail)

    await mover(trail).tidy()

    assert await in_redis(redis, trail) == ["billing.2", "billing.3"]
    assert len(list(folder.glob("*.jsonl"))) == 2
    assert await told(trail) == before == [f"billing.{number}" for number in range(4)]


async def test_a_crash_between_writing_and_trimming_shows_no_entry_twice(redis, trail, folder, monkeypatch):
    """The next one writes them again, and a reader tells each once."""
    await happened(redis, trail, 30, 8, 0)

    async def killed(*_):
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(AuditStore, "trim", killed)
        with pytest.raises(asyncio.CancelledError):
            await mover(trail).tidy()
    assert await told(trail) == ["billing.0", "billing.1", "billing.2"]
    await mover(trail).tidy()

    assert await in_redis(redis, trail) == ["billing.2"]
    assert await told(trail) == ["billing.0", "billing.1", "billing.2"]


async def test_two_replicas_write_each_entry_once(redis, store, folder, trail):
    """One of them has the lease."""
    await happened(redis, trail, *range(8, 40))
    other = AuditStore(redis, store.keys, str(folder))

    await asyncio.gather(mover(trail).tidy(), mover(other, process="two").tidy())

    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 32


async def test_who_lost_the_lease_takes_nothing_out_of_redis(redis, trail):
    """A process that stood still wakes up after another one took over."""
    await happened(redis, trail, 8)
    lane = trail.keys
    (entry,) = [entry async for entry in trail.in_redis(lane)]
    assert await trail.lease(lane, "other", 1000)

    assert not await trail.trim(lane, "one", entry.number)
    assert await in_redis(redis, trail) == ["billing.0"]


async def test_a_torn_line_is_told_and_its_entry_comes_again(redis, trail, folder):
    """A process died while it wrote: nothing after that line is lost."""
    await happened(redis, trail, 8, 8 - 1 / DAY)
    folder.mkdir()
    days = [entry.day async for entry in trail.entries()]
    file = folder / f"{days[0]}.jsonl"
    file.write_text('{"at":"2026-11-14T00:00:00.000Z","lane":"00","ent')

    await mover(trail).tidy()

    assert await told(trail) == ["billing.0", "billing.1"]
    assert trail.torn == [f"{file} line 1"]


async def test_a_folder_that_cannot_be_written_loses_nothing(redis, trail, folder, caplog):
    """The entries stay in Redis, and `/readyz` and the log say why."""
    await happened(redis, trail, 8)
    folder.write_text("a file, where the folder should be")
    moving = mover(trail)

    await moving.tidy()

    assert await in_redis(redis, trail) == ["billing.0"]
    assert "cannot be written to ASSENT_AUDIT_DIR" in moving.health.warnings[WARNING]
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "audit.not_moved"
    ]


async def test_without_a_folder_entries_stay_in_redis_for_as_long_as_a_folder_would_keep_them(
    redis, store, caplog
):
    """So they outlive their request. What is older goes, as the settings say; that is no error."""
    trail = AuditStore(redis, store.keys)
    await happened(redis, trail, 366, 364, 8, 6)

    await mover(trail).tidy()

    assert await told(trail) == ["billing.1", "billing.2", "billing.3"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_small_redis_is_never_filled_by_the_trail(redis, store, caplog):
    """Where its memory is full, nobody can decide any more."""
    trail = AuditStore(redis, store.keys)
    lane = trail.keys
    for seq in range(800):
        await redis.xadd(
            lane.audit, {"event": "decided", "id": "billing.1", "seq": seq, "note": "x" * 10_000}
        )
    before = (await redis.config_get("maxmemory"))["maxmemory"]
    await redis.config_set("maxmemory", (await redis.info("memory"))["used_memory"] + 1_000_000)
    try:
        await mover(trail, max_bytes=100_000_000).tidy()

        assert 0 < await trail.size() < await trail.most_bytes()
    finally:
        await redis.config_set("maxmemory", before)
    assert "audit.dropped_early" in [record.message for record in caplog.records]


async def test_a_replica_without_the_folder_drops_nothing_that_another_one_keeps(redis, store, trail):
    """Its settings differ: the entries wait for the replica that has the folder."""
    await happened(redis, trail, 8)
    assert await trail.lease(trail.keys, "one", 1)
    await asyncio.sleep(0.01)
    without = AuditStore(redis, store.keys)

    await mover(without, process="two").tidy()

    assert await told(without) == ["billing.0"]
    assert await without.has_folder_elsewhere()


async def test_a_replica_without_the_folder_makes_way_for_the_one_that_has_it(redis, store, trail):
    """Also when it came first: from then on it drops nothing."""
    without = AuditStore(redis, store.keys)
    assert await without.lease(trail.keys, "two", 300_000)
    assert not await trail.lease(trail.keys, "one", 300_000)
    await happened(redis, trail, 8)

    await mover(without, process="two").tidy()

    assert await told(without) == ["billing.0"]
    assert await without.has_folder_elsewhere()


async def test_a_folder_that_keeps_every_file_stops_nothing(redis, trail, folder, monkeypatch):
    """Old files that cannot be deleted are told, and the trail goes on."""

    def refuse(self, *, missing_ok=False):
        raise PermissionError("the folder keeps what is in it")

    await happened(redis, trail, 8)
    folder.mkdir()
    (folder / "2020-01-01.jsonl").touch()
    monkeypatch.setattr(Path, "unlink", refuse)
    moving = mover(trail)

    await moving.tidy()

    assert "cannot be deleted from ASSENT_AUDIT_DIR" in moving.health.warnings[WARNING]
    assert await in_redis(redis, trail) == []


async def test_too_many_bytes_are_warned_of_and_then_dropped_with_an_error(redis, store, caplog):
    """Without a folder, the oldest entries go: that is an error in the log."""
    trail = AuditStore(redis, store.keys)
    await happened(redis, trail, 3, 2, 1, size=500)
    used = await trail.size()
    moving = mover(trail, max_bytes=int(used * 1.1))

    await moving.tidy()
    assert "soon the oldest are dropped" in moving.health.warnings[WARNING]
    assert len(await told(trail)) == 1500
    moving.max_bytes = int(used * 0.9)
    await moving.tidy()

    left = await told(trail)
    assert 900 < len(left) < 1500
    assert left[-1] == "billing.2"
    assert "audit.dropped_early" in [record.message for record in caplog.records]


async def test_too_many_bytes_move_to_the_folder_without_loss(redis, trail, caplog):
    """Where there is a folder, nothing is dropped."""
    await happened(redis, trail, 3, 2, 1, size=500)
    before = await told(trail)

    await mover(trail, max_bytes=int(await trail.size() * 0.5)).tidy()

    assert len(await in_redis(redis, trail)) < 1000
    assert await told(trail) == before
    assert "audit.dropped_early" not in [record.message for record in caplog.records]


async def test_the_folder_forgets_after_its_time(redis, trail):
    """Days that are older than the setting says are deleted whole."""
    await happened(redis, trail, 40, 20, 0)

    await mover(trail, days=30).tidy()

    assert await told(trail) == ["billing.1", "billing.2"]


async def test_a_time_and_a_request_narrow_what_is_read(redis, trail):
    """Also across the border between folder and Redis."""
    await happened(redis, trail, 30, 8, 6, 0)
    await mover(trail).tidy()
    now = datetime.now(UTC)

    assert await told(trail, since=now - timedelta(days=10), until=now - timedelta(days=1)) == [
        "billing.1",
        "billing.2",
    ]
    assert await told(trail, about="billing.1") == ["billing.1"]
    (entry,) = [entry async for entry in trail.entries(about="billing.1")]
    assert entry["name"] == "Dana"


IMPOSSIBLE = ["253370764800000-0", f"{2**64 - 1}-{2**64 - 1}"]
"""The year 9998, and the last number that there is."""


@pytest.mark.parametrize("number", IMPOSSIBLE)
async def test_an_entry_of_an_impossible_time_is_shown_last_and_hides_no_other(redis, trail, number):
    """Whoever writes to Redis can name any time. Days without an entry take no time to read."""
    await happened(redis, trail, 2, 1)
    await redis.xadd(trail.keys.audit, {"event": "x", "id": "far"}, id=number)
    now = datetime.now(UTC)

    async with asyncio.timeout(5):
        assert await told(trail) == ["billing.0", "billing.1", "far"]
        assert await told(trail, about="far") == ["far"]
        assert await told(trail, since=now - timedelta(days=1.5), until=now) == ["billing.1"]
        assert await told(trail, since=now) == ["far"]


async def test_a_full_page_that_ends_with_the_last_number_is_read(redis, trail, monkeypatch):
    """Redis refuses to look beyond it."""
    monkeypatch.setattr("bot.store.audit.READ_AT_ONCE", 1)
    await happened(redis, trail, 1)
    await redis.xadd(trail.keys.audit, {"event": "x", "id": "far"}, id=IMPOSSIBLE[1])

    assert await told(trail) == ["billing.0", "far"]
    assert await told(trail, about="far") == ["far"]
