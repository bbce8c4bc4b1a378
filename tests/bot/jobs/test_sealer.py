"""Every entry goes into the log once and in order, whatever dies, whoever else seals, and wherever Redis goes back to."""

import asyncio
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from agent_adapter.redis.pool import open_redis
from bot.jobs.audit_mover import FULL, AuditMover
from bot.jobs.sealer import WARNING, Sealer
from bot.runtime.health import Health
from bot.store.audit import AuditStore
from tests.support.logs import TestLogKey, ring_of

DAY = 86_400_000


@pytest.fixture
def key():
    return TestLogKey()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "trail"


@pytest.fixture
async def trail(redis_url, store, folder):
    async with open_redis(redis_url, keeps_bytes=True) as redis:
        yield AuditStore(redis, store.keys, str(folder))


@pytest.fixture
def lane(store):
    return store.keys


def sealer(trail, key, process="one"):
    return Sealer(trail, trail.logs, key, Health(), process)


async def happened(redis, lane, *names, days_ago=0.0):
    """Write an entry for each name, as the scripts do."""
    for name in names:
        seq = await redis.incr(lane.audit_seq)
        at = int((await redis.time())[0]) * 1000 - int(days_ago * DAY)
        number = f"{at}-*" if days_ago else "*"
        await redis.xadd(lane.audit, {"event": "decided", "id": f"billing.{name}", "seq": seq}, id=number)


def sealed(trail, lane):
    """Read what the log says, in its order."""
    found = trail.logs.lane(lane).read(0, 2**60)
    return [each["id"].removeprefix("billing.") or each["event"] for each in found]


