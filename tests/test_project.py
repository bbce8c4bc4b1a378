"""What the repository says about itself is true: examples run, names exist, files agree with the code."""

import asyncio
import contextlib
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib

import pytest
import typer
import yaml

import agent_adapter.errors
from agent_adapter.contract.hitl import EFFECTS
from agent_adapter.contract.keys import Keys
from agent_adapter.extras import PACKAGES
from agent_adapter.redis.pool import SCHEMA
from bot.cli.commands import cli
from bot.runtime.bot_keys import load_bot_keys
from bot.runtime.health import Health
from bot.runtime.log_key import load_log_key
from bot.runtime.metrics import build_registry
from bot.runtime.settings import Settings, load_settings, variable_of
from bot.sentences.in_refusal import AT_PLACE
from bot.slack.manifest import COMMAND_SCOPE, DIRECT_SCOPES, GROUP_SCOPE, SCOPES
from playground.client import Control
from playground.demo import own
from playground.errors import ControlError
from playground.faults import KINDS
from playground.workspace import Workspace
from tests.support.lanes import require
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
from tests.support.people import buttons

# --- Examples -----------------------------------------------------------------------------------------------------


@pytest.fixture
async def everything_is_approved(start_bot, slack):
    """A bot, and somebody who presses every Approve that appears."""

    async def approve():
        while True:
            for message in await slack.messages("C0APPROVALS"):
                for action in buttons(message) if message.get("blocks") else ():
                    if action.startswith(("approve:", "approve_all:")):
                        # Somebody may have been quicker: this very loop, before the card was drawn again.
                        with contextlib.suppress(ControlError):
                            await slack.click("U0DANA", message["channel"], message["ts"], action)
            await asyncio.sleep(0.05)

    await start_bot()
    task = asyncio.create_task(approve())
    yield
    task.cancel()


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
    program = await asyncio.create_subprocess_exec(
        sys.executable, "tidy.py", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell has its background jobs ignore Ctrl-C, and a program inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    yield program
    # One that goes on would ask beside the tests that follow.
    if program.returncode is None:
        program.kill()
        await program.communicate()


async def test_the_tutorial_prints_what_it_says(everything_is_approved, tidy):
    """Once its call is approved."""
    async with asyncio.timeout(40):
        output, errors = await tidy.communicate()

    assert errors.decode() == ""
    assert [output.decode()] == fenced(TUTORIAL, "text")


async def test_the_program_of_the_tutorial_takes_its_card_back_on_control_c(start_bot, slack, tidy):
    """The card says what the tutorial says, and the program ends without a traceback."""
    (said,) = re.findall(r"press Ctrl-C .*? The card then says \*(.+?)\*", TUTORIAL)
    await start_bot()
    await slack.wait_for_message(lambda message: "delete_file" in str(message["blocks"]))
    tidy.send_signal(signal.SIGINT)
    async with asyncio.timeout(40):
        output, errors = await tidy.communicate()

    assert (output, errors.decode()) == (b"", "")
    await slack.wait_for_message(lambda message: said in str(message["blocks"]))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    """Files that are linked are there."""
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


def test_the_settings_page_names_every_setting_with_its_default():
    """As the table of the reference says it."""
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*?) ?\|", page("docs/reference/settings.md"), re.MULTILINE))

    assert set(rows) == {variable_of(field) for field in Settings.model_fields}
    for field, info in Settings.model_fields.items():
        default = "required" if info.is_required() else written_default(field)
        assert rows[variable_of(field)].strip("`") == default


def test_every_error_is_exported():
    """An agent's author catches each of them by `agent_adapter.…Error`."""
    assert own_errors() <= {*agent_adapter.__all__}
    assert all(getattr(agent_adapter, name) is getattr(agent_adapter.errors, name) for name in own_errors())


def test_the_errors_page_names_every_reason_to_refuse():
    """Those of the rules and of the record, and those words of Slack for which there is a cure."""
    code = "".join(
        path.read_text() for room in ("domain", "jobs") for path in (ROOT / "bot" / room).glob("*.py")
    )
    ours = re.findall(r'(?:Refusal\(\s*|code=)"([a-z_]+)"', code)
    text = page("docs/reference/errors.md")

    assert set(ours) == {
        "agent",
        "agent_channel",
        "look_alike",
        "no_channel",
        "not_a_channel",
        "not_a_thread",
        "policy",
        "requested_by",
        "requester",
        "seal",
        "unreadable",
    }
    assert [code for code in (*ours, *AT_PLACE) if f"`{code}`" not in text] == []


def own_errors():
    return {name for name, each in vars(agent_adapter.errors).items() if inspect.isclass(each)}


def metrics():
    """Give the names that Prometheus sees."""
    families = build_registry(Health(), lambda: {"due": 1}, lambda: {"due": 1}).collect()
    return [f"{each.name}_total" if each.type == "counter" else each.name for each in families]


