"""What the hook answers: a decision that Claude Code cannot read as another one, or an error."""

import os
from datetime import UTC, datetime

import pytest

from agent_adapter import DecisionRecord
from agent_adapter.ask import DecidedCall
from agent_adapter.claude.call import ToolCall
from agent_adapter.claude.hook import answer, approved_input
from agent_adapter.errors import DecisionNotAllowedError
from agent_adapter.testing import approve, edit, reject
from tests.agent_adapter.claude.calls import prompted, sent
from tests.agent_adapter.claude.test_call import RM
from tests.support.deciding import deciding

LS = {"command": "ls", "cwd": "/srv/app"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where Claude Code's own files are, and the grants among them."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "own"))
    return tmp_path / "own/assent"


async def said(sent_to_hook, *answers):
    """Give the answer of the hook, while somebody decides this."""
    found = await answer(ToolCall.of(sent_to_hook), lambda: deciding(*answers))
    return found.get("hookSpecificOutput", found)


async def test_an_approved_call_runs_with_its_input():
    """The answer names the event, or Claude Code would not take it."""
    assert await said(sent("Bash", **RM), approve()) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "rm -rf build", "timeout": 5},
    }


async def test_an_edited_call_runs_as_edited():
    """All of the input is replaced."""
    assert (await said(sent("Bash", **RM), edit(LS)))["updatedInput"] == {"command": "ls"}


async def test_a_rejection_is_an_answer_with_its_reason():
    """So Claude reads what the person wrote, and goes on."""
    assert await said(sent("Bash", **RM), reject("keep it")) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "Bash was rejected and did not run: keep it",
    }


async def test_a_question_to_the_user_is_refused_with_a_sentence():
    """Nobody is asked about it."""
    found = await said(sent("AskUserQuestion", questions=[]))

    assert found["permissionDecision"] == "deny"
    assert "write the question as your answer" in found["permissionDecisionReason"]


@pytest.mark.parametrize("event", [sent, prompted])
async def test_a_tool_that_reads_gets_no_decision(event):
    """Claude Code's own rules decide about it: a yes of the hook would widen them."""
    assert await said(event("Read", file_path="/etc/passwd")) == {}


@pytest.mark.cell("Claude Code", "Nobody decides: told")
async def test_silence_is_a_no():
    """Claude reads that nobody decided in time."""
    found = await said(sent("Bash", **RM), None)

    assert found["permissionDecision"] == "deny"
    assert "nobody decided" in found["permissionDecisionReason"]


@pytest.mark.cell("Claude Code", "Resumed twice: refused")
async def test_a_call_that_was_answered_is_not_answered_again():
    """As when a session is resumed at a call that ran."""
    approvals = deciding(approve())
    call = ToolCall.of(sent("Bash", **RM))
    await answer(call, lambda: approvals)

    found = await answer(call, lambda: approvals)

    assert found["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.cell("Claude Code", "Changed: asked anew")
@pytest.mark.parametrize("changed", [{"tool_use_id": "toolu_2"}, {"command": "rm -rf /"}])
async def test_another_call_is_a_new_question(changed):
    """Also one with the id of the other, or with its command."""
    approvals = deciding(approve(), reject())
    await answer(ToolCall.of(sent("Bash", **RM)), lambda: approvals)

    found = await answer(ToolCall.of(sent("Bash", **{**RM, **changed})), lambda: approvals)

    assert found["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert len(approvals.asked) == 2


async def test_a_file_that_changed_while_people_decided_is_not_changed(tmp_path):
    """They approved the diff of another file. The card says so."""
    path = tmp_path / "a.txt"
    path.write_text("one")

    def late(action):
        path.write_text("one, and more")
        return approve()

    approvals = deciding(late)
    call = ToolCall.of(sent("Write", file_path=str(path), content="two"))
    found = (await answer(call, lambda: approvals))["hookSpecificOutput"]

    assert found["permissionDecision"] == "deny"
    assert "changed while people decided" in found["permissionDecisionReason"]
    assert "changed while people decided" in (await approvals.record(approvals.asked[0].id)).unused


async def test_a_file_that_became_a_link_is_not_changed(tmp_path):
    """What it leads to has the same text, and is another file."""
    path, other = tmp_path / "a.txt", tmp_path / "other.txt"
    path.write_text("one")
    other.write_text("one")

    def late(action):
        path.unlink()
        path.symlink_to(other)
        return approve()

    found = await said(sent("Write", file_path=str(path), content="two"), late)

    assert found["permissionDecision"] == "deny"


def test_a_standing_approval_is_not_enough_for_the_settings():
    """Whoever gave it has not seen this call."""
    call = ToolCall.of(sent("Bash", command="rm .claude/settings.json"))
    record = DecisionRecord(decided_by="U0DANA", decided_at=datetime.now(UTC), sticky="billing.earlier:0")
    args = {**call.input, "cwd": call.cwd}

    with pytest.raises(DecisionNotAllowedError, match="no standing approval is enough"):
        approved_input(call, DecidedCall("Bash", approve(), record, "key", None, args), None)


async def test_a_prompt_is_answered_once_for_the_call_that_people_approved():
    """Claude Code prompts for gated tools, also after the hook allowed the call."""
    await said(sent("Bash", **RM), edit(LS))

    assert await said(prompted("Bash", command="ls")) == {
        "hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow"},
    }
    assert (await said(prompted("Bash", command="ls")))["decision"]["behavior"] == "deny"


@pytest.mark.parametrize(
    "other",
    [
        prompted("Bash", **RM),
        prompted("Bash", command="ls", session_id="session-2"),
        prompted("PowerShell", command="ls"),
    ],
)
async def test_a_prompt_for_another_call_is_refused(other):
    """Where the hook that asks is lost, nobody has approved the call."""
    await said(sent("Bash", **RM), edit(LS))

    assert (await said(other))["decision"]["behavior"] == "deny"


async def test_an_old_grant_is_none(folder):
    """It was for a prompt that did not come."""
    await said(sent("Bash", command="ls"), approve())
    (grant,) = folder.iterdir()
    os.utime(grant, (0, 0))

    assert (await said(prompted("Bash", command="ls")))["decision"]["behavior"] == "deny"


async def test_a_rejected_call_leaves_no_grant():
    """The prompt for it is refused, too."""
    await said(sent("Bash", command="ls"), reject())

    assert (await said(prompted("Bash", command="ls")))["decision"]["behavior"] == "deny"
