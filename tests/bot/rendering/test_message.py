"""What a card shows, at every moment of an interrupt."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision, RespondDecision
from agent_adapter.contract.interrupt import Context, Link
from agent_adapter.contract.record import EXPIRED, decided, read_resume
from agent_adapter.errors import InterruptExpiredError
from bot.domain.admission import Place, Terms
from bot.domain.approval import decided_together, question
from bot.domain.ids import MessageId
from bot.rendering.card.bulk import bulk_blocks
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import plan_parts
from bot.rendering.modal.editing import render_edit_view
from bot.rendering.modal.review import render_reading_view
from bot.sentences.words import by, when
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    block_ids,
    block_of,
    button_labels,
    buttons,
    literal_text,
    shown,
    typed_texts,
)
from tests.support.builders import (
    ALL_DECISIONS,
    NOW,
    a_decision,
    a_state,
    an_action,
    an_interrupt,
    asked,
    calls_of,
    edited,
)
from tests.support.people import words
from tests.support.properties import bounded

NOTED = a_decision(an_interrupt(), 0, ApproveDecision(), note="checked with <@U1>")


def summary_of(*actions, **terms):
    """The first message of so many calls that one cannot show them: where they are, and the list of them."""
    part, _, parts = in_parts(*actions, **terms)
    where, summary = (block_of(part.blocks, name) for name in ("summary:where", "summary"))
    return shown([where]), literal_text([summary], "summary").split("\n"), len(parts)


AT = "<!date^1795179600^{time}|13:00 UTC>"
LONG = {"query": "select 1;\n" * 2_000}


def card(state):
    (part,) = render_card(state)
    assert_slack_takes_card((part,))
    return part


def title_of(part):
    return part.blocks[0]["text"]["text"]


def row_of(part, index):
    return block_of(part.blocks, f"a:{index}:outcome")["elements"][0]["text"]


def line_of(part):
    return block_of(part.blocks, "who")["elements"][0]["text"]


def test_a_card_of_one_action():
    """The whole picture: who asks, the agent's words before the call, the buttons that the agent allows."""
    asked = an_action(args={"to": "dana@example.com", "n": 1}, description="Says hello.")
    part = card(a_state(an_interrupt(asked)))

    assert part.id == MessageId(0)
    assert (part.channel, part.thread_ts, part.parent) == ("C0APPROVALS", None, None)
    assert part.actions == (0,)
    title = 'billing: send_email n 1 · "dana@example.com"'
    assert part.text == f"{title}. Rejected at {AT} if nobody decides."
    assert [(block["type"], block["block_id"], shown(block)) for block in part.blocks[:-1]] == [
        ("header", "top", title),
        (
            "context",
            "who",
            f"for <@U0DANA> · <@U0ERIK> or <@U0MIRA> decides · rejected at {AT} if nobody does",
        ),
        ("rich_text", "a:0:description", "Says hello."),
        ("rich_text", "a:0:arguments", "to dana@example.com   n 1"),
    ]
    drawn = [(b["action_id"], b["text"]["text"], b.get("style")) for b in buttons(part.blocks)]
    assert drawn == [
        *(("approve:0", "Approve", "primary"), ("edit:0", "Edit…", None), ("reject:0", "Reject…", "danger")),
        *(("respond:0", "Answer…", None), ("changes:0", "Ask for changes…", None)),
        ("approve_note:0", "Approve with a note…", None),
    ]
    assert [b["accessibility_label"] for b in buttons(part.blocks)] == [
        f"{label} send_email" for _, label, _ in drawn
    ]
    # Slack links nothing in our words, and makes no pictures of theirs.
    assert str(part.blocks).count("'mrkdwn'") == str(part.blocks).count("'verbatim': True") == 1
    assert str(part.blocks).count("'plain_text'") == str(part.blocks).count("'emoji': False")


