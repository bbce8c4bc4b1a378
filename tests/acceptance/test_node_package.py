"""The npm package: its own tests, run by Node beside a real bot, and what is packed."""

import json

import pytest
from aiohttp import web

from agent_adapter import __version__
from tests.support.http_api import a_key
from tests.support.node import PACKAGE, build_package, node, npm, run_tests
from tests.support.people import buttons, words


@pytest.fixture(scope="session")
def package():
    build_package()


@pytest.fixture
async def people(dana, unused_tcp_port):
    """Dana as the tests in JavaScript see her: they post what she looks for, presses and types."""

    async def act(request):
        asked = await request.json()
        card, button, typed = (
            await dana.card(asked["saying"], within=60),
            asked.get("button"),
            asked.get("typed"),
        )
        if typed is not None:
            await dana.fill(await dana.opened(card, button), **typed)
            if await dana.slack.views(dana.user):  # the review of a batch
                await dana.close()
        elif button:
            await (dana.press if button in buttons(card) else dana.press_one)(card, button)
        if button:  # The next press needs the card that shows this decision.
            await dana.slack.wait_for_message(
                lambda now: now["ts"] == card["ts"] and now["blocks"] != card["blocks"], as_user=dana.user
            )
        return web.Response(text=words(card["blocks"]))

    app = web.Application()
    app.router.add_post("/", act)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    yield f"http://127.0.0.1:{unused_tcp_port}/"
    await runner.cleanup()


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", sorted(each.name for each in (PACKAGE / "test").glob("*.test.mjs")))
async def test_the_package_does_as_its_own_tests_say(bot, people, redis_url, name):
    key = await a_key(redis_url)
    url = f"http://127.0.0.1:{bot.http.port}"
    code, printed = await run_tests(name, ASSENT_URL=url, ASSENT_KEY=key, ASSENT_PEOPLE=people)
    assert code == 0, printed


@pytest.mark.usefixtures("package")
def test_what_is_packed_installs_into_an_empty_folder_and_is_the_release_of_the_library(tmp_path):
    """Every entry is imported there, nothing else is installed, and the sources and tests stay here."""
    (packed,) = json.loads(npm(PACKAGE, "pack", "--json", "--silent", "--pack-destination", str(tmp_path)))
    files = {each["path"] for each in packed["files"]}
    modules = {each.stem for each in (PACKAGE / "src").glob("*.ts")}
    built = {f"dist/{name}.{kind}" for name in modules for kind in ("js", "d.ts")}
    assert files == {"LICENSE", "README.md", "package.json", *built}
    assert packed["version"] == __version__

    (tmp_path / "package.json").write_text('{"type": "module"}')
    npm(tmp_path, "install", "--offline", "--no-audit", "--no-fund", packed["filename"])
    entries = ["assent", "assent/ai-sdk", "assent/langchain", "assent/xpert"]
    imports = f"Promise.all({json.dumps(entries)}.map((entry) => import(entry)))"
    code = f"console.log(JSON.stringify((await {imports}).map(Object.keys)))"
    names = json.loads(node(tmp_path, "--input-type=module", "--eval", code))
    assert [sorted(each)[:2] for each in names[1:]] == [["answer", "gated"], ["reviewing"], ["onInterrupt"]]
    assert {"Assent", "DecidedCall", "NotApprovedError"} <= set(names[0])
    assert {each.name for each in (tmp_path / "node_modules").iterdir()} - {".package-lock.json"} == {
        "assent"
    }
