"""What the repository says about itself is true: examples run, names exist, files agree with the code."""

import asyncio
import inspect
import os
import re
import signal
import subprocess
import sys
import tomllib

import pytest
import typer
import yaml

import agent_adapter.errors
from agent_adapter.extras import PACKAGES
from bot.cli.commands import cli
from bot.runtime.bot_keys import load_bot_keys
from bot.runtime.settings import Settings, load_settings, variable_of
from playground.demo import own
from tests.support.commands import program
from tests.support.gallery.page import gallery_page
from tests.support.model_api import ModelApi
from tests.support.pages import (
    PAGES,
    ROOT,
    fenced,
    files_of,
    name_of,
    page,
    run_page,
    run_program,
    start_page,
)

# --- Examples -----------------------------------------------------------------------------------------------------


CALLS = {
    "task": {"description": "Send it.", "subagent_type": "mailer"},
    "send_email": {"to": "dana@example.com", "subject": "Your invoice"},
    "delete_file": {"path": "a.txt"},
}


@pytest.mark.parametrize(
    ("name", "answered"),
    [
        ("README.md", {"sent to dana@example.com"}),
        *(
            pytest.param(f"docs/how-to/use-from-{name}.md", answered, marks=pytest.mark.nightly)
            for name, answered in (
                ("langgraph", {"sent to dana@example.com"}),
                ("deepagents", {"done"}),
                ("langchain-dev-utils", {"sent to dana@example.com", "deleted a.txt"}),
            )
        ),
    ],
)
async def test_the_langgraph_pages_run(everything_is_approved, redis_url, name, answered):
    """Each as one program with a real client of a model: the tools answer once their calls are approved."""
    async with ModelApi(**CALLS).serving() as api:
        printed = await start_page(name, redis_url, api.url)

    said = re.findall(r"^=+ Tool Message =+\nName: .*\n\n(.*)$", printed, re.MULTILINE)
    assert set(said) == answered


async def test_the_client_examples_run(everything_is_approved, redis_url):
    """From connecting to closing."""
    ran = await run_page("docs/reference/client.md", redis_url)

    assert ran.printed.count("run send_email {'to': 'dana@example.com'") == 3
    assert "\ndecided\n" in ran.printed


@pytest.mark.nightly
def test_the_examples_about_testing_pass(tmp_path):
    """Pasted into one folder, they need nothing else: no Redis, no model, and no setting that the page does not show."""
    name = "docs/how-to/test-your-agent.md"
    for file, source in {**files_of(name), "pytest.ini": fenced(page(name), "ini")[0]}.items():
        (tmp_path / file).write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "1 passed" in done.stdout, done.stdout
    assert done.stderr == ""