def test_the_value_of_every_button_is_the_interrupt_id_and_the_name_of_what_it_asks():
    """A click carries nothing that could be believed; the button for several says which of them it asks about."""
    state = a_state(an_interrupt(an_action(), an_action()))
    drawn = {button["action_id"]: button["value"] for button in buttons(card(state).blocks)}
    both = question(state, [0, 1])

    assert drawn.pop("approve_all:0") == f"{state.id} 0 1 ~{both}"
    assert drawn.pop("reject_all:0") == drawn.pop("review:0") == f"{state.id} ~{both}"
    alone = a_state(an_interrupt(an_action()))
    values = {button["value"] for button in buttons(card(alone).blocks)}
    assert (drawn, values) == ({}, {f"{alone.id} ~{question(alone, [0])}"})


@pytest.mark.parametrize(
    "name",
    ["https://evil.example", "a b", "x" * 65, "né", "@here", ":tada:", "send`*\n<!channel> Approved by security"],
)  # fmt: skip
def test_what_looks_like_more_than_a_name_stands_alone_as_literal_text(name):
    """A tool's name can be an attack; only what looks like a name stands among our words."""
    part = card(a_state(an_interrupt(an_action(name))))

    assert literal_text(part.blocks, "a:0:name") == name.replace("\n", "\\n")
    assert title_of(part) == 'billing: a tool with an unusual name "dana@example.com"'
    assert part.text.startswith(f"{title_of(part)}. ")
    assert buttons(part.blocks)[0]["accessibility_label"] == "Approve this call"
    assert all("channel>" not in text for place, text in typed_texts(part.blocks) if place != "literal")


def test_the_agent_speaks_in_blocks_of_its_own():
    """Title, links and subagent are shown letter by letter, under a line that says whose words they are."""
    context = Context(
        requested_by="not <@U1> an id",
        title="Close the *books*",
        links=(Link(label="Ticket", url="https://example.com/1"),),
        subagent="ledger",
    )

    part = card(a_state(an_interrupt(context=context)))

    assert block_of(part.blocks, "says")["elements"][0]["text"] == "The agent says about this run:"
    assert literal_text(part.blocks, "run").split("\n") == [
        'title:        "Close the *books*"',
        'requested_by: "not <@U1> an id"',
        'subagent:     "ledger"',
        "links:",
        '  - Ticket: "https://example.com/1"',
    ]
    assert line_of(part).startswith("<@U0ERIK> or <@U0MIRA> decides · rejected at ")
    unknown = line_of(card(a_state(an_interrupt(context=Context()))))
    assert unknown.startswith("*requester unknown* · <@U0ERIK> or <@U0MIRA> decides · ")


@pytest.mark.parametrize(
    "action",
    [
        an_action("send\u200b_email", {"to": "dana"}),
        an_action(args={"t\u200bo": "dana"}),
        an_action(args={"list": [{"to": "da\u200bna"}]}),
        an_action(args={"to": "dana"}, description="To da\u200bna"),
    ],
    ids=["name", "key", "nested", "description"],
)
def test_hidden_characters_are_announced_wherever_they_stand(action):
    """Card, form and reading say it, and how they write them; for the tool's name and the agent's words as well."""
    state = a_state(an_interrupt(action))

    for read in (card(state).blocks, render_reading_view(state, 0, 1, pages_read=0)):
        assert "*Hidden characters*, written here as `\\u{…}`" in shown(read)
    assert "*Hidden characters*, written here as `\\u` and four digits" in shown(render_edit_view(state, 0))


