"""People who have made up their minds, for agents that run without a bot."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bot.store.votes import Outcome, Voters

from agent_adapter.contract.record import dump_recorded
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer
from bot.domain.admission import Place
from bot.domain.audit import Facts
from bot.domain.press import UNNAMED
from bot.store.records import ApprovalStore
from tests.support.builders import an_admission

FACTS, NOBODY = Facts("{}", "0:0"), Voters()


async def record(
    store: ApprovalStore,
    interrupt_id: str,
    texts: Mapping[int, str],
    *,
    position: str = "approve",
    policy: str = "1",
    voters: Voters = NOBODY,
    **given: Any,
) -> dict[int, Outcome]:
    """Record decisions as a bot without a key does, after it has judged the same for all of them."""
    each = {"positions": position, "policies": policy, "voters": voters, "facts": FACTS}
    judged = {name: dict.fromkeys(texts, said) for name, said in each.items()}
    given = {"token": "t", "standing": None, "signed": "", "press": UNNAMED, **judged, **given}
    return await store.record_decision(interrupt_id, texts, deadline=5, **given)


class _AsBefore:
    async def meet(self, *_: Any, **__: Any) -> None:
        """Say that the rule of an edit is that of its call."""


AS_BEFORE: Any = _AsBefore()


def deciding(*answers: Any, **by_tool: Any) -> InMemoryApprovalClient:
    """Give approvals by people who decide this: one answer for each action, or by the names of the tools."""
    return InMemoryApprovalClient(ScriptedReviewer(by_tool or list(answers)))


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
            place = Place(channel="C1", actions=tuple(range(len(state.fingerprints))))
            await store.admit(state, an_admission(policy_version="t", approvers=("U1",), places=(place,)))
            state = await store.admitted(interrupt_id)
            decided = [(action, reviewer(action.request, action.config)) for action in state.actions]
            texts = {
                action.index: dump_recorded(decision, fingerprint=action.fingerprint, decided_by="U1")
                for action, decision in decided
                if decision
            }
            if texts:
                await record(store, interrupt_id, texts, person="U1")

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
