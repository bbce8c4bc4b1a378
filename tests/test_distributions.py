"""What is published holds what is needed and nothing else, and runs where there is no checkout."""

import asyncio
import json
import re
import signal
import subprocess
import tomllib
from email.parser import Parser
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

import agent_adapter
from tests.support.distributions import environment, inside, sdist, wheel
from tests.support.pages import ROOT, page

PACKAGES = {"assent": "agent_adapter", "assent_bot": "bot"}
PROJECT = tomllib.loads(page("pyproject.toml"))


def on_disk(package):
    """The files of a package, without what Python has compiled."""
    files = (
        path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(ROOT).as_posix() for path in files}


def metadata(path):
    """What a wheel says about itself."""
    [name] = [name for name in inside(path) if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(ZipFile(path).read(name).decode())


# --- What is inside -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_a_wheel_holds_its_package_and_nothing_else(distributions, name, package):
    """Neither tests nor the playground, and the licence among what describes it."""
    files = inside(wheel(distributions, name))
    described = {
        file for file in files if file.split("/")[0] == f"{name}-{agent_adapter.__version__}.dist-info"
    }

    assert files - described == on_disk(package)
    assert any(file.endswith("/licenses/LICENSE") for file in described)


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_an_sdist_holds_its_package_and_what_builds_it(distributions, name, package):
    """Not the whole repository."""
    files = inside(sdist(distributions, name))

    assert files - on_disk(package) - {"hatch_build.py"} == {
        "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore",
    }  # fmt: skip
    assert files > on_disk(package)


@pytest.mark.parametrize("package", PACKAGES.values())
def test_a_package_holds_code_scripts_and_the_mark_of_types(package):
    """No other kind of file is shipped, and no kind is missing. The bot has the description of its HTTP API."""
    kinds = {".py", ".lua", ".typed"} | ({".json"} if package == "bot" else set())
    assert {re.sub(r".*(?=\.\w+$)", "", name) for name in on_disk(package)} == kinds
    assert f"{package}/py.typed" in on_disk(package)


def test_the_image_holds_what_the_wheels_hold(distributions):
    """What its Dockerfile copies, beside the list of packages that it installs."""
    copied = set(re.findall(r"^COPY (?!--from)(\S+) \S+$", page("deploy/Dockerfile"), re.MULTILINE))
    shipped = {
        file for name in PACKAGES for file in inside(wheel(distributions, name)) if ".dist-info/" not in file
    }

    assert "requirements/bot.txt" in copied
    assert set.union(*(on_disk(path) for path in copied - {"requirements/bot.txt"})) == shipped
    assert "**/__pycache__" in page(".dockerignore").split()


def test_the_bot_needs_the_library_of_its_version_and_the_packages_that_are_locked_for_it(distributions):
    """Its dependencies stand in one place: the group `bot`, and one group for each extra."""
    needed = {
        str(Requirement(line))
        for line in metadata(wheel(distributions, "assent_bot")).get_all("Requires-Dist")
    }
    library = metadata(wheel(distributions, "assent"))

    groups = PROJECT["dependency-groups"]
    assert needed == {
        f"assent=={library['Version']}",
        *(str(Requirement(line)) for line in groups["bot"]),
        *(
            str(Requirement(f'{line}; extra == "{extra}"'))
            for extra in ("calendar", "otel")
            for line in groups[extra]
        ),
    }


def test_both_distributions_say_the_same_about_python_licence_and_home(distributions):
    """So that one place is edited."""
    library, bot = (metadata(wheel(distributions, name)) for name in PACKAGES)

    for field in ("Version", "Requires-Python", "License-Expression", "Project-URL"):
        assert bot.get_all(field) == library.get_all(field) != None, field  # noqa: E711  # it is there


# --- Installed ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def agents(distributions, tmp_path_factory):
    """An agent's environment: the library alone."""
    return environment(tmp_path_factory.mktemp("agents"), wheel(distributions, "assent"))


@pytest.fixture(scope="module")
def operators(distributions, tmp_path_factory):
    """An operator's environment: the bot, and the library with it."""
    wheels = [wheel(distributions, name) for name in PACKAGES]
    return environment(tmp_path_factory.mktemp("operators"), *wheels)


@pytest.mark.parametrize("name", ["bot", "playground", "tests", "benchmarks", "examples"])
def test_an_agents_environment_gets_no_generic_name(agents, tmp_path, name):
    """The agent's own package `bot` stays its own."""
    done = subprocess.run(
        [agents / "python", "-c", f"import agent_adapter.client, {name}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr.endswith(f"No module named '{name}'\n")


def test_the_bot_is_installed_without_the_playground(operators, tmp_path):
    """Nor with anything else of the repository."""
    asked = (
        "import bot.app, agent_adapter, importlib.util as u; print(bot.__file__, u.find_spec('playground'))"
    )
    done = subprocess.run(
        [operators / "python", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    file, playground = done.stdout.split()
    assert file.startswith(str(operators.parent))
    assert playground == "None"


def test_the_doctor_of_a_fresh_environment_says_what_is_missing(operators, tmp_path):
    """Its first start has no settings yet."""
    done = subprocess.run(
        [operators / "assent-bot", "doctor"],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "")
    assert "fail  settings: SLACK_BOT_TOKEN is not set: copy the bot token" in done.stdout


@pytest.mark.parametrize(
    "arguments", [("assent-bot", "run"), ("assent-bot",), ("python", "-m", "bot", "run")], ids=" ".join
)
async def test_the_installed_bot_runs_by_each_of_its_names(
    operators, tmp_path, playground, redis_url, arguments
):
    """Until SIGTERM, from a folder without a checkout."""
    command, *rest = arguments
    process = await asyncio.create_subprocess_exec(
        operators / command, *rest, cwd=tmp_path, stderr=asyncio.subprocess.PIPE,
        env={
            "SLACK_BOT_TOKEN": playground.bot_token,
            "SLACK_APP_TOKEN": playground.app_token,
            "SLACK_API_URL": playground.api_url,
            "REDIS_URL": redis_url,
            "ASSENT_APPROVERS": "U0DANA",
            "ASSENT_CHANNEL": "C0APPROVALS",
            "ASSENT_HTTP_HOST": "127.0.0.1",
            "ASSENT_HTTP_PORT": "0",
        },
    )  # fmt: skip
    async with asyncio.timeout(60):
        events = []
        while "bot.started" not in events:
            events.append(json.loads(await process.stderr.readline())["event"])
        process.send_signal(signal.SIGTERM)
        await process.communicate()

    assert process.returncode == 0


# --- What else may be installed beside it ---------------------------------------------------------------------------


def test_an_upper_bound_names_the_break_on_its_line():
    """A version that nobody has seen to break stops no user."""
    lines = page("pyproject.toml").split("[tool.hatch.version]")[0].splitlines()
    bounded = [line for line in lines if re.search(r'"[\w.\[\]-]+(?:[>=.\d]+,)?<', line)]

    assert [line for line in bounded if not re.search(r'",  # .+', line)] == []
    assert {Requirement(re.search(r'"(.+)"', line)[1]).name for line in bounded} == {"fastmcp"}


def test_the_groups_ask_for_the_versions_that_the_extras_ask_for():
    """So that `make versions ON=lowest` meets the lowest version that a user may have."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    users = {found.name: found.specifier for found in map(Requirement, [*extras, project["dependencies"][0]])}
    ours = [Requirement(line) for group in groups.values() for line in group if isinstance(line, str)]

    assert {found.name for found in ours} >= set(users) - {"assent", "jsonschema"}
    assert [str(found) for found in ours if found.specifier != users.get(found.name, found.specifier)] == []