@pytest.mark.parametrize(
    ("to", "named"),
    [
        ("da\u200bna", ""),
        ("\u0410\u0421ME", '"\u0410\u0421ME" has letters of several alphabets'),
        ("ada@ex\u0430mple.com", "ex\u0430mple.com is really xn--exmple-4nf.com"),
    ],
)
@pytest.mark.parametrize("is_read", [False, True])
def test_what_misleads_is_not_approved_with_one_press(to, named, is_read):
    """Slack asks once more, as with `confirm: true`, and says why: a hurried person presses the green button.

    It names the first of what its card names, and nothing that only a modal shows.
    """
    state = a_state(an_interrupt(an_action(args={"to": to})), modal_only=("to",) if is_read else ())
    blocks = render_reading_view(state, 0, 1, pages_read=1)["blocks"] if is_read else card(state).blocks
    approve = next(button for button in buttons(blocks) if button.get("confirm"))

    assert approve["text"]["text"] == ("I have read it: Approve…" if is_read else "Approve…")
    said = "" if is_read else named
    assert approve["confirm"]["text"]["text"].endswith(f"not what it seems to be.\n{said}".strip())


@pytest.mark.parametrize(
    ("effect", "sentence"),
    [
        ("reject_as_answer", "Reject: this agent's framework has no rejection."),
        ("answer_as_rejection", "the model gets your words as the reason of a rejection"),
        ("words_only", "gets your decision, and only it knows"),
        ("reject_drops_batch", "then runs no other call of this batch"),
    ],
)
def test_a_card_says_what_a_decision_really_does(effect, sentence):
    """Where a framework lacks a decision, the words beside the buttons say what happens in its place."""
    (part,) = render_card(a_state(an_interrupt(an_action(effects=(effect, "of-a-later-version")))))

    assert sentence in words(part.blocks)
    assert "of-a-later-version" not in words(part.blocks)


YES, NO_YES = an_action(), an_action(allowed=["edit"])


@pytest.mark.parametrize(
    ("actions", "decided", "labels", "said"),
    [
        ([YES, YES], {}, ["Approve all 2…", "Open…", "Reject all…"], ""),
        ([YES, YES, an_action(allowed=["respond"]), YES], {3: ApproveDecision()},
         ["Approve 1 and 2…", "Open…", "Reject 1 and 2…", "3: Answer…"], ""),
        # How many they are reads like progress. Scattered ones are counted.
        ([YES, NO_YES, YES], {}, ["Approve 1 and 3…", "Open…", "Reject 1 and 3…"], "Cannot be approved: 2."),
        ([YES, NO_YES] * 5 + [YES], {}, ["Approve 6 of 11…", "Open…", "Reject 6 of 11…"], ""),
    ],
    ids=["all", "some", "named", "counted"],
)  # fmt: skip
def test_bulk_buttons_say_on_which_calls_they_act(actions, decided, labels, said):
    """What does not allow it, or is decided, is not part of it."""
    state = a_state(an_interrupt(*actions), decided=decided)
    blocks = bulk_blocks(state, MessageId(0))

    assert [button["text"]["text"] for button in block_of(blocks, "bulk")["elements"]] == labels
    assert said in shown(blocks)
    found = decided_together(state, range(len(actions)), "approve")
    assert found == tuple(n for n, (_, config) in enumerate(actions) if "approve" in config.allowed_decisions and n not in decided)  # fmt: skip


NOT_RUN = "*Approved, not run* by <@U0ERIK>"
ENDED = "send_email, 2 times"


@pytest.mark.parametrize(
    ("fields", "title", "line", "open_row", "decided_row"),
    [
        ({"status": "withdrawn"}, f"⌛ Withdrawn: {ENDED}", "withdrawn by `billing`", "*Withdrawn*", NOT_RUN),
        ({"status": "refused"}, f"🚫 Refused: {ENDED}", "this could not be asked", "*Refused*", NOT_RUN),
        ({"status": "expired"}, f"1 approved, 1 expired: {ENDED}", "1 of 2 decided", "*Expired, so rejected: nobody decided*",
         "*Approved* by <@U0ERIK>"),
        ({"status": "expired", "on_expiry": "raise"}, f"⌛ Expired: {ENDED}", "1 of 2 decided", "*Not decided in time*", NOT_RUN),
        ({"now": NOW + timedelta(hours=2)}, f"Time is up: {ENDED}", "agent `billing`", "*Not decided in time*",
         "*Approved* by <@U0ERIK>"),
    ],
    ids=["withdrawn", "refused", "expired", "raised", "time is up"],
)  # fmt: skip
def test_an_interrupt_that_ended_has_no_buttons_and_says_what_became_of_each_action(
    fields, title, line, open_row, decided_row
):
    """What was approved but will not run says so."""
    part = card(asked(an_action(), an_action(), apart=True, decided={0: ApproveDecision()}, **fields))

    assert title_of(part) == title
    assert line in line_of(part)
    assert row_of(part, 0).startswith(f"*1.* `send_email` · {decided_row}")
    assert row_of(part, 1) == f"⌛ *2.* `send_email` · {open_row}"
    assert buttons(part.blocks) == []


