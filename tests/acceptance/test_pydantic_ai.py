"""Pydantic AI: a real agent pauses, people decide in Slack, exactly that runs."""

import pytest

from tests.agent_adapter.integrations.counter import model, says
from tests.support.pages import run_page

PAGE = "docs/how-to/use-from-pydantic-ai.md"


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_page_about_pydantic_ai_runs_as_it_stands(redis_url, tmp_path):
    """From top to bottom, with a scripted model: each e-mail is sent once it is approved, and nothing stays in the store."""
    sends = says(("send_email", {"to": "dana@example.com", "body": "Due."}))
    file = tmp_path / "invoice-17.json"
    instead = {'"openai:gpt-5"': model(*[sends, "done"] * 4), 'Path("invoice-17.json")': file}

    ran = await run_page(PAGE, redis_url, instead=instead)

    assert ran.printed == "done\n" * 3
    assert not file.exists()
