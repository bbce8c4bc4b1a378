"""The pages about deepagents and langchain-dev-utils: their examples run as they stand."""

import pytest

from tests.support.scripted_model import ScriptedModel, says
from tests.test_project import everything_is_approved, run_examples  # noqa: F401 - a fixture

EMAIL = ("send_email", {"to": "dana@example.com", "subject": "Your invoice"})
DONE = says(text="done")


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_deepagents_page_runs(redis_url):
    """The subagent sends the e-mail once it is approved."""
    task = ("task", {"description": "Send it.", "subagent_type": "mailer"})
    models = {
        "model": ScriptedModel(turns=[says(task), DONE]),
        "mailers_model": ScriptedModel(turns=[says(EMAIL), says(text="mailed")]),
    }

    found = await run_examples("docs/how-to/use-from-deepagents.md", redis_url, **models)

    assert [m.text for m in found["result"]["messages"] if m.type == "tool"] == ["mailed"]


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_langchain_dev_utils_page_runs(redis_url):
    """Both decorated tools run once they are approved."""
    turn = says(EMAIL, ("delete_file", {"path": "a.txt"}))

    found = await run_examples(
        "docs/how-to/use-from-langchain-dev-utils.md", redis_url, model=ScriptedModel(turns=[turn, DONE])
    )

    told = [m.text for m in found["result"]["messages"] if m.type == "tool"]
    assert told == ["sent to dana@example.com", "deleted a.txt"]
