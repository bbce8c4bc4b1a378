"""Names that follow from content: the same question is the same record, another call is never the approved one."""

import pytest

from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.identity import action_fingerprint, action_fingerprints, interrupt_id, slots
from tests.support.builders import an_action, an_interrupt


def test_the_id_does_not_depend_on_the_order_of_pauses():
    """Parallel pauses come in no fixed order, and a batch names its pause once for each action."""
    first = interrupt_id("billing", "run", ["p", "q", "q"])

    assert first == interrupt_id("billing", "run", ["q", "p"])
    assert first.startswith("billing.")


def test_the_id_differs_by_agent_run_pauses_and_attempt():
    ids = {
        interrupt_id("billing", "run", ["p"]),
        interrupt_id("support", "run", ["p"]),
        interrupt_id("billing", "run 2", ["p"]),
        interrupt_id("billing", "run", ["p", "q"]),
        interrupt_id("billing", "run", ["p"], attempt=1),
        interrupt_id("billing", "run", ["p"], attempt=2),
        # Parts never run together.
        interrupt_id("billing", "runp", []),
        interrupt_id("billing", "ru", ["np"]),
    }

    assert len(ids) == 8


def test_slots_tell_several_actions_of_one_pause_apart():
    """Actions of one pause are told apart by their position in it, wherever the pause stands."""
    assert slots(["p", "q", "p"]) == (("p", 0), ("q", 0), ("p", 1))
    assert sorted(slots(["q", "p", "p"])) == sorted(slots(["p", "q", "p"]))


def fingerprint(name="pay", args=None, **fields):
    return action_fingerprint(*an_action(name, {"to": "Dana", "n": 1} if args is None else args, **fields))


@pytest.mark.parametrize(
    "other",
    [
        lambda: fingerprint("pay_twice"),
        lambda: fingerprint(args={"to": "Dana", "n": 2}),
        lambda: fingerprint(args={"to": "Dana", "n": 1.0}),
        lambda: fingerprint(args={"to": "Dana", "n": True}),
        lambda: fingerprint(args={"to": "Dana", "n": "1"}),
        lambda: fingerprint(args={"n": 1, "to": "Dana"}),
        lambda: fingerprint(args={"to": "Dana\u200b", "n": 1}),
        lambda: fingerprint(args={"to": "Dana", "n": 1, "more": None}),
        lambda: fingerprint(allowed=("approve",)),
        lambda: fingerprint(schema={"type": "object"}),
        lambda: fingerprint(schema={}),
    ],
    ids=[
        "name", "value", "float", "bool", "string", "key order", "invisible", "more", "decisions", "schema",
        "empty schema",
    ],
)  # fmt: skip
def test_another_call_has_another_fingerprint(other):
    """A decision is about these exact bytes, under these exact rules."""
    assert other() != fingerprint()


def test_the_fingerprint_has_nothing_else_in_it():
    """What the agent says about a call, and in which order its decisions are offered, is not what is decided."""
    assert fingerprint(description="Pays Dana") == fingerprint()
    assert fingerprint(allowed=("respond", "reject", "edit", "approve")) == fingerprint()


def test_names_stay_the_same_from_version_to_version():
    """Records of one version are found by the next: a change here is a new schema."""
    interrupt = an_interrupt(an_action("pay", {"to": "Zoë", "n": 2**64}, schema={"type": "object"}))

    assert interrupt_id("billing", "run", ["p"]) == "billing.4ee78c22395e3c81e774a94f970c4bf2"
    assert action_fingerprints(interrupt.request) == ("f4084a9f4fc0c4f5265d570c36aa008f",)


def test_each_action_of_a_batch_is_named():
    """Equal calls have equal fingerprints; their place in the batch tells them apart."""
    request: HITLRequest = an_interrupt(an_action("a"), an_action("b"), an_action("a")).request

    first, second, third = action_fingerprints(request)
    assert first == third != second