def verified(folder, key, tmp_path):
    """Give what the stand-alone verifier says about the log."""
    ring = tmp_path / "ring.json"
    ring.write_text(ring_of(key))
    return subprocess.run(
        [sys.executable, "verifiers/assent_log.py", "verify", str(folder / "log" / "00"), "--key", str(ring)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


async def test_new_entries_are_in_the_log_once_and_the_story_stays_the_same(redis, trail, lane, key):
    await happened(redis, lane, "a", "b")
    await sealer(trail, key).seal(lane)
    await happened(redis, lane, "c")

    await sealer(trail, key).seal(lane)
    await sealer(trail, key).seal(lane)

    assert sealed(trail, lane) == ["a", "b", "c"]
    assert [each["id"] async for each in trail.entries()] == ["billing.a", "billing.b", "billing.c"]
    assert [each["id"] async for each in trail.entries(about="billing.b")] == ["billing.b"]


async def test_more_entries_than_one_command_reads_are_all_sealed(redis, trail, lane, key):
    async with redis.pipeline(transaction=False) as pipe:
        for seq in range(1, 2_345):
            pipe.xadd(lane.audit, {"event": "decided", "id": f"billing.{seq}", "seq": seq})
        pipe.set(lane.audit_seq, 2_344)
        await pipe.execute()

    await sealer(trail, key).seal(lane)

    assert sealed(trail, lane) == [str(seq) for seq in range(1, 2_345)]


async def test_two_that_seal_at_once_put_each_entry_in_once(redis, store, folder, trail, lane, key):
    others = [sealer(AuditStore(redis, store.keys, str(folder)), key, name) for name in "abc"]

    for number in range(8):
        await happened(redis, lane, *(f"{number}.{count}" for count in range(5)))
        await asyncio.gather(*(each.seal(lane) for each in others))

    assert sealed(trail, lane) == [f"{number}.{count}" for number in range(8) for count in range(5)]


async def test_only_what_is_sealed_leaves_redis_and_the_newest_of_it_stays(redis, trail, lane, key):
    """An entry that no log has is never dropped, however old it is."""
    await happened(redis, lane, "a", "b", days_ago=9)
    one = sealer(trail, key)
    await one.seal(lane)
    await happened(redis, lane, "c", days_ago=8)
    mover = AuditMover(trail, Health(), "one", 10_000_000, 365, one)

    await mover.tidy()

    left = [fields["id"] for _, fields in await redis.xrange(lane.audit)]
    assert left == ["billing.b", "billing.c"]
    assert [each["id"] async for each in trail.entries()] == ["billing.a", "billing.b", "billing.c"]


async def test_too_much_that_is_not_sealed_stays_and_new_requests_wait(redis, trail, lane, key, folder):
    await happened(redis, lane, *map(str, range(500)), days_ago=9)
    folder.write_text("a file, where the folder should be")
    one = sealer(trail, key)
    await one.look(lane)
    mover = AuditMover(trail, one.health, "one", 15_000, 365, one)

    with pytest.raises(OSError, match="directory"):
        await mover.tidy()

    assert await redis.xlen(lane.audit) == 500
    assert "new requests wait" in one.health.faults[FULL]
    assert "cannot be sealed" in one.health.warnings[WARNING]
    assert one.health.audit_unsealed == {"00": 500}
    folder.unlink()
    await one.look(lane)
    await mover.tidy()
    await mover.tidy()
    assert FULL not in one.health.faults
    assert WARNING not in one.health.warnings


async def test_redis_that_went_back_begins_an_epoch_and_loses_nothing_new(redis, trail, lane, key):
    """Also where it lost what was sealed last, and counted on from there."""
    await happened(redis, lane, "a", "b")
    before = await redis.dump(lane.audit), await redis.dump(lane.audit_seq)
    await happened(redis, lane, "lost 1", "lost 2")
    await sealer(trail, key).seal(lane)
    for name, dumped in zip((lane.audit, lane.audit_seq), before, strict=True):
        await redis.restore(name, 0, dumped, replace=True)
    await happened(redis, lane, "c", "d", "e")

    mark = await sealer(trail, key).seal(lane)

    assert sealed(trail, lane) == ["a", "b", "lost 1", "lost 2", "epoch_began", "c", "d", "e"]
    assert (mark.epoch, mark.seq) == (2, 5)
    await happened(redis, lane, "f")
    assert (await sealer(trail, key).seal(lane)).epoch == 2
    assert sealed(trail, lane)[-1] == "f"


async def test_redis_that_went_back_and_has_an_older_clock_loses_nothing_new(redis, trail, lane, key):
    """Its new entries have smaller numbers than what is sealed."""
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.a", "seq": 1}, id="1000-0")
    before = await redis.dump(lane.audit)
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.lost", "seq": 2}, id="9000-0")
    await sealer(trail, key).seal(lane)
    await redis.restore(lane.audit, 0, before, replace=True)
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.b", "seq": 2}, id="5000-0")
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.c", "seq": 3}, id="9500-0")

    await sealer(trail, key).seal(lane)

    assert sealed(trail, lane) == ["a", "lost", "epoch_began", "b", "c"]


async def test_a_redis_that_was_emptied_begins_an_epoch_with_the_next_entry(redis, trail, lane, key):
    await happened(redis, lane, "a", "b")
    await sealer(trail, key).seal(lane)
    await redis.flushall()

    await sealer(trail, key).seal(lane)
    assert sealed(trail, lane) == ["a", "b"]
    await happened(redis, lane, "c")
    await sealer(trail, key).seal(lane)

    assert sealed(trail, lane) == ["a", "b", "epoch_began", "c"]


async def test_entries_that_somebody_deletes_before_they_are_sealed_are_named_as_missing(
    redis, trail, lane, key
):
    await happened(redis, lane, "a", "b", "c", "d")
    numbers = [number for number, _ in await redis.xrange(lane.audit)]
    await sealer(trail, key).seal(lane)
    await happened(redis, lane, "e", "f", "g")
    await redis.xdel(
        lane.audit, *[number for number, _ in await redis.xrange(lane.audit) if number not in numbers][:2]
    )

    await sealer(trail, key).seal(lane)

    assert sealed(trail, lane) == ["a", "b", "c", "d", "missing", "g"]


async def test_where_sealing_begins_is_in_the_signed_checkpoint_and_not_in_redis(redis, trail, lane, key):
    """Nothing that somebody writes to Redis moves it."""
    await happened(redis, lane, "a")
    await sealer(trail, key).seal(lane)
    await redis.hset(lane.audit_move, mapping={"sealed": "9 9 9-9", "mark": "9 9 9-9"})
    await happened(redis, lane, "b")

    await sealer(trail, key, "two").seal(lane)

    assert sealed(trail, lane) == ["a", "b"]


async def test_a_log_that_somebody_else_signed_is_not_gone_on_with(redis, trail, lane, key):
    await happened(redis, lane, "a")
    await sealer(trail, TestLogKey()).seal(lane)
    one = sealer(trail, key)

    await one.look(lane)

    assert "not signed with a key of the log" in one.health.warnings[WARNING]


async def test_a_bot_that_seals_into_a_folder_of_its_own_is_noticed(redis, store, trail, lane, key, tmp_path):
    """`doctor` compares the log that it sees with what was sealed last."""
    await happened(redis, lane, "a")
    await sealer(trail, key).seal(lane)
    apart = AuditStore(redis, store.keys, str(tmp_path / "apart"))

    assert await trail.lanes_behind(key) == []
    assert await apart.lanes_behind(key) == ["00"]


async def test_a_batch_that_cannot_be_read_hides_no_other(redis, trail, lane, key, folder):
    """What it said is missing, and is named."""
    for name in "abc":
        await happened(redis, lane, name)
        await sealer(trail, key).seal(lane)
    await redis.delete(lane.audit)
    (folder / "log" / "00" / "said" / "000000000002").write_bytes(b"broken")

    assert [each["id"] async for each in trail.entries()] == ["billing.a", "billing.b"]
    assert trail.broken[0].startswith("said/000000000002: ")


async def test_entries_are_sealed_when_a_minute_has_passed_or_a_thousand_wait(redis, trail, lane, key):
    one = sealer(trail, key)
    await one.look(lane)
    await happened(redis, lane, "a")
    await one.look(lane)
    assert sealed(trail, lane) == []
    assert one.health.audit_unsealed == {"00": 1}

    await redis.incrby(lane.audit_seq, 1_000)
    await one.look(lane)

    assert sealed(trail, lane) == ["a"]


async def test_old_entries_are_erased_and_the_log_still_verifies(redis, trail, lane, key, folder, tmp_path):
    await happened(redis, lane, "a", "b", days_ago=40)
    await sealer(trail, key).seal(lane)
    await happened(redis, lane, "c")
    one = sealer(trail, key)
    await one.seal(lane)

    await AuditMover(trail, Health(), "one", 10_000_000, 30, one).tidy()

    assert sealed(trail, lane) == ["c"]
    said = verified(folder, key, tmp_path)
    assert said.returncode == 0, said.stderr
    assert "erased" in said.stdout


async def test_an_independent_verifier_accepts_what_was_sealed_around_a_rollback(
    redis, trail, lane, key, folder, tmp_path
):
    await happened(redis, lane, *"abcdefg")
    await sealer(trail, key).seal(lane)
    await redis.delete(lane.audit)
    await happened(redis, lane, *"hij")
    await sealer(trail, key).seal(lane)

    said = verified(folder, key, tmp_path)

    assert said.returncode == 0, said.stderr
    assert sealed(trail, lane) == [*"abcdefg", "epoch_began", "missing", *"hij"] or sealed(trail, lane) == [
        *"abcdefg", "epoch_began", *"hij",
    ]  # fmt: skip


SEALS = """
import asyncio, os, signal, sys
from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.jobs.sealer import Sealer
from bot.runtime.health import Health
from bot.store.audit import AuditStore
from tests.support.logs import TestLogKey

url, folder, private = sys.argv[1:]
calls = 0

def deadly(name, at):
    real = getattr(os, name)
    def call(*given, **named):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    setattr(os, name, call)

async def seal(at):
    async with open_redis(url) as redis:
        keys = await freeze_meta(redis, "assent")
        trail = AuditStore(redis, keys, folder)
        for name in ("fsync", "replace", "link", "unlink"):
            deadly(name, at)
        await Sealer(trail, trail.logs, TestLogKey(bytes.fromhex(private)), Health(), "killed").seal(keys)

for line in sys.stdin:
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        asyncio.run(seal(int(line)))
        os._exit(0)
"""
"""Seals in a process of its own for each number that it is given, and kills it before that change to the disk."""


async def test_a_bot_that_is_killed_at_any_step_of_sealing_loses_and_doubles_nothing(
    redis, redis_url, trail, lane, folder, tmp_path
):
    """A real process and SIGKILL, before each call that changes the disk."""
    private = os.urandom(32)
    key = TestLogKey(private)
    await happened(redis, lane, *(f"old {count}" for count in range(254)))
    await sealer(trail, key).seal(lane)
    said = list[str]()
    with subprocess.Popen(  # noqa: ASYNC220  # its answers are read in a thread
        [sys.executable, "-c", SEALS, redis_url, str(folder), private.hex()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as bots:  # fmt: skip

        def exit_code(at):
            bots.stdin.write(f"{at}\n")
            bots.stdin.flush()
            return int(bots.stdout.readline())

        at, code = 0, -signal.SIGKILL
        while code == -signal.SIGKILL:
            at += 1
            said += [f"{at} first", f"{at} second"]
            await happened(redis, lane, *said[-2:])
            code = await asyncio.to_thread(exit_code, at)
            if at % 3 == 0:
                await sealer(trail, key).seal(lane)
        bots.stdin.close()

    await sealer(trail, key).seal(lane)

    assert code == 0
    assert at > 12
    assert sealed(trail, lane)[254:] == said
    assert (found := verified(folder, key, tmp_path)).returncode == 0, found.stderr


@pytest.mark.parametrize(
    "facts",
    [
        '{"entry": "x"}',
        '{"entry": "1-1"}',
        '{"seq": [1]}',
        '{"lane": [1]}',
        '{"id": "billing.a"}',
        '{"tool": "\\ud800"}',
    ],
)
async def test_an_entry_that_somebody_else_wrote_is_sealed_as_it_is_and_hides_no_other(
    redis, trail, lane, key, folder, tmp_path, facts
):
    """What it says about itself is not what Redis says about it."""
    await happened(redis, lane, "a")
    number = await redis.xadd(
        lane.audit,
        {"event": "decided", "id": "billing.p", "seq": await redis.incr(lane.audit_seq), "facts": facts},
    )
    await happened(redis, lane, "b")

    await sealer(trail, key).seal(lane)
    await redis.delete(lane.audit)

    found = [entry async for entry in trail.entries()]
    assert [entry["id"] for entry in found] == ["billing.a", "billing.p", "billing.b"]
    assert found[1].number == number
    assert verified(folder, key, tmp_path).returncode == 0
    assert trail.logs.lane(lane).erase("billing.p") == 1


UNREADABLE = [
    {b"event": b"decided", b"id": b"billing.p", b"by": b"\xff\xfe \\xff"},
    {b"event": b"decided", b"id": b"billing.p\x80"},
    {b"event": b"decided", b"\xc3(": b"name"},
    {b"event": b"decided", b"id": b"billing.p", b"facts": b'{"tool": "\xed\xa0\x80"}'},
    {b"event": b"decided", b"id": b"billing.p", b"entry": b"x"},
    {b"event": b"decided", b"id": b"billing.p", b"lane": b"99", b"at": b"yesterday"},
    {b"\xff": b"\xff" * 70_000},
]


@pytest.mark.parametrize("fields", UNREADABLE, ids=lambda fields: str(fields)[:60])
async def test_an_entry_that_no_bot_can_read_is_sealed_as_it_is_and_the_next_ones_after_it(
    redis, redis_url, trail, lane, key, folder, tmp_path, fields
):
    """Whoever can write to Redis cannot stop the log, and their bytes are in it."""
    await happened(redis, lane, "a")
    seq = await redis.incr(lane.audit_seq)
    number = await redis.xadd(lane.audit, {**fields, b"seq": seq})
    await happened(redis, lane, "b")
    one = sealer(trail, key)

    await one.look(lane)
    async for each in trail.entries(about="billing.p"):
        assert each.number == number
    await redis.delete(lane.audit)

    assert one.health.warnings == {}
    found = [entry async for entry in trail.entries()]
    assert [entry["id"] for entry in found[::2]] == ["billing.a", "billing.b"]
    assert found[1].number == number
    assert "unreadable" in found[1].said or "too_long" in found[1].said
    assert verified(folder, key, tmp_path).returncode == 0


async def test_two_entries_of_different_bytes_never_look_the_same_in_the_log(redis, trail, lane, key):
    r"""Neither the byte ff, nor the four characters \xff, nor what says so in a field of that name."""
    for text in (b"\xff", b"\xff\\xff", b"\xff\\\\xff", b"\xff\xff", b"\\xff\xff"):
        await redis.xadd(
            lane.audit, {b"by": text, b"unreadable": b"[]", b"seq": await redis.incr(lane.audit_seq)}
        )

    await sealer(trail, key).seal(lane)

    found = [str(each.said["unreadable"]) for each in trail.logs.lane(lane).read(0, 2**60)]
    assert len(set(found)) == 5
    assert found[1] == str([["by", r"\xff\\xff"], ["unreadable", "[]"]])


async def test_an_entry_with_a_count_of_many_digits_does_not_stop_sealing(
    redis, trail, lane, key, folder, tmp_path
):
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.p", "seq": "9" * 70_000})

    await sealer(trail, key).seal(lane)

    assert verified(folder, key, tmp_path).returncode == 0
    assert len(trail.logs.lane(lane).read(0, 2**60)) == 1


@pytest.mark.parametrize("number", ["253370764800000-0", f"{2**64 - 1}-{2**64 - 1}"])
async def test_a_sealed_entry_of_an_impossible_time_hides_no_other(redis, lane, trail, key, number):
    """What was before it and what came after the stream was deleted is read by its time, and sealing goes on."""
    await happened(redis, lane, "a", days_ago=2)
    await sealer(trail, key).seal(lane)
    seq = await redis.incr(lane.audit_seq)
    await redis.xadd(lane.audit, {"event": "x", "id": "billing.far", "seq": seq}, id=number)
    await sealer(trail, key).seal(lane)
    await sealer(trail, key).seal(lane)
    await redis.delete(lane.audit)
    await happened(redis, lane, "b", days_ago=1)
    await sealer(trail, key).seal(lane)
    await happened(redis, lane, "c")
    await sealer(trail, key).seal(lane)
    await redis.delete(lane.audit)
    now = datetime.now(UTC)

    async def told(**asked):
        found = [entry["id"].removeprefix("billing.") async for entry in trail.entries(**asked)]
        return [each for each in found if each]

    async with asyncio.timeout(5):
        assert await told() == ["a", "b", "c", "far"]
        assert await told(since=now - timedelta(days=1.5), until=now - timedelta(days=0.5)) == ["b"]
        assert await told(until=now - timedelta(days=1.5)) == ["a"]
        assert await told(about="billing.c") == ["c"]
