"""Any policy, any people, any sequence of presses and forms: what is decided is what a plain reading of the rules says."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.admit import admit
from bot.domain.approval import Approval
from bot.domain.ids import MessageId
from bot.domain.messages import Shown
from bot.domain.policy import Policy
from bot.jobs.deadlines import Deadlines
from bot.listeners.services import Services
from bot.listeners.views import Forms
from bot.policy.file import read_policy
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import lay_out
from bot.rendering.modal.editing import render_edit_view
from bot.rendering.modal.forms import (
    render_agree_view,
    render_confirm_view,
    render_reject_all_view,
    render_reject_view,
    render_respond_view,
)
from bot.rendering.modal.questions import TYPED
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.store.records import ApprovalStore
from bot.use_cases.assign import Assignments
from bot.use_cases.bulk import approve_all
from bot.use_cases.decide import Decisions
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.who_may_decide import Judge
from playground.client import Control
from playground.server import Playground
from tests.bot.rendering.slack_side import shown, submitted
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import AS_BEFORE, shows
from tests.support.properties import bounded

DANA, ERIK, MIRA, NOOR, GUEST, LEFT = "U0DANA", "U0ERIK", "U0MIRA", "U0NOOR", "U0GUEST", "U0LEFT"
PEOPLE = (DANA, ERIK, MIRA, NOOR, GUEST, LEFT)
MEMBERS = {"S0OPS": {DANA, ERIK, GUEST, LEFT}, "channel": {*PEOPLE}}
KINDS = ("approve", "edit", "reject", "respond")
WORDS = ("alpha", "beta")
RUNS = count()


@pytest.fixture
async def forms(playground: Playground, slack: Control, store: ApprovalStore) -> AsyncIterator[Forms]:
    """The real ones, beside a Slack with these people and memberships."""
    await slack.group("S0OPS", users=sorted(MEMBERS["S0OPS"]))
    await slack.channel("C0APPROVALS", members=["U0BOT", *PEOPLE])
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        client = SlackClient(playground.bot_token, playground.api_url, session)
        await client.who_am_i()
        judge = Judge(Directory(client))
        standing = StandingApprovals(store, judge)
        yield Forms(
            Services(
                store, judge, Decisions(store, judge, AS_BEFORE), Assignments(store, judge), standing, client
            )
        )


# --- The rules, read plainly --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """One rule, as its author means it."""

    approvers: tuple[str, ...]
    later: str | None
    """Who may decide as well after a while."""
    quorum: int
    reject_quorum: int
    requester_may_decide: bool
    decisions: tuple[str, ...]
    is_high: bool

    def written(self) -> str:
        """Write it as a policy file does."""
        escalation = f", escalation: {{after: 1s, approvers: [{self.later}]}}" if self.later else ""
        return (
            f"channel: C0APPROVALS, approvers: [{', '.join(self.approvers)}], quorum: {self.quorum}, "
            f"reject_quorum: {self.reject_quorum}, decisions: [{', '.join(self.decisions)}], "
            f"requester_may_decide: {str(self.requester_may_decide).lower()}, "
            f"risk: {'high' if self.is_high else 'normal'}{escalation}"
        )

    def needed(self, kind: str) -> int:
        """Tell how many people it takes."""
        return self.reject_quorum if kind == "reject" else self.quorum

    def lets(self, person: str, kind: str, *, late: bool) -> bool:
        """Tell whether somebody may decide so. Dana is the one for whom the agent acts."""
        named = {*self.approvers, *([self.later] if late and self.later else [])}
        is_member = any(person in MEMBERS[entry] for entry in named & MEMBERS.keys())
        if person == LEFT or kind not in self.decisions:
            return False
        if person not in named and (person == GUEST or not is_member):
            return False
        return person != DANA or kind == "reject" or self.requester_may_decide


@dataclass
class Slot:
    """One action, as a plain reading of its rule decides it."""

    rule: Rule
    votes: list[tuple[str, str, str]] = field(default_factory=list)
    """Person, kind and words; the last word of each."""
    cast: list[tuple[str, str, str]] = field(default_factory=list)
    """Every vote that there ever was."""
    decided: tuple[str, str, list[str]] | None = None
    """Kind, words, and who agreed."""
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Who was shown which changed arguments, or wrote them."""

    def vote(self, person: str, kind: str, words: str, *, late: bool) -> None:
        """Take one person's word."""
        if self.decided or not self.rule.lets(person, kind, late=late):
            return
        said = (kind, words if kind in {"edit", "respond"} else "")
        agree = [p for p, *theirs in self._others(person) if _same(tuple(theirs), said)]
        if len(agree) + 1 >= self.rule.needed(kind):
            self.decided = (kind, words, [*agree, person])
        elif (person, kind, words) not in self.votes:
            self.votes = [*self._others(person), (person, kind, words)]
            self.cast.append((person, kind, words))

    @property
    def proposal(self) -> tuple[str, str, str] | None:
        """Give what others are asked to agree with."""
        written = [vote for vote in self.votes if vote[1] in {"edit", "respond"}]
        return max(written, key=lambda vote: sum(_same(vote[1:], v[1:]) for v in self.votes), default=None)

    def _others(self, person: str) -> list[tuple[str, str, str]]:
        return [vote for vote in self.votes if vote[0] != person]


