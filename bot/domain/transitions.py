"""What each act changes about a record: the fields to write, and what follows from them. Pure.

A transition judges the record as it was read. The store writes its change only if the record is still the same, and
otherwise asks the transition again, about the record as it is then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import Decision
from agent_adapter.contract.record import EXPIRED, GRACE, SIGNED, milliseconds, unix_milliseconds
from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import CLAIMED, Approval, Assignment, Published
from bot.domain.audit import Facts
from bot.domain.codec import dumped, proposal_field, shown_field
from bot.domain.ids import KEPT, MessageId, Remark
from bot.domain.standing import StandingMatch, StandingTerms, standing_name
from bot.domain.votes import PROPOSAL, UNNAMED, Ballot, Outcome, Press, Proposal, Vote
from bot.domain.waiting import circle_of, circle_of_proposal, requester_of


@dataclass(frozen=True, slots=True)
class Stamp:
    """A text that begins with the time of the server, in milliseconds, when it is written."""

    rest: str = ""
    """What follows the time."""
    later: int = 0
    """Milliseconds that are added to the time."""


@dataclass(frozen=True, slots=True)
class Line:
    """One more line of a field."""

    text: str | Stamp


Text: TypeAlias = str | Stamp | Line
BY_STANDING = "sticky"
"""In place of the name of a click, where a standing approval decides."""
ANYTHING = "*"
_WHOLE = {"body": ANYTHING, "deadline": ANYTHING}
"""Nothing could be resumed with a decision about a record that has lost what was asked."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the audit trail."""

    event: str
    said: Mapping[str, str | Stamp]


@dataclass(frozen=True, slots=True)
class Change:
    """What one act changes about a record."""

    fields: Mapping[str, Text]
    """What it keeps from now on."""
    removed: Sequence[str] = ()
    """The fields that go."""
    entries: Sequence[Entry] = ()
    """What the audit trail says about it."""
    judged: Mapping[str, str] = field(default_factory=dict)
    """Fields of the agent's side that still have to say the same: empty for none, `ANYTHING` for any text."""
    until: datetime | None = None
    """When it is too late, by the clock of the server."""
    is_drawn: bool = True
    """Whether its card is drawn again."""
    due: datetime | Literal["now"] | None = None
    """When something is due; `now` computes it again."""
    listed: str = ""
    """For whom it waits from now on: circles of people, groups and channels."""
    deadline: datetime | None = None
    """Until when it waits for them."""
    ends: bool = False
    """Whether the record ends with it: its agent is told, and it waits for nobody."""
    runs: bool = True
    """Whether its run is owed to a worker then."""
    wakes: bool = False
    """Whether the agent is told, where it follows each decision."""
    is_said: bool = False
    """Whether the agent is told, though nothing is decided."""
    mine: Sequence[str] = ()
    """The lists of people that have it from now on: `asked:<user>` or `decided:<user>`."""
    given: Mapping[str, int] = field(default_factory=dict)
    """The standing approvals that begin, and for how many milliseconds each is active."""
    ended: Sequence[str] = ()
    """Those that end."""

    def signed(self, token: str, statement: str) -> "Change":
        """Give the change with the signed statement about a click. Who presses again may sign a second time."""
        return replace(self, fields={**self.fields, SIGNED + token: Line(statement)})