@bounded(60)
@given(st.lists(st.sampled_from(["open", "person", "silence"]), min_size=1, max_size=6), st.integers(0, 6))
def test_nobody_is_said_to_have_decided_or_objected_only_where_nobody_did(how, here):
    """The line of what expired says how many people decided, in each place for itself."""
    interrupt = an_interrupt(*(an_action() for _ in how))
    silent = {i: a_decision(interrupt, i, ApproveDecision(), by=EXPIRED) for i, h in enumerate(how)}
    decided = {i: silent[i] if h == "silence" else RejectDecision() for i, h in enumerate(how) if h != "open"}
    split = [found for found in (range(len(how))[:here], range(len(how))[here:]) if found]
    places = [Place(channel=f"C{n}", actions=tuple(found)) for n, found in enumerate(split)]

    cards = render_card(a_state(interrupt, decided=decided, places=places, status="expired"))

    for part, place in zip(cards, places, strict=True):
        line = line_of(part)
        people = [how[index] for index in place.actions].count("person")
        assert ("nobody" in line) == (people == 0)
        assert not (people == 0 and "<@U0ERIK>" in line)
        assert (f"{people} of {len(place.actions)} decided" in line) == (0 < people < len(place.actions))
        assert ("decided here" in line) == (people == len(place.actions))


DEADLINE = NOW + timedelta(hours=1)


def in_parts(*actions, **fields):
    """Draw a batch that takes several messages: its first one, the others, and which calls each of these has."""
    interrupt = an_interrupt(*actions, context=fields.pop("context", Context(requested_by="U0DANA")))
    parts = plan_parts(interrupt, calls_of(interrupt))
    place = Place(channel="C1", thread_ts="9.1", actions=tuple(range(len(actions))), parts=parts)
    first, *replies = render_card(a_state(interrupt, places=[place], **fields))
    return first, replies, parts


TWELVE = [an_action(f"tool_{number}") for number in range(12)]


def test_a_large_batch_is_a_summary_and_numbered_parts_in_its_thread():
    """The parent lists all actions, and may reject all; each part holds some of them, in order, and may approve them."""
    parent, replies, parts = in_parts(*TWELVE, an_action("sql", LONG), decided={1: ApproveDecision()})

    assert_slack_takes_card((parent, *replies))
    assert [index for part in parts for index in part] == list(range(13))
    assert title_of(parent).startswith("billing: tool_0, tool_1, ")
    assert title_of(parent).endswith(" and 6 more calls, 12 of 13 open")
    assert literal_text(parent.blocks, "summary").split("\n")[:2] == [
        ' 1  tool_0 "dana@example.com"',
        ' 2  tool_1 "dana@example.com", Approved',
    ]
    assert literal_text(parent.blocks, "summary").endswith('13  sql "select 1;…", to be read first')
    assert button_labels(parent.blocks) == ["Open…", "Reject all…"]
    assert [[label for label in button_labels(reply.blocks) if " all " in label] for reply in replies] == [
        [f"Approve all {len({*part} - {1})}…"] if 12 not in part else [] for part in parts
    ]
    assert not any("Reject all…" in button_labels(reply.blocks) for reply in replies)
    assert (parent.thread_ts, parent.parent, parent.actions) == ("9.1", None, ())
    assert [reply.id for reply in replies] == [
        MessageId(0, "part", number) for number in range(1, len(parts) + 1)
    ]
    assert [reply.actions for reply in replies] == list(parts)
    assert {(reply.thread_ts, reply.parent) for reply in replies} == {("9.1", MessageId(0))}
    assert replies[0].text == f"Part 1 of {len(parts)}: calls 1 to {len(parts[0])}. Asked by billing."


