"""A stock SpoonAI agent asks, people decide in Slack, exactly that runs."""

# ruff: noqa: E402  # where SpoonAI is not installed there is nothing to import

import asyncio

import pytest

from tests.support.lanes import require_spoonai

require_spoonai()

from agent_adapter.integrations.spoon import run
from tests.agent_adapter.integrations.spoon_office import DONE, MAIL, Office, ScriptedBot, answers, says
from tests.support.pages import run_page
from tests.support.people import Someone, buttons, words
from tests.test_project import everything_is_approved  # noqa: F401 - a fixture

BATCH = says(
    ("send_email", MAIL),
    ("read_file", {"path": "notes.txt"}),
    ("send_email", {"to": "b@x.com", "subject": "Second"}),
    ("delete_file", {"path": "report.txt"}),
)
GATED = {
    "send_email": True,
    "delete_file": {"allowed_decisions": ["approve", "reject"], "description": "It cannot be brought back."},
}


@pytest.fixture
def office():
    return Office()


async def test_approve_edit_and_reject_in_one_batch(start_bot, slack, client, office):
    """Given one turn of four calls, when each gated one is decided otherwise, then just that runs and is told to the model."""
    await start_bot()
    agent, dana = office.agent(BATCH, DONE), Someone(slack, "U0DANA")
    running = asyncio.create_task(run(agent, "go", approvals=client, interrupt_on=GATED))

    card = await dana.card("rejected at")
    assert "It cannot be brought back." in words(card["blocks"])
    review = await dana.opened(card, "review:0")
    assert "edit:2" not in buttons(review)
    await slack.close_view("U0DANA", review["id"], clear=True)
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(await dana.card("2 of 3 open"), "edit:1"), to="c@x.com")
    await dana.fill(await dana.opened(await dana.card("1 of 3 open"), "reject:2"), reason="Keep the report.")

    assert await running == "done"
    assert office.ran == [
        ("send_email", MAIL),
        ("read_file", {"path": "notes.txt"}),
        ("send_email", {"to": "c@x.com", "subject": "Second"}),
    ]
    heard = answers(agent)
    assert heard["call_1"] == "Observed output of cmd send_email execution: send_email was done"
    assert heard["call_3"].startswith(
        'A reviewer changed this call. What ran: send_email({"to":"c@x.com","subject":"Second"}).'
    )
    assert heard["call_4"].endswith("This call was rejected and did not run: Keep the report.")
    assert {name.partition(":")[0] for name in buttons(await dana.card("the agent has resumed"))} <= {
        "review"
    }


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