@dataclass(frozen=True, slots=True)
class Cast:
    """What one person decides with one press, as the record keeps it."""

    user: str
    token: str
    """The name of the click."""
    press: Press
    ballots: Mapping[int, Ballot]
    """By the index of the action, as the next ones."""
    texts: Mapping[int, str]
    facts: Mapping[int, Facts]
    refused: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Other people whose votes do not count, as they were judged just now. Their votes are removed."""
    standing: StandingTerms | None = None
    """Which later calls an approval approves as well."""


def cast(state: Approval, given: Cast) -> tuple[dict[int, Outcome], Change | None]:
    """Record one person's decisions.

    The first decision wins; where it takes several people, a decision is a vote. `None` where nothing changes.
    """
    known = state.presses.get(given.press.name, frozenset())
    against = {
        index: Outcome.REPEAT if index in known else _speaks_against(state, given, index)
        for index in given.ballots
    }
    counts = {index: _Count.of(state, given, index) for index, found in against.items() if not found}
    outcomes = {index: found or counts[index].outcome for index, found in against.items()}
    return outcomes, _cast(state, given, known, outcomes, counts)


def counted(state: Approval, given: Cast, index: int) -> Sequence[Vote]:
    """Give the votes of others that a decision becomes final with; none when it takes more people."""
    count = _Count.of(state, given, index)
    return count.same if count.is_final else ()


def _speaks_against(state: Approval, given: Cast, index: int) -> Outcome | None:
    """Say what keeps a decision from being taken at all."""
    ballot = given.ballots[index]
    if (tokens := state.tokens.get(index)) is not None:
        return Outcome.REPEAT if given.token in tokens else Outcome.TAKEN
    if tuple(given.press.message.split()) in state.gone:
        return Outcome.DELETED
    if not state.is_open:
        return Outcome.CLOSED
    if ballot.position.startswith(PROPOSAL):
        proposal = state.proposals.get(index)
        return None if proposal and proposal.position == ballot.position else Outcome.GONE
    return None


@dataclass(frozen=True, slots=True)
class _Count:
    """The votes on one action, with the one that is cast."""

    mine: bool
    """Whether its person said the same before."""
    same: Sequence[Vote]
    """The other votes that say the same and count."""
    gone: Sequence[str]
    """The people whose votes are removed."""
    is_final: bool

    @classmethod
    def of(cls, state: Approval, given: Cast, index: int) -> "_Count":
        ballot, votes = given.ballots[index], state.votes.get(index, ())
        refused = given.refused.get(index, frozenset())
        alike = ballot.alike(votes, given.user)
        same = [vote for vote in alike if vote.user not in refused]
        unsigned = state.unsigned_votes.get(index, frozenset()) - {given.user}
        gone = [vote.user for vote in alike if vote.user in refused] + sorted(unsigned)
        own = (given.user, ballot.position, given.texts[index])
        mine = any((vote.user, vote.position, vote.text) == own for vote in votes)
        return cls(mine, same, gone, len(same) + 1 >= ballot.needed)

    @property
    def outcome(self) -> Outcome:
        if self.is_final:
            return Outcome.RECORDED
        return Outcome.REPEAT if self.mine else Outcome.COUNTED


def _cast(
    state: Approval,
    given: Cast,
    known: frozenset[int],
    outcomes: Mapping[int, Outcome],
    counts: Mapping[int, _Count],
) -> Change | None:
    said = {Outcome.RECORDED, Outcome.COUNTED, Outcome.REPEAT}
    # Also where it changes nothing: its person may decide otherwise before it is delivered again.
    pressed = known | {index for index, found in outcomes.items() if found in said} - state.tokens.keys()
    fields: dict[str, Text] = {}
    if given.press.name and pressed != known:
        fields[f"press:{given.press.name}"] = " ".join(map(str, sorted(pressed)))
    changed = {i: count for i, count in counts.items() if not count.mine or count.gone or count.is_final}
    if not changed:
        return Change(fields, is_drawn=False) if fields else None
    final = {index: count for index, count in changed.items() if count.is_final}
    for index, count in changed.items():
        fields |= _final(given, index, count) if index in final else _vote(given, index, count)
    ends = len(state.tokens) + len(final) == len(state.recorded)
    if ends:
        fields |= {"status": "decided", "settled": Stamp()}
    return Change(
        fields,
        removed=[f"vote:{index}:{user}" for index, count in changed.items() for user in count.gone],
        entries=[entry for i, count in changed.items() for entry in _entries(state, given, i, count)],
        judged=_WHOLE,
        until=state.deadline,
        due="now" if given.standing and final else None,
        ends=ends,
        wakes=bool(final),
        mine=list(
            dict.fromkeys(f"decided:{user}" for count in final.values() for user in _agreed(given, count))
        ),
        given={
            standing_name(state.id, index): milliseconds(given.standing.lasts)
            for index in final
            if given.standing
        },
    )


def _agreed(given: Cast, count: _Count) -> list[str]:
    return [*(vote.user for vote in count.same), given.user]


def _final(given: Cast, index: int, count: _Count) -> dict[str, Text]:
    """Write a decision."""
    tokens, people = [*(vote.token for vote in count.same), given.token], _agreed(given, count)
    fields: dict[str, Text] = {
        f"d:{index}": given.texts[index],
        f"t:{index}": " ".join(tokens),
        f"at:{index}": Stamp(),
    }
    if len(people) > 1:
        fields[f"by:{index}"] = " ".join(people)
    if given.standing:
        fields |= {
            f"sticky_grant:{index}": dumped(given.standing),
            f"sticky_until:{index}": Stamp(later=milliseconds(given.standing.lasts)),
            "sticky_given": "1",
        }
    return fields


def _vote(given: Cast, index: int, count: _Count) -> dict[str, Text]:
    """Write a vote. One that says the same as before keeps its time."""
    if count.mine:
        return {}
    text = f" {given.ballots[index].position} {given.token} {given.texts[index]}"
    return {f"vote:{index}:{given.user}": Stamp(text)}


def _entries(state: Approval, given: Cast, index: int, count: _Count) -> Iterable[Entry]:
    ballot = given.ballots[index]
    of_rules = {"policy": ballot.policy}
    for user in count.gone:
        said = {"index": str(index), "by": user, **of_rules, "position": ballot.position}
        yield Entry("uncounted", said)
    told = {**of_rules, **_told(state, given.facts[index])}
    if count.is_final:
        yield Entry("decided", {"index": str(index), "by": " ".join(_agreed(given, count)), **told})
        if given.standing:
            policy = state.admission.policy_version
            yield Entry("sticky_given", {"index": str(index), "by": given.user, "policy": policy})
    elif not count.mine:
        said = {"index": str(index), "by": given.user, "position": ballot.position}
        yield Entry("counted", said | told)


def _told(state: Approval, facts: Facts) -> dict[str, str | Stamp]:
    """Give what the audit says about a decision, and for how many milliseconds the message that asks had been there."""
    up = {str(part): at for part, at in state.up.items()}.get(facts.message)
    return {"facts": facts.text} | ({"waited": Stamp(later=-unix_milliseconds(up))} if up else {})


def propose(
    state: Approval,
    index: int,
    proposal: Proposal,
    remark: Remark,
    *,
    place: Place | None,
    facts: Facts,
    at: datetime,
    press: Press = UNNAMED,
) -> tuple[Outcome, Change | None]:
    """Keep an edit that another rule decides about, beside the call, which stays open.

    It replaces an earlier one and the votes on that, and its author's earlier vote. One form proposes once, however often it
    is delivered or sent to Redis: colleagues may have proposed something else meanwhile.
    """
    mark = f"{press.name}:proposed"
    if press.name and mark in state.presses:
        return Outcome.REPEAT, None
    if index in state.tokens:
        return Outcome.TAKEN, None
    if not state.is_open:
        return Outcome.CLOSED, None
    known = state.proposals.get(index)
    if known and known.name == proposal.name:
        return Outcome.REPEAT, None
    fields: dict[str, Text] = {f"proposal:{index}": proposal_field(proposal, at=unix_milliseconds(at))}
    fields |= {f"press:{mark}": str(index)} if press.name else {}
    if place and place not in state.admission.places:
        fields[f"place:{len(state.admission.places)}"] = dumped(place)
    said = {"index": str(index), "by": proposal.by, "policy": proposal.policy, "proposal": proposal.name}
    return Outcome.RECORDED, Change(
        fields | _remark(state, remark) | _joined(state, circle_of_proposal(proposal)),
        removed=[
            f"vote:{index}:{vote.user}"
            for vote in state.votes.get(index, ())
            if vote.user == proposal.by or vote.position.startswith(PROPOSAL)
        ],
        entries=[Entry("proposed", said | _told(state, facts))],
        until=state.deadline,
        listed=circle_of_proposal(proposal),
        deadline=state.deadline,
    )


def extend(
    state: Approval, remark: Remark, *, seen: int
) -> tuple[Literal["extended", "repeat", "closed"], Change | None]:
    """Move the deadline, once for each time that it is offered: `seen` is how often it was extended when the person saw it."""
    if state.extended > seen:
        return "repeat", None
    if not state.is_open or remark.until is None:
        return "closed", None
    deadline = str(unix_milliseconds(remark.until))
    fields: dict[str, Text] = {"extended": str(seen + 1), "deadline": deadline}
    return "extended", Change(
        fields | _remark(state, remark),
        entries=[Entry("extended", {"by": remark.by or ""})],
        until=state.deadline,
        due="now",
        listed=state.waiting,
        deadline=remark.until,
    )


def assign(
    state: Approval,
    place: int,
    to: Assignment,
    seen: Assignment | None,
    remark: Remark | None = None,
    mark: str = CLAIMED,
) -> tuple[Literal["assigned", "taken", "closed"], Change | None]:
    """Assign a place to a person who is looking at it, if the assignment of before is as they saw it.

    Other people can still decide.
    """
    if not state.is_open:
        return "closed", None
    if (known := state.marks.get(mark, {}).get(place)) != seen:
        # It may be this very assignment, whose answer was lost.
        return "assigned" if known and known.user == to.user else "taken", None
    by = remark.by or "" if remark else ""
    text = f"{unix_milliseconds(to.since)} {unix_milliseconds(to.until)} {to.user}"
    fields: dict[str, Text] = {f"mark:{mark}:{place}": text}
    return "assigned", Change(
        fields | (_remark(state, remark) if remark else {}),
        entries=[Entry("handed_over" if by else mark, {"to": to.user, "by": by})],
        until=state.deadline,
        due="now",
    )


def reach(
    state: Approval, steps: Mapping[int, Remark | None], circle: str, *, at: datetime
) -> tuple[list[int], Change | None]:
    """Note steps of the schedule whose time has come, each once and with its remark; one without a remark is skipped.

    Gives those that are noted now.
    """
    if not state.is_open:
        return [], None
    new = {number: remark for number, remark in steps.items() if number not in state.reached}
    fields: dict[str, Text] = {
        f"reached:{number}": str(unix_milliseconds(at)) if remark else "-" for number, remark in new.items()
    }
    said = {number: remark for number, remark in new.items() if remark}
    return [*new], Change(
        fields | _remark(state, *said.values()) | _joined(state, circle),
        entries=[Entry("reached", {"step": str(number)}) for number in said],
        until=state.deadline,
        listed=circle,
        deadline=state.deadline,
    )


def read(_: Approval, user: str, pages: Iterable[tuple[Action, int]]) -> tuple[None, Change | None]:
    """Note how many pages of calls, or of the calls proposed instead, a person was shown, in order."""
    fields = {f"seen:{call.index}:{user}": f"{call.fingerprint}:{count}" for call, count in pages}
    return None, Change(fields, is_drawn=False) if fields else None


def miss(state: Approval) -> tuple[None, Change | None]:
    """Note that somebody tried to decide and could not. Silence then approves nothing."""
    if state.status != "pending" or state.missed:
        return None, None
    return None, Change({"missed": Stamp()}, is_drawn=False)


@dataclass(frozen=True, slots=True)
class Covered:
    """What a standing approval decides about one action of a new record, as the record keeps it."""

    matched: StandingMatch
    text: str
    facts: str
    """What the audit says about it."""
    statement: str
    """As it is signed; empty without a signing key."""


def admit(asked: Approval, fields: Mapping[str, str], covered: Sequence[Covered], *, facts: str) -> Change:
    """Fix the terms that judge every click. Nothing is fixed if somebody has changed the agent's times since."""
    policy, waiting = asked.admission.policy_version, circle_of(asked.admission)
    entries = [Entry("admitted", {"policy": policy, "facts": facts})]
    written: dict[str, Text] = {**fields, "deadline": str(unix_milliseconds(asked.deadline))}
    for each in covered:
        index = each.matched.index
        written |= {f"d:{index}": each.text, f"t:{index}": BY_STANDING, f"at:{index}": Stamp()}
        said = {"index": str(index), "by": each.matched.by, "policy": policy, "sticky": each.matched.name}
        entries.append(Entry("decided", {**said, "facts": each.facts}))
    ends = len(covered) == len(asked.recorded)
    if ends:
        written |= {"status": "decided", "settled": Stamp()}
    else:
        written |= {"status": "pending", "waiting": waiting}
    requester = requester_of(asked.interrupt, asked.admission)
    # The bot finds out what comes first.
    is_due = asked.admission.steps or asked.admission.extension
    change = Change(
        written,
        entries=entries,
        until=asked.deadline if covered else None,
        is_drawn=False,
        due=None if ends else "now" if is_due else asked.deadline,
        listed="" if ends else waiting,
        deadline=asked.deadline,
        ends=ends,
        wakes=bool(covered),
        mine=[f"asked:{requester}"] if requester else [],
    )
    signed = "\n".join(each.statement for each in covered if each.statement)
    return change.signed(BY_STANDING, signed) if signed else change


