"""One tool call of Claude Code: what its hook says, what people see, and which calls need a person."""

import sys
from pathlib import Path
from tempfile import gettempdir

import pytest

from agent_adapter import InvalidRequestError
from agent_adapter.claude.call import GATED, READING, REFUSED, ToolCall, to_input, to_request
from agent_adapter.claude.files import MOST_BYTES
from agent_adapter.contract.arguments import encode
from agent_adapter.errors import DecisionNotAllowedError
from bot.rendering.pages import measure, pages_of
from tests.agent_adapter.claude.calls import prompted, sent
from tests.support.builders import asked as recorded

RM = {"command": "rm -rf build", "description": "Clean up", "timeout": 5}


def asked(tool, cwd="/srv/app", **given):
    """Give the question about a call, and its one action."""
    call = ToolCall.of(sent(tool, cwd, **given))
    return to_request(call, call.look()).action_requests[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"tool_input": "rm"},
        {"tool_input": None},
        {"tool_name": ""},
        {"session_id": 7},
        {"tool_use_id": None},
        {"cwd": None},
        {"hook_event_name": "Stop"},
    ],
)
def test_what_claude_code_never_sends_is_refused(changed):
    """A hook that does not understand its input must not let the call run."""
    with pytest.raises(InvalidRequestError):
        ToolCall.of({**sent("Bash", command="ls"), **changed})


def test_the_hook_for_a_prompt_gets_no_id_of_the_call():
    """It only looks for a grant."""
    assert ToolCall.of(prompted("Bash", command="ls")).id == ""


def test_only_a_written_list_of_tools_runs_without_a_question():
    """Tools that nobody here has met are asked about."""
    assert not {*READING} & {*GATED, *REFUSED}
    assert [tool for tool in ("Read", "Bash", "mcp__files__read", "Tomorrow") if tool in READING] == ["Read"]


@pytest.mark.cell("Claude Code", "Respond: not offered")
def test_a_shell_command_says_where_it_runs_and_quotes_what_claude_says_about_it():
    """The folder is a part of what the command does. What Claude says about the command does not run."""
    request = to_request(ToolCall.of(sent("Bash", **RM)))
    (action,), (config,) = request.action_requests, request.review_configs

    assert action.args == {"command": "rm -rf build", "timeout": 5, "cwd": "/srv/app"}
    assert action.description == "Clean up"
    assert config.allowed_decisions == ("approve", "edit", "reject")


def test_a_card_begins_with_the_command():
    """It stands in the title and in the notification."""
    (config,) = to_request(ToolCall.of(sent("Bash", **RM))).review_configs

    assert config.headline == ("command",)


def test_the_input_that_runs_is_what_people_approved():
    """The folder was for them, and is not a part of Claude Code's input."""
    call = ToolCall.of(sent("Bash", **RM))

    assert to_input(call, {"command": "ls", "cwd": "/srv/app"}) == {"command": "ls"}


def test_a_tool_of_an_mcp_server_runs_with_all_its_arguments():
    """Also with one that has the name of a place: it is changed like any other."""
    call = ToolCall.of(sent("mcp__disk__wipe", path="/a", cwd="/"))

    assert to_input(call, {"path": "/b", "x": 1}) == {"path": "/b", "x": 1}


@pytest.mark.parametrize(
    ("tool", "given", "args"),
    [
        ("Bash", {"command": "ls"}, {"command": "ls", "cwd": "/"}),
        ("Bash", {"command": "ls"}, {"command": "ls"}),
        (
            "Write",
            {"file_path": "a", "content": ""},
            {"file_path": "b", "diff": "A new file.", "content": ""},
        ),
        ("Write", {"file_path": "a", "content": ""}, {"file_path": "a", "diff": "Other.", "content": ""}),
    ],
)
def test_an_edit_cannot_move_a_call(tool, given, args):
    """People saw the files of the one place, and not those of the other."""
    call = ToolCall.of(sent(tool, **given))

    with pytest.raises(DecisionNotAllowedError):
        to_input(call, args, call.look())


