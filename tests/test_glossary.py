"""The glossary has one entry for each word, in order, and names modules and classes that exist."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "glossary.md"
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| Word"))
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_word_names_where_it_is_in_the_code(row: list[str]):
    """A reader of the glossary opens the module or the class, and finds it there."""
    _, _, places = row
    names = re.findall(r"`([a-z_]+\.[A-Za-z_.]+)`", places)

    assert names
    for name in names:
        assert _found(name), name


def test_the_words_are_in_order_and_each_stands_there_once():
    """A word is found without searching."""
    words = [row[0].strip("`").lower() for row in ROWS]

    assert words == sorted(set(words))


def _found(name: str) -> object:
    """Give what a dotted name means: a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"{name} is no module")