def use(state: Approval, matched: StandingMatch) -> tuple[bool, Change | None]:
    """Count one more use of a standing approval. False when it is not active any more; the same use counts once."""
    index = int(matched.name.rpartition(":")[2])
    approval = state.standing.get(index)
    by = (matched.kept["interrupt_id"], matched.kept["index"])
    if approval and any((use.interrupt_id, use.index) == by for use in approval.uses):
        return True, None
    if approval is None or not approval.is_live(state.now):
        return False, None
    fields: dict[str, Text] = {f"sticky_uses:{index}": Line(Stamp(f" {encode(matched.kept)}"))}
    entries = [Entry("sticky_used", {"index": str(index), "for": by[0]})]
    is_last = len(approval.uses) + 1 >= approval.terms.uses
    if is_last:
        fields[f"sticky_ended:{index}"] = Stamp(" uses")
        entries.append(Entry("sticky_ended", {"index": str(index), "by": "uses"}))
    return True, Change(
        fields, entries=entries, until=approval.until, ended=[matched.name] if is_last else []
    )


def end_standing(
    state: Approval, index: int, by: str
) -> tuple[Literal["ended", "known", "early", "unknown"], Change | None]:
    """End a standing approval: a person revokes it, or its `time` is over."""
    approval = state.standing.get(index)
    if approval is None:
        return "unknown", None
    if approval.ended:
        # It may have ended just now by this very person, whose answer was lost.
        return "ended" if by == approval.ended.by != "time" else "known", None
    if by == "time" and state.now < approval.until:
        return "early", None
    return "ended", Change(
        {f"sticky_ended:{index}": Stamp(f" {by}")},
        entries=[Entry("sticky_ended", {"index": str(index), "by": by})],
        ended=[standing_name(state.id, index)],
    )


