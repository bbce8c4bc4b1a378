"""What a policy file says about how much one agent may ask."""

import re
from collections.abc import Callable

from bot.limits import Limits
from bot.policy_yaml import Document, MappingNode, Node, SequenceNode

MOST_PENDING = 1_000
"""All of them are looked at when the limit is reached."""
MOST_PER_MINUTE = 6_000

_SIZE = re.compile(r"([1-9][0-9]{0,8})(B|KB|MB|GB)")
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def read_limits(
    document: Document, node: Node, read_agents: Callable[[Node], tuple[str, ...]]
) -> tuple[Limits, ...]:
    """Read the limits, each for some agents; what cannot be read is noted.

    Args:
        document: The file.
        node: The list of limits.
        read_agents: Reads the globs that name agents.
    """
    if not isinstance(node, SequenceNode):
        document.wrong(node, "limits takes a list: each entry begins with a hyphen")
        return ()
    found: list[Limits] = []
    for entry in node.items:
        if any("*" in earlier.agents for earlier in found):
            document.wrong(
                entry, "this is never reached: an entry before it is for every agent: put that one last"
            )
        found.append(_entry(document, entry, read_agents))
    return tuple(found)


def _entry(document: Document, node: Node, read_agents: Callable[[Node], tuple[str, ...]]) -> Limits:
    known = document.keys(node, ("agent", "pending", "per_minute", "bytes"), "an entry of limits")
    if isinstance(node, MappingNode) and not known.keys() - {"agent"}:
        document.wrong(node, "this limits nothing: write pending, per_minute or bytes")
    return Limits(
        read_agents(known["agent"]) if "agent" in known else ("*",),
        _count(document, known.get("pending"), MOST_PENDING),
        _count(document, known.get("per_minute"), MOST_PER_MINUTE),
        _size(document, known.get("bytes")),
    )


def _count(document: Document, node: Node | None, most: int) -> int | None:
    if node is None:
        return None
    value = document.value(node)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        document.wrong(node, f"{value!r} is not a number of interrupts: write 1 to {most:,}")
        return None
    return value


def _size(document: Document, node: Node | None) -> int | None:
    if node is None:
        return None
    text = str(document.value(node))
    found = _SIZE.fullmatch(text)
    if found is None:
        document.wrong(node, f"{text!r} is not a size: write 512KB, 4MB or 1GB")
        return None
    return int(found[1]) * _UNITS[found[2]]