LETTER = "Clause {} of our terms is now easier to read. " * 30


@bounded(30)
@given(st.sets(st.integers(0, 23)))
def test_a_card_in_parts_says_how_many_are_open_whatever_was_decided(decided):
    """The number of the title is the number of rows without an outcome."""
    users = [an_action("create_user", {"note": "x" * 300, "n": n}) for n in range(24)]
    parent, parts, _ = in_parts(*users, decided=dict.fromkeys(decided, ApproveDecision()))

    left = 24 - len(decided)
    rows = literal_text(parent.blocks, "summary").split("\n")
    assert sum("Approved" not in row for row in rows) == left
    assert sum(name.endswith(":title") for part in parts for name in block_ids(part.blocks)) == left
    if not left:
        assert line_of(parent).endswith("waiting for a decision in another channel")
    else:
        assert (f", {left} of 24 open" in title_of(parent)) == (left < 24)


@pytest.mark.parametrize("requester", ["U0NOOR", "an intern", None])
def test_each_part_says_who_asks_and_until_when(requester):
    """Also when it is read by itself; it calls nobody again. What is decided is open no more."""
    calls = [an_action(f"tool_{n}", {"note": "x" * 900}) for n in range(12)]
    _, _, parts = in_parts(*calls)
    silent = {index: Terms(approvers=("U0ERIK",), by_silence=True) for index in parts[1]}
    decided = dict.fromkeys(parts[2], ApproveDecision())

    _, drawn, _ = in_parts(*calls, context=Context(requested_by=requester), own=silent, decided=decided)

    assert_slack_takes_card(tuple(drawn))
    asks = "agent `billing`"
    whom = "for the person named on the card above" if requester else "*requester unknown*"
    lines = [block_of(part.blocks, "who")["elements"][0]["text"] for part in drawn]
    assert lines[:3] == [
        f"{asks} · {whom} · rejected at {AT} if nobody decides",
        f"{asks} · {whom} · *approved* at {AT} if nobody decides",
        asks,
    ]
    assert not any("<@" in shown(part.blocks[:2]) for part in drawn)


def test_equal_cards_have_equal_digests():
    """A picture that Slack shows already is not sent again."""
    earlier, later = (a_state(now=NOW + timedelta(minutes=minutes)) for minutes in (1, 2))

    assert card(earlier).digest == card(later).digest
    assert card(a_state(decided={0: ApproveDecision()})).digest != card(earlier).digest


@bounded(200)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(ALL_DECISIONS), min_size=1, unique=True),
            st.sampled_from([(), ("words_only",)]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["reject", "raise"]),
)
def test_a_card_announces_what_the_agent_gets_at_the_deadline(calls, on_expiry):
    """Whatever the calls allow, questions too."""
    actions = (an_action(allowed=allowed, effects=effects) for allowed, effects in calls)
    interrupt = an_interrupt(*actions, on_expiry=on_expiry)
    resume = read_resume(interrupt, {"status": "expired"}, deadline=1, now=2, grace=0)
    try:
        kinds = {decision.type for decision in decided(interrupt, resume).decisions}
        rejects, hears = (
            f"rejected at {AT} if nobody does",
            f"ends at {AT} if nobody does, and the agent is told",
        )
        then = rejects if kinds == {"reject"} else hears
    except InterruptExpiredError:
        kinds, then = set(), f"expires at {AT} if nobody does"

    assert line_of(card(a_state(interrupt))).endswith(f" decides · {then}")
    ended = shown(card(a_state(interrupt, status="expired")).blocks)
    assert "Rejected" not in ended or "reject" in kinds