@dataclass(frozen=True, slots=True)
class Silent:
    """What the deadline decides about one action, as the record keeps it."""

    decision: Decision
    text: str
    facts: str
    """What the audit says about it."""
    statement: str = ""
    """As it is signed; empty without a signing key."""


def end(
    state: Published,
    status: Literal["expired", "withdrawn", "refused"],
    *,
    reason: str,
    code: str,
    silent: Mapping[int, Silent],
) -> tuple[str, Change | None]:
    """End a record without further decisions of people, with what the deadline decides by index.

    Gives `settled`, `early`, or how it has ended already.
    """
    if state.status not in {"new", "pending"}:
        return state.status, None
    if status == "expired" and not state.is_past:
        return "early", None
    admitted = state if isinstance(state, Approval) else None
    policy = admitted.admission.policy_version if admitted else ""
    change = ended(status, reason=reason, code=code, policy=policy)
    # An agent whose deadline and grace have passed may have gone on without the answer.
    if not silent or admitted is None or state.now >= state.deadline + GRACE:
        return "settled", change
    entries = [
        Entry(
            "decided",
            {
                "index": str(index),
                "by": EXPIRED,
                "policy": policy,
                **_told(admitted, Facts(each.facts, str(admitted.message_of(index)))),
            },
        )
        for index, each in silent.items()
    ]
    fields: dict[str, Text] = {}
    for index, each in silent.items():
        fields |= {f"d:{index}": each.text, f"t:{index}": EXPIRED, f"at:{index}": Stamp()}
    change = replace(
        change,
        fields={**fields, **change.fields},
        entries=[*entries, *change.entries],
        judged={"fence": ""},
        until=state.deadline + GRACE,
    )
    signed = "\n".join(each.statement for each in silent.values() if each.statement)
    return "settled", change.signed(EXPIRED, signed) if signed else change


