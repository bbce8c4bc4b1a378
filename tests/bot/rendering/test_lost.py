"""Cards whose records are lost or went back: what they said before, without their buttons, and one note above."""

from bot.rendering.card.card import render_card
from bot.rendering.card.lost_records import render_noted
from tests.bot.rendering.slack_side import button_labels, shown
from tests.support.builders import a_state, an_action, an_interrupt


def test_a_card_with_a_note_keeps_what_it_said_and_loses_its_buttons():
    """Slack gives the blocks as they are; a note that is written again takes the place of the one before."""
    (card,) = render_card(a_state(an_interrupt(an_action("pay", {"to": "al"}))))
    text, first = render_noted({"text": card.text, "blocks": card.blocks}, "*First* note")

    again, second = render_noted({"text": card.text, "blocks": first}, "*Second* note")

    for blocks, note in ((first, "*First* note"), (second, "*Second* note")):
        assert shown(blocks[:1]) == note
        assert shown(blocks).count(" note") == 1
        assert '"al"' in shown(blocks)
        assert button_labels(blocks) == []
    assert (text, again) == (f"First note {card.text}", f"Second note {card.text}")
