"""What somebody hears who does not see a card: the text of each message, and the words of each button.

Slack takes the text for notifications and screen readers. Every situation of the gallery is asked once.
"""

import re
from itertools import pairwise

import pytest

from tests.support.gallery.situations import SITUATIONS
from tests.support.gallery.stage import on_stage

pytestmark = pytest.mark.timeout(120)

DATE = re.compile(r"<!date\^\d+\^[^|>]+\|([^>]+)>")
SIGNS = re.compile(r"[*~`<>]|(?<!\w)_|_(?!\w)|:[a-z_]+:")
STATES = (
    "wants to run",
    "möchte ausführen",
    "Approved",
    "Changed",
    "Changes requested",
    "Rejected",
    "Answered",
    "Expired",
    "Withdrawn",
)
FOLLOWS = re.compile(r" (→|\(removed\))")
METHODS = ("chat.postMessage", "chat.update", "chat.postEphemeral")


async def _said():
    """Every message that the bot sent, by situation."""
    async with on_stage() as stage:
        for situation in SITUATIONS:
            before = len(await stage.slack.calls())
            await stage.shown(situation)
            for call in (await stage.slack.calls())[before:]:
                if call["method"] in METHODS:
                    yield situation, call


def tool_of(situation):
    tools = {request.name for request, _ in situation.calls}
    return tools.pop() if len(tools) == 1 else f"{len(tools)} tools"


def spoken(text):
    """A text as a screen reader says it where a date is not known."""
    return DATE.sub(r"\1", text)


def faults_of_text(situation, text):
    said = spoken(text)
    return [
        *([f"has signs: {SIGNS.findall(said)}"] if SIGNS.search(said) else []),
        *(["is no sentence"] if not re.fullmatch(r"[^.].*[.!?]", said, re.DOTALL) else []),
        *(["has a masked value"] if "correct horse" in text else []),
    ]


def faults_of_card(situation, text):
    said = spoken(text)
    return [
        *(["does not name the agent"] if "billing" not in said else []),
        *(["does not name the tool"] if tool_of(situation) not in said else []),
        *(["does not say how it stands"] if not any(state in said for state in STATES) else []),
    ]


def elements(blocks):
    return [found for block in blocks for found in block.get("elements", ()) if "action_id" in found]


def label(element):
    """What a screen reader says of a button, or everything that a menu has in place of words of its own."""
    if element["type"] == "overflow":
        return " ".join(option["description"]["text"] for option in element["options"])
    return element.get("accessibility_label", "")


def faults_of_buttons(blocks):
    """Labels begin with what is seen, and no two of a message are the same."""
    buttons = [found for found in elements(blocks) if found["type"] == "button"]
    labels = [label(found) for found in buttons]
    return [
        *(f"{found['action_id']} says {label(found)!r}" for found in buttons if not is_about(found)),
        *(["two buttons say the same"] if len(set(labels)) < len(labels) else []),
        *(f"{found['action_id']} has no words" for found in elements(blocks) if not label(found)),
    ]


def is_about(button):
    text = button["text"]["text"]
    return label(button).startswith(text) and len(label(button)) > len(text) + 3


def faults_of_style(blocks):
    """A value that is struck out is followed by words, and a sign stands before some."""
    return [
        *(f"{old['text']!r} is only struck out" for old, after in struck(blocks) if not FOLLOWS.match(after)),
        *(f"{text!r} has no words" for text in texts(blocks) if text.strip() and not re.search(r"\w", text)),
    ]


def struck(blocks):
    """Each struck leaf, with the text behind it."""
    for part in (part for block in blocks for part in block.get("elements", ()) if "elements" in part):
        leaves = [*part["elements"], {"text": ""}]
        yield from (
            (leaf, after["text"]) for leaf, after in pairwise(leaves) if leaf.get("style", {}).get("strike")
        )


def texts(blocks):
    """Each text that the bot wrote: titles, sentences and labels."""
    for block in blocks:
        found = [block.get("text"), *(part.get("text") for part in block.get("elements", ()))]
        yield from (text["text"] for text in found if isinstance(text, dict))


async def test_every_message_and_every_button_can_be_heard():
    """A text is a sentence without signs and masked values. That of a card names agent, tool and state."""
    found = {}
    async for situation, call in _said():
        args = call["args"]
        is_card = call["method"] != "chat.postEphemeral" and not args.get("thread_ts")
        faults = [
            *([call["error"]] if not call["ok"] else []),
            *faults_of_text(situation, args["text"]),
            *(faults_of_card(situation, args["text"]) if is_card else []),
            *faults_of_buttons(args.get("blocks") or []),
            *faults_of_style(args.get("blocks") or []),
        ]
        if faults:
            found[situation.name, args["text"]] = faults

    assert found == {}
