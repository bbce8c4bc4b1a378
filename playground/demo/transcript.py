"""What people see in Slack, as lines of plain text. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Names = Mapping[str, str]
"""Slack id -> name."""

_WIDTH = 78
_MENTION = re.compile(r"<(?:@|!subteam\^)(\w+)>")
_DATE = re.compile(r"<!date\^[^|]*\|([^>]*)>")
_BOLD = re.compile(r"\*([^*\n]+)\*")


def frame(title: str, lines: Sequence[str]) -> str:
    """Draw a box around lines, open to the right."""
    top = f"┌─ {title} "
    return "\n".join(
        [top.ljust(_WIDTH, "─"), *(f"│ {line}".rstrip() for line in lines), "└".ljust(_WIDTH, "─")]
    )


def block_lines(blocks: Sequence[Json], names: Names) -> list[str]:
    """Write the blocks of a message or a view."""
    return [line for block in blocks for text in _block(block, names) for line in text.split("\n")]


def call_text(tool: str, args: Json) -> str:
    """Write one tool call, as JSON in which every character can be seen."""
    return f"{tool} {json.dumps(args, ensure_ascii=False)}"


def mrkdwn_text(text: str, names: Names) -> str:
    """Write Slack's markup as plain text."""
    text = _MENTION.sub(lambda found: f"@{names.get(found[1], found[1])}", text)
    text = _BOLD.sub(r"\1", _DATE.sub(r"\1", text)).replace("`", "")
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _block(block: Json, names: Names) -> Iterator[str]:
    match block["type"]:
        case "header":
            yield from ("", block["text"]["text"])
        case "section":
            yield mrkdwn_text(block["text"]["text"], names)
        case "context":
            yield mrkdwn_text(block["elements"][0]["text"], names)
        case "rich_text":
            for place, part in enumerate(block["elements"]):
                # What stands in a box below a name is its value.
                margin = "      " if place and part["type"] == "rich_text_preformatted" else "    "
                yield from (margin + line for line in "".join(map(_leaf, part["elements"])).split("\n"))
        case "actions":
            yield "  ".join(f"[{button['text']['text']}]" for button in block["elements"])
        case "divider":
            yield ""
        case "input":
            yield _input(block)


def _leaf(leaf: Json) -> str:
    return f"~{leaf['text']}~" if leaf.get("style", {}).get("strike") else str(leaf["text"])


def _input(block: Json) -> str:
    element = block["element"]
    if options := element.get("options"):
        chosen = element.get("initial_option")
        shown = " ".join(
            f"({'•' if option == chosen else ' '}) {option['text']['text']}" for option in options
        )
    else:
        shown = str(element.get("initial_value", "")).replace("\n", "⏎")
    hint = f"   {block['hint']['text']}" if block.get("hint") else ""
    return f"{block['label']['text']}: {shown}{hint}"
