"""Anchors reach a channel, a Git repository and an address, once for each time, and the verifier takes them."""

import asyncio
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import ClientSession, ClientTimeout, web
from aiohttp.test_utils import TestServer

from bot.jobs.anchor_targets import AnchorError, Sender, push
from bot.jobs.anchoring import WARNING, Anchoring
from bot.runtime.health import Health
from bot.slack.client import SlackClient
from bot.tlog.anchors import Target, anchor_of, read_targets
from bot.tlog.log import CHECKPOINT
from bot.tlog.storage import Folder
from tests.support.logs import TestLogKey, make_log, ring_of
from tests.support.people import words
from tests.test_log_verifier import assent_log

CHANNEL = "C0APPROVALS"
NOW = datetime(2026, 11, 23, 8, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def key():
    return TestLogKey()


@pytest.fixture
def logs(tmp_path, key):
    """The logs of two lanes."""
    return [
        make_log(
            tmp_path / "logs" / lane, key, [f"{lane}-{n}" for n in range(3)], origin=f"assent/assent/{lane}"
        )
        for lane in ("00", "01")
    ]


@pytest.fixture
def verified(tmp_path, key):
    """Verifies the logs against an anchor, as an auditor does, and gives the sizes of its checkpoints."""
    keys = assent_log.read_keys(ring_of(key))
    return lambda anchor: [each.against for each in assent_log.verify(tmp_path / "logs", keys, anchor)]


@pytest.fixture
async def sender(playground):
    async with ClientSession(timeout=ClientTimeout(total=2)) as session:
        slack = SlackClient(playground.bot_token, playground.api_url, session, within=2)
        await slack.who_am_i()
        yield Sender(slack, session)


@pytest.fixture
def clone(tmp_path):
    """A clone of a bare repository, as an operator makes one."""
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "bare.git")
    git(tmp_path, "clone", "--quiet", "bare.git", "clone")
    git(
        tmp_path / "clone",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "begin",
    )
    git(tmp_path / "clone", "push", "--quiet", "origin", "HEAD:main")
    return tmp_path / "clone"


def git(folder, *arguments):
    ended = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return ended.stdout


@pytest.fixture
async def address(tmp_path):
    """A server that takes anchors, and answers with the status that a test wants."""
    got, answer = [], {"status": 204}

    async def take(request):
        got.append((request.content_type, await request.text()))
        return web.Response(status=answer["status"], headers={"Location": "/elsewhere"})

    application = web.Application()
    application.router.add_post("/secret-path", take)
    application.router.add_post("/elsewhere", take)
    async with TestServer(application) as server:
        yield str(server.make_url("/secret-path")), got, answer


@pytest.fixture
def job(tmp_path, logs, sender):
    """Makes the job of one bot process."""

    def make(*targets, now=NOW):
        marks = Folder(tmp_path / "logs")
        return Anchoring(lambda: anchor_of(logs), marks, targets, sender, Health(), DAY, lambda: now)

    return make


async def sent(slack):
    return await slack.messages(CHANNEL)


async def test_a_channel_gets_the_checkpoints_of_all_logs_letter_by_letter(job, slack, verified):
    await job(Target("slack", CHANNEL)).send_if_due()

    (message,) = await sent(slack)
    lines = message["blocks"][1]["elements"][0]["elements"]
    assert "Anchor of the audit log: 6 entries in 2 logs" in words(message["blocks"])
    assert verified("".join(each["text"] for each in lines)) == [(3,), (3,)]


async def test_a_repository_gets_a_file_for_each_anchor(job, clone, tmp_path, logs, verified):
    """Somebody else has pushed in between."""
    await job(Target("git", str(clone))).send_if_due()
    git(tmp_path, "clone", "--quiet", "bare.git", "other")
    git(
        tmp_path / "other",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "other",
    )
    git(tmp_path / "other", "push", "--quiet")
    logs[0].append([b"more"])

    await job(Target("git", str(clone)), now=NOW + DAY).send_if_due()

    files = git(tmp_path / "bare.git", "ls-tree", "-r", "--name-only", "main").split()
    assert files == ["anchors/2026-11-23T080000Z.txt", "anchors/2026-11-24T080000Z.txt"]
    every = "\n".join(git(tmp_path / "bare.git", "show", f"main:{file}") for file in files)
    assert verified(every) == [(3, 4), (3, 3)]


async def test_an_address_gets_the_signed_checkpoints_as_its_body(job, address, verified):
    url, got, _ = address
    await job(Target("web", url)).send_if_due()

    ((kind, body),) = got
    assert kind == "text/plain"
    assert verified(body) == [(3,), (3,)]