def _same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one == other or one[0] == other[0] in {"approve", "reject"}


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    entries = st.sampled_from(("S0OPS", "channel", *PEOPLE))
    anybody = st.lists(entries, min_size=1, max_size=4, unique=True).map(tuple)
    approvers = draw(anybody | st.sampled_from([("S0OPS", MIRA), ("channel",), (ERIK, MIRA, DANA)]))
    # A quorum of more people than a rule names is no policy.
    most = 3 if {*approvers} & MEMBERS.keys() else len(approvers)
    return Rule(
        approvers,
        draw(st.none() | st.sampled_from((NOOR, MIRA))),
        min(draw(st.sampled_from((1, 2, 2, 3))), most),
        min(draw(st.sampled_from((1, 1, 2))), most),
        draw(st.booleans()),
        draw(
            st.just(KINDS)
            | st.just(KINDS)
            | st.lists(st.sampled_from(KINDS), min_size=1, unique=True).map(tuple)
        ),
        draw(st.booleans()),
    )


@dataclass(frozen=True)
class Press:
    """Something that somebody does: a button, or a form with what they type into it."""

    person: str
    verb: str
    index: int
    words: str
    knows_value: bool


ANYBODY = st.sampled_from((DANA, DANA, ERIK, ERIK, ERIK, MIRA, MIRA, MIRA, NOOR, GUEST, LEFT))
VERBS = ("approve", "approve", "approve", "edit", "edit", "look", "agree", "reject", "respond", "approve_all",
         "reject_all", "time")  # fmt: skip
PRESS = st.builds(
    Press,
    ANYBODY,
    st.sampled_from(VERBS),
    st.sampled_from((0, 0, 1)),
    st.sampled_from(WORDS),
    st.sampled_from((True, True, False)),
)


@st.composite
def scenes(draw: st.DrawFn) -> list[Press]:
    """Somebody writes, another looks at it, and agrees some presses later, or approves all without it."""
    press, reader = draw(PRESS), draw(ANYBODY)
    write = replace(press, verb=draw(st.sampled_from(("edit", "edit", "respond"))))
    last = draw(st.sampled_from(("agree", "agree", "approve_all")))
    look, agree = (replace(press, person=reader, verb=verb) for verb in ("look", last))
    again = (replace(write, words=draw(st.sampled_from(WORDS))), replace(write, verb="approve"))
    between = draw(st.lists(PRESS | st.sampled_from(again), max_size=2))
    return [write, look, *between, agree]


