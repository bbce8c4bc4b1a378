"""The pages about deepagents and langchain-dev-utils: their examples run as they stand."""

import re

import pytest

from tests.support.pages import run_page
from tests.support.scripted_model import ScriptedModel, says
from tests.test_project import everything_is_approved  # noqa: F401 - a fixture

EMAIL = ("send_email", {"to": "dana@example.com", "subject": "Your invoice"})
DONE = says(text="done")


def answers_in(printed):
    """What tools answered, as LangChain prints it."""
    return re.findall(r"^=+ Tool Message =+\nName: .*\n\n(.*)$", printed, re.MULTILINE)


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_deepagents_page_runs(redis_url):
    """The subagent sends the e-mail once it is approved."""
    task = ("task", {"description": "Send it.", "subagent_type": "mailer"})
    models = {
        '"openai:gpt-5"': ScriptedModel(turns=[says(task), DONE]),
        '"openai:gpt-5-mini"': ScriptedModel(turns=[says(EMAIL), says(text="mailed")]),
    }

    ran = await run_page("docs/how-to/use-from-deepagents.md", redis_url, instead=models)

    assert answers_in(ran.printed) == ["mailed"]


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_langchain_dev_utils_page_runs(redis_url):
    """Both decorated tools run once they are approved."""
    turn = says(EMAIL, ("delete_file", {"path": "a.txt"}))

    model = ScriptedModel(turns=[turn, DONE])
    ran = await run_page(
        "docs/how-to/use-from-langchain-dev-utils.md", redis_url, instead={'"openai:gpt-5"': model}
    )

    assert answers_in(ran.printed) == ["sent to dana@example.com", "deleted a.txt"]
