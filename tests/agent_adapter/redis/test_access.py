"""The rights of users fit the scripts: what a script declares, whoever runs it may read and write."""

import re
from pathlib import Path

import pytest

from agent_adapter.contract.access import COMMANDS, OF_AGENTS, OF_ALL, Rights, Role, rules_of
from agent_adapter.contract.keys import OWN, Keys
from agent_adapter.redis.scripts import AGENT_LUA, read_script

ROOT = Path(__file__).parents[3]
BOT_LUA = "bot.store.lua"
AGENTS = {path.stem for path in (ROOT / "agent_adapter/redis/lua").glob("*.lua")} - {"prelude"}
BOTS = {path.stem for path in (ROOT / "bot/store/lua").glob("*.lua")}
RUNS: dict[Role, set[str]] = {
    "agent": AGENTS - {"finish_work"},
    "worker": AGENTS,
    "operator": {"change"},
}
CHANGES = {
    "agent": ("acts", "change", "replies"),
    "worker": ("acts", "change", "replies", "runs"),
    "bot": ("acts", "change", "replies", "runs"),
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
    """Redis refuses a script before it starts for a declared key that its user may only read."""
    # Workers leave this one out.
    declared = {SPELT.get(key, key) for key in script(verb).keys} - (
        {"failing"} if role == "worker" else set()
    )

    assert {key: right(role, key) for key in declared if right(role, key) != "RW"} == {}


def used_by(verb):
    """Return a script after the paragraphs of the prelude that it uses, without comments."""
    prelude = (ROOT / "agent_adapter/redis/lua/prelude.lua").read_text()
    text = re.sub("--.*", "", script(verb).text.removeprefix(prelude))
    for paragraph in reversed(re.sub("--.*", "", prelude).split("\n\n")):
        defined = re.findall(r"^local (?:function )?(\w+)", paragraph, re.MULTILINE)
        if any(re.search(rf"\b{name}\b", text) for name in defined):
            text = f"{paragraph}\n{text}"
    return text


def commands_of(verbs):
    texts = [used_by(verb) for verb in verbs]
    called = r"(?:call|try|pcall)\(\s*'([A-Z]+)'|on_keys_of\(id, prefix, '([A-Z]+)'"
    return {(one or other).lower() for text in texts for one, other in re.findall(called, text)}


@pytest.mark.parametrize("role", [*RUNS, "bot"])
def test_users_may_run_the_commands_of_their_scripts(role):
    verbs = RUNS.get(role, AGENTS | BOTS)
    modules = [(ROOT / f"agent_adapter/redis/{name}.py").read_text() for name in CHANGES.get(role, ())]
    changed = {word.lower() for text in modules for word in re.findall(r"[(,] ?\"([A-Z]+)\", ", text)}

    assert (commands_of(verbs) | changed) - {*COMMANDS[role], "px", "xx", "minid", "limit"} == set()
    assert not modules or {"hset", "set", "xadd", "zrevrange", "pexpire"} <= changed


def test_every_kind_of_key_is_one_that_exists():
    """A right for a key that nobody writes would be a hole without a use."""
    assert {Keys().prefix + kind for kind in OF_ALL} <= {*Keys().of().values()}
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