PRESSES = st.lists(PRESS.map(lambda press: [press]) | scenes(), min_size=2, max_size=8).map(
    lambda found: [press for scene in found for press in scene]
)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
"""Without explaining, which takes longer than a test may."""


# --- The people ---------------------------------------------------------------------------------------------------


class Table:
    """Real records, forms and scripts on one side, the plain reading on the other; people do the same on both."""

    def __init__(self, forms: Forms, interrupt_id: str, slots: Sequence[Slot]) -> None:
        self.forms, self.id, self.slots = forms, interrupt_id, slots
        self.decisions = forms.services.decisions
        self.is_late = False
        self.open: dict[tuple[str, int], tuple[dict[str, Any], tuple[str, str, str], int]] = {}
        """Forms to agree in that people have before them, the vote that each is about, and how often it was cast by then."""
        self.asked: dict[str, set[int]] = {}
        """The actions about which a person is asked whether all are approved: Slack's question stays as it was."""

    async def do(self, press: Press) -> None:
        state, slot = await self.state(), self.slots[press.index]
        match press.verb:
            case "approve":
                await self._approve(state, press, slot)
            case "edit" | "reject" | "respond":
                await self._fill(state, press, slot)
            case "look":
                self._look(state, press, slot)
            case "agree":
                await self._agree(state, press, slot)
            case "approve_all":
                named = self.asked.pop(press.person, self._approvable)
                await approve_all(self.decisions, state, press.person, MessageId(0), named)
                self._all(press, "approve", self._approvable & named)
            case "reject_all":
                view = render_reject_all_view(state, 0)
                await self._submit(press, view, **{"Reason (the agent reads it)": press.words})
                self._all(press, "reject", {*range(len(self.slots))})
            case "time":
                await Deadlines(self.decisions.store).on_due(self.id)
                self.is_late = True

    async def state(self) -> Approval:
        found = await self.decisions.store.load(self.id)
        assert found is not None
        return found

    async def _approve(self, state: Approval, press: Press, slot: Slot) -> None:
        if slot.rule.is_high and press.words == "alpha":
            view = render_confirm_view(state, press.index)
            await self._submit(press, view)
        else:
            # A card of high risk has no such button, and a forged press carries no typed value.
            await self.decisions.decide(state, press.person, {press.index: ApproveDecision()})
        if not slot.rule.is_high or (press.words == "alpha" and press.knows_value):
            slot.vote(press.person, "approve", "", late=self.is_late)

    async def _fill(self, state: Approval, press: Press, slot: Slot) -> None:
        forms = {
            "edit": (render_edit_view, {"to": press.words}),
            "reject": (render_reject_view, {"Reason (the agent reads it)": press.words}),
            "respond": (render_respond_view, {"Your answer": press.words}),
        }
        render, typed = forms[press.verb]
        await self._submit(press, render(state, press.index), **typed)
        if press.verb != "edit":
            slot.vote(press.person, press.verb, press.words, late=self.is_late)
        elif press.knows_value or not slot.rule.is_high:
            slot.seen.add((press.person, press.words))
            slot.vote(press.person, "edit", press.words, late=self.is_late)

    def _look(self, state: Approval, press: Press, slot: Slot) -> None:
        view = render_agree_view(state, press.index)
        assert ("submit" in view) == bool(slot.proposal and not slot.decided)
        self.asked[press.person] = self._approvable
        if slot.proposal and not slot.decided:
            times = slot.cast.count(slot.proposal)
            self.open[press.person, press.index] = (view, slot.proposal, times)
            slot.seen |= {(press.person, words) for words in WORDS if words in shown(view)}

    async def _agree(self, state: Approval, press: Press, slot: Slot) -> None:
        if (press.person, press.index) not in self.open:
            self._look(state, press, slot)
            return
        view, about, times = self.open.pop((press.person, press.index))
        if slot.cast.count(about) > times:
            # Taken back, and cast again: in the same millisecond it is the same vote, later another one.
            return
        await self._submit(press, view)
        _, kind, words = about
        if about in slot.votes and (kind != "edit" or not slot.rule.is_high or press.knows_value):
            slot.vote(press.person, kind, words, late=self.is_late)

    @property
    def _approvable(self) -> set[int]:
        return {index for index, slot in enumerate(self.slots) if not slot.proposal}

    def _all(self, press: Press, kind: str, indices: set[int]) -> None:
        for slot in (self.slots[index] for index in indices):
            if not slot.rule.is_high:
                slot.vote(press.person, kind, press.words if kind == "reject" else "", late=self.is_late)

    async def _submit(self, press: Press, view: dict[str, Any], **typed: str) -> None:
        if "private_metadata" not in view:
            return

        if asked := next((b["label"]["text"] for b in view["blocks"] if b["block_id"] == TYPED), ""):
            typed = {**typed, asked: asked.partition("type ")[2] if press.knows_value else "????"}
        # Slack would show the reply; here only what is decided counts, and the last step of an edit.
        reply = await self.forms.submit({"user": {"id": press.person}, "view": submitted(view, **typed)})
        shown = (reply or {}).get("view", {})
        if '"step":"check"' in shown.get("private_metadata", ""):
            await self._submit(press, shown, **typed)


