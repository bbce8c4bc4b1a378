"""What became of the calls that ran: the title says it, the agent's words stand alone, the thread has one message."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter import Outcome
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.outcome import Reported
from agent_adapter.contract.record import EXPIRED
from bot.domain.ids import MessageId, Shown
from bot.rendering.card.card import render_card
from bot.sentences import in_text
from tests.bot.rendering.slack_side import assert_slack_takes_card, block_of
from tests.support.builders import NOW, a_decision, a_state, an_action, an_interrupt, asked, edited
from tests.support.properties import bounded

APPROVE, REJECT = ApproveDecision(), RejectDecision(message="No.")


def drawn(*reports, tools=("send_payment",), how=None, args=None, plan=False, **fields):
    """Draw the messages of a decided record. `reports` are outcomes by action, `None` where nothing was reported."""
    outcomes = {index: Reported(each, NOW) for index, each in enumerate(reports) if each}
    state = {"status": "decided", "settled_at": NOW, "resumed_at": NOW, "outcomes": outcomes}
    terms = {
        "approvers": ["U0ERIK"],
        "tell_approvers": True,
        "decided": how or dict.fromkeys(range(len(tools)), APPROVE),
    }
    calls = [an_action(tool, args) for tool in tools]
    given = {**terms, **state, **fields}
    found = render_card(asked(*calls, **given) if plan else a_state(an_interrupt(*calls), **given))
    assert_slack_takes_card(found)
    return found


def title(*reports, **fields):
    return drawn(*reports, **{"args": {}, **fields})[0].blocks[0]["text"]["text"]


def text_of(block):
    """Give the text of a context or of a literal block."""
    if block["type"] == "context":
        return block["elements"][0]["text"]
    return "".join(leaf["text"] for part in block["elements"] for leaf in part["elements"])


def about_runs(part):
    return [
        text_of(block)
        for block in part.blocks
        if block["block_id"].startswith("ran") and block["type"] != "section"
    ]


HIDDEN = {"password": "hunter22", "body": "s3cret words", "to": "ada"}
MASKS = {"mask": ("password",), "modal_only": ("body",)}
PAID, LOST = Outcome.done("tr_1"), Outcome.failed("insufficient funds")


RAN = {"claim_has_lapsed": True, "resumed_at": None}


@pytest.mark.parametrize(
    ("reports", "fields", "says"),
    [
        ([PAID], {}, "✅ Approved: pay, done"),
        ([LOST], {}, "❌ Failed: pay (approved)"),
        ([None], {}, "Approved: pay"),
        ([PAID, PAID], {}, "✅ Approved: pay, 2 times, done"),
        ([LOST, LOST], {}, "❌ Failed: pay, 2 times (approved)"),
        ([LOST, PAID], {}, "❌ 1 of 2 failed: pay (approved)"),
        ([PAID, None, None], {}, "Approved: pay, 3 times, 1 done, 2 not reported"),
        ([PAID, None], {"how": {0: APPROVE, 1: REJECT}}, "✅ 1 approved, 1 rejected: pay, 2 times, 1 done"),
        # A title warns as long as the outcome of a call is unknown.
        ([None, None, None], RAN, "⚠️ Outcome unknown: pay, 3 times (approved)"),
        ([PAID, PAID, None], RAN, "⚠️ 2 done, 1 not reported: pay, 3 times (approved)"),
        ([LOST, PAID, None], RAN, "⚠️ 1 of 3 failed, 1 not reported: pay (approved)"),
        ([LOST, PAID, PAID], RAN, "❌ 1 of 3 failed: pay (approved)"),
    ],
)  # fmt: skip
def test_a_title_says_what_became_of_the_calls_and_first_what_failed(reports, fields, says):
    card, *_ = drawn(*reports, tools=["pay"] * len(reports), args={}, **fields)

    assert card.blocks[0]["text"]["text"] == says
    assert ("may have run" in card.text) == (says[0] == "⚠")


def test_a_result_is_one_line_and_the_thread_has_all_of_it():
    """A second message about one short outcome would say the same."""
    assert [part.id.kind for part in drawn(PAID)] == ["card"]
    card, thread = drawn(Outcome.done("first\u202e\nsecond\nthird"))

    assert about_runs(card) == ["Result (the first of 3 lines):", "first\\u{202E}"]
    literal = block_of(card.blocks, "ran:0:text")
    assert (literal["type"], literal["elements"][0]["type"]) == ("rich_text", "rich_text_quote")
    assert (thread.id.kind, about_runs(thread)[-1]) == ("outcomes", "first\\u{202E}\nsecond\nthird")


@pytest.mark.parametrize(
    ("reports", "says"),
    [
        ([PAID, LOST, None], "Call 2 failed:"),
        ([PAID, LOST, PAID, Outcome.failed("too late")], "Calls 2 and 4 failed, here is 2:"),
        ([PAID, *[LOST, PAID] * 25], "25 calls failed, here is 2:"),
    ],
)
def test_a_card_says_which_calls_failed_and_shows_the_first(reports, says):
    """The thread has one message about all of them, what failed first."""
    card, thread, *_ = drawn(*reports, tools=["pay"] * len(reports), plan=True)

    assert about_runs(card)[0] == says
    assert words_of(card) == "insufficient funds"
    assert about_runs(thread)[2].startswith("2. *Failed*")


BATCH = {"tools": ["pay", "pay"]}


def elements_of(message, index=1):
    """Give what the block of a call has: its values, and the agent's words below them."""
    (block,) = (block for block in message.blocks if block["block_id"] == f"ran:{index}:text")
    return block["elements"]


