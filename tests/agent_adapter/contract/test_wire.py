"""Envelopes: what is stored is what was published, within the limits of a publish."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.interrupt import Context, Continuation, Interrupt, Link, Route, Source
from agent_adapter.contract.record import check_same_words, matching_actions
from agent_adapter.contract.wire import (
    LEFT_OUT,
    dump_continuation,
    dump_interrupt,
    load_continuation,
    load_interrupt,
)
from agent_adapter.errors import InvalidRequestError
from tests.agent_adapter.contract.test_arguments import arguments
from tests.support.builders import an_action, an_interrupt
from tests.support.properties import bounded


@bounded(60)
@given(arguments)
def test_arguments_keep_their_bytes_through_the_store(args):
    """What the reviewer is shown and what is approved is, byte for byte, what the agent sent."""
    interrupt = an_interrupt(an_action(args=args))

    stored = load_interrupt(dump_interrupt(interrupt))

    assert encode(stored.request.action_requests[0].args) == encode(args)
    assert action_fingerprints(stored.request) == action_fingerprints(interrupt.request)


def test_an_interrupt_comes_back_whole():
    """Context, route, life and schema arrive as they were sent; what only a worker needs travels apart."""
    interrupt = an_interrupt(
        an_action(description="Pays\nDana", schema={"type": "object", "required": []}),
        context=Context(
            requested_by="U0NOOR", title="Invoices", links=(Link(label="PR", url="https://x.test/1"),)
        ),
        route=Route(channel="C1", thread_ts="1.2"),
        expires_in=timedelta(days=2, microseconds=7),
        on_expiry="raise",
    )
    stored = dump_interrupt(interrupt.model_copy(update={"continuation": a_continuation("secret")}))

    assert load_interrupt(stored) == interrupt
    assert "secret" not in stored


def test_what_a_stored_interrupt_leaves_out_means_the_same_for_ever():
    """A later version reads yesterday's records: another default would change what people are asked, and until when."""
    stored = dump_interrupt(an_interrupt(an_action("pay", args={}), context=Context(), route=Route()))

    assert set(json.loads(stored)) == Interrupt.model_fields.keys() - {
        "context", "route", "expires_in", "continuation", "source",
    }  # fmt: skip
    [action], [config] = json.loads(stored)["request"].values()
    assert set(action) == {"name", "args"}
    assert set(config) == {"action_name", "allowed_decisions"}
    read = load_interrupt(stored)
    assert (read.expires_in, read.on_expiry) == (timedelta(hours=1), "reject")
    assert read.context.model_dump(exclude_none=True) == {"links": ()}
    assert read.route == Route(channel=None, thread_ts=None)
    assert read.request.action_requests[0].description is None
    left_out = {"args_schema": None, "allow_always": False, "effects": (), "headline": (), "integers": None}
    assert read.request.review_configs[0].model_dump(include=set(left_out)) == left_out


def a_continuation(state):
    return Continuation(framework="langgraph", name="invoices", version="3", sdk="langgraph 1.2", state=state)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [("x" * 300_000, "continuation: 300,"), ("\ud83d", "continuation.state: half of a surrogate pair")],
    ids=["size", "text"],
)
def test_a_continuation_comes_back_whole_or_is_refused(state, sentence):
    """What a worker reads is what was given; a run with too long a history is told so before anybody is asked."""
    continuation = a_continuation('{"configurable":{"thread_id":"täglich"}}')
    assert load_continuation(dump_continuation(continuation)) == continuation
    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        dump_continuation(a_continuation(state))


@pytest.mark.parametrize("stored", ['{"format": 2, "state": "{}"}', '{"state": "{}"}', "[]"])
def test_a_continuation_of_another_form_is_not_guessed_at(stored):
    """A worker that is too old says so."""
    with pytest.raises(InvalidRequestError, match="written by a newer agent"):
        load_continuation(stored)


def test_a_pause_is_kept_as_it_came_beside_what_is_asked():
    """Its size is what the caller sent again, so a batch at the limit still fits; without one there is no field."""
    actions = [an_action(f"tool_{n}", {"text": "x" * 60_000}) for n in range(4)]
    payload = {"big": 12345678901234567890123, "texts": ["x" * 60_000] * 4, "empty": []}
    interrupt = an_interrupt(*actions, source=Source(dialect="camel_case", payload=payload))

    assert load_interrupt(dump_interrupt(interrupt)) == interrupt
    assert "source" not in json.loads(dump_interrupt(an_interrupt()))


