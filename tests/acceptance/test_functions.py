"""Plain Python functions: a person in Slack decides, exactly that runs."""

from tests.support.pages import run_page


async def test_the_page_about_functions_runs(everything_is_approved, redis_url):
    ran = await run_page("docs/how-to/use-from-plain-functions.md", redis_url)

    assert ran.printed.splitlines() == [
        "reminded dana@example.com of invoice 17, due on 2026-12-01",
        "deleted report.txt",
        "sent to dana@example.com, due on 01 December",
    ]


async def test_the_page_about_gating_tools_runs(redis_url):
    """What it asserts is so."""
    assert "gate" in (await run_page("docs/how-to/gate-tools.md", redis_url)).names