def values_of(message):
    values, *_ = elements_of(message)
    assert values["type"] == "rich_text_section"
    return "".join(leaf["text"] for leaf in values["elements"])


def words_of(message):
    *_, words = elements_of(message)
    assert words["type"] == "rich_text_quote"
    return "".join(leaf["text"] for leaf in words["elements"])


EDITED = edited("pay", amount=7)


@pytest.mark.parametrize(
    ("args", "fields", "about"),
    [
        ({"customer": "Ada *Park*", "amount": 64.95}, {}, 'pay 64.95 "Ada *Park*"'),
        ({"amount": 900}, {"how": {0: APPROVE, 1: EDITED}}, "pay 900 → 7"),
        ({"password": "hunter22", "amount": 7}, {"mask": ("password",)}, "pay amount 7 +1 hidden"),
        ({"body": "hunter22 words", "amount": 7}, {"modal_only": ("body",)}, "pay amount 7 +1 hidden"),
    ],
    ids=["as asked", "as it ran", "masked", "for a reading only"],
)
def test_the_call_of_several_that_failed_stands_with_its_subject(args, fields, about):
    """On the card and in the thread; the agent's words are a quote below it."""
    card, thread = drawn(PAID, LOST, **BATCH, args=args, **fields)

    assert [values_of(message) for message in (card, thread)] == [about] * 2
    assert "hunter22" not in str([card, thread])


STOPPED = "The agent stopped after the approval. The call may have run. Check before you ask again."
NOT_STARTED = (
    "The agent has not started this call for 10 minutes, and still may. Check that billing is running."
)


@pytest.mark.parametrize(
    ("fields", "news", "alarm"),
    [
        ({"resumed_at": None, "claim_has_lapsed": True}, "Outcome unknown", STOPPED),
        ({"resumed_at": None, "stalled": "the run failed with OSError"}, "Outcome unknown", STOPPED),
        ({"stalled": "the run failed with OSError"}, "Outcome unknown", STOPPED),
        ({"resumed_at": None, "untaken": True, "claims": 1}, "Outcome unknown", STOPPED),
        ({"resumed_at": None, "untaken": True}, "Not started", NOT_STARTED),
    ],
)
def test_an_agent_that_stopped_never_looks_like_success(fields, news, alarm):
    """The title begins with the news, the first text below says what to do, and a phone reads the same."""
    card, *_ = drawn(None, args={}, **fields)
    assert card.blocks[0]["text"]["text"] == f"⚠️ {news}: send_payment (approved)"
    assert (card.blocks[1]["type"], card.blocks[1]["text"]["text"]) == ("section", alarm)
    assert card.text.startswith(f"⚠️ {news}: send_payment (approved). {alarm} Asked by billing")


