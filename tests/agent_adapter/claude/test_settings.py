"""`assent-claude init`: what it writes into the settings of Claude Code, and what it leaves."""

import json

import pytest

from agent_adapter import InvalidRequestError
from agent_adapter.claude import settings
from agent_adapter.claude.__main__ import main
from agent_adapter.claude.call import GATED, READING
from agent_adapter.contract.arguments import encode


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder of a project, and a home without settings."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*options):
    with pytest.raises(SystemExit) as ended:
        main(["init", *options])
    return ended.value.code


def written(project):
    return json.loads((project / ".claude/settings.json").read_text())


def test_both_hooks_block_when_they_fail_and_have_more_time_than_people(project):
    """The one asks people, the other answers the prompt about the same call."""
    assert init("--wait", "600", "--channel", "C0APPROVALS", "--requested-by", "U0NOOR") == 0

    for event in ("PreToolUse", "PermissionRequest"):
        ((hook,),) = [group["hooks"] for group in written(project)["hooks"][event]]
        assert (hook["timeout"] > 600, hook["onFailure"]) == (True, "block")
        assert "--wait 600 --channel C0APPROVALS --requested-by U0NOOR || exit 2" in hook["command"]


def test_every_tool_but_the_reading_ones_starts_the_hook(project):
    """Also a tool that nobody has met. Claude Code prompts for those that are known."""
    init()

    found = written(project)
    (group,) = found["hooks"]["PreToolUse"]
    assert group["matcher"] == f"^(?!(?:{'|'.join(READING)})$)"
    assert found["permissions"]["ask"] == [*GATED]
    assert found["sandbox"] == {"autoAllowBashIfSandboxed": False}


def test_a_second_run_changes_nothing(project, capsys):
    """And says so."""
    init()
    before = (project / ".claude/settings.json").read_bytes()
    capsys.readouterr()

    init()

    assert capsys.readouterr().out.count("nothing to change\n") == 2
    assert (project / ".claude/settings.json").read_bytes() == before


@pytest.mark.parametrize(("options", "count"), [((), 2), (("--user",), 3)])
def test_each_file_has_all_of_it(project, options, count):
    """Claude Code ignores a file in which anything is wrong, and reads those of a project only in its folder."""
    init(*options)

    found = [settings.read(path) for path in settings.places(project)]
    assert found[-count:] == [written(project)] * count
    assert found[:-count] == [{}] * (3 - count)


def test_other_settings_are_kept_and_other_options_replace_the_hook(project):
    """There is one hook of Assent, beside those of others."""
    other = {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}
    settings.write(
        project / ".claude/settings.json",
        {
            "model": "x",
            "hooks": {"PreToolUse": [other], "Stop": []},
            "permissions": {"deny": ["WebFetch"], "ask": ["Bash"]},
        },
    )
    init()
    init("--wait", "60")

    found = written(project)
    assert (found["model"], found["hooks"]["Stop"], found["permissions"]["deny"]) == ("x", [], ["WebFetch"])
    assert found["permissions"]["ask"].count("Bash") == 1
    kept, ours = found["hooks"]["PreToolUse"]
    assert (kept, ours["hooks"][0]["timeout"]) == (other, 180)


def test_it_names_what_would_let_calls_run_without_it(project, capsys):
    """In each file of settings that Claude Code reads."""
    weak = {
        "permissions": {"allow": ["Bash(npm *)", "Read"], "defaultMode": "acceptEdits"},
        "disableAllHooks": True,
        "hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "yes"}]}]},
    }
    settings.write(project / "home/.claude/settings.json", weak)

    init()

    said = capsys.readouterr().out
    assert "permissions.allow has Bash(npm *)" in said
    assert "permissions.allow has Read" not in said
    assert "defaultMode is acceptEdits" in said
    assert "disableAllHooks is on" in said
    assert "another hook for PermissionRequest" in said


PLUGIN = "home/.claude/plugins/cache/market/helper/1.0.0/hooks/hooks.json"
ANSWERS = {"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "yes"}]}]}}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (PLUGIN, encode(ANSWERS), "another hook for PermissionRequest"),
        (".claude/settings.local.json", '{"env": {"CLAUDE_CODE_SHELL_PREFIX": "yes"}}', "env has CLAUDE_CODE_SHELL"),
        (".claude/skills/tidy/SKILL.md", "---\nname: tidy\nhooks:\n  PreToolUse: []\n---\n", "hooks of its own"),
    ],
)  # fmt: skip
def test_it_names_what_takes_the_place_of_the_hook(project, capsys, name, content, said):
    """Each of them lets calls run that nobody approved, although the hook stands in the settings."""
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)

    init()

    assert any(f"{path}: " in line and said in line for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"permissions": {"ask": "Bash"}}'])
def test_settings_that_claude_code_cannot_read_are_left_as_they_are(project, text):
    """It would ignore the hook in them, so nothing is written."""
    path = project / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(SystemExit, match=r"settings\.json|first"):
        main(["init"])

    assert path.read_text() == text


@pytest.mark.parametrize("options", [["--agent", "Claude Code"], ["--wait", "0"], ["--channel", "#general"]])
def test_what_could_not_ask_is_not_written(project, options):
    """A mistake is found now, and not at the first call."""
    assert init(*options) != 0
    assert not (project / ".claude").exists()


def test_an_older_claude_code_is_refused(tmp_path):
    """Before 2.1.295, a call runs when its hook fails."""
    from agent_adapter.claude.check import version_of

    old = tmp_path / "claude"
    old.write_text("#!/bin/sh\necho '2.1.294 (Claude Code)'\n")
    old.chmod(0o755)

    with pytest.raises(InvalidRequestError, match=r"2\.1\.295 is needed"):
        version_of(str(old))
