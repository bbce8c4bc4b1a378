"""People who have made up their minds, for agents that run without a bot."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from agent_adapter.contract.hitl import Decision
from agent_adapter.contract.outcome import Outcome as CallOutcome
from agent_adapter.contract.record import dump_recorded
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer
from bot.domain import transitions
from bot.domain.admission import Place
from bot.domain.approval import CLAIMED, Approval, Assignment
from bot.domain.audit import Facts
from bot.domain.ids import MessageId, Remark, Shown
from bot.domain.standing import StandingMatch
from bot.domain.transitions import Cast, cast
from bot.domain.votes import UNNAMED, Ballot, Outcome
from bot.jobs.deadlines import next_after
from bot.store.records import ApprovalStore
from bot.use_cases.decide import token_of
from tests.support.builders import an_admission

FACTS = Facts("{}", "0:0")


async def shows(
    store: ApprovalStore,
    interrupt_id: str,
    part: MessageId,
    shown: Shown | None,
    *,
    before: Shown | None = None,
    forget: bool = False,
) -> None:
    """Have a bot lease a message, and note what Slack shows of it."""
    state = await store.admitted(interrupt_id)
    assert state
    lease = await store.lease_part(state, part, owner="bot", lease=60_000)
    assert await store.save_part(
        interrupt_id, part, held=lease.held, shown=shown, before=before, forget=forget
    )


async def start_retention(store: ApprovalStore, interrupt_id: str) -> None:
    """Let the keys of a record expire, as once its card says that it has ended."""
    state = await store.load(interrupt_id)
    assert state
    await store.start_retention(interrupt_id, state, next_after(state))


async def admit(
    store: ApprovalStore,
    interrupt_id: str,
    *,
    life: int | None = None,
    matched: Sequence[StandingMatch] = (),
    **fields: Any,
) -> Approval:
    """Admit a record as a bot does: all of it in one channel, for Erik to decide, unless these say otherwise."""
    state = await store.load(interrupt_id)
    assert state
    places = (Place(channel="C1", actions=tuple(range(len(state.fingerprints)))),)
    await store.admit(state, an_admission(**{"places": places, **fields}), life=life, matched=matched)
    return await store.load(interrupt_id)


async def record(
    store: ApprovalStore,
    interrupt_id: str,
    decisions: Mapping[int, Decision],
    *,
    by: str = "U0ERIK",
    token: str = "",
    policy: str | None = None,
    refused: Collection[str] = (),
    **given: Any,
) -> dict[int, Outcome]:
    """Record decisions as a bot without a key does, after it has judged the same for all of them.

    The same decisions again are the same click, unless it has a token.
    """
    state = await store.admitted(interrupt_id)
    assert state is not None
    texts = {
        index: dump_recorded(decision, fingerprint=state.fingerprints[index], decided_by=by, policy=policy)
        for index, decision in decisions.items()
    }
    ballots = {index: Ballot.on_call(state.admission, index, each) for index, each in decisions.items()}
    casting = Cast(
        user=by,
        token=token or token_of(interrupt_id, texts),
        texts=texts,
        facts=dict.fromkeys(texts, FACTS),
        refused=dict.fromkeys(texts, frozenset(refused)),
        **{"press": UNNAMED, "ballots": ballots, **given},
    )
    return await store.update(state, partial(cast, given=casting))


async def is_waited_for(store: ApprovalStore, interrupt_id: str) -> bool:
    """Whether a decision would wake somebody."""
    return any(name.startswith("w:") for name in await store._redis.hkeys(store.keys.req(interrupt_id)))


async def extend(store: ApprovalStore, state: Approval, by: timedelta) -> str:
    """Give people more time, as somebody does who sees this record."""
    remark = Remark(kind="extend", places=(), by="U0ERIK", until=state.deadline + by)
    return await store.update(state, partial(transitions.extend, remark=remark, seen=state.extended))


async def assign(store: ApprovalStore, state: Approval, place: int, user: str) -> str:
    """Assign a place, as somebody does who sees this record."""
    now, seen = datetime.now(UTC), state.marks.get(CLAIMED, {}).get(place)
    to = Assignment(user, now, now + (state.places[place].assign or timedelta()))
    return await store.update(state, partial(transitions.assign, place=place, to=to, seen=seen, remark=None))


async def has_read(store: ApprovalStore, state: Approval, index: int, user: str, pages: int) -> None:
    """Note how many pages of a call somebody was shown."""
    await store.update(state, partial(transitions.read, user=user, pages=[(state.actions[index], pages)]))


async def end_standing(
    store: ApprovalStore, interrupt_id: str, index: int, by: str = "time", **given: bool
) -> str:
    state = await store.admitted(interrupt_id)
    assert state is not None
    return await store.update(state, partial(transitions.end_standing, index=index, by=by), **given)


class _AsBefore:
    async def meet(self, *_: Any, **__: Any) -> None:
        """Say that the rule of an edit is that of its call."""


AS_BEFORE: Any = _AsBefore()


def deciding(*answers: Any, **by_tool: Any) -> InMemoryApprovalClient:
    """Give approvals by people who decide this: one answer for each action, or by the names of the tools."""
    return InMemoryApprovalClient(ScriptedReviewer(by_tool or list(answers)))


async def outcomes_of(approvals: InMemoryApprovalClient) -> list[CallOutcome | None]:
    """Give what was reported about each call that people were asked about, in their order."""
    records = [await approvals.record(asked.id) for asked in approvals.asked]
    return [each and each.outcome for record in records for each in record.outcomes()]


@asynccontextmanager
async def person(redis_url: str, reviewer: ScriptedReviewer) -> AsyncIterator[None]:
    """Decide whatever is asked in this Redis, as the bot would store it. What has no answer stays open."""
    async with open_redis(redis_url) as redis:
        keys = await freeze_meta(redis, "assent")
        store = ApprovalStore(redis, keys)

        async def decide_all(interrupt_id: str) -> None:
            state = await store.load(interrupt_id)
            if state.withdraw_asked:
                await store.settle(interrupt_id, "withdrawn", reason=state.withdraw_asked)
            if state.withdraw_asked or state.status != "new":
                return
            state = await admit(store, interrupt_id)
            said = {action.index: reviewer(action.request, action.config) for action in state.actions}
            if decided := {index: decision for index, decision in said.items() if decision}:
                await record(store, interrupt_id, decided)

        async def work() -> None:
            while not over.is_set():
                await store.take_inbox("billing")
                for owed in await store.lease_work("undrawn", limit=10, lease=60_000):
                    await decide_all(owed.interrupt_id)
                await asyncio.sleep(0.01)

        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work())
            yield
            over.set()
