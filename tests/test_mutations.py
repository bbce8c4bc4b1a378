"""The faults that `make mutants` tries: found in the code, found again after it was edited, and put in so that it still runs."""

import ast

import pytest
from redis import Redis

from mutations import lua, python
from mutations.choosing import MOST_FILES, callers_of, chosen, same_test, scripts_calling
from mutations.listing import Listed, listed_from, mutations_of, read_list, write_list
from mutations.matching import find_again
from mutations.report import Outcome, diff, found_in_other_words, report
from mutations.running import Result
from tests.support.pages import ROOT

DECIDING = '''
LIMIT = 5

class Votes:
    """How many are needed."""

    def enough(self, votes: list[str], *, needed: int = 2) -> bool:
        """Count them."""
        if not votes or self.closed:
            return False
        votes.sort()
        logger.info("votes.counted")
        return len(votes) >= needed
'''
EXTENDING = """
-- Give people more time.
local status, deadline = unpack(redis.call('HMGET', KEYS[1], 'status', 'deadline'))
if status ~= 'pending' or now() >= tonumber(deadline) then
  return 'closed'  -- if it is over
end
redis.call('HSET', KEYS[1], 'deadline', text(deadline + ARGV[2]))
local function mark(card)
  redis.call('HSET', card, 'extended', 1)
end
mark(KEYS[1])
return 'extended'
"""


def changes(mutations, source):
    """Show each fault as its kind, the line before and the line after."""
    shown = {}
    for mutation in mutations:
        before, after = diff(mutation, source)
        shown.setdefault(mutation.kind, []).append((before.lstrip("- "), after.lstrip("+ ")))
    return shown


# --- Found in the code ----------------------------------------------------------------------------------------------


def test_the_faults_of_python():
    """Each kind where it can be, and none in log lines, types and docstrings."""
    found = changes(python.mutations_in("bot/votes.py", DECIDING), DECIDING)

    assert found == {
        "number": [
            ("LIMIT = 5", "LIMIT = (6)"),
            (
                "def enough(self, votes: list[str], *, needed: int = 2) -> bool:",
                "def enough(self, votes: list[str], *, needed: int = (3)) -> bool:",
            ),
        ],
        "and/or": [("if not votes or self.closed:", "if (not votes and self.closed):")],
        "condition": [("if not votes or self.closed:", "if not (not votes or self.closed):")],
        "guard": [("if not votes or self.closed:", "if (not votes or self.closed) and False:")],
        "not": [("if not votes or self.closed:", "if (votes) or self.closed:")],
        "boolean": [("return False", "return True")],
        "call": [("votes.sort()", "pass")],
        "comparison": [("return len(votes) >= needed", "return (len(votes) > needed)")],
    }


def test_the_faults_of_a_script():
    """Each kind where it can be; which key or argument is meant stays."""
    found = changes(lua.mutations_in("bot/scripts/extend.lua", EXTENDING), EXTENDING)

    condition = "if status ~= 'pending' or now() >= tonumber(deadline) then"
    write = "redis.call('HSET', KEYS[1], 'deadline', text(deadline + ARGV[2]))"
    assert found == {
        "comparison": [
            (condition, condition.replace("~=", "==")),
            (condition, condition.replace(">=", ">")),
        ],
        "and/or": [(condition, condition.replace(" or ", " and "))],
        "condition": [(condition, f"if not ({condition[3:-5]}) then")],
        "guard": [(condition, f"if false and ({condition[3:-5]}) then")],
        "arithmetic": [(write, write.replace("+", "-"))],
        "call": [
            (write, "do end"),
            ("redis.call('HSET', card, 'extended', 1)", "do end"),
            ("mark(KEYS[1])", "do end"),
        ],
        "number": [
            ("redis.call('HSET', card, 'extended', 1)", "redis.call('HSET', card, 'extended', 2)"),
        ],
    }


def with_each_fault(files):
    """Give each file as it becomes, with one fault after the other."""
    for path in files:
        source = path.read_text(encoding="utf-8")
        for mutation in mutations_of(ROOT, path.relative_to(ROOT).as_posix()):
            yield mutation.applied(source)


def test_a_fault_of_python_can_be_compiled():
    """A fault that no Python can read would always be noticed, and say nothing: some files, and some faults of each."""
    for source in [*with_each_fault(sorted((ROOT / "bot").rglob("*.py"))[::8])][::8]:
        ast.parse(source)


def test_every_fault_of_a_script_can_be_loaded(redis_url):
    """Likewise: Redis reads each script with its fault."""
    with Redis.from_url(redis_url) as redis:
        loaded = [redis.script_load(source) for source in with_each_fault(sorted(ROOT.glob("*/**/*.lua")))]

    assert len(loaded) > 1000


# --- Found again ----------------------------------------------------------------------------------------------------


def found_again(before, after, *, file="bot/votes.py"):
    """Say how each fault of a file is found again after an edit."""
    listed = [listed_from("decisions", each) for each in python.mutations_in("bot/votes.py", before)]
    return {match.listed.name: match for match in find_again(listed, python.mutations_in(file, after))}


def test_a_fault_keeps_its_name_when_the_layout_changes():
    """Other lines, other breaks, other comments."""
    edited = DECIDING.replace("LIMIT", "# How many.\n\nLIMIT").replace(
        "if not votes or self.closed:",
        "if (  # nobody may\n            not votes\n            or self.closed\n        ):",
    )

    assert {match.how for match in found_again(DECIDING, edited).values()} == {"same"}


