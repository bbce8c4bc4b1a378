"""The views around approvals for later calls: the form that gives one, and the list of all."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bot.rendering.blocks import Block, actions, context, literal, plain, section
from bot.rendering.cautions import TOOL, caution_blocks
from bot.rendering.clock import duration_words, place_name
from bot.rendering.ledger import given_words, name_blocks, revoke_button, used_words
from bot.rendering.modals import ViewMeta, care_blocks, modal
from bot.rendering.rows import arguments_text, place_of, title_blocks
from bot.state import ApprovalState
from bot.sticky import Grant

LISTED = 20
_LASTS = tuple(timedelta(minutes=minutes) for minutes in (15, 30, 60, 120, 240, 480))
_USES = (1, 2, 5, 10, 20, 50, 100)
_USUAL = Grant()


def render_sticky_view(state: ApprovalState, index: int, *, channel: str = "", ts: str = "") -> Block:
    """Draw the form that approves an action and says for which later calls that holds."""
    action = state.actions[index]
    sticky = action.sticky
    assert sticky is not None
    blocks = [
        *title_blocks(action),
        literal("arguments", arguments_text(action)),
        *care_blocks(action),
        *caution_blocks("", [(TOOL, action.request.name), ("", action.shown(on_card=True))]),
        section(
            "about",
            "This call runs now. Later calls of this tool run without asking, as far as you say here. The thread of "
            "the card shows each of them, and you can revoke it there, or with `/approvals rules`.",
        ),
        _choice("same", "Which calls", _same_options(sticky.same)),
        _choice("scope", "Where", _scope_options(sticky.scope, state.interrupt.agent)),
        _choice("lasts", "For how long", _lasts_options(sticky.lasts)),
        _choice("uses", "How many calls at most", _uses_options(sticky.uses)),
    ]
    meta = ViewMeta(state.id, index, channel=channel, ts=ts)
    return modal("sticky", f"Approve action {action.number}", blocks, meta, submit="Approve")


def parse_grant(view: dict[str, Any]) -> Grant:
    """Read for which later calls an approval is meant to hold; what was not chosen is as narrow as can be."""
    values = view["state"]["values"]
    chosen = {
        name: option["value"]
        for name in ("same", "scope", "lasts", "uses")
        if (option := (values.get(name, {}).get(name) or {}).get("selected_option"))
    }
    lasts = timedelta(seconds=int(chosen.pop("lasts", _LASTS[0].total_seconds())))
    return Grant(**{"uses": 1, **chosen}, lasts=lasts)


def _same_options(widest: str) -> list[tuple[str, str]]:
    every = [
        ("arguments", "The very same call, with these arguments"),
        ("tool", "Every call of this tool, whatever its arguments are"),
    ]
    return every if widest == "tool" else every[:1]


def _scope_options(widest: str, agent: str) -> list[tuple[str, str]]:
    every = [("run", "In this run"), ("agent", f"In every run of the agent {agent}")]
    return every if widest == "agent" else every[:1]


def _lasts_options(longest: timedelta) -> list[tuple[str, str]]:
    lasts = [*(each for each in _LASTS if each < longest), longest]
    usual = min(_USUAL.lasts, longest)
    lasts.sort(key=lambda each: each != usual)
    return [(str(int(each.total_seconds())), duration_words(each)) for each in lasts]


def _uses_options(most: int) -> list[tuple[str, str]]:
    uses = [*(each for each in _USES if each < most), most]
    usual = min(_USUAL.uses, most)
    uses.sort(key=lambda each: each != usual)
    return [(str(each), str(each)) for each in uses]


def _choice(name: str, label: str, options: Sequence[tuple[str, str]]) -> Block:
    """Draw a choice whose first option is chosen."""
    drawn = [{"text": plain(text), "value": value} for value, text in options]
    return {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": {
            "type": "static_select",
            "action_id": name,
            "options": drawn,
            "initial_option": drawn[0],
        },
        "optional": False,
    }


def render_rules_view(given: Sequence[tuple[ApprovalState, int]]) -> Block:
    """Draw the list of what holds for later calls, as far as the person may revoke it."""
    blocks: list[Block] = []
    for number, (state, index) in enumerate(given[:LISTED]):
        at = f"rule:{number}"
        blocks += [
            section(
                at, f"{given_words(state, index)} {used_words(state.sticky[index])}{_where(state, index)}"
            ),
            *name_blocks(f"{at}:name", state.actions[index]),
            actions(f"{at}:revoke", [revoke_button(state, index, place=number)]),
        ]
    if not given:
        blocks = [section("none", "No sticky approvals hold now that you could revoke.")]
    elif len(given) > LISTED:
        blocks.append(
            context("more", f"{len(given) - LISTED} more are not shown: revoke some of these first.")
        )
    return modal("rules", "Sticky approvals", blocks, None)


def _where(state: ApprovalState, index: int) -> str:
    place = place_of(state, index)
    return f" Given in {place_name(place.channel)}." if place else ""
