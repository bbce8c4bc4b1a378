"""The button table: every button does something, and every form is read."""

from bot.listeners.actions import BY_VERB, TABLE, Opens
from bot.rendering import buttons
from bot.rendering.buttons import OF_ACTION, Button

DRAWN = [found for found in vars(buttons).values() if isinstance(found, Button)]


def test_every_button_is_bound():
    """Whatever a card offers, a press on it does something."""
    assert set(DRAWN) == set(TABLE)


def test_no_two_buttons_share_a_verb():
    """A click says nothing of its button but this."""
    assert len(BY_VERB) == len(TABLE)


def test_an_action_offers_only_buttons_that_are_about_it():
    """Its index is drawn into their ids, and read by their scope."""
    assert {button.scope for button in OF_ACTION} == {"action"}


def test_every_form_of_a_button_is_read_when_it_is_submitted():
    """Turning a page is no form: its view is that of the reading."""
    forms = {button.verb for button, does in TABLE.items() if isinstance(does, Opens) and does.submit}

    assert forms == {
        *("confirm", "edit", "reject", "respond", "sticky", "for_run", "agree"),
        *("review", "reject_all", "hand_over", "approve_note", "changes"),
    }


def test_a_button_leads_to_a_decision_that_agents_know():
    """Whether a person may take it is asked by this name before a form is opened."""
    kinds = {button.decision for button in TABLE}

    assert kinds == {"approve", "edit", "reject", "respond", ""}