def test_a_newer_agent_with_new_fields_is_understood():
    """What this version does not know is passed over, and a decision kind that it does not know is carried."""
    value = json.loads(dump_interrupt(an_interrupt(an_action(allowed=("approve", "escalate")))))
    value["urgency"] = "high"
    value["request"]["action_requests"][0]["cost"] = 12

    interrupt = load_interrupt(json.dumps(value))

    assert interrupt.request.review_configs[0].allowed_decisions == ("approve", "escalate")


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ('{"schema_version":2}',
         "schema_version: 2 was written by a newer agent; this version reads up to 1: update this side"),
        ('{"id":"x"}', "interrupt: the stored value has no schema_version, so it is not an interrupt"),
        ('["x"]', "interrupt: the stored value has no schema_version, so it is not an interrupt"),
        ('{"schema_version":1}', "interrupt.id: Field required"),
        ('{"schema_version":1,"schema_version":1}', "key 'schema_version' appears twice in one object"),
        ("", "not JSON at line 1, column 1"),
        (b"\xff", "not UTF-8 at byte 0"),
    ],
    ids=["newer", "no version", "list", "no fields", "twice", "empty", "bytes"],
)  # fmt: skip
def test_a_stored_text_that_this_version_cannot_read_is_refused(stored, sentence):
    """Whatever stands in the store, reading it is an interrupt or one sentence."""
    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        load_interrupt(stored)


def test_what_is_over_a_limit_is_refused_when_it_is_read_too():
    """A record that no publish of ours could have written is not shown to anybody."""
    value = json.loads(dump_interrupt(an_interrupt()))
    value["request"]["action_requests"][0]["args"] = {"a": "x" * 70_000}

    with pytest.raises(InvalidRequestError, match=r"action_requests\[0\]\.args: 70,008 bytes"):
        load_interrupt(json.dumps(value))


HALF_A_PAIR = "\ud83d"
DEEP: dict[str, Any] = {"n": 1}
for _ in range(40):
    DEEP = {"n": DEEP}


@pytest.mark.parametrize(
    ("interrupt", "sentence"),
    [
        (an_interrupt(*[an_action()] * 51), "action_requests: 51 actions, at most 50; ask in several batches, or have the model make fewer calls"),
        (an_interrupt(*[an_action(args={"a": "x" * 60_000})] * 5), "interrupt: 300,"),
        (an_interrupt(an_action(), an_action(name="")), "action_requests[1].name: 0 characters, from 1 to 128"),
        (an_interrupt(an_action(name="x" * 129)), "action_requests[0].name: 129 characters, from 1 to 128"),
        *((an_interrupt(an_action(name=name)), f"action_requests[0].name: {name!a} has blanks at its ends, or characters that nobody sees")
          for name in (" pay", "pay ", "pa\u200by", "pay\n", "pa\u00a0y", "pa\u3164y", "\u202epay", "pay\ufe0f")),
        (an_interrupt(an_action(), an_action(args={"a": [float("nan")]})),
         "action_requests[1].args.a[0]: nan is not a JSON number; send null or a string"),
        (an_interrupt(an_action(allowed=("approve", "approve"))),
         "review_configs[0].allowed_decisions: a decision is listed twice in ['approve', 'approve']"),
        (an_interrupt(an_action(allowed=("aprove", "escalate"))),
         "review_configs[0].allowed_decisions: none of ['aprove', 'escalate'] is one of approve, edit, reject, respond"),
        (an_interrupt(expires_in=timedelta(milliseconds=999)),
         "expires_in: 0.999 seconds: give people from 1 second to 7 days"),
        (an_interrupt(expires_in=timedelta(days=7, seconds=1)),
         "expires_in: 604801 seconds: give people from 1 second to 7 days"),
        (an_interrupt().model_copy(update={"pauses": ("a", "b")}), "pauses: 2 for 1 actions; they pair by index"),
        (an_interrupt(an_action(allowed=("approve", HALF_A_PAIR))),
         "review_configs[0].allowed_decisions[1]: half of a surrogate pair"),
        (an_interrupt(source=Source(dialect="text", payload={"a": [HALF_A_PAIR]})),
         "payload.a[0]: half of a surrogate pair"),
        (an_interrupt(run=HALF_A_PAIR), "interrupt.run: half of a surrogate pair"),
    ],
    ids=[
        "actions", "envelope", "no name", "long name", *(f"name {n}" for n in range(8)), "args", "twice", "typo",
        "too short", "too long", "pauses", "decision", "source", "run",
    ],
)  # fmt: skip
def test_what_could_not_be_shown_or_answered_is_refused_at_publish(interrupt, sentence):
    """The sentence names the place, so the agent's author can mend it."""
    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        dump_interrupt(interrupt)