async def test_several_bots_and_a_restart_send_one_anchor_in_its_time(job, slack):
    target = Target("slack", CHANNEL)

    await asyncio.gather(*(job(target).send_if_due() for _ in range(3)))
    await job(target, now=NOW + DAY - timedelta(minutes=1)).send_if_due()
    assert len(await sent(slack)) == 1
    await job(target, now=NOW + DAY).send_if_due()
    assert len(await sent(slack)) == 2


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_what_an_address_did_not_take_is_sent_by_the_next_look(job, address, caplog, status):
    """No redirect is followed, and no line of the log has the address."""
    url, got, answer = address
    answer["status"] = status
    one = job(Target("web", url))
    await one.send_if_due()
    assert f"status {status}" in one.health.warnings[WARNING]
    assert "secret-path" not in one.health.warnings[WARNING] + caplog.text

    answer["status"] = 200
    await one.send_if_due()

    assert len(got) == 2
    assert WARNING not in one.health.warnings


async def test_a_target_that_fails_keeps_no_other_from_its_anchor(job, slack, tmp_path):
    one = job(Target("git", str(tmp_path / "nowhere")), Target("slack", CHANNEL))

    await one.send_if_due()

    assert "target 1 of ASSENT_ANCHOR (git)" in one.health.warnings[WARNING]
    assert len(await sent(slack)) == 1


async def test_a_push_that_was_refused_goes_with_the_next_one(clone, tmp_path):
    hook = tmp_path / "bare.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(AnchorError, match="git push ended with 1"):
        await push(clone, "first", NOW)
    hook.unlink()

    await push(clone, "second", NOW + DAY)

    assert len(git(tmp_path / "bare.git", "ls-tree", "-r", "--name-only", "main").split()) == 2


async def test_a_bot_that_died_before_its_commit_holds_nothing_up(clone, tmp_path):
    (clone / "anchors").mkdir()
    (clone / "anchors" / "half.txt").write_text("half")
    git(clone, "add", "--", "anchors/half.txt")

    await push(clone, "whole", NOW)

    assert git(tmp_path / "bare.git", "show", "main:anchors/2026-11-23T080000Z.txt") == "whole"


@pytest.mark.parametrize("kind", ["another log", "changed"])
async def test_a_checkpoint_that_its_log_did_not_sign_is_not_anchored(job, logs, slack, kind):
    """An anchor would make it look genuine. An operator hears of it."""
    note = logs[1].storage.read(CHECKPOINT)
    other = logs[0].storage.read(CHECKPOINT) if kind == "another log" else note.replace(b"\n3\n", b"\n4\n")
    logs[1].storage.put(CHECKPOINT, other)
    one = job(Target("slack", CHANNEL))

    await one.send_if_due()

    assert await sent(slack) == []
    assert "the log assent/assent/01" in one.health.warnings[WARNING]


@pytest.mark.parametrize(
    "mark", [b"", b"garbage", b"\xff", b"2999-01-01T00:00:00+00:00\n", b"2026-11-23T07:59:00"]
)
async def test_a_mark_that_nobody_wrote_holds_no_anchor_back(job, slack, tmp_path, mark):
    """Whoever can write beside the logs cannot end anchors with one line."""
    target = Target("slack", CHANNEL)
    Folder(tmp_path / "logs").put(target.mark, mark)

    await job(target).send_if_due()

    assert len(await sent(slack)) == 1


async def test_without_an_entry_there_is_nothing_to_anchor(tmp_path, key, sender):
    empty = make_log(tmp_path / "empty", key)
    job = Anchoring(
        lambda: anchor_of([empty]), Folder(tmp_path), [Target("slack", CHANNEL)], sender, Health(), DAY
    )

    await job.send_if_due()

    assert job.health.warnings == {}


def test_targets_are_read_in_one_line_and_what_is_secret_is_never_shown():
    found = read_targets("slack:C0AUDIT  git:/srv/anchors https://example.com/secret")

    assert [(each.kind, each.where) for each in found] == [
        ("slack", "C0AUDIT"),
        ("git", "/srv/anchors"),
        ("web", "https://example.com/secret"),
    ]
    assert "secret" not in repr(found) + found[2].mark


@pytest.mark.parametrize(
    "wrong", ["slack:audit", "git:anchors", "http://example.com/secret", "https://", "C0AUDIT", "git:"]
)
def test_a_target_that_cannot_be_meant_is_named_by_its_number(wrong):
    with pytest.raises(ValueError, match="target 2 cannot be sent to: write slack:C") as caught:
        read_targets(f"slack:C0AUDIT {wrong}")
    assert "secret" not in str(caught.value)
