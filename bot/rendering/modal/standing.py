"""The views around approvals for later calls: the form that gives one, and the list of all."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bot.domain.approval import Approval
from bot.domain.standing import StandingTerms
from bot.rendering.blocks import Block, actions, context, input_block, literal, section
from bot.rendering.buttons import STANDING
from bot.rendering.calls import arguments_text, title_blocks
from bot.rendering.card.standing_uses import given_words, name_blocks, revoke_button, used_words
from bot.rendering.cautions import caution_blocks
from bot.rendering.modal.field_types import option
from bot.rendering.modal.questions import approval_inputs
from bot.rendering.modal.view import asking, care_blocks, modal
from bot.sentences import in_form, in_list, words

LISTED = 20
_LASTS = tuple(timedelta(minutes=minutes) for minutes in (15, 30, 60, 120, 240, 480))
_USES = (1, 2, 5, 10, 20, 50, 100)
_USUAL = StandingTerms()


def render_standing_view(state: Approval, index: int) -> Block:
    """Draw the form that approves an action and says for which later calls that holds."""
    action = state.actions[index]
    limits = action.standing
    assert limits is not None
    blocks = [
        *title_blocks(action),
        literal("arguments", arguments_text(action)),
        *care_blocks(action),
        *caution_blocks("", action.request.name, action.shown(on_card=True)),
        section("about", in_form.ABOUT_STANDING),
        _choice("same", in_form.WHICH_CALLS, _same_options(limits.same)),
        _choice("scope", in_form.WHICH_RUNS, _scope_options(limits.scope, state.interrupt.agent)),
        _choice("lasts", in_form.HOW_LONG, _lasts_options(limits.lasts)),
        _choice("uses", in_form.HOW_MANY, _uses_options(limits.uses)),
        *approval_inputs(action),
    ]
    return modal(
        STANDING.verb,
        in_form.APPROVE_FROM_NOW_ON,
        blocks,
        asking(state, STANDING, index),
        submit=in_form.APPROVE_FROM_NOW_ON,
    )


def parse_standing_terms(view: dict[str, Any]) -> StandingTerms:
    """Read for which later calls an approval is meant to hold; what was not chosen is as narrow as can be."""
    values = view["state"]["values"]
    chosen = {
        name: option["value"]
        for name in ("same", "scope", "lasts", "uses")
        if (option := (values.get(name, {}).get(name) or {}).get("selected_option"))
    }
    lasts = timedelta(seconds=int(chosen.pop("lasts", _LASTS[0].total_seconds())))
    return StandingTerms(**{"uses": 1, **chosen}, lasts=lasts)


def _same_options(widest: str) -> list[tuple[str, str]]:
    every = [
        ("arguments", in_form.SAME_ARGUMENTS),
        ("tool", in_form.ANY_ARGUMENTS),
    ]
    return every if widest == "tool" else every[:1]


def _scope_options(widest: str, agent: str) -> list[tuple[str, str]]:
    every = [("run", in_form.THIS_RUN), ("agent", in_form.every_run(agent))]
    return every if widest == "agent" else every[:1]


def _lasts_options(longest: timedelta) -> list[tuple[str, str]]:
    lasts = [*(each for each in _LASTS if each < longest), longest]
    usual = min(_USUAL.lasts, longest)
    lasts.sort(key=lambda each: each != usual)
    return [(str(int(each.total_seconds())), words.duration_words(each)) for each in lasts]


def _uses_options(most: int) -> list[tuple[str, str]]:
    uses = [*(each for each in _USES if each < most), most]
    usual = min(_USUAL.uses, most)
    uses.sort(key=lambda each: each != usual)
    return [(str(each), str(each)) for each in uses]


def _choice(name: str, label: str, options: Sequence[tuple[str, str]]) -> Block:
    """Draw a choice whose first option is chosen."""
    drawn = [option(text, value) for value, text in options]
    return input_block(name, label, {"type": "static_select", "options": drawn, "initial_option": drawn[0]})


def render_standing_list(given: Sequence[tuple[Approval, int]]) -> Block:
    """Draw the list of what holds for later calls, as far as the person may revoke it."""
    blocks: list[Block] = []
    for number, (state, index) in enumerate(given[:LISTED]):
        blocks += standing_row(state, index, number)
    if not given:
        blocks = [section("none", in_list.EMPTY)]
    elif len(given) > LISTED:
        blocks.append(context("more", in_list.more(len(given) - LISTED)))
    return modal("rules", in_list.TITLE, blocks, None)


def standing_row(state: Approval, index: int, number: int) -> list[Block]:
    """Draw one standing approval of a list, with the button that ends it."""
    at = f"rule:{number}"
    words = f"{given_words(state, index)} {used_words(state.standing[index])}{_where(state, index)}"
    return [
        section(at, words),
        *name_blocks(f"{at}:name", state.actions[index]),
        actions(f"{at}:revoke", [revoke_button(state, index, place=number)]),
    ]


def _where(state: Approval, index: int) -> str:
    return f" {in_list.given_in(words.place_name(state.place_of(index).channel))}"
