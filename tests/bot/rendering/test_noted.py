"""Cards whose records are lost or went back: what they said before, without their buttons, and one note above."""

from agent_adapter.contract.hitl import ApproveDecision
from bot.rendering.card.card import render_card, render_noted
from tests.bot.rendering.slack_side import button_labels, shown
from tests.support.builders import a_state, an_action, an_interrupt

ENDED = "⚠️ Ended, see the note above"


def test_a_card_with_a_note_keeps_what_it_said_and_loses_its_buttons():
    """Slack gives the blocks as they are; a note that is written again takes the place of the one before."""
    (card,) = render_card(a_state(an_interrupt(an_action("pay", {"to": "al"}))))
    text, first = render_noted({"text": card.text, "blocks": card.blocks}, "*First* note")

    again, second = render_noted({"text": card.text, "blocks": first}, "*Second* note")

    for blocks, note in ((first, "*First* note"), (second, "*Second* note")):
        assert shown(blocks[:1]) == note
        assert shown(blocks).count("* note") == 1
        assert '"al"' in shown(blocks)
        assert button_labels(blocks) == []
    title = card.blocks[0]["text"]["text"]
    assert (text, again) == (f"First note {ENDED}: {title}", f"Second note {card.text}")


def test_a_card_that_was_open_says_that_it_has_ended_and_not_who_can_decide_until_when():
    """Nobody can decide it any more."""
    asked = an_interrupt(an_action("pay", {"to": "al"}), an_action("pay", {"to": "bo"}))
    (card,) = render_card(a_state(asked, decided={0: ApproveDecision()}))
    title = card.blocks[0]["text"]["text"]

    text, blocks = render_noted({"text": card.text, "blocks": card.blocks}, "*A* note")

    assert blocks[1]["text"]["text"] == f"{ENDED}: {title}"
    assert "decides" in shown(card.blocks)
    assert "decides" not in shown(blocks)
    assert "<!date^" in card.text
    assert text == f"A note {ENDED}: {title}"


def test_a_decided_card_with_a_note_still_says_who_decided():
    """Also where it has a button that shows more."""
    asked = an_interrupt(an_action("pay", {"to": "al", "why": "long " * 3000}))
    (card,) = render_card(a_state(asked, status="decided", decided={0: ApproveDecision()}))
    assert button_labels(card.blocks)

    _, blocks = render_noted({"text": card.text, "blocks": card.blocks}, "*A* note")

    assert shown(blocks[1:]) == shown([block for block in card.blocks if block["type"] != "actions"])
