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
from tests.support.distributions import environment, inside, wheel
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


# --- Installed ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def operators(distributions, tmp_path_factory):
    """An operator's environment: the bot, and the library with it."""
    wheels = [wheel(distributions, name) for name in PACKAGES]
    return environment(tmp_path_factory.mktemp("operators"), *wheels)


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


def test_the_groups_ask_for_the_versions_that_the_extras_ask_for():
    """So that `make versions ON=lowest` meets the lowest version that a user may have."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    users = {found.name: found.specifier for found in map(Requirement, [*extras, project["dependencies"][0]])}
    ours = [Requirement(line) for group in groups.values() for line in group if isinstance(line, str)]

    assert {found.name for found in ours} >= set(users) - {"assent", "jsonschema"}
    assert [str(found) for found in ours if found.specifier != users.get(found.name, found.specifier)] == []