# --- Who approved is called -------------------------------------------------------------------------------------------

UNKNOWN = {"resumed_at": None, "claim_has_lapsed": True}
REPLY = MessageId(0, "outcomes")


def reply(*reports, **fields):
    """Draw the message in the thread; `None` where there is none."""
    return next((part for part in drawn(*reports, **fields) if part.id == REPLY), None)


def recorded_by(*agreed, by="U0DANA", sticky=None):
    return a_decision(an_interrupt(an_action("pay")), 0, APPROVE, by=by).model_copy(
        update={"agreed_by": agreed, "sticky": sticky}
    )


@pytest.mark.parametrize(
    ("reports", "fields", "news"),
    [
        ([LOST], {}, " *failed"),
        ([LOST, PAID, PAID], {}, ": *1 of 3 failed"),
        ([LOST, None], {}, ": *1 of 2 failed, 1 not reported"),
        ([None], UNKNOWN, f": *outcome unknown*. {STOPPED}"),
        ([None], {"resumed_at": None, "untaken": True}, f": *not started*. {NOT_STARTED}"),
    ],
)
def test_who_approved_is_called_when_something_is_wrong(reports, fields, news):
    """In words of ours alone; the call and its error stand in blocks of their own."""
    message = reply(*reports, tools=["pay"] * len(reports), **fields)

    said = message.blocks[0]["text"]["text"]
    assert said.removesuffix("*.") == f"<@U0ERIK>, what you approved{news}"
    assert message.text.startswith("<@U0ERIK> ")
    assert 'pay "dana@example.com"' in message.text or "pay, " in message.text


@pytest.mark.parametrize(
    ("reports", "fields"),
    [
        ([PAID], {}),
        ([None], {}),
        ([PAID, None], {}),
        ([None], {"stalled": "it is too large", "unused": True}),
        ([None], {"how": {0: REJECT}, **UNKNOWN}),
        ([LOST], {"tell_approvers": False}),
    ],
    ids=["done", "running", "partly done", "did not run", "rejected", "by the policy"],
)
def test_nobody_is_called_when_nothing_is_wrong(reports, fields):
    """A reply comes when the outcome of each call is known: what fails until then is news, and only a new message is."""
    assert reply(*reports, tools=["pay"] * len(reports), **fields) is None


@pytest.mark.parametrize(
    ("recorded", "fields", "called"),
    [
        (recorded_by("U0MIRA", "U0DANA"), {}, "<@U0MIRA>, <@U0DANA>, what you approved *failed*."),
        (recorded_by(by=EXPIRED), {}, "*Failed*."),
        (recorded_by(sticky="billing.x:0"), {}, "<@U0DANA>, what you approved *failed*."),
        (recorded_by(sticky="billing.x:0"), {"quiet": frozenset({"billing.x:0"})}, "*Failed*."),
    ],
    ids=["a quorum", "silence", "a standing approval", "that called within the hour"],
)
def test_those_are_called_who_approved(recorded, fields, called):
    assert reply(LOST, tools=["pay"], how={0: recorded}, **fields).blocks[0]["text"]["text"] == called


@pytest.mark.parametrize(
    ("fields", "shown"),
    [({}, "*bold* <!channel> hunter22"), (MASKS, in_text.KEPT_OFF)],
    ids=["open", "masked"],
)
def test_the_reply_has_one_line_of_the_error_in_a_block_of_its_own(fields, shown):
    """No words of the agent where something is hidden: it may repeat that, in any spelling."""
    error = Outcome.failed("\n*bold* <!channel> hunter22\n" + "x y " * 15_000)
    parts = drawn(error, Outcome.done("HUNTER22"), **BATCH, args=HIDDEN, **fields)
    (line,) = (block for block in parts[1].blocks if block["block_id"] == "ran:error")

    assert (line["type"], text_of(line)) == ("rich_text", shown)
    assert ("hunter22" in str(parts).casefold(), "the first" in str(parts)) == (not fields, not fields)


