"""Which values no outcome may repeat."""

from bot.domain.admission import Terms
from bot.domain.outcomes import secrets_in
from tests.support.builders import a_state, an_action, an_interrupt, edited


def test_the_masks_of_every_call_of_the_batch_count_as_asked_and_as_it_ran():
    """One call may answer with what another was given, or with what only the edited call had."""
    interrupt = an_interrupt(an_action("login", {"password": "hunter22"}), an_action("pay", {"amount": 5}))
    masks = Terms(approvers=("U0ERIK",), mask=("password",))
    state = a_state(interrupt, own={0: masks}, decided={0: edited("login", password="another-key")})

    assert {*secrets_in(state)} == {"hunter22", "another-key"}
