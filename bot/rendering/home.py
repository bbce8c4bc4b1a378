"""A person's lists, as the Home tab and `/approvals` show them. Nothing is decided here: each row leads to a review."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.home import SECTIONS, HomePage, Look, Row
from bot.domain.ids import MessageId, action_id
from bot.domain.mentions import mention
from bot.domain.person import is_person
from bot.domain.waiting import Spot
from bot.rendering.blocks import (
    Block,
    actions,
    button,
    context,
    header,
    plain,
    section,
    told_apart,
)
from bot.rendering.buttons import REVIEW, value_of
from bot.rendering.calls import is_plain_name
from bot.rendering.card.folded import values_block
from bot.rendering.card.header import run_words
from bot.rendering.card.title import about, title
from bot.rendering.modal.standing import standing_row
from bot.rendering.modal.view import HOME
from bot.sentences import in_form, in_home, on_action, on_card, words
from bot.text.set_apart import mrkdwn_line

AGENT, TOOL, GO, OPEN = "agent", "tool", "go", "open"
"""What the buttons and menus of the lists are: two filters, a way to another page, and a link."""
EVERYTHING = "*"
_MOST_CALLS = 3
"""The most calls of a row whose values it shows."""
_MOST_CHOICES = 99


def render_home(page: HomePage, *, at: datetime, url: str) -> Block:
    """Draw the Home tab.

    Args:
        page: What it shows.
        at: When that was read.
        url: The address of the workspace, to link cards.
    """
    return _view("home", _blocks(page, at, url), page.look)


def render_list(page: HomePage, *, at: datetime, url: str) -> Block:
    """Draw the same as a view that is opened."""
    view = _view("modal", _blocks(page, at, url), page.look)
    return {**view, "title": plain(in_home.TITLE), "close": plain(in_form.CLOSE)}


def render_home_notice(sentence: str) -> Block:
    """Draw a Home tab that only says something."""
    return _view("home", [section("notice", sentence)], Look())


def dump_look(look: Look) -> str:
    """Write what a person looks at, for Slack to carry."""
    after = [look.after.deadline, look.after.interrupt_id] if look.after else None
    return json.dumps([look.section, look.agent, look.tool, after, look.first], separators=(",", ":"))


def load_look(text: str) -> Look:
    """Read what Slack carried back. What cannot be read is the first page."""
    match _json(text):
        case [section, str(agent), str(tool), after, int(first)] if section in SECTIONS:
            return Look(section, agent, tool, _spot(after), first)
    return Look()


def _spot(after: object) -> Spot | None:
    match after:
        case [int(deadline), str(interrupt_id)]:
            return Spot(deadline, interrupt_id)
    return None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _view(kind: str, blocks: list[Block], look: Look) -> Block:
    return {"type": kind, "callback_id": HOME, "private_metadata": dump_look(look), "blocks": blocks}


def _blocks(page: HomePage, at: datetime, url: str) -> list[Block]:
    look = page.look
    rows = [block for number, row in enumerate(page.rows) for block in _row_blocks(look, row, number, url)]
    if not rows:
        rows = [section("none", in_home.EMPTY[look.section] if look.is_first else in_home.LAST_PAGE)]
    return [
        header("list", in_home.LISTS[look.section]),
        _lists(look),
        *_filters(page),
        *rows,
        *_pages(page),
        context("as-of", in_home.as_of(at)),
    ]


def _lists(look: Look) -> Block:
    others = [way(name, in_home.LISTS[name], Look(name)) for name in SECTIONS if name != look.section]
    return actions("lists", others)


def way(name: str, label: str, to: Look) -> Block:
    """Draw a button that leads to a list, or to a page of it."""
    return button(action_id(HOME, f"{GO}.{name}"), label, dump_look(to))


def _filters(page: HomePage) -> list[Block]:
    menus = [
        _menu(kind, chosen, names, everything)
        for kind, chosen, names, everything in (
            (AGENT, page.look.agent, page.agents, in_home.ALL_AGENTS),
            (TOOL, page.look.tool, [*filter(is_plain_name, page.tools)], in_home.ALL_TOOLS),
        )
        if chosen or len(names) > 1
    ]
    # Slack keeps what was chosen in a block of the same id.
    return [actions(f"filters:{page.look.agent}:{page.look.tool}", menus)] if menus else []


def _menu(kind: str, chosen: str, names: Sequence[str], everything: str) -> Block:
    # What is chosen can always be seen, also where there are more names than Slack takes.
    offered = list(dict.fromkeys([*filter(None, [chosen]), *names]))[:_MOST_CHOICES]
    options = [_option(everything, EVERYTHING), *(_option(name, name) for name in offered)]
    initial = next((option for option in options if option["value"] == chosen), options[0])
    return {
        "type": "static_select",
        "action_id": action_id(HOME, kind),
        "options": options,
        "initial_option": initial,
    }


def _option(label: str, value: str) -> Block:
    return {"text": plain(label), "value": value}


def _pages(page: HomePage) -> list[Block]:
    ways = [way("further", in_home.FURTHER, page.further)] if page.further else []
    if not page.look.is_first:
        ways.append(way("start", in_home.FROM_START, page.look.from_start))
    return [actions("pages", ways)] if ways else []


def _row_blocks(look: Look, row: Row, number: int, url: str) -> list[Block]:
    at = f"row:{number}"
    match look.section:
        case "standing":
            return standing_row(row.state, row.indices[0], number)
        case "waiting":
            return _waiting_blocks(row, number, url)
    state = row.state
    place = state.admission.places[0]
    may_see = look.section != "asked" or state.admission.requester_known
    says = title(state, place, has_values=may_see)
    asked = in_home.asked_at(words.place_name(place.channel), state.created_at)
    stands = [in_home.open_until(state.deadline)] if state.is_open else run_words(state, place)
    return [
        section(f"{at}:title", f"*{mrkdwn_line(says)}*"),
        *(_values(row, at) if look.section == "asked" and may_see else []),
        context(f"{at}:line", " · ".join([asked, *stands])),
        *told_apart(_group(at, _link(state, row.indices[0], number, url)), says),
    ]


def _waiting_blocks(row: Row, number: int, url: str) -> list[Block]:
    at, state, first = f"row:{number}", row.state, row.indices[0]
    place = state.place_of(first)
    asked = about(state, place.model_copy(update={"actions": row.indices}))
    requester = state.requested_by or ""
    where = words.place_name(place.channel)
    says = [in_home.waits_until(where, state.deadline, mention(requester) if is_person(requester) else "")]
    if any(state.actions[index].has_code for index in row.indices):
        says.insert(0, on_action.HIGH_RISK)
    wanted = on_card.wants(state.agent, asked)
    buttons = _group(at, [_look(row, place, number), *_link(state, first, number, url)])
    return [
        section(f"{at}:title", f"*{mrkdwn_line(wanted)}*"),
        *_values(row, at),
        context(f"{at}:line", " · ".join(says)),
        *told_apart(buttons, wanted),
    ]


def _look(row: Row, place: Place, number: int) -> Block:
    """Draw the button that leads through the calls of a row. They are decided there, where all of each is shown."""
    review, of = replace(REVIEW, style=None), row.state.admission.places
    return review.drawn(f"{of.index(place)}.{number}", value_of(row.state, row.indices, named=row.indices))


def _values(row: Row, at: str) -> list[Block]:
    return [values_block(f"{at}:values", [row.state.actions[index] for index in row.indices], _MOST_CALLS)]


def _group(at: str, buttons: list[Block]) -> list[Block]:
    return [actions(f"{at}:buttons", buttons)] if buttons else []


def _link(state: Approval, index: int, number: int, url: str) -> list[Block]:
    """Draw the way to the message that shows an action, once it is there."""
    part = state.message_of(index)
    shown = state.shown.get(part)
    if shown is None or not url:
        return []
    above = state.shown.get(MessageId(part.place)) if part.number else None
    thread_ts = above.ts if above else state.admission.places[part.place].thread_ts
    found = button(action_id(HOME, f"{OPEN}.{number}"), in_home.OPEN_CARD, state.id)
    return [{**found, "url": permalink(url, shown.channel, shown.ts, thread_ts)}]


def permalink(url: str, channel: str, ts: str, thread_ts: str | None = None) -> str:
    """Give the address of a message in a workspace."""
    address = f"{url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel}" if thread_ts else address
