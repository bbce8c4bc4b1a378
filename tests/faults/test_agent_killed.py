"""The agent's process dies while people decide; another goes on with the same question."""

import asyncio

import pytest

from tests.conftest import until
from tests.support.faults import Process, is_accepted, rounds, settled_card

CASES = [("per_call", "before"), ("batched", "after"), ("batched", "before"), ("per_call", "after")]
"""How the agent pauses, and when people decide: before its successor starts, or after."""


class Desk:
    """One thread of an agent, and the processes that work on it."""

    def __init__(self, folder, redis_url, mode):
        self.folder, self.processes = folder, []
        self._environment = {
            "REDIS_URL": redis_url,
            "AGENT_THREADS": str(folder / "threads.db"),
            "AGENT_NOTES": str(folder / "notes"),
            "AGENT_MODE": mode,
        }

    def agent(self, does, *, slowness=0.0):
        environment = {**self._environment, "AGENT_DOES": does, "AGENT_SLOWNESS": str(slowness)}
        log = self.folder / f"agent-{len(self.processes)}.log"
        self.processes.append(Process("tests.support.faults_agent", environment, log))
        return self.processes[-1]

    @property
    def notes(self):
        """What the tools did and how the runs ended, in no particular order."""
        path = self.folder / "notes"
        return sorted(path.read_text().splitlines()) if path.exists() else []


@pytest.fixture
def desk(tmp_path, redis_url, mode):
    desk = Desk(tmp_path, redis_url, mode)
    yield desk
    for process in desk.processes:
        process.kill()


@pytest.fixture(autouse=True)
async def bot(start_bot):
    return await start_bot()


async def asked(watcher):
    """Give the one card that there is."""
    await until(watcher.all_cards, within=60)
    [card] = watcher.all_cards()
    return card


@pytest.mark.parametrize(("mode", "decided"), CASES[: rounds(1, 4)])
@pytest.mark.timeout(300)
async def test_restarted_agent_takes_the_answer_of_its_first_question(decided, desk, slack, store, watcher):
    """Killed while it waits, it finds its record again: one card, the same decision, each tool runs once."""
    async with asyncio.timeout(100):
        first = desk.agent("start")
        card = await asked(watcher)
        first.kill()
        if decided == "before":
            assert await is_accepted(slack, card, "approve_all:0")
        second = desk.agent("go on")
        if decided == "after":
            assert await is_accepted(slack, card, "approve_all:0")
        await second.ended()

        assert desk.notes == ["delete_file report.txt", "ended: done", "send_email al"]
        [card] = watcher.all_cards()
        state = await settled_card(store, watcher, card["metadata"]["event_payload"]["id"])
        assert state.stage == "resumed"


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["per_call"])
@pytest.mark.timeout(300)
async def test_agent_killed_inside_a_tool_goes_on_with_the_rest(desk, slack, store, watcher):
    """What had run does not run again, nobody is asked again, and the tool that was cut off is run with its approval."""
    async with asyncio.timeout(100):
        first = desk.agent("start", slowness=60)
        card = await asked(watcher)
        assert await is_accepted(slack, card, "approve_all:0")
        await until(lambda: desk.notes == ["send_email al"], within=60)
        await asyncio.sleep(0.5)
        first.kill()
        # The claim of the dead process has to lapse first.
        await asyncio.sleep(1.1)
        await desk.agent("go on").ended()

        assert desk.notes == ["delete_file report.txt", "ended: done", "send_email al"]
        assert len(watcher.all_cards()) == 1
