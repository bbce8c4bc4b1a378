"""What the audit says of a decision does not depend on who made it."""

from agent_adapter.contract.arguments import decode
from agent_adapter.contract.hitl import ApproveDecision, Decision, RespondDecision
from bot.domain.audit import facts_of_ballot, facts_of_question
from bot.domain.audit_chain import entry_line, entry_of, read, write
from bot.domain.audit_entry import AuditEntry
from bot.domain.masking import MOST_SECRETS
from bot.domain.votes import Ballot
from tests.support.builders import a_state, an_action, an_interrupt, on_terms

ARGUMENTS = {"to": "acme", "token": "hunter22"}


def facts(args: dict, decision: Decision) -> tuple[dict, dict]:
    """What the audit says of the question, and of a decision about it."""
    interrupt = an_interrupt(an_action("pay", args))
    state = a_state(interrupt, admission=on_terms(a_state(interrupt).admission, mask=("token",)))
    ballot = Ballot.on_call(state.admission, 0, decision)
    asked = decode(facts_of_question(state, state.admission))["actions"][0]
    return asked, decode(facts_of_ballot(state, 0, ballot, name="Dana", how="click").text)


def test_an_entry_with_a_number_of_thousands_of_digits_can_be_read():
    """It stays text, and the other entries are read, too."""
    entry = AuditEntry.of_stream("1-0", {"event": "reported", "id": "billing.1", "index": "8" * 5_000})

    assert entry_of(read(write(entry_line(entry, 1, "0" * 64)).encode())) == entry
    assert entry.said["index"] == "8" * 5_000
    assert AuditEntry.of_stream("1-0", {"index": "12"}).said == {"index": 12}


def test_an_approval_of_masked_arguments_has_the_digest_of_what_was_asked():
    """In the audit, two digests that differ mean that something else was allowed to run."""
    asked, _ = facts(ARGUMENTS, ApproveDecision())
    _, decided = facts(ARGUMENTS, ApproveDecision())

    assert asked["asked"] == decided["asked"] == decided["decided"]


def test_an_answer_has_the_same_digest_whoever_gives_it():
    """Also where a sentence of the bot replaces it, because too much is masked."""
    many = {"token": [f"secret {number}" for number in range(MOST_SECRETS)]}
    _, decided = facts(many, RespondDecision(message="It is paid."))

    assert decided["decided"] == facts(many, RespondDecision(message="It is paid."))[1]["decided"]
