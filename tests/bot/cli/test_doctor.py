"""The doctor, against the stand-in for Slack and a real Redis: every problem is named, with its cure."""

import base64

import pytest

from agent_adapter.contract.keys import Keys
from agent_adapter.receipts.key_files import write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import public_of
from bot.cli.doctor import examine
from bot.domain.seal import Seal
from bot.runtime.bot_keys import agree_on_seal
from playground.redis_server import RedisServer
from tests.conftest import an_agent, keys_of, settings_for
from tests.support.builders import an_interrupt
from tests.support.on_call import KEY, serving
from tests.support.replicas import replicated


@pytest.fixture
def findings(playground, redis_url, tmp_path, signing):
    """Run the doctor with changed settings and give its lines."""

    async def run(**changed):
        given = {"audit_dir": str(tmp_path / "audit"), **keys_of(signing), **changed}
        return [str(finding) async for finding in examine(settings_for(playground, redis_url, **given))]

    return run


def not_ok(lines):
    return [line for line in lines if not line.startswith(("ok ", "note "))]


async def test_a_sound_installation_passes_every_check(findings, redis):
    """Settings, Redis, schema, receipts, audit trail, app token, bot token, scopes, channel, approvers."""
    lines = await findings()

    assert not_ok(lines) == []
    subjects = [line.split()[1].rstrip(":") for line in lines]
    checked = "settings redis schema receipts audit app bot scopes commands events events channel"
    assert subjects == [*checked.split(), *["approvers"] * 3]
    assert await redis.keys() == [], "the doctor only looks"


async def test_what_is_not_signed_is_said(findings, signing):
    """No key, a broken ring, and a key for another workspace."""
    (unset,) = not_ok(await findings(signing_key=None, seal_key=None, ring=None))
    assert unset.startswith("warn  receipts: what people decide is not signed")

    write_keys(
        signing.ring_path, [RingKey.of(public_of(signing.signer), "receipts", namespace="assent", team="T1")]
    )
    (foreign,) = not_ok(await findings())
    assert foreign.startswith(
        f"fail  receipts: the ring binds the signing key {signing.kid} to the workspace T1"
    )

    signing.ring_path.write_text("{")
    (broken,) = not_ok(await findings())
    assert broken.startswith(f"fail  receipts: {signing.ring_path}: not JSON")


async def test_another_seal_key_than_that_of_the_bots_is_reported(findings, redis, signing):
    """With the sentence with which the bot refuses to start. The doctor writes no seal of its own."""
    seal = Seal.parse(KEYS[0], namespace="assent")
    await agree_on_seal(redis, Keys(), seal)
    both = f"{signing.seal_path.read_text().strip()},{KEYS[0]}"

    (another,) = not_ok(await findings())
    (unset, _) = not_ok(await findings(signing_key=None, seal_key=None, ring=None))

    assert another.startswith("fail  receipts: ASSENT_SEAL_KEY: the bots of this namespace seal with another")
    assert unset.startswith("fail  receipts: ASSENT_SEAL_KEY is not set, and the bots of this namespace have")
    assert not_ok(await findings(seal_key=both)) == []
    assert await redis.hget(Keys().meta, "seal") == seal.mark("", "meta", ())


async def test_members_of_a_channel_that_nobody_names_are_nobody(findings):
    """Beside other approvers, the word does nothing, unless the agent may choose."""
    given = {"approvers": "U0DANA,channel", "channel": None}

    assert "warn  approvers: ASSENT_CHANNEL is not set, so `channel` means nobody" in await findings(**given)
    allowed = await findings(**given, agent_channel_may_decide=True)
    assert "ok    approvers: the members of the channel that the agent names" in allowed


async def test_what_is_lost_of_the_audit_trail_is_said(findings, tmp_path):
    """Without a folder, or with one that cannot be written."""
    (tmp_path / "file").write_text("")

    (unset,) = not_ok(await findings(audit_dir=None))
    (wrong,) = not_ok(await findings(audit_dir=str(tmp_path / "file")))

    assert unset.startswith("warn  audit: ASSENT_AUDIT_DIR is not set, so who decided what is in Redis alone")
    assert wrong.startswith(f"fail  audit: the bot cannot write to {tmp_path / 'file'}")


