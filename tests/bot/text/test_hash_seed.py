"""What a card says is the same in every process: Python orders sets by a seed of each process."""

import os
import subprocess
import sys

import pytest

DRAWING = """
from bot.domain.masking import scrub, secrets_of
from bot.rendering.card.card import render_card
from tests.support.builders import a_state, an_action, an_interrupt

args = {"to": "\u0966\u0440\u0430x", "pins": ["abcde", "cdefg", "efghi"]}
print(ascii([part.blocks for part in render_card(a_state(an_interrupt(an_action("pay", args))))]))
print(scrub("abcdefghi", secrets_of([(args, ["pins"])])))
"""


# Not for `make unit`: it starts processes.
@pytest.mark.server
def test_every_process_writes_the_same_text():
    """Scripts that a word mixes, and masked values that overlap: else two replicas edit one card again and again."""
    drawn = {
        subprocess.run(
            [sys.executable, "-c", DRAWING],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2, 3)
    }

    assert len(drawn) == 1
    assert "has letters of several alphabets" in drawn.pop()