@pytest.mark.parametrize(
    ("silent", "other", "ends"),
    [
        ((0, 1), ALL_DECISIONS, f"*approved* at {AT} if nobody d"),
        ((0,), ALL_DECISIONS, f"at {AT}, what is open is approved or not, as each call says"),
        ((0,), ("approve", "edit"), f"expires at {AT} if nobody d"),
        ((0, 1), ("approve",), f"expires at {AT} if nobody d"),
    ],
)
def test_a_card_announces_what_silence_approves(silent, other, ends):
    """Also at the call, where they differ. Nothing where a call has no kind of no: the agent then resumes nothing."""
    own = {index: Terms(approvers=("U0ERIK",), by_silence=True) for index in silent}
    calls = an_interrupt(an_action("a"), an_action("b", allowed=other))
    state = a_state(calls, approvers=["U0ERIK"], own=own)

    assert f" · {ends}" in line_of(card(state))
    said = shown(card(state).blocks).count("*Approved at the deadline* unless somebody decides before.")
    assert said == ("each call" in ends)


def test_people_groups_and_channels_may_decide():
    """Approvers are mentioned where Slack knows them; a long list is counted."""
    several = [f"U0000{number}" for number in range(10)]

    assert " · <!subteam^S0OPS> or anyone in this channel decides · " in shown(
        card(a_state(approvers=["S0OPS", "channel"])).blocks
    )
    assert "<@U00007> or 2 more decides · " in shown(card(a_state(approvers=several)).blocks)


@pytest.mark.parametrize(
    ("args", "hidden", "said"),
    [
        ({"to": "ada", "body": "a word\n" * 1_115}, (), ", of 7,814 characters in all"),
        ({f"f{n}": "x y " * 100 for n in range(20)}, (), ", of 8,050 characters in all"),
        ({"key": "k" * 9_000, "body": "a word " * 600}, ("key",), ", of 4,207 characters in all"),
    ],
    ids=["one long", "many", "masked"],
)
def test_a_call_of_which_only_the_beginning_is_shown_says_how_much_the_agent_wrote(args, hidden, said):
    """Not how much the card would draw; and nothing tells how long a masked value is."""
    part = card(a_state(an_interrupt(an_action("send", args)), mask=hidden))

    assert said in shown([block_of(part.blocks, "a:0:unread")])
    assert literal_text(part.blocks, "a:0:arguments").endswith("… (more)")


def test_a_long_description_is_cut_with_a_statement_and_can_be_read():
    """It does not run, so it does not stand in the way of approving."""
    part = card(a_state(an_interrupt(an_action(description="why " * 1_000))))

    assert literal_text(part.blocks, "a:0:description").endswith(" more characters")
    assert button_labels(part.blocks) == [
        *("Approve", "Open…", "Reject…", "Answer…"),
        *("Ask for changes…", "Approve with a note…", "Edit…"),
    ]