def ended(status: str, *, reason: str, code: str, policy: str) -> Change:
    """Write an end. Nothing but the status of a record has to be known for it."""
    return Change(
        {"status": status, "code": code, "reason": reason, "settled": Stamp()},
        entries=[Entry(status, {"code": code, "policy": policy})],
        ends=True,
    )


def rewound(state: Approval, part: MessageId, *, code: str, reason: str) -> tuple[None, Change]:
    """End a record that knows less than one of its messages shows. That message stays as it is."""
    kept: dict[str, Text] = {}
    if shown := state.shown.get(part):
        kept = {f"part:{part}": shown_field(replace(shown, digest=KEPT))}
    if (state.status, state.code) == ("refused", code):
        return None, Change(kept)
    change = ended("refused", reason=reason, code=code, policy=state.admission.policy_version)
    if state.settled_at:
        change = replace(change, fields={n: text for n, text in change.fields.items() if n != "settled"})
    # Its run may have continued before Redis went back.
    return None, replace(change, fields={**kept, **change.fields}, runs=False)


def lapse(state: Approval) -> tuple[bool, Change | None]:
    """Note that the agent took the answer and did not go on, once its claim has lapsed. False when that is not the case."""
    until = state.claimed_until
    if until is None or until > state.now or state.claim_has_lapsed:
        return False, None
    fence = str(state.claims)
    judged = {"fence": fence, "claim_until": str(unix_milliseconds(until)), "resumed": ""}
    return True, Change({"lapsed": fence}, entries=[Entry("claim_lapsed", {})], judged=judged)


def miss_taker(state: Approval, *, after: timedelta) -> tuple[bool, Change | None]:
    """Note that no process of the agent goes on with the answer, so long after the end. False when that is not the case."""
    is_early = state.settled_at is None or state.now < state.settled_at + after
    is_claimed = state.claimed_until is not None and state.claimed_until > state.now
    if is_early or is_claimed or state.untaken or state.resumed_at:
        return False, None
    judged = {"fence": str(state.claims or ""), "resumed": ""}
    return True, Change({"untaken": Stamp()}, entries=[Entry("untaken", {})], judged=judged)


def _remark(state: Approval, *remarks: Remark) -> dict[str, Text]:
    """Write what is said in the threads, under the next numbers."""
    first = max(state.remarks, default=0) + 1
    return {f"remark:{number}": dumped(remark) for number, remark in enumerate(remarks, first)}


def _joined(state: Approval, circle: str) -> dict[str, Text]:
    """Write for whom it waits, with one more circle."""
    if not circle or circle in state.waiting.split():
        return {}
    return {"waiting": f"{state.waiting} {circle}".strip()}
