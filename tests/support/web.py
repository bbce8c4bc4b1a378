"""A web server of a test's own, in its event loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def served(*routes: web.RouteDef) -> AsyncIterator[str]:
    """Serve these routes while the body runs, and give their address."""
    site = web.Application()
    site.add_routes(routes)
    runner = web.AppRunner(site, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
