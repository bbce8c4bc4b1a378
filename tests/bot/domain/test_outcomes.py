"""What an agent reports of its calls is shown without any masked value, however the agent spells it."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from agent_adapter import Outcome
from bot.domain.admission import Terms
from bot.domain.outcomes import secrets_in, without_secrets
from tests.support.builders import a_state, an_action, an_interrupt, edited

SECRET = 'sk-live/Ab+9 é"7'


def shown(text, secret=SECRET, **more):
    return without_secrets(Outcome(status="failed", text=text, **more), secrets_of(secret))


def secrets_of(secret, **fields):
    interrupt = an_interrupt(an_action("pay", {"key": secret, "amount": 5}))
    return secrets_in(a_state(interrupt, mask=("key",), **fields))


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        SECRET.upper(),
        SECRET.lower(),
        json.dumps({"key": SECRET}),
        json.dumps({"key": SECRET}, ensure_ascii=False),
        json.dumps(json.dumps({"key": SECRET})),
        repr({"key": SECRET}),
        f"https://api.example.com/pay?key={quote(SECRET, safe='')}",
        f"https://api.example.com/pay?key={quote_plus(SECRET)}",
        "<key>" + SECRET.replace('"', "&quot;") + "</key>",
        "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode(),
        SECRET.replace("é", "e\u0301"),
    ],
)
def test_a_masked_value_is_shown_in_no_spelling(spelled):
    """Errors of services repeat what was sent: in JSON, in addresses, in headers."""
    found = shown(f"401 for {spelled}: denied")

    assert "Ab+9" not in found
    assert "ab+9" not in found.casefold()
    assert "Ab%2B9" not in found
    assert base64.b64encode(SECRET.encode()).decode()[:8] not in found


def test_an_outcome_without_masked_values_is_shown_as_it_is():
    text = "401 for user 17: denied\n  at line 3 \\ 50% of \\u0041 aGVsbG8gd29ybGQ="
    assert shown(text) == text


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
def test_a_masked_value_at_the_end_of_a_shortened_text_leaves_no_beginning(cut):
    """A text of 60 KB is cut somewhere, perhaps within the value."""
    found = shown(f"denied: {SECRET[:cut]}", length=60_000)

    assert found == "denied: ••••"


def test_a_value_that_only_the_edited_call_has_is_masked():
    """What ran counts, and not only what was asked."""
    decided = {0: edited("pay", key="another-key", amount=5)}
    found = secrets_of(SECRET, decided=decided)

    assert without_secrets(Outcome.failed("no another-key"), found) == "no ••••"


def test_the_masks_of_every_call_of_the_batch_count():
    """One call may answer with what another was given."""
    interrupt = an_interrupt(an_action("login", {"password": "hunter22"}), an_action("pay", {"amount": 5}))
    found = secrets_in(a_state(interrupt, own={0: Terms(approvers=("U0ERIK",), mask=("password",))}))

    assert without_secrets(Outcome.done("paid as hunter22"), found) == "paid as ••••"