NAMES = {
    "docs/reference/errors.md": [f"`{name}`" for name in own_errors()],
    "docs/reference/dialects.md": [f"| `{effect}` |" for effect in EFFECTS],
    "docs/reference/redis.md": [f"`{key}`" for keys in [Keys()] for key in (
        keys.meta, keys.api_keys, keys.api_keys_used, keys.req("<id>"), keys.card("<id>"), keys.run("<id>"),
        keys.pause("<agent>", "<digest>"), keys.undrawn, keys.due, keys.unresumed, keys.standing, keys.inbox("<agent>"),
        keys.inboxes, keys.replies("<agent>.<process>"), keys.bots, keys.audit, keys.pace("…"),
    )],
    "docs/reference/versions.md": [f"`schema` in `{{assent}}:meta`, which is {SCHEMA} today"],
    "docs/reference/http.md": [f"`{name}" for name in metrics()],
    "docs/how-to/connect-slack.md": [f"`{scope}`" for scope in (*SCOPES, GROUP_SCOPE, *DIRECT_SCOPES, COMMAND_SCOPE)],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_all_that_it_is_about(name):
    """Errors, effects, keys as they are spelt in Redis, metrics, scopes: whoever meets one of them finds it."""
    assert NAMES[name]
    assert [each for each in NAMES[name] if each not in page(name)] == []


def test_the_redis_page_names_every_script():
    """And no other."""
    scripts = {path.stem for path in ROOT.glob("*/*/lua/*.lua")} - {"prelude"}
    table = page("docs/reference/redis.md").partition("## Scripts")[2].partition("## ")[0]

    assert set(re.findall(r"`([a-z_]+)`", table)) == scripts


def test_the_playground_page_names_every_way_to_control_it(playground):
    """Each address under its verb, each kind of fault, and everybody who is there."""
    text = page("docs/reference/playground.md")
    section, named = "", set()
    for line in text.partition("## Control API")[2].splitlines():
        if heading := re.match(r"\| `(GET|POST)` \||### Changing", line):
            section = heading[1] or ""
        if found := re.match(r"\| `(?:(POST|DELETE) )?/control/([a-z/{}_]+)", line):
            named.add(f"{found[1] or section} {found[2]}")
    served = {name for name in playground._handlers if not name.startswith("DELETE")} | {"GET stream"}
    workspace = Workspace()

    assert named == served
    assert "`DELETE /control/faults[/{id}]`" in text
    assert [kind for kind in KINDS if f"`{kind}`" not in text] == []
    there = [*workspace.people, *workspace.groups, *workspace.channels]
    assert [id for id in there if f"`{id}`" not in text] == []


def row_of(method):
    """Show a method of `Control` as the page about the playground does."""
    given = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        left_out = parameter.replace(annotation=parameter.empty, default=parameter.empty)
        given.append(str(left_out) if parameter.default is parameter.empty else f"{parameter.name}=…")
    summary = inspect.getdoc(method).partition("\n\n")[0]
    return f"| `{method.__name__}({', '.join(given)})` | {summary} |"


def test_the_playground_page_names_every_method_of_control():
    """With its arguments and what it does; a row is taken from the code."""
    rows = re.findall(r"^\| `\w+\(.*\)` \|.*$", page("docs/reference/playground.md"), re.MULTILINE)

    assert sorted(rows) == sorted(
        row_of(method) for name, method in vars(Control).items() if not name.startswith("_")
    )


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


INSTALLING = re.compile(r"pip install (?!--)([^`\n(]*)")
FOLDERS = ("agent_adapter", "bot", "docs", "examples", "deploy", "packages")
SENTENCES = [
    (path.relative_to(ROOT).as_posix(), wanted)
    for path in [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", ".env.example")),
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")),
    ]
    if path.suffix in {".py", ".md", ".ts", ".yaml", ".example", ""}
    and path.is_file()
    and "node_modules" not in path.parts
    for wanted in INSTALLING.findall(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("place", "wanted"), SENTENCES)
def test_every_cure_names_packages_that_pip_finds(place, wanted):
    """This checkout with an extra, a wheel of `make dist`, or a package of the extras and groups; never our own name."""
    groups = [entry for group in PROJECT["dependency-groups"].values() for entry in group]
    real = {re.match(r"[\w.-]+", entry)[0] for entry in groups if isinstance(entry, str)}
    real |= {re.match(r"[\w.-]+", package)[0] for packages in PACKAGES.values() for package in packages}
    real |= {".", *(f".[{extra}]" for extra in EXTRAS), "assent-*.whl", "assent_bot-*.whl"}
    # For the model of the pages and for the program of an agent, which are the reader's own.
    real |= {"langchain-openai", "opentelemetry-sdk"}

    for package in (re.split(r"[<>=!~;]", word.strip("\"'.,") or ".")[0] for word in wanted.split()):
        word = package if not package.startswith("[") else f".{package}"
        # Filled in from the table that the test above compares.
        assert word in real | {"{packages}"}, f"{place}: {wanted}"


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


def test_a_lane_that_is_missing_is_skipped_here_and_fails_in_ci(monkeypatch):
    """CI must not be green for want of a browser."""
    monkeypatch.delenv("ASSENT_REQUIRE_LANES", raising=False)
    require("Chromium", available=True, reason="it is there")
    with pytest.raises(pytest.skip.Exception, match="Chromium: it is not on the PATH"):
        require("Chromium", available=False, reason="it is not on the PATH")

    monkeypatch.setenv("ASSENT_REQUIRE_LANES", "1")
    with pytest.raises(pytest.fail.Exception, match="Chromium is required here, but it is not on the PATH"):
        require("Chromium", available=False, reason="it is not on the PATH")
    with pytest.raises(pytest.skip.Exception, match="SpoonAI: it needs another Python"):
        require("SpoonAI", available=False, reason="it needs another Python", possible=False)


# --- Files that machines read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", sorted(ROOT.glob("requirements/*.txt")), ids=lambda path: path.name)
def test_a_lock_file_names_versions_and_hashes_and_no_index(lock):
    """So it installs the same from any index."""
    text = lock.read_text()

    assert "://" not in text
    assert "index-url" not in text
    assert text.count("==") > 0
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=[a-z0-9])", text.strip()))


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


@pytest.mark.parametrize("with_policy", [False, True])
def test_the_compose_file_runs_with_ids_or_with_a_policy_file(with_policy):
    """Whatever of its example of an environment is left in, the bot finds who decides, and the file where it is mounted."""
    lines = EXAMPLE.replace("# ASSENT_POLICY", "ASSENT_POLICY").splitlines()
    given = dict(line.split("=", 1) for line in lines if line.startswith("ASSENT_"))
    kept = {name: value for name, value in given.items() if (name == "ASSENT_POLICY") is with_policy}
    environment = {
        name: re.sub(r"\$\{(\w+):-(\w*)\}", lambda found: kept.get(found[1], found[2]), value)
        for name, value in BOT["environment"].items()
        if name.startswith("ASSENT_") and not name.endswith("_FILE")
    }

    tokens = {name: KNOWN[name] for name in ("slack_bot_token", "slack_app_token")}
    settings = Settings.model_validate(
        {**tokens, **{name.removeprefix("ASSENT_").lower(): value for name, value in environment.items()}}
    )

    assert "./policy:/etc/assent:ro" in BOT["volumes"]
    assert settings.policy == ("/etc/assent/policy.yaml" if with_policy else None)
    assert bool(settings.approvers and settings.channel) is not with_policy


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
    for name in ("signing_key", "seal_key", "record_key", "log_key"):
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
    assert load_log_key(settings) is None


def test_the_compose_file_has_a_place_for_the_audit_trail():
    """The volume belongs to the user of the bot."""
    (folder,) = re.findall(r"^# ASSENT_AUDIT_DIR=(.+)$", EXAMPLE, re.MULTILINE)
    assert f"audit:{folder}" in BOT["volumes"]
    assert "audit" in COMPOSE["volumes"]
    assert re.search(rf"--owner=10001 .* {folder}\nUSER 10001", page("deploy/Dockerfile"))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is not a checkout")
@pytest.mark.parametrize(
    "name",
    ["signing-key.pem", "next-key.pem", "seal-key", "redis_passwords", "redis_users", "deploy/secrets/x"],
)
def test_secrets_that_the_pages_make_are_never_committed(name):
    """Their commands write into the checkout."""
    done = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False)

    assert done.returncode == 0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_the_systemd_unit_is_hardened():
    """systemd's own rating of its exposure, out of 10."""
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "deploy/assent.service"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    (exposure,) = re.findall(r"exposure level for assent.service: ([0-9.]+)", rated.stdout)
    assert float(exposure) <= 1.5


# --- The page about the architecture --------------------------------------------------------------------------------

ARCHITECTURE = page("docs/explanation/architecture.md")
PLACES = re.findall(r"`((?:agent_adapter|bot|playground|docs|deploy)/[\w./-]*|\.env\.example)`(?: \(`(\w+)`\))?", ARCHITECTURE)  # fmt: skip


@pytest.mark.parametrize(("path", "name"), sorted(set(PLACES)))
def test_the_page_about_the_architecture_names_what_is_there(path, name):
    """Each file and folder, and the function or class in it."""
    assert (ROOT / path).exists()
    assert not name or re.search(rf"^\s*(?:async )?(?:def|class) {name}\b", page(path), re.MULTILINE)