def test_a_fault_is_found_again_in_another_file_and_in_other_words():
    """A module that is renamed, and a name in it."""
    edited = DECIDING.replace("self.closed", "self.is_closed")

    found = found_again(DECIDING, edited, file="bot/domain/rules.py")

    assert {match.how for match in found.values()} == {"moved", "alike"}
    assert found["votes Votes.enough | and/or | not votes or self.closed | 0"].how == "alike"


def test_a_fault_whose_code_is_gone_is_said_to_be_gone():
    """Not dropped: its line is in the report."""
    edited = DECIDING.replace("        votes.sort()\n", "")

    match = found_again(DECIDING, edited)["votes Votes.enough | call | votes.sort() | 0"]

    assert match.how == "gone"
    assert "votes Votes.enough | call | votes.sort() | 0" in found_in_other_words([match])
    assert "votes Votes.enough | call | votes.sort() | 0" in report([Outcome(match, None)], ROOT)


def test_a_fault_of_a_script_is_found_again_when_its_keys_get_names():
    """In another order, too."""
    named = EXTENDING.replace("KEYS[1]", "card").replace("ARGV[2]", "more")
    named = "local wake, card = unpack(KEYS)\nlocal id, person, more = unpack(ARGV)\n" + named
    listed = [listed_from("scripts", each) for each in lua.mutations_in("bot/scripts/extend.lua", EXTENDING)]
    now = lua.mutations_in("bot/store/lua/extend.lua", named)

    found = find_again(listed, now, {"bot/store/lua/extend.lua": lua.named_in(named)})

    assert [match.listed.name for match in found if not match.mutation] == []


def test_no_two_faults_are_found_again_as_one():
    """The second of two that are alike is gone."""
    before = "def f():\n    return [g(1, 'a'), g(2, 'a')]\n"

    found = found_again(before, "def f():\n    return [g(1, 'b')]\n")

    assert sorted(match.how for match in found.values()) == ["alike", "gone"]


def test_the_list_is_read_as_it_was_written(tmp_path):
    """Sorted by what it is about, one on each line."""
    one = Listed(area="scripts", file="bot/scripts/extend.lua", kind="call", text="owe()", ordinal=0)
    other = Listed(
        area="policy", file="bot/policy.py", where="read", kind="not", text="not a", ordinal=1, verdict="survived",
        reason="a is always there",
    )  # fmt: skip
    write_list([one, other], tmp_path / "list")

    assert read_list(tmp_path / "list") == [other, one]


def test_the_list_names_each_fault_once():
    """And why a survivor may survive."""
    listed = read_list()
    names = [each.name for each in listed]

    assert len(set(names)) == len(names) >= 150
    assert [
        each.name for each in listed if each.verdict in {"survived", "uncovered"} and not each.reason
    ] == []


# --- Judged -----------------------------------------------------------------------------------------------------------


def test_the_tests_of_a_fault_are_the_fastest_and_some_of_each_file():
    """As many as there is time for; the one that noticed it before goes first."""
    seconds = {f"tests/a.py::{number}": 0.1 for number in range(20)} | {
        "tests/b.py::slow": 0.6,
        "tests/c.py::x": 9.0,
    }

    tests = chosen([*seconds], seconds, within=2.0, first="tests/c.py::x")

    assert tests[:3] == ["tests/c.py::x", "tests/a.py::0", "tests/a.py::1"]
    assert "tests/b.py::slow" in tests
    assert sum(seconds[test] for test in tests[1:]) <= 2.0


def test_a_test_is_known_when_its_file_was_renamed():
    """By its name and its case; where that case is gone, by its name."""
    tests = ["tests/new.py::test_a[1]", "tests/new.py::test_a[2]", "tests/new.py::test_b"]

    assert same_test("tests/old.py::test_a[2]", tests) == ["tests/new.py::test_a[2]"]
    assert same_test("tests/old.py::test_a[3]", tests) == tests[:2]
    assert same_test("nothing starts", tests) == []


def test_the_tests_of_a_fault_are_of_few_files():
    """Each file takes a while to import."""
    seconds = {f"tests/{number}.py::x": 0.1 for number in range(40)}

    assert len(chosen([*seconds], seconds, within=30.0)) == MOST_FILES


def test_a_function_of_the_prelude_reaches_the_scripts_that_call_it():
    """Directly, or through another function."""
    prelude = "local function a()\nend\n\nlocal function b()\n  a()\nend\n\nlocal function c()\nend\n"

    reached = scripts_calling(
        callers_of("a", prelude), {"one": "b(KEYS[1])", "two": "c()", "three": "return a()"}
    )

    assert reached == {"one", "three"}


def outcome(verdict, before="caught", reason=""):
    [mutation] = python.mutations_in("bot/limits.py", "LIMIT = 5\n")
    listed = Listed(
        area="policy",
        file="bot/limits.py",
        kind="number",
        text="LIMIT = 5",
        ordinal=0,
        verdict=before,
        reason=reason,
    )
    [match] = find_again([listed], [mutation])
    return Outcome(match, Result(mutation.place, verdict))


@pytest.mark.parametrize(
    ("now", "before", "reason", "is_lost", "is_open"),
    [
        ("caught", "caught", "", False, False),
        ("caught", "survived", "it is never read", False, False),
        ("timed out", "caught", "", False, False),
        ("survived", "caught", "", True, True),
        ("uncovered", "caught", "", True, True),
        ("survived", "survived", "", False, True),
        ("survived", "survived", "it is never read", False, False),
    ],
)
def test_a_fault_that_was_noticed_stays_noticed(now, before, reason, is_lost, is_open):
    """What was caught and is not any more is lost; what survives needs a reason."""
    found = outcome(now, before, reason)

    assert (found.is_lost, found.is_open) == (is_lost, is_open)