async def test_the_examples_of_the_playground_pass(redis_url, monkeypatch):
    """For those who work in a checkout: pasted into files, and run as tests."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    for file, source in files_of("docs/reference/playground.md").items():
        ran = await run_program(source, file, redis_url)
        tests = [value for name, value in ran.names.items() if name.startswith("test_")]

        assert tests
        for test in tests:
            await test()


TUTORIAL = page("docs/tutorial/first-approval.md")


def test_the_readme_and_the_tutorial_show_the_program_of_the_playground():
    """One program, with the address at which its Redis usually is."""
    (lines, (source,)) = fenced(page("README.md"), "sh"), fenced(TUTORIAL, "python")

    assert f"{own.lines(own.USUAL)}\n" in lines
    assert source == own.PROGRAM


@pytest.fixture
async def tidy(redis_url, tmp_path):
    """Start the program of the tutorial, as a program."""
    (source,) = fenced(TUTORIAL, "python")
    (tmp_path / "tidy.py").write_text(source.replace(own.USUAL, redis_url))
    async with program(
        sys.executable, "tidy.py", errors=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        # A shell has its background jobs ignore Ctrl-C, and a program inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as tidy:  # fmt: skip
        yield tidy


async def test_the_tutorial_prints_what_it_says(everything_is_approved, tidy):
    """Once its call is approved."""
    async with asyncio.timeout(40):
        output, errors = await tidy.communicate()

    assert errors.decode() == ""
    assert [output.decode()] == fenced(TUTORIAL, "text")


def test_the_gallery_shows_every_situation():
    """Otherwise: make pictures."""
    assert page("docs/gallery.md") == gallery_page()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert [t for t in targets if "://" not in t and not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_exists(page):
    """`make` targets and commands of the bot that a reader is told to run."""
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text()
    targets = {
        found for block in fenced(text, "console") for found in re.findall(r"\bmake ([a-z0-9-]+)", block)
    }
    commands = re.findall(r"(?:-m bot|run --rm bot|assent-bot)(?= [a-z])([^`#\n]*)", text)

    assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()
    assert [command for command in commands if not exists(typer.main.get_command(cli), command.split())] == []


def exists(command, words):
    """Whether these words lead to a command, each of their options being one of its own."""
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    options = {name for given in command.params for name in given.opts}
    asked = {word for word in words if word.startswith("--")}
    runs_itself = getattr(command, "invoke_without_command", True) and (not words or words[0] in options)
    return (not hasattr(command, "commands") or runs_itself) and asked <= options


# --- Names that stand in two places ---------------------------------------------------------------------------------


def written_default(field):
    default = Settings.model_fields[field].get_default()
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default is None else str(default)


def test_the_example_of_an_environment_names_every_setting_with_its_default():
    """Nothing is missing, and nothing is there that the bot does not read."""
    lines = re.findall(r"^(# )?([A-Z_]+)=(.*)$", page(".env.example"), re.MULTILINE)
    shown = {name: value for _, name, value in lines}

    assert list(shown) != []
    assert set(shown) == {variable_of(field) for field in Settings.model_fields}
    for field in Settings.model_fields:
        name = variable_of(field)
        if not Settings.model_fields[field].is_required():
            assert (name, shown[name]) == (name, written_default(field))


def test_every_error_is_exported():
    """An agent's author catches each of them by `agent_adapter.…Error`."""
    errors = {name: each for name, each in vars(agent_adapter.errors).items() if inspect.isclass(each)}
    assert {name: getattr(agent_adapter, name) for name in errors} == errors


PROJECT = tomllib.loads(page("pyproject.toml"))


EXTRAS = PROJECT["project"]["optional-dependencies"]


def packages_of(extra):
    """Its packages, and those of an extra of ours that it names."""
    for wanted in EXTRAS[extra]:
        ours = re.fullmatch(r"assent\[(.+)\]", wanted)
        yield from packages_of(ours[1]) if ours else [wanted.partition(";")[0].strip()]


def test_what_is_missing_is_named_as_the_extras_name_it():
    """Which package, in which version: the library's own extras are of no use to pip where it is on no index."""
    assert {extra: tuple(packages_of(extra)) for extra in EXTRAS} == PACKAGES


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("examples.langgraph_agent", "langgraph", "langgraph"),
        ("examples.langchain_dev_utils_agent", "langchain_dev_utils", "langchain-dev-utils"),
        ("examples.openai_agents", "agents", "openai-agents"),
        ("examples.spoon_agent", "spoon_ai", "spoon"),
        ("examples.deepagents_agent", "deepagents", None),
        ("agent_adapter.worker.langgraph", "langchain_core", "langgraph"),
        ("agent_adapter.worker.openai_agents", "agents", "openai-agents"),
        ("agent_adapter.integrations.pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("agent_adapter.mcp.__main__", "mcp", "mcp"),
    ],
)
def test_a_program_without_its_framework_says_what_to_install(module, package, extra):
    """The packages of an integration with their versions, and what could not be imported."""
    code = f"import sys; sys.modules[{package!r}] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    last = done.stderr.strip().splitlines()[-1]
    wanted = " ".join(f'"{each}"' for each in PACKAGES[extra]) if extra else package
    assert f"pip install {wanted} (" in last
    assert package in last
    assert "assent[" not in last


# --- Files that machines read ---------------------------------------------------------------------------------------


