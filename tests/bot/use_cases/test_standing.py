"""Standing approvals while Slack or Redis does not answer: nothing is given, listed or revoked in doubt."""

import pytest

from agent_adapter.contract.interrupt import Context
from bot.domain.errors import PersonUnknownError
from bot.domain.standing import StandingLimits, StandingTerms
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.who_may_decide import Judge
from tests.bot.domain.test_standing import DANA, ERIK, HOUR, PAY, asked, give
from tests.support.builders import an_interrupt


@pytest.fixture
def approvals(store, directory):
    return StandingApprovals(store, Judge(directory))


@pytest.fixture
def pay(client, store, approvals):
    """Have a payment asked whose approval may hold for later calls: `await pay(approvers=(…,))`."""

    async def admitted(**limits):
        interrupt = an_interrupt(PAY, context=Context(), expires_in=HOUR)
        return await asked(
            client, store, approvals, interrupt, standing=StandingLimits(scope="agent", **limits)
        )

    return admitted


async def test_whether_somebody_may_approve_later_calls_is_never_guessed(approvals, pay, slack):
    """Slack does not say who is in the group of those who may: that is no sentence that they may not."""
    state = await pay(approvers=("S0FINANCE",))
    await slack.fault("usergroups.users.list", "error", error="fatal_error", times=None)

    with pytest.raises(PersonUnknownError):
        await approvals.judge.may_give_standing(state, DANA, 0)


async def test_a_list_of_what_somebody_may_revoke_is_whole_or_it_is_none(
    approvals, pay, store, slack, monkeypatch
):
    """The form has to be open within three seconds; with half of the list it would hide the other half."""
    monkeypatch.setattr("bot.use_cases.standing.LIST_WITHIN", 0.2)
    given = await give(store, await pay(), StandingTerms(scope="agent"))
    assert [(state.id, index) for state, index in await approvals.revocable(ERIK)] == [(given.id, 0)]
    approvals.judge.directory.forget("user", ERIK)
    await slack.fault("users.info", "delay", seconds=1, times=None)

    with pytest.raises(PersonUnknownError):
        await approvals.revocable(ERIK)
