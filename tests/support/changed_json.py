"""JSON in which one thing is changed, as somebody would try it who wants it to be read otherwise."""

import json
from copy import deepcopy
from functools import reduce
from operator import getitem

VALUES = [
    *["true", "false", "null", "0", "1", "1.0", "1e0", "-0", "-1", "0.5", "10", "1e30", "9007199254740993", "1e400"],
    *('"1"', '""', '"x"', '"2026-11-08"', '"2026-11-07T12:00:00"', '"\\ud800"', "[]", "[1]", '["x"]', '["a","b"]', "{}"),
    *(f"1{'0' * 400}", "1" * 5000, "[" * 200 + "]" * 200, "[" * 3000),
]  # fmt: skip


def changes(fields, write=json.dumps):
    """Give the name and the text of each change: each value another or left out, and one more that nobody knows."""
    for path in _paths(fields):
        for written in (*VALUES, None):
            changed = deepcopy(fields)
            place = reduce(getitem, path[:-1], changed)
            if written is None:
                del place[path[-1]]
            else:
                place[path[-1]] = "@"
            yield f"{path} {str(written)[:20]}", write(changed).replace('"@"', written or "")
    yield "one more", write(fields | {"more": 1.5})


def _paths(value, above=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*above, key)
        yield from _paths(child, (*above, key))