@bounded(60)
@given(
    st.lists(
        st.none()
        | st.builds(Outcome, status=st.sampled_from(["done", "failed"]), text=st.text(max_size=3_000)),
        min_size=1,
        max_size=50,
    )
)
def test_slack_takes_every_report(reports):
    """Whatever agents write, every message is within Slack's limits."""
    drawn(*reports, tools=["send_payment"] * len(reports), plan=True)
    drawn(*reports, tools=[f"tool-{number}" for number in range(len(reports))], plan=True)


def test_a_shortened_error_says_how_long_it_was():
    card, thread = drawn(Outcome.failed("x y " * 15_000))

    says, error = about_runs(card)
    assert says == "Result (the agent sent the first 2,000 of 60,000 characters):"
    assert "more characters" in error
    assert len(about_runs(thread)[-1]) > len(error)


def test_a_long_title_keeps_its_end():
    """What became of the call is not cut, however long the values are."""
    long = {"tools": ["t" * 64], "args": {"to": "x" * 128}}
    assert title(PAID, **long).endswith('…", done')
    assert title(LOST, **long).startswith("❌ Failed: ")
    assert title(None, **long, stalled="x").startswith("⚠️ Outcome unknown: ")


@pytest.mark.parametrize(
    ("reports", "fields", "says"),
    [
        ([None], {"resumed_at": None}, "waiting for the agent"),
        ([None], {"resumed_at": None, "stalled": "it failed with OSError"}, "the agent could not go on"),
        ([Outcome.done(), None], {"resumed_at": None, "stalled": "it failed"}, " · its run ended with an error"),
        ([None], {"stalled": "it failed"}, "its run ended with an error; no outcome was reported"),
        ([None], {"stalled": "it is too large", "unused": True}, "nothing ran"),
    ],
)  # fmt: skip
def test_a_card_says_why_nothing_was_reported(reports, fields, says):
    card, *_ = drawn(*reports, tools=["pay"] * len(reports), **fields)
    assert says in text_of(block_of(card.blocks, "who"))


@pytest.mark.parametrize("fields", [{"claim_has_lapsed": True}, {"stalled": "x"}, {"untaken": True}])
def test_no_alarm_says_that_a_rejected_call_may_have_run(fields):
    """Nothing was approved, so nothing runs."""
    card, *_ = drawn(how={0: REJECT}, args={}, resumed_at=None, **fields)
    assert card.blocks[0]["text"]["text"] == "🚫 Rejected: send_payment"
    assert "may have run" not in str(card.blocks)


def test_who_goes_on_after_a_long_time_is_not_called_stalled():
    """A process holds the claim, so it goes on with the answer."""
    (card,) = drawn(None, resumed_at=None, untaken=True, claimed_until=NOW + timedelta(hours=1))
    assert "waiting for the agent" in text_of(card.blocks[1])


def test_the_message_names_what_failed_and_not_what_is_unknown():
    """Its words are about the failed call, and so is the error below it."""
    message = reply(LOST, None, tools=["pay", "refund"], **UNKNOWN)

    assert text_of(block_of(message.blocks, "ran:call")) == 'pay "dana@example.com"'


def test_the_reply_stays_and_is_edited_when_an_unknown_outcome_becomes_known():
    """It calls nobody once more."""
    shown = {REPLY: Shown("C0APPROVALS", "1.2", "x")}
    message = reply(PAID, tools=["pay"], shown=shown, claim_has_lapsed=True)

    assert message.blocks[0]["text"]["text"] == "*Done*."
    assert text_of(message.blocks[1]) == 'pay "dana@example.com"'
    assert "<@" not in message.text