@pytest.mark.parametrize(
    ("decision", "outcome", "said"),
    [
        (ApproveDecision(), "*Approved* by <@U0ERIK> {}", None),
        (edited(to="erik", n=1), "*Approved with changes* by <@U0ERIK> {}", None),
        (RejectDecision(), "*Rejected* by <@U0ERIK> {}", None),
        (RejectDecision(message="Wrong <@U1>"), "*Rejected* by <@U0ERIK> {}", "Wrong <@U1>"),
        (RespondDecision(message="Use 7"), "*Answered* by <@U0ERIK> {}", "Use 7"),
    ],
)
def test_a_decided_action_says_who_what_and_when(decision, outcome, said):
    """Its buttons are gone; what was said stands below, letter by letter."""
    interrupt = an_interrupt(an_action(args={"to": "dana", "n": 1}), an_action())

    part = card(a_state(interrupt, decided={0: decision}))

    moment = "<!date^1795176300^{date_short_pretty} at {time}|2026-11-20 12:05 UTC>"
    mark = "🚫 " if isinstance(decision, RejectDecision) else ""
    assert row_of(part, 0) == f"{mark}*1.* `send_email` · {outcome.format(moment)}"
    assert "a:0:buttons" not in block_ids(part.blocks)
    assert ("a:0:told" in block_ids(part.blocks)) == (said is not None)
    assert literal_text(part.blocks, "a:0:told") == (said or "")
    assert title_of(part) == "billing: send_email, 2 times, 1 of 2 open"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"status": "expired"}, f"it did not run · nobody decided by {by(DEADLINE)} · agent "),
        ({"status": "expired", "on_expiry": "raise"}, f"it did not run · nobody decided by {by(DEADLINE)} · agent "),
        ({"status": "withdrawn"}, f"it did not run · withdrawn by `billing` {when(NOW)} · asked for "),
    ],
    ids=["expired", "raised", "withdrawn"],
)  # fmt: skip
def test_a_card_that_ended_says_that_its_call_did_not_run_and_why(fields, says):
    """The deadline approves nothing here."""
    assert line_of(card(asked(an_action(), settled_at=NOW, **fields))).startswith(says)


def test_nobody_says_of_a_program_that_only_asks_that_its_call_did_not_run():
    """Only the program knows what it does with a rejection."""
    decided = {"decided": {0: RejectDecision(message="no")}, "status": "decided", "settled_at": NOW}
    part = card(asked(an_action(effects=("words_only",)), **decided, resumed_at=NOW))
    assert "did not run" not in shown(part.blocks)


@pytest.mark.parametrize(
    ("fields", "block", "says"),
    [
        # It may be the agent's.
        ({"status": "withdrawn", "reason": "no longer <!here> needed"}, "reason", "no longer <!here> needed"),
        ({"decided": {0: NOTED}}, "a:0:told", "checked with <@U1>"),
    ],
    ids=["the reason of an end", "a note"],
)
def test_what_somebody_wrote_is_shown_as_literal_text(fields, block, says):
    assert literal_text(card(a_state(**fields)).blocks, block) == says


def test_the_first_message_of_a_large_batch_says_what_each_call_is_about_and_where_it_is():
    """In the words of a title: a part says nothing to somebody who looks for one letter of 24."""
    letters = [
        an_action("send", {"body": LETTER, "to": f"user{n}@example.com", "copies": n}) for n in range(1, 25)
    ]

    where, lines, parts = summary_of(*letters)
    assert lines[1] == ' 2  copies 2 · "Clause {} of our ter…" +1 more'
    assert where == (
        f"Too long for one message. All 24 are in the thread, in {parts} parts; *Open…* goes through them here."
    )
    _, by_headline, _ = summary_of(*letters, headline=("to",))
    assert by_headline[0] == ' 1  "user1@example.com"'


def test_each_place_lists_the_actions_asked_there():
    """Numbers stay those of the batch, and bulk buttons act on the place."""
    interrupt = an_interrupt(an_action("a"), an_action("b"), an_action("c"))
    places = [Place(channel="C1", actions=(0, 2)), Place(channel="C2", actions=(1,))]

    first, second = render_card(a_state(interrupt, places=places, decided={1: ApproveDecision()}))

    assert (first.id, second.id) == (MessageId(0), MessageId(1))
    assert title_of(first) == 'billing: a "dana@example.com", c "dana@example.com"'
    assert "*3.* `c`" in shown(first.blocks)
    assert "`b`" not in shown(first.blocks)
    assert second.text.endswith("Asked by billing; waiting for a decision in another channel.")
    assert plan_parts(interrupt, calls_of(interrupt)[1:]) == ()
