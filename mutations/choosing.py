"""Choose the tests that are likely to notice a mutation soon."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import PurePosixPath

MOST_FILES = 8
"""Files of tests for one mutation: each takes a while to import."""


def callers_of(function: str, prelude: str) -> set[str]:
    """Give a function of the prelude and those that call it, directly or not."""
    bodies = dict(re.findall(r"^local function (\w+)(.*?)^end", prelude, re.MULTILINE | re.DOTALL))
    found = {function}
    while more := {name for name, body in bodies.items() if _calls(found, body)} - found:
        found |= more
    return found


def scripts_calling(functions: set[str], texts: Mapping[str, str]) -> set[str]:
    """Give the scripts in which one of these functions is called."""
    return {file for file, text in texts.items() if _calls(functions, text)}


def _calls(functions: set[str], text: str) -> bool:
    return re.search(rf"\b(?:{'|'.join(sorted(functions))})\(", text) is not None


def is_named_after(file: str, test: str) -> bool:
    """Tell whether a test is in the file of tests about this file: `tests/bot/cli/test_policy.py` of `bot/cli/policy.py`."""
    path = PurePosixPath(file)
    return test.partition("::")[0] == f"tests/{path.parent}/test_{path.name}"


def chosen(tests: Iterable[str], seconds: Mapping[str, float], within: float, first: str = "") -> list[str]:
    """Choose tests that take no longer than this together.

    Args:
        tests: Those that cover what was changed.
        seconds: How long each takes.
        within: Seconds for all.
        first: The test that caught it before, where it is still there; it goes first.
    """
    known = same_test(first, seconds)
    fast = sorted((test for test in tests if test not in known), key=lambda test: (seconds[test], test))
    # The fastest are about small parts; the fastest of each file see it from other sides.
    half = list(_until(fast, seconds, within / 2))
    others = _until(_by_turns([test for test in fast if test not in set(half)]), seconds, within / 2)
    return _of_few_files([*known, *half, *others])


def same_test(name: str, tests: Collection[str]) -> list[str]:
    """Find a test, also where its file has got another name; else those of its function."""
    if not name or name in tests:
        return [name] if name else []
    own = name.partition("::")[2]
    moved = [test for test in tests if test.partition("::")[2] == own]
    function = own.partition("[")[0]
    return moved or [test for test in tests if test.partition("::")[2].partition("[")[0] == function]


def _until(tests: Iterable[str], seconds: Mapping[str, float], within: float) -> Iterator[str]:
    for test in tests:
        within -= seconds[test]
        if within < 0:
            return
        yield test


def _by_turns(tests: Iterable[str]) -> Iterator[str]:
    """Give one of each file in turn."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        files[test.partition("::")[0]].append(test)
    return (test for each in zip_longest(*files.values()) for test in each if test)


def _of_few_files(tests: list[str]) -> list[str]:
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:MOST_FILES]
    return [test for test in tests if test.partition("::")[0] in files]