def versions(name):
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", page(f"requirements/{name}.txt"), re.MULTILINE))


def test_the_image_has_the_versions_that_are_tested():
    """The bot's lock file is a part of the developers'."""
    tested = versions("dev")

    assert {name: tested.get(name) for name in versions("bot")} == versions("bot")


@pytest.mark.parametrize("name", ["demo", "pictures", "tools"])
def test_one_environment_has_one_version_of_each_package(name):
    """All of these are installed into `.venv`: `make demo` after `make test` changes nothing that the tests need."""
    tested, found = versions("dev"), versions(name)

    assert {each: found[each] for each in found.keys() & tested.keys() if found[each] != tested[each]} == {}


COMPOSE = yaml.safe_load(page("deploy/compose.yaml"))
BOT = COMPOSE["services"]["bot"]
EXAMPLE = page("deploy/compose.env.example")
KNOWN = {"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1", "approvers": "U0DANA", "channel": "C0OPS"}


def test_the_compose_file_keeps_approvals():
    """Its Redis writes an append-only file, evicts nothing and refuses to write in time, and secrets come from files."""
    services, environment = COMPOSE["services"], BOT["environment"]

    assert services["redis"]["command"][1:] == [
        *("--appendonly", "yes", "--maxmemory-policy", "noeviction"),
        *("--maxmemory", "512mb", "--aclfile", "/run/secrets/redis_users"),
    ]
    assert "ports" not in services["redis"]
    assert all(each.startswith("127.0.0.1:") for each in services["bot"]["ports"])
    assert "\nEnvironment=ASSENT_HTTP_HOST=127.0.0.1\n" in page("deploy/assent.service")
    assert not {"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"} & set(environment)
    assert {name.removesuffix("_FILE") for name in environment} <= {
        variable_of(field) for field in Settings.model_fields
    }


def test_the_compose_file_passes_settings_on_under_their_own_names():
    """Where nothing is set, the bot gets its own defaults; what can be set stands in the example."""
    found = {name: re.fullmatch(r"\$\{(\w+):-(\w*)\}", value) for name, value in BOT["environment"].items()}
    passed = {name: each for name, each in found.items() if "$" in BOT["environment"][name]}

    assert {name: found[1] for name, found in passed.items()} == {name: name for name in passed}
    assert [name for name in passed if f"{name}=" not in EXAMPLE] == []
    given = {name.removeprefix("ASSENT_").lower(): found[2] for name, found in passed.items()}
    settings, default = (Settings.model_validate(each) for each in ({**given, **KNOWN}, KNOWN))
    assert settings == default
    assert {"pagerduty_token", "calendars", "namespace", "durability", "durability_replicas"} <= given.keys()


def test_the_compose_file_takes_keys_and_starts_without_them(monkeypatch):
    """Where no file is named, its secret is empty, and that is as good as none."""
    for name in ("signing_key", "seal_key", "record_key"):
        variable = f"ASSENT_{name.upper()}_FILE"
        assert name in BOT["secrets"]
        assert COMPOSE["secrets"][name] == {"file": f"${{{variable}:-/dev/null}}"}
        assert BOT["environment"][variable] == f"/run/secrets/{name}"
        assert f"# {variable}=" in EXAMPLE
        monkeypatch.setenv(variable, "/dev/null")
    for name in ("ASSENT_RING", "ASSENT_REQUIRE_SIGNED"):
        assert name in BOT["environment"]
        assert f"# {name}=" in EXAMPLE
    for name, value in KNOWN.items():
        monkeypatch.setenv(variable_of(name), value)
    settings = load_settings(env_file=None)
    assert load_bot_keys(settings) is None
    assert not settings.record_key


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is not a checkout")
@pytest.mark.parametrize(
    "name",
    ["signing-key.pem", "next-key.pem", "seal-key", "redis_passwords", "redis_users", "deploy/secrets/x"],
)
def test_secrets_that_the_pages_make_are_never_committed(name):
    """Their commands write into the checkout."""
    done = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False)

    assert done.returncode == 0
