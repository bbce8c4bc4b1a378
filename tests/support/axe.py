"""axe-core, in a page that is open: what keeps people out, by rule and element."""

from playwright.async_api import Page

from tests.support.node import SCRIPTS, install

_SOURCE = SCRIPTS / "node_modules" / "axe-core" / "axe.min.js"


def require_axe() -> None:
    """Install axe-core as the lock file names it; skip where there is no Node or no registry."""
    install(SCRIPTS)


async def barriers(page: Page, within: str = "html") -> list[str]:
    """Name each rule that is broken now within this element, and what breaks it."""
    # Given as a script to evaluate: the page's Content-Security-Policy takes no script of others.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_SOURCE.read_text(encoding="utf-8"))
    found = await page.evaluate("within => axe.run(within, { resultTypes: ['violations'] })", within)
    return [
        f"{broken['id']}: {node['target']} {node['html'][:120]} {node['failureSummary']}"
        for broken in found["violations"]
        for node in broken["nodes"]
    ]