async def test_missing_scopes_are_named(slack, findings):
    """Exactly those that the settings need, and how to add them."""
    await slack.set_scopes(*("chat:write", "users:read", "channels:read", "channels:history", "commands"))

    (line,) = not_ok(await findings())

    assert line == (
        "fail  scopes: missing groups:read, groups:history: add them under OAuth & Permissions, then reinstall the app"
    )


async def test_a_revoked_token_is_reported_and_redis_is_still_checked(slack, findings, redis_url):
    """One fault does not hide the others."""
    await slack.revoke_token()

    lines = await findings(REDIS_URL="redis://127.0.0.1:1/0")

    (token,) = [line for line in lines if "bot token" in line]
    assert token.startswith("fail  bot token: Slack refuses it (token_revoked): copy the bot token")
    (server,) = [line for line in lines if line.startswith("fail  redis")]
    assert "redis://127.0.0.1:1/0 does not answer" in server


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"audit_channel": "C0OLD"}, "fail  channel: #old is archived"),
        ({"channel": "C0OLD"}, "fail  channel: #old is archived: unarchive it, or name another channel"),
        ({"channel": "C0NONE"}, "fail  channel: Slack knows no C0NONE in this workspace: correct the id, or invite the bot there"),
        ({"channel": "C0PRIVATE"}, "fail  channel: Slack knows no C0PRIVATE in this workspace"),
        ({"channel": "C0SHARED"}, "warn  channel: #shared is shared with another company, which can read what agents ask"),
        ({"channel": None}, "warn  channel: ASSENT_CHANNEL is not set"),
    ],
)  # fmt: skip
async def test_the_channel_is_judged(findings, given, expected):
    """Unknown, archived and shared channels are told before the first card."""
    (line,) = not_ok(await findings(**given))

    assert line.startswith(expected)


async def test_the_bot_must_be_in_the_channel(slack, findings):
    """The line says how to invite it."""
    await slack.channel("C0APPROVALS", members=["U0DANA"])

    (line,) = not_ok(await findings())

    assert line == "fail  channel: the bot is not in #approvals: write /invite @assent there"


@pytest.mark.parametrize(
    ("approver", "expected"),
    [
        ("U0LEFT", "warn  approvers: U0LEFT is deactivated and can never decide: name somebody else"),
        ("U0ROBO", "warn  approvers: U0ROBO is a bot and can never decide"),
        ("U0NOBODY", "warn  approvers: Slack knows no U0NOBODY in this workspace: correct the id, or take it out"),
        ("S0NONE", "warn  approvers: Slack knows no S0NONE in this workspace"),
        ("U0GUEST", "warn  approvers: U0GUEST is a guest; may decide, since named"),
        ("U0CONN", "warn  approvers: U0CONN is of another company; may decide, since named"),
    ],
)  # fmt: skip
async def test_each_approver_is_judged(findings, approver, expected):
    """Who can never decide is told, and who may only because they are named."""
    lines = await findings(approvers=f"U0DANA,{approver}")

    (line,) = not_ok(lines)
    assert line.startswith(expected)
    assert "ok    approvers: U0DANA" in lines


async def test_another_schema_is_reported(findings, redis):
    """The namespace belongs to another version."""
    await redis.hset("{assent}:meta", mapping={"schema": "99"})

    (line,) = not_ok(await findings())

    assert line.startswith(
        "fail  schema: namespace 'assent' was written with schema 99, this version reads 2"
    )


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (("--appendonly", "no"), "warn  redis: Redis at unix"),
        (("--maxmemory", "1kb"), "fail  redis: Redis at unix"),
    ],
)
async def test_a_redis_that_loses_or_takes_no_approvals_is_reported(findings, tmp_path, option, expected):
    """Without an append-only file there is a warning; one that is full is of no use."""
    server = RedisServer(tmp_path, option)
    server.start()
    (line,) = not_ok(await findings(REDIS_URL=server.url))
    server.stop()

    assert line.startswith(expected)