async def begin(client, forms: Forms, policy: Policy, slots: Sequence[Slot], amounts: Sequence[int]) -> Table:
    """Ask about these payments by this policy."""
    actions = [an_action("pay", {"to": "al", "amount": amount}) for amount in amounts]
    interrupt = an_interrupt(*actions, run=f"run-{next(RUNS)}", expires_in=timedelta(hours=1))
    await client.publish(interrupt)
    store = forms.services.store
    await store.admit(await store.load(interrupt.id), lay_out(interrupt, admit(policy, interrupt)))
    # As if it had been asked a minute ago, so that what is due after a second is due now.
    await store._redis.hincrby(store.keys.req(interrupt.id), "created", -60_000)
    for part in render_card(await store.load(interrupt.id)):
        await shows(store, interrupt.id, part.id, Shown("C0APPROVALS", "1.2", "d"))
    return Table(forms, interrupt.id, slots)


@settings(bounded(250), phases=PHASES)
@given(rules(), rules(), st.tuples(st.integers(1, 9), st.integers(1, 9)), PRESSES)
async def test_no_policy_people_and_presses_decide_what_a_plain_reading_does_not(
    client, forms, large, other, amounts, presses
):
    """The same decisions by the same people; each of them is another, may decide, and has seen the arguments that run."""
    # What a rule leaves out is as the default says.
    large = replace(large, later=large.later or other.later)
    args = "{properties: {amount: {type: number, minimum: 5}}, required: [amount]}"
    policy = read_policy(
        f"default: {{{other.written()}}}\nrules: [{{match: {{tool: pay, args: {args}}}, {large.written()}}}]",
        "policy.yaml",
    ).policy
    slots = [Slot(large if amount >= 5 else other) for amount in amounts]
    table = await begin(client, forms, policy, slots, amounts)

    for press in presses:
        await table.do(press)

    found = await table.state()
    for slot, recorded in zip(slots, found.recorded, strict=True):
        assert (recorded is None) == (slot.decided is None)
        if recorded and slot.decided:
            kind, words, agreed = slot.decided
            people = recorded.agreed_by or (recorded.decided_by,)
            event(f"{kind} by {len(people)}")
            assert (recorded.decision.type, list(people)) == (kind, agreed)
            assert len({*people}) == len(people) == slot.rule.needed(kind)
            assert all(slot.rule.lets(person, kind, late=table.is_late) for person in people)
            if kind == "edit":
                assert recorded.decision.edited_action.args["to"] == words
                assert {(person, words) for person in people} <= slot.seen
            elif kind in {"reject", "respond"}:
                assert recorded.decision.message == words
