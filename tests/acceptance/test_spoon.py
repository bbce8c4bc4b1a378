"""A stock SpoonAI agent asks, people decide in Slack, exactly that runs."""

# ruff: noqa: E402  # where SpoonAI is not installed there is nothing to import

import pytest

from tests.support.lanes import require_spoonai

require_spoonai()

from tests.agent_adapter.integrations.spoon_office import DONE, ScriptedBot, says
from tests.support.pages import run_page


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_page_about_spoonai_runs_as_it_stands(redis_url):
    """From top to bottom, with a model of the reader's that deletes a file whenever it is told to tidy up."""
    answers = []

    class Listening(ScriptedBot):
        async def ask_tool(self, messages, **rest):
            answers.extend(message.content for message in messages if message.role == "tool")
            return await super().ask_tool(**rest)

    llm = Listening(*[says(("delete_file", {"path": "old.txt"})), DONE] * 2)
    chat_bot = {'ChatBot(llm_provider="openai", model_name="gpt-5")': llm}
    ran = await run_page("docs/how-to/use-from-spoon.md", redis_url, instead=chat_bot)

    assert ran.printed == "done\n" * 2
    assert len(answers) == 2
    assert all(answer.endswith("deleted old.txt") for answer in answers)
