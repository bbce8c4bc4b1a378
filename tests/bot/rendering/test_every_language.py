"""Every form and list is one that Slack takes, in every language: also in one that is 40 % longer than English."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import EFFECTS, ApproveDecision, EditDecision, EditedAction
from bot.domain.admission import Place
from bot.domain.approval import Assignment
from bot.domain.drafts import Draft
from bot.domain.home import SECTIONS, HomePage, Look, Row
from bot.domain.schedule import Extension
from bot.domain.standing import StandingApproval, StandingLimits, StandingTerms
from bot.domain.votes import Vote, position_of
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import lay_out
from bot.rendering.home import render_home, render_list
from bot.rendering.modal import forms
from bot.rendering.modal.editing import render_check_view, render_choice_view, render_edit_view
from bot.rendering.modal.standing import render_standing_list, render_standing_view
from bot.sentences import in_form
from bot.sentences.language import speaking
from bot.text.literal import units
from tests.bot.rendering.slack_side import assert_slack_takes_card, assert_slack_takes_view, buttons
from tests.support.builders import NOW, a_state, an_action, an_admission, an_interrupt
from tests.support.pseudo import LANGUAGES

CHANGED = EditDecision(edited_action=EditedAction(name="pay", args={"to": "Bo", "n": 2}))
VOTES = (
    Vote("U0DANA", position_of(CHANGED), CHANGED, "1"),
    Vote("U0NOOR", "approve", ApproveDecision(), "2"),
)
REASONS = tuple(f"reason {number}" for number in range(9))


def asked(language, *, count=1, again=0, **more):
    """A record in which everything is offered that a policy can offer, on a card in this language."""
    schema = {
        "type": "object",
        "properties": {"to": {"type": "string"}, "n": {"type": ["integer", "null"]}, "x": {}},
    }
    call = an_action("pay", {"to": "Ada", "n": 1, "token": "hunter22"}, description="why", schema=schema)
    effects = an_action("pay_all", {"to": "Ada"}, allow_always=True, effects=tuple(EFFECTS))
    interrupt = an_interrupt(*[call, effects][:count])
    place = Place(channel="C1", actions=tuple(range(count)), assign=timedelta(hours=1), language=language)
    terms = {
        "mask": ("token",),
        "reject_reasons": REASONS,
        "confirm": True,
        "headline": ("to",),
        "resembles": "p\u0430y of the rule “payments”",
        **more,
    }
    admission = an_admission(
        approvers=tuple(f"U{number:09}" for number in range(9)),
        places=[place],
        extension=Extension(by=timedelta(days=6, hours=23, minutes=59, seconds=59), times=2),
        **terms,
    )
    return a_state(interrupt, admission=lay_out(interrupt, admission))


def views(state):
    yield from (
        draw(state, 0)
        for draw in (
            *(forms.render_confirm_view, forms.render_for_run_view, forms.render_more_view),
            *(forms.render_note_view, forms.render_changes_view, forms.render_agree_view),
            *(forms.render_respond_view, forms.render_reject_view, render_edit_view),
        )
    )
    yield forms.render_reject_all_view(state, 0)
    yield forms.render_hand_over_view(state, 0)
    yield render_choice_view(state, 0, Draft())
    yield render_check_view(state, 0, {"to": "Bo", "n": 2, "token": "hunter22"})


def assert_says_how_it_is_closed(view):
    """In the words of the reader: Slack and the page have only their own for a button without any."""
    if view["type"] == "modal":
        assert view["close"]["text"] == (in_form.CANCEL if "submit" in view else in_form.CLOSE)


@pytest.mark.parametrize("reader", LANGUAGES)
@pytest.mark.parametrize("count", [1, 2])
def test_every_form_is_one_that_slack_takes(reader, count):
    for state in (
        asked("de", count=count, standing=StandingLimits()),
        asked("de", count=count, risk="high", type="to"),
        replace(asked("en", count=count, quorum=3), votes={0: VOTES}),
    ):
        with speaking(reader):
            for view in views(state):
                assert_slack_takes_view(view)
                assert_says_how_it_is_closed(view)


@pytest.mark.parametrize("reader", LANGUAGES)
def test_every_list_is_one_that_slack_takes(reader):
    """The Home tab, what `/approvals` shows, and standing approvals with the form that gives one."""
    state = asked("de", standing=StandingLimits(same="tool", scope="agent"))
    approval = StandingApproval(StandingTerms(), NOW + timedelta(hours=1), (), None)
    given = a_state(state.interrupt, decided={0: ApproveDecision()}, status="decided", standing={0: approval})
    with speaking(reader):
        assert_slack_takes_view(render_standing_view(state, 0))
        assert_slack_takes_view(render_standing_list([(given, 0)] * 30))
        assert_says_how_it_is_closed(render_standing_list([(given, 0)] * 30))
        for section in SECTIONS:
            row = Row(given if section == "standing" else state, (0,))
            page = HomePage(Look(section), [row], None, ["billing", "ops"], ["pay", "refund"])
            for draw in (render_home, render_list):
                view = draw(page, at=NOW, url="https://play.slack.com/")
                assert_slack_takes_view(view)
                assert_says_how_it_is_closed(view)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("count", [1, 2])
def test_the_primary_button_of_a_card_is_short_enough_for_a_phone(language, count):
    """While it is open, while somebody looks at it, and while people propose something else."""
    state = asked(language, count=count, quorum=3)
    looking = {0: Assignment("U0DANA", NOW, NOW + timedelta(hours=1))}

    for moment in (state, replace(state, assignments=looking), replace(state, votes={0: VOTES})):
        parts = render_card(moment)
        assert_slack_takes_card(parts)
        primary = [found for found in buttons(parts[0].blocks) if found.get("style") == "primary"]
        assert primary
        assert all(units(found["text"]["text"]) <= 24 for found in primary)
