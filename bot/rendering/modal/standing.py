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
from bot.sentences import in_form, in_home, words

LISTED = 20
_LASTS = tuple(timedelta(minutes=minutes) for minutes in (15, 30, 60, 120, 240, 480))
_USES = (1, 2, 5, 10, 20, 50, 100)
_USUAL = StandingTerms()


def render_standing_view(state: Approval, index: int) -> Block:
    """Draw the form that approves an action and says for which later calls that holds."""
    action = state.actions[index]
    limits = action.standing
    assert limits is not None
    same = ("arguments", in_form.SAME_ARGUMENTS), ("tool", in_form.ANY_ARGUMENTS)
    scope = ("run", in_form.THIS_RUN), ("agent", in_form.every_run(state.interrupt.agent))
    blocks = [
        *title_blocks(action),
        literal("arguments", arguments_text(action)),
        *care_blocks(action),
        *caution_blocks("", action.request.name, action.shown(on_card=True)),
        section("about", in_form.ABOUT_STANDING),
        _choice("same", in_form.WHICH_CALLS, _as_wide_as(limits.same, *same)),
        _choice("scope", in_form.WHICH_RUNS, _as_wide_as(limits.scope, *scope)),
        _choice("lasts", in_form.HOW_LONG, _lasts_options(limits.lasts)),
        _choice(
            "uses",
            in_form.HOW_MANY,
            [(str(each), str(each)) for each in _up_to(limits.uses, _USES, _USUAL.uses)],
        ),
        *approval_inputs(action),
    ]
    meta, approves = asking(state, STANDING, index), in_form.APPROVE_FROM_NOW_ON
    return modal(STANDING.verb, approves, blocks, meta, submit=approves)


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


def _as_wide_as(widest: str, narrow: tuple[str, str], wide: tuple[str, str]) -> list[tuple[str, str]]:
    return [narrow, wide] if widest == wide[0] else [narrow]


def _lasts_options(longest: timedelta) -> list[tuple[str, str]]:
    lasts = _up_to(longest, _LASTS, _USUAL.lasts)
    return [(str(int(each.total_seconds())), words.duration_words(each)) for each in lasts]


def _up_to(most: Any, offered: Sequence[Any], usual: Any) -> list[Any]:
    """Give what is offered below a limit, and the limit: first what is usual."""
    found = [*(each for each in offered if each < most), most]
    return sorted(found, key=lambda each: each != min(usual, most))


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
        blocks = [section("none", in_home.EMPTY["standing"])]
    elif len(given) > LISTED:
        blocks.append(context("more", in_home.more(len(given) - LISTED)))
    return modal("rules", in_home.LISTS["standing"], blocks, None)


def standing_row(state: Approval, index: int, number: int) -> list[Block]:
    """Draw one standing approval of a list, with the button that ends it."""
    at = f"rule:{number}"
    where = in_home.given_in(words.place_name(state.place_of(index).channel))
    return [
        section(at, f"{given_words(state, index)} {used_words(state.standing[index])} {where}"),
        *name_blocks(f"{at}:name", state.actions[index]),
        actions(f"{at}:revoke", [revoke_button(state, index, place=number)]),
    ]
