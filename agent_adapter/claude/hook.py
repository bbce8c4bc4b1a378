"""What `assent-claude hook` does: it asks people about a call before it runs, and answers the prompt for that same call.

Claude Code prompts for the tools in `permissions.ask` even when a hook has allowed the call. So the hook that asks leaves a
grant, and the hook for the prompt takes it. A call without a grant does not run, so a lost hook lets nothing through.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from agent_adapter.ask import DecidedCall, to_calls
from agent_adapter.asking import Asking
from agent_adapter.claude.call import READING, REFUSED, ToolCall, home, to_input, to_request
from agent_adapter.claude.files import SeenFile
from agent_adapter.client import ApprovalClient, withdrawn_on_cancel
from agent_adapter.contract.arguments import digest
from agent_adapter.contract.outcome import RUNS
from agent_adapter.errors import AgentAdapterError, DecisionNotAllowedError, RejectedError

Json: TypeAlias = dict[str, Any]
Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[ApprovalClient]]
LASTS = 60.0  # seconds in which the prompt for an approved call has to come


async def verdict(call: ToolCall, connect: Connect, **asking: Unpack[Asking]) -> Json:
    """Ask people, and return what they decided as Claude Code's prompts take it. In every doubt it is a no, with the reason."""
    try:
        async with connect() as approvals:
            return {"behavior": "allow", "updatedInput": await _ask(call, approvals, **asking)}
    except AgentAdapterError as error:
        return {"behavior": "deny", "message": str(error)}


async def _ask(call: ToolCall, approvals: ApprovalClient, **asking: Unpack[Asking]) -> Json:
    if sentence := REFUSED.get(call.tool):
        raise RejectedError(call.tool, reason=sentence, decided_by="assent-claude")
    file = call.look()
    request = to_request(call, file)
    asking.setdefault("on_expiry", "raise")
    # The run is the session, so that a standing approval for a run holds in it.
    interrupt = approvals.interrupt(request, run=call.session, pauses=(call.pause(file),), **asking)
    async with withdrawn_on_cancel(approvals, interrupt), approvals.reviewing(interrupt) as resume:
        (decided,) = to_calls(request, resume)
        if decided.decision.type in RUNS:
            try:
                return approved_input(call, decided, file)
            except DecisionNotAllowedError as error:
                raise await approvals.refuse_answer(resume, str(error)) from error
    return decided.args


def approved_input(call: ToolCall, decided: DecidedCall, file: SeenFile | None) -> Json:
    """Return the input that may run now, by what people decided."""
    given = to_input(call, decided.args, file)
    if decided.record.sticky and call.is_protected:
        raise DecisionNotAllowedError("no standing approval is enough for Claude Code's own files")
    if file and call.look() != file:
        raise DecisionNotAllowedError(f"{file.path} changed while people decided: read it again")
    return given


def to_hook(found: Json) -> Json:
    """Return a verdict as the answer of a hook before a call."""
    names = {"behavior": "permissionDecision", "message": "permissionDecisionReason"}
    said = {names.get(name, name): value for name, value in found.items()}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


def grant(call: ToolCall, given: Mapping[str, Any]) -> None:
    """Leave a file that lets one prompt with this input through, for a moment."""
    path = _grant_of(call, given)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)


def take_grant(call: ToolCall) -> bool:
    """Use up the grant for this call, and say whether there was one."""
    path = _grant_of(call, call.input)
    with suppress(FileNotFoundError):
        is_fresh = _is_fresh(path)
        path.unlink()
        return is_fresh
    return False


def _grant_of(call: ToolCall, given: Mapping[str, Any]) -> Path:
    return home() / "assent" / digest("claude-grant", call.session, call.tool, sorted(given.items()))


def _is_fresh(grant: Path) -> bool:
    return 0 <= time.time() - grant.stat().st_mtime <= LASTS


async def answer(call: ToolCall, connect: Connect, **asking: Unpack[Asking]) -> Json:
    """Return what the hook prints for a call: a decision, or nothing for a tool that only reads."""
    if call.tool in READING:
        return {}
    if call.event == "PermissionRequest":
        sentence = f"{call.tool} was not approved: no hook of Assent has asked about this call"
        # With an input, Claude Code would judge the call anew, and prompt again.
        said = {"behavior": "allow"} if take_grant(call) else {"behavior": "deny", "message": sentence}
        return {"hookSpecificOutput": {"hookEventName": call.event, "decision": said}}
    found = await verdict(call, connect, **asking)
    if found["behavior"] == "allow":
        grant(call, found["updatedInput"])
    return to_hook(found)