@pytest.mark.parametrize(
    ("before", "tool", "given", "shown"),
    [
        (
            "one\ntwo\n",
            "Edit",
            {"old_string": "two", "new_string": "2"},
            "Lines: 1 added, 1 removed.\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n",
        ),
        (
            "one\n",
            "Write",
            {"content": "1\n"},
            "Replaces the whole file. Lines: 1 added, 1 removed.\n@@ -1,2 +1,2 @@\n-one\n+1\n",
        ),
        (None, "Write", {"content": "1"}, "A new file."),
        (
            "a a",
            "Edit",
            {"old_string": "a", "new_string": "b", "replace_all": True},
            "Lines: 1 added, 1 removed.\n@@ -1 +1 @@\n-a a\n+b b",
        ),
        ("a", "Edit", {"old_string": "a", "new_string": "a"}, "Lines: 0 added, 0 removed."),
        (
            "a\r\n",
            "Edit",
            {"old_string": "a\n", "new_string": ""},
            "Lines: 0 added, 1 removed.\n@@ -1,2 +1 @@\n-a\n",
        ),
        (
            "a\r\nb",
            "Write",
            {"content": "a\nb"},
            "Replaces the whole file. Lines: 1 added, 1 removed.\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b",
        ),
    ],
)
def test_a_change_of_a_file_is_shown_as_a_diff(tmp_path, before, tool, given, shown):
    """Of the file as it is at that moment. The whole input is below it. Nobody edits it: the diff would not be what runs."""
    path = tmp_path / "a.txt"
    if before is not None:
        path.write_bytes(before.encode())

    call = ToolCall.of(sent(tool, tmp_path, file_path="a.txt", **given))
    request = to_request(call, call.look())

    assert request.action_requests[0].args == {"file_path": "a.txt", "diff": shown, **given}
    assert request.review_configs[0].allowed_decisions == ("approve", "reject")


@pytest.mark.parametrize(
    ("content", "given"),
    [
        (b"a", {"old_string": "b", "new_string": "c"}),
        (b"a a", {"old_string": "a", "new_string": "b"}),
        (b"a", {"old_string": "", "new_string": "b"}),
        (b"\xff", {"old_string": "a", "new_string": "b"}),
        (b"a", {"old_string": "a"}),
    ],
)
def test_a_change_that_nobody_could_read_is_not_asked(tmp_path, content, given):
    """Its text is not in the file, is there twice, or the file is no text."""
    (tmp_path / "a.txt").write_bytes(content)

    with pytest.raises(InvalidRequestError):
        asked("Edit", tmp_path, file_path="a.txt", **given)


def test_a_long_change_of_a_file_is_read_to_its_end_before_it_is_approved(tmp_path):
    """A card that showed only the beginning of the diff would hide what comes later."""
    lines = [f"line {number}" for number in range(1000)]
    (tmp_path / "a.txt").write_text("\n".join([*lines, "check the signature"]))
    call = ToolCall.of(sent("Write", tmp_path, file_path="a.txt", content="\n".join(["first", *lines[1:]])))
    request = to_request(call, call.look())

    state = recorded(*zip(request.action_requests, request.review_configs, strict=True))
    (action,) = measure(state.interrupt, state.admission.terms)

    assert action.must_read
    assert "-check the signature" in encode(pages_of(action))


@pytest.mark.parametrize(
    ("size", "sentence"), [(40_000, "several small edits"), (MOST_BYTES + 1, "too many")]
)
def test_a_change_that_is_too_long_to_be_read_is_not_asked(tmp_path, size, sentence):
    """Claude is told what to do instead."""
    (tmp_path / "a.txt").write_text("a" * size)

    with pytest.raises(InvalidRequestError, match=sentence):
        asked("Write", tmp_path, file_path="a.txt", content="b" * 30_000)


