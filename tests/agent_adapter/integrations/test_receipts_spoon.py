"""Tools of SpoonAI with `@requires_receipt` run after an approval, and only then."""

# ruff: noqa: E402  # where SpoonAI is not installed there is nothing to import

from tests.support.deciding import deciding
from tests.support.lanes import require_spoonai

require_spoonai()

from spoon_ai.agents import ToolCallAgent
from spoon_ai.tools import ToolManager
from spoon_ai.tools.base import BaseTool

from agent_adapter import approval_key, requires_receipt
from agent_adapter.receipts.used import SqliteUsed
from tests.agent_adapter.integrations.spoon_office import DONE, SCHEMAS, ScriptedBot, answers, says

TURN = says(("delete_file", {"path": "a"}), ("delete_file", {"path": "b"}), ("delete_file", {"path": "c"}))


def an_agent(ring, used, ran, *middleware):
    class DeleteFile(BaseTool):
        name: str = "delete_file"
        description: str = "Delete a file."
        parameters: dict = SCHEMAS["delete_file"]

        @requires_receipt(keys=ring, audience="test", used=used, tool="delete_file")
        async def execute(self, path: str) -> str:
            ran.append((path, approval_key()[-2:]))
            return "deleted"

    return ToolCallAgent(
        llm=ScriptedBot(TURN, DONE), available_tools=ToolManager([DeleteFile()]), middleware=list(middleware)
    )


async def test_tools_of_spoonai_that_nobody_was_asked_about_do_not_run(tmp_path):
    approvals, ran = deciding(), []
    with SqliteUsed(tmp_path / "used.db") as used:
        agent = an_agent(approvals.ring, used, ran)
        await agent.run("go")

    assert ran == []
    assert "nobody has approved" in answers(agent)["call_1"]