LARGE = {"enum": [f"place-{number}" for number in range(6_000)]}


@pytest.mark.parametrize(
    "schema", [{"description": "x" * 32_768}, LARGE, DEEP, {"enum": {1}}], ids=["bytes", "values", "depth", "no JSON"]
)  # fmt: skip
def test_a_schema_that_cannot_be_sent_is_left_out_before_its_call_is_compared(schema):
    """People are asked without it, and the agent finds its own question in the record."""
    interrupt = an_interrupt(an_action(schema=schema))

    stored = load_interrupt(dump_interrupt(interrupt))

    assert stored.request.review_configs[0].args_schema == LEFT_OUT
    assert matching_actions(stored, interrupt) == [0]
    check_same_words(stored, interrupt, [0])


def test_a_schema_is_stored_once_for_all_calls_of_a_tool():
    """Fifty calls of one turn have the size of one schema; each of them is shown with it."""
    schema = {"enum": ["x" * 20_000]}
    interrupt = an_interrupt(*[an_action(schema=dict(schema)) for _ in range(50)])

    text = dump_interrupt(interrupt)

    assert len(text) < 30_000
    assert load_interrupt(text) == interrupt


@bounded(30)
@given(st.integers(1, 50), st.text("x\ud83d😀", max_size=20), st.integers(1, 200))
@example(1, "x" * 20, 2_000)
def test_words_that_only_serve_comfort_never_stop_a_question(count, word, times):
    """They are cut where people see it; every call is asked about as it is."""
    words = word * times
    actions = [
        an_action(args={"a": number}, description=words, headline=(words,) * 12, schema={"enum": [words, number]})
        for number in range(count)
    ]  # fmt: skip
    links = tuple(Link(label=words, url=words) for _ in range(40))
    interrupt = an_interrupt(*actions, context=Context(title=words, links=links))

    stored = load_interrupt(dump_interrupt(interrupt))

    assert [action.args for action in stored.request.action_requests] == [
        action.args for action, _ in actions
    ]
    assert matching_actions(stored, interrupt) == [*range(count)]
    one = interrupt.request.model_copy(
        update={
            "action_requests": interrupt.request.action_requests[-1:],
            "review_configs": interrupt.request.review_configs[-1:],
        }
    )
    part = interrupt.model_copy(update={"request": one, "pauses": interrupt.pauses[-1:]})
    check_same_words(stored, part, matching_actions(stored, part))
    assert stored.context.links[-1].url.endswith("20 more links were left out")
    said = stored.request.action_requests[0].description
    assert "\ud83d" in words or said == words or said.endswith("more characters were left out)")


@pytest.mark.parametrize(
    "interrupt",
    [
        an_interrupt(*[an_action()] * 50),
        an_interrupt(*[an_action(args={"a": "x" * 65_000})] * 4),
        an_interrupt(an_action(name="x" * 128)),
        an_interrupt(an_action(schema={"description": "x" * 32_750})),
        an_interrupt(expires_in=timedelta(seconds=1)),
        an_interrupt(expires_in=timedelta(days=7)),
    ],
    ids=["actions", "envelope", "name", "schema", "shortest", "longest"],
)
def test_the_limits_themselves_are_allowed(interrupt):
    assert load_interrupt(dump_interrupt(interrupt)) == interrupt


def test_an_agent_has_a_name_that_fits_a_key():
    """Every key of an agent has its name, so it is kept to what a key can carry."""
    with pytest.raises(
        InvalidRequestError, match=r"Interrupt\.agent: 'Billing Team' cannot be the name of an agent"
    ):
        an_interrupt(agent="Billing Team")