def test_what_is_no_file_is_not_read(tmp_path):
    """A folder or a pipe would end the hook, or hold it up for ever."""
    with pytest.raises(InvalidRequestError):
        asked("Write", tmp_path.parent, file_path=tmp_path.name, content="")


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.local.json",
        "sub/.Claude/skills/x/SKILL.md",
        ".claude/worktrees/x/.claude/settings.json",
        ".mcp.json",
        ".git/hooks/pre-commit",
        "sub/x/../.mcp.json",
        "~/.claude/settings.json",
        "~/.claude.json",
        "~/.claude/projects/p/session.jsonl",
        "~/.bashrc",
        "../other/a.py",
        "/etc/claude-code/managed-settings.json",
        "/proc/version",
        f"{sys.prefix}/lib/x.pth",
        str(Path(__file__).parents[3] / "agent_adapter/ask.py"),
    ],
)
def test_a_file_that_may_start_programs_unasked_is_not_changed(path):
    """Claude Code, Git or a shell would run what stands in it. Outside of the project, nobody knows which files these are."""
    with pytest.raises(
        InvalidRequestError, match=r"may start programs unasked|is outside of the project, /srv/app"
    ):
        asked("Write", "/srv/app", file_path=path, content="x")


@pytest.mark.parametrize(
    "path",
    [
        "claude.md",
        ".github/workflows/ci.yml",
        ".gitignore",
        ".claudeignore",
        ".claude/worktrees/x/a.py",
        "~/.claude/projects/p/memory/MEMORY.md",
        "~/.claude/plans/plan.md",
        f"{gettempdir()}/claude-0/notes",
    ],
)
@pytest.mark.parametrize("project", ["/srv/app", Path.home() / ".claude-squad/worktrees/x"])
def test_other_files_of_a_project_are_asked_about(project, path):
    """Also Claude's plans, its memory, its worktrees and what it keeps for a moment."""
    call = ToolCall.of(sent("Write", project, file_path=path, content="x"))

    assert to_request(call, call.look())


def test_the_project_is_where_claude_code_was_started(monkeypatch):
    """A command may have led into a folder of it."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/srv/app")

    assert asked("Write", "/srv/app/sub", file_path="../a.py", content="x")


@pytest.mark.parametrize("project", ["/", Path.home().parent, Path.home()])
def test_a_folder_with_everything_of_a_user_is_no_project(project):
    """Any program of theirs may start by a file in there."""
    with pytest.raises(InvalidRequestError, match="outside of the project"):
        asked("Write", project, file_path="a.py", content="x")


@pytest.mark.parametrize(
    "link",
    [
        ".claude",
        ".claude/settings.json",
        ".claude/skills/projects/y/SKILL.md",
        ".mcp.json",
        "../home/.claude/settings.json",
        "../home/.claude/skills/x",
    ],
)
def test_a_link_gives_the_settings_no_other_name(tmp_path, monkeypatch, link):
    """The file that would change counts, by its own name and by that of the link."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    tmp_path /= "project"
    (tmp_path / "notes").mkdir(parents=True)
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "notes")

    for path in ("notes/x", f"{link}/x"):
        with pytest.raises(InvalidRequestError, match="may start programs unasked"):
            asked("Write", tmp_path, file_path=path, content="{}")


@pytest.mark.parametrize(
    "given", [{"file_path": " a"}, {"file_path": "\ufeffa"}, {"file_path": "a", "notebook_path": "b"}]
)
def test_a_path_that_may_be_read_in_two_ways_is_refused(given):
    """Claude Code may take the space away, or the other path."""
    with pytest.raises(InvalidRequestError, match="is not a path"):
        asked("Write", "/srv/app", content="x", **given)


def test_a_link_to_the_project_itself_locks_nothing(tmp_path):
    """As one that leads back from a folder of skills."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/root").symlink_to(tmp_path)

    assert asked("Write", tmp_path, file_path="a.py", content="x")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {"command": "echo {} > .claude/settings.json"}),
        ("mcp__files__write", {"files": [{"path": "/srv/app/.mcp.json"}]}),
    ],
)
def test_no_standing_approval_is_enough_for_a_call_that_names_such_a_file(tool, given):
    """A person sees each of them."""
    assert ToolCall.of(sent(tool, **given)).is_protected


def test_a_standing_approval_is_enough_for_other_calls():
    """People have allowed them."""
    assert not ToolCall.of(sent("Bash", command="npm test")).is_protected
    assert not ToolCall.of(sent("Write", file_path="claude.md", content="hello")).is_protected
