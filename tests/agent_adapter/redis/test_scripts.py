"""Scripts read like code: their keys and arguments have names, and callers know them by these names only."""

import re
from pathlib import Path

import pytest

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.scripts import AGENT_LUA, read_script

ROOT = Path(__file__).parents[3]
FILES = sorted(ROOT.glob("*/*/lua/*.lua"))
SCRIPTS = [path for path in FILES if path.stem != "prelude"]
ORDER = (
    "req", "card", "run", "inbox", "undrawn", "due", "unresumed", "standing", "failing",
    "inboxes", "bots", "epoch", "clock", "watched", "audit", "audit_move",
)  # fmt: skip
"""Of the keys of a namespace, in every script."""


def of(paths):
    return pytest.mark.parametrize("path", paths, ids=[path.stem for path in paths])


def read(path):
    return read_script(path.parent.relative_to(ROOT).as_posix().replace("/", "."), path.stem)


def named_in_header(path, part):
    """Names stand alone on a line, separated by commas, or before two blanks and what they mean."""
    header = path.read_text().partition("\n\n")[0]
    found = re.search(rf"^-- {part}  (.*(?:\n--       .*)*)", header, re.MULTILINE)
    lines = [line.removeprefix("--").strip() for line in found[1].split("\n")] if found else []
    names = [re.match(r"(\w+(?:, \w+)*)(?:  .*)?$", line) for line in lines]
    return tuple(name for match in names if match for name in match[1].split(", "))


@of(SCRIPTS)
def test_a_script_opens_with_its_keys_and_arguments(path):
    """What the header lists is what the script takes, in that order."""
    script = read(path)

    assert named_in_header(path, "KEYS") == script.keys
    assert named_in_header(path, "ARGV") == script.args


@of(SCRIPTS)
def test_keys_have_one_order(path):
    listed = [name for name in read(path).keys if name in ORDER]

    assert listed == sorted(listed, key=ORDER.index)


@of(FILES)
def test_keys_arguments_and_numbers_have_names(path):
    """Nothing is taken by its number, and a number of three digits has a name that says what it is."""
    code = [line.partition("--")[0] for line in path.read_text().splitlines()]

    assert [line for line in code if re.search(r"(KEYS|ARGV)\[\d", line)] == []
    assert [
        line for line in code if re.search(r"\b\d{3,}\b", line) and not re.match(r"local [A-Z]", line)
    ] == []


def test_luacheck_knows_the_prelude():
    """What it lets a script take from the prelude is there."""
    listed = re.search(r"local PRELUDE = \{(.*?)\n\}", (ROOT / ".luacheckrc").read_text(), re.DOTALL)
    prelude = (ROOT / "agent_adapter/redis/lua/prelude.lua").read_text()
    defined = re.findall(r"^local (?:function (\w+)|([A-Z_]+(?:, [A-Z_]+)*) =)", prelude, re.MULTILINE)
    names = {name for function, constants in defined for name in (function, *constants.split(", "))}

    assert listed
    assert {*re.findall(r"'(\w+)'", listed[1])} - names == set()


def test_a_call_is_put_in_the_order_of_the_script():
    """Whatever the order in which somebody names things."""
    named = Keys()

    keys, args = read_script(AGENT_LUA, "change").call(
        named.of("billing.1"), {"looks": 0, "lease": None, "before": None, "since": 7}
    )

    assert keys == []
    assert args == ["billing.1", named.prefix, 7, "", "", 0]


def test_what_follows_the_names_keeps_its_order():
    """Several of a kind have no names."""
    keys, args = read_script(AGENT_LUA, "finish_work").call(
        {"owed": "a", "failing": "b"}, {"said": "-"}, ["id", "lease", 7], ["c"]
    )

    assert keys == ["a", "b", "c"]
    assert args == ["-", "id", "lease", 7]


def test_a_key_may_be_left_out():
    """The last ones, which the script then does without."""
    names = {"owed": None, "failing": None, "said": 7}

    assert read_script(AGENT_LUA, "finish_work").call({}, names) == ([], [7])


def test_a_wrong_name_is_an_error():
    """A slip is found at the first call, not in the record."""
    script, names = read_script(AGENT_LUA, "finish_work"), Keys().of("billing.1")

    with pytest.raises(TypeError, match="finish_work takes"):
        script.call(names, {"owed": "a", "say": ""})
    with pytest.raises(KeyError, match="owed"):
        script.call(names, {})
