"""What runs on GitHub also runs by hand, and a release says the same everywhere."""

import re
import runpy
import tomllib

import pytest
import yaml

from tests.support.pages import ROOT, page

WORKFLOWS = {path.name: path.read_text() for path in sorted(ROOT.glob(".github/workflows/*.yml"))}
FORMS = sorted(set(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")) - {ROOT / ".github/ISSUE_TEMPLATE/config.yml"})
TARGETS = set(re.findall(r"^([a-z0-9-]+):", page("Makefile"), re.MULTILINE))


def steps_of(text):
    """All steps of a workflow's jobs."""
    return [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_each_line_that_a_workflow_runs_is_a_target_of_make(name):
    """So what fails there can be run here, by the same name."""
    lines = [line for step in steps_of(WORKFLOWS[name]) for line in step.get("run", "").splitlines()]

    assert [line for line in lines if line.removeprefix("make ") not in TARGETS] == []


def test_workflows_run_the_checks():
    """So that the test above looks at something."""
    lines = {step["run"] for text in WORKFLOWS.values() for step in steps_of(text) if "run" in step}

    assert {
        "make check",
        "make test312",
        "make faults",
        "make topologies",
        "make lowest",
        "make newest",
        "make workflows",
        "make dist",
        "make tag-check",
    } <= lines


def test_an_action_is_pinned_to_one_commit_everywhere():
    """With the version beside it, so that a person and an updater can read it."""
    used = [
        re.fullmatch(r"([\w-]+/[\w-]+)\S*@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line).groups()
        for text in WORKFLOWS.values()
        for line in re.findall(r"uses: (.+)", text)
    ]
    pinned = {
        action: {(commit, version) for other, commit, version in used if other == action}
        for action, *_ in used
    }

    assert len(used) > 10
    assert [action for action, commits in pinned.items() if len(commits) > 1] == []


def test_the_checks_run_on_each_python_that_is_claimed_and_on_two_that_are_not():
    """What has not been seen to pass informs, and blocks nothing."""
    rows = yaml.safe_load(WORKFLOWS["checks.yml"])["jobs"]["check"]["strategy"]["matrix"]["include"]

    assert {(row["os"], row["python"]): row.get("informs", False) for row in rows} == {
        ("ubuntu-latest", "3.11"): False,
        ("ubuntu-latest", "3.12"): False,
        ("ubuntu-latest", "3.13"): False,
        ("ubuntu-latest", "3.14"): True,
        ("macos-latest", "3.12"): True,
    }


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_an_issue_form_asks_each_thing_once_and_says_what(form):
    """In the shape that GitHub takes."""
    asked = yaml.safe_load(form.read_text())
    fields = [field for field in asked["body"] if field["type"] != "markdown"]

    assert {"name", "description", "labels", "body"} == set(asked)
    assert {field["type"] for field in fields} <= {"textarea", "input"}
    assert len({field["id"] for field in fields}) == len(fields) > 1
    assert all(field["attributes"]["label"] for field in fields)


# --- Releases -------------------------------------------------------------------------------------------------------

URLS = tomllib.loads(page("pyproject.toml"))["project"]["urls"]
problems = runpy.run_path(str(ROOT / ".ci" / "tag_check.py"))["problems"]

READY = {
    "tag": "v0.2.0",
    "version": "0.2.0",
    "changelog": "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A button.\n",
    "source": "https://github.com/acme/assent",
    "repository": "acme/assent",
}


def test_a_release_that_says_the_same_everywhere_has_no_problems():
    """On GitHub, and by hand, where nobody says which repository it is."""
    assert problems(**READY) == []
    assert problems(**READY | {"repository": ""}) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tag": "v0.3.0"}, "tag: v0.3.0, but __version__ is 0.2.0: tag it v0.2.0"),
        ({"tag": ""}, "tag: this commit has none, but"),
        ({"changelog": READY["changelog"].replace("[0.2.0]", "[0.1.0]")}, "the newest entry is [0.1.0] - 2026-12-01"),
        ({"changelog": READY["changelog"].replace(" - 2026-12-01", "")}, "write [0.2.0] and the date"),
        ({"changelog": "# Changelog\n\n## [Unreleased]\n"}, "the newest entry is nothing"),
        ({"changelog": READY["changelog"].replace("[Unreleased]\n", "[Unreleased]\n\n- A fix.\n")}, "under Unreleased"),
        ({"source": "https://github.com/OWNER/assent"}, "has a placeholder"),
        ({"repository": "somebody/assent"}, "but this is somebody/assent"),
    ],
)  # fmt: skip
def test_a_release_that_says_two_things_is_stopped(wrong, said):
    """With what to do about it."""
    [problem] = problems(**READY | wrong)

    assert said in problem


def test_the_project_lives_in_one_place():
    """Its addresses, the links of the changelog and of the site, and who owns the code name the same repository."""
    links = re.findall(r"^\[.+\]: (\S+)$", page("CHANGELOG.md"), re.MULTILINE)
    links += re.findall(r'"(https://github\.com/.+)"', page("zensical.toml"))

    assert links
    assert [url for url in [*URLS.values(), *links] if not url.startswith(URLS["Source"])] == []
    assert f"* @{URLS['Source'].split('/')[-2]}\n" in page(".github/CODEOWNERS")
