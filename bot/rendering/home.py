"""A person's lists, as the Home tab and `/approvals` show them. Nothing is decided here: each row leads to a review."""

import json
from dataclasses import replace

from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.ids import MessageId, action_id
from bot.domain.waiting import SECTIONS, HomePage, Look, Row, Spot
from bot.rendering.blocks import Block, actions, button, header, plain, section, spoken
from bot.rendering.buttons import READ, REVIEW, value_of
from bot.rendering.card.title import about, title
from bot.rendering.modal.forms import standing_row
from bot.rendering.modal.view import HOME
from bot.sentences import in_form, in_home, on_action, words
from bot.text.literal import mrkdwn_line

GO, OPEN = "go", "open"
"""What the buttons of the lists are: a way to another page, and a link."""
_ROOM = 32
"""Units of the values on a line: with the tool and the time, it takes two lines of a phone."""


def render_home(page: HomePage, *, url: str) -> Block:
    """Draw the Home tab. Cards are linked in the workspace of this address."""
    return _view("home", _blocks(page, url), page.look)


def render_list(page: HomePage, *, url: str) -> Block:
    """Draw the same as a view that is opened."""
    view = _view("modal", _blocks(page, url), page.look)
    return {**view, "title": plain(in_home.TITLE), "close": plain(in_form.CLOSE)}


def render_home_notice(sentence: str) -> Block:
    return _view("home", [section("notice", sentence)], Look())


def dump_look(look: Look) -> str:
    """Write what a person looks at, for Slack to carry."""
    after = [look.after.deadline, look.after.interrupt_id] if look.after else None
    return json.dumps([look.section, after, look.first], separators=(",", ":"))


def load_look(text: str) -> Look:
    """Read what Slack carried back. What cannot be read is the first page."""
    try:
        found = json.loads(text)
    except ValueError:
        return Look()
    match found:
        case [section, [int(deadline), str(after)], int(first)] if section in SECTIONS:
            return Look(section, Spot(deadline, after), first)
        case [section, _, int(first)] if section in SECTIONS:
            return Look(section, None, first)
    return Look()


def _view(kind: str, blocks: list[Block], look: Look) -> Block:
    return {"type": kind, "callback_id": HOME, "private_metadata": dump_look(look), "blocks": blocks}


def _blocks(page: HomePage, url: str) -> list[Block]:
    look = page.look
    rows = [block for number, row in enumerate(page.rows) for block in _row_blocks(look, row, number, url)]
    if not rows:
        rows = [section("none", in_home.EMPTY[look.section] if look.is_first else in_home.LAST_PAGE)]
    ways = [way("further", in_home.FURTHER, page.further)] if page.further else []
    ways += [] if look.is_first else [way("start", in_home.FROM_START, Look(look.section))]
    turns = [actions("pages", ways)] if ways else []
    return [_head(page), *rows, *turns, _ways(look)]


def _head(page: HomePage) -> Block:
    look, rows = page.look, page.rows
    if look.section != "waiting" or not rows:
        return header("list", in_home.LISTS[look.section])
    first, has_more = _until(rows[0].state), page.further is not None
    return section("list", in_home.waiting(len(rows), first, is_first=look.is_first, has_more=has_more))


def way(name: str, label: str, to: Look) -> Block:
    return button(action_id(HOME, f"{GO}.{name}"), label, dump_look(to))


def _ways(look: Look) -> Block:
    return actions(
        "ways", [way(name, in_home.LISTS[name], Look(name)) for name in SECTIONS if name != look.section]
    )


def _row_blocks(look: Look, row: Row, number: int, url: str) -> list[Block]:
    state, at = row.state, f"row:{number}"
    calls, found = Place(channel="", actions=row.indices), _details(row, number, url)
    match look.section:
        case "standing":
            return standing_row(state, row.indices[0], number)
        case "waiting":
            what = about(state, calls, _ROOM, has_values=True)
            says = _waiting_words(row, mrkdwn_line(what))
            # The calls are decided in a review, where all of each is shown.
            place = state.admission.places.index(state.place_of(row.indices[0]))
            value = value_of(state, row.indices, named=row.indices)
            found = replace(REVIEW, style=None).drawn(f"{place}.{number}", value)
        case name:
            # An agent can name anybody: its word alone shows nobody what a channel was asked about.
            what = title(state, calls, has_values=name == "decided" or state.admission.requester_known)
            says = mrkdwn_line(what) + (f" · {_until(state)}" if state.is_open else "")
    return [section(at, says, found and spoken(found, what))]


def _waiting_words(row: Row, what: str) -> str:
    state = row.state
    is_high = any(state.actions[index].is_high_risk for index in row.indices)
    is_approved = any(map(state.is_approved_by_silence, row.indices))
    ends = in_home.approved_at(words.by(state.deadline, state.now)) if is_approved else _until(state)
    return " · ".join([what, *([on_action.HIGH_RISK] if is_high else []), ends])


def _until(state: Approval) -> str:
    return in_home.until(words.by(state.deadline, state.now))


def _details(row: Row, number: int, url: str) -> Block | None:
    """Draw the way to the message that shows the first call of a row, once it is there."""
    state, part = row.state, row.state.message_of(row.indices[0])
    shown = state.shown.get(part)
    if shown is None or not url:
        return None
    above = state.shown.get(MessageId(part.place)) if part.number else None
    thread_ts = above.ts if above else state.admission.places[part.place].thread_ts
    found = button(action_id(HOME, f"{OPEN}.{number}"), READ.label, state.id)
    return {**found, "url": permalink(url, shown.channel, shown.ts, thread_ts)}


def permalink(url: str, channel: str, ts: str, thread_ts: str | None = None) -> str:
    """Give the address of a message, from that of its workspace."""
    address = f"{url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel}" if thread_ts else address
