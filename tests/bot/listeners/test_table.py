"""The button table: every button does something, and every form is read."""

from bot.listeners.actions import BY_VERB, TABLE
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