async def test_what_has_to_confirm_a_click_is_looked_at(findings):
    """A server without replicas fails, and with one away it warns."""
    (line,) = not_ok(await findings(durability="replica"))
    assert line.startswith("fail  durability: Redis at unix")
    assert "start a replica, or set ASSENT_DURABILITY=local" in line

    with replicated(1) as group:
        given = {"REDIS_URL": group.primary.url, "durability": "replica"}
        lines = await findings(**given)
        assert "ok    durability: a click waits for 1 of its replicas" in lines
        assert not_ok(lines) == []
        (line,) = not_ok(await findings(**given, durability_replicas=2))
    assert line.startswith(
        "warn  durability: clicks wait for 2 replicas, and 1 follows Redis: Slack shows each click as failed, but it counts"
    )


async def test_places_and_people_of_a_policy_file_are_looked_at(findings, tmp_path):
    """Each of them once, wherever a rule names it."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [S0OPS]}\n"
        "rules:\n"
        "  - {name: old, match: {tool: pay}, channel: C0OLD, approvers: [U0LEFT]}\n"
        "  - {name: older, match: {tool: refund}, channel: C0OLD, approvers: [U0LEFT]}\n"
    )

    lines = await findings(policy=str(policy), approvers=(), channel=None)

    assert [line for line in lines if line.startswith("ok    channel")] == ["ok    channel: #approvals"]
    assert any("subteam_members_changed" in line for line in lines), "a group decides"
    assert [line.partition(":")[2].split()[0] for line in not_ok(lines)] == [
        "#old",
        "U0LEFT",
        "nobody",
        "nobody",
    ]
    assert lines[-1] == "fail  approvers: nobody is left who can decide by 'older': name a person or a group"


async def test_the_doctor_asks_each_schedule_who_is_on_call(findings, slack, tmp_path):
    """And says why one does not answer, without its key."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "default: {channel: C0APPROVALS, approvers: [oncall:payments]}\n"
        "schedules: {payments: {pagerduty: P1A2B3C}, night: {calendar: rota}}\n"
    )
    await slack.person("U0DANA", email="dana@example.com")
    async with serving() as rota:
        rota.emails = ["dana@example.com"]
        settings = {"policy": str(path), "approvers": "", "channel": None, "pagerduty_url": rota.url}

        found = [line for line in await findings(**settings, pagerduty_token=KEY) if "on call" in line]
        missing = [line for line in await findings(**settings) if "on call" in line]

    assert found == [
        "ok    on call: payments: U0DANA",
        "fail  on call: night: ASSENT_CALENDARS has no rota: until it answers, nobody decides as on call",
    ]
    assert "ASSENT_PAGERDUTY_TOKEN is not set" in missing[0]


KEYS = [base64.b64encode(bytes([number]) * 32).decode() for number in range(2)]


@pytest.mark.parametrize(
    ("asked_with", "key", "said"),
    [
        ("", None, None),
        (KEYS[0], KEYS[0], "ok    encryption: what is asked and decided is encrypted"),
        ("", KEYS[0], "warn  encryption: 1 of 1 questions that wait were asked without a key"),
        (KEYS[0], None, "fail  encryption: 1 of 1 questions that wait cannot be decrypted: set ASSENT_RECORD_KEY"),
        (KEYS[0], KEYS[1], "fail  encryption: 1 of 1 questions that wait cannot be decrypted"),
    ],
)  # fmt: skip
async def test_questions_that_are_not_encrypted_or_cannot_be_decrypted_are_counted(
    findings, redis, redis_url, monkeypatch, asked_with, key, said
):
    """Given a question that waits, and a bot with this key."""
    monkeypatch.setenv("ASSENT_RECORD_KEY", asked_with)
    async with an_agent(redis_url) as client:
        interrupt_id = await client.publish(an_interrupt())
    await redis.zadd(Keys().due, {interrupt_id: 0})

    lines = [line for line in await findings(record_key=key) if " encryption: " in line]

    assert [line.startswith(said) for line in lines] == ([True] if said else [])
