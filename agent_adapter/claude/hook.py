"""What `assent-claude hook` does: it asks people about a call before it runs, and answers the prompt for that same call.

Claude Code prompts for the tools in `permissions.ask` even when a hook has allowed the call. So the hook that asks leaves a
grant, and the hook for the prompt takes it. Without the first hook there is no grant, and nothing runs.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from agent_adapter.ask import DecidedCall, to_calls
from agent_adapter.asking import Asking
from agent_adapter.claude.call import READING, REFUSED, ToolCall, to_input, to_request
from agent_adapter.claude.files import SeenFile
from agent_adapter.client import ApprovalClient, withdrawn_on_cancel
from agent_adapter.contract.arguments import digest
from agent_adapter.errors import DecisionNotAllowedError, NotApprovedError, RejectedError

Json: TypeAlias = dict[str, Any]
LASTS = 60.0  # seconds in which the prompt for an approved call has to come


async def ask(call: ToolCall, approvals: ApprovalClient, **asking: Unpack[Asking]) -> Json:
    """Ask people about a call, wait, and return the input that may run.

    The run of the question is the session, so that a standing approval for a run holds in it.

    Raises:
        NotApprovedError: when people rejected the call, or its tool is refused.
        DecisionNotAllowedError: when the file changed meanwhile, or a standing approval is not enough.
        InterruptEndedError: when nobody decided in time, or the question was refused or withdrawn.
        AgentAdapterError: as in `ApprovalClient.ask`.
    """
    if sentence := REFUSED.get(call.tool):
        raise RejectedError(call.tool, reason=sentence, decided_by="assent-claude")
    file = SeenFile.look(call.path) if call.path else None
    request = to_request(call, file)
    asking.setdefault("on_expiry", "raise")
    interrupt = approvals.interrupt(request, run=call.session, pauses=(call.pause(file),), **asking)
    async with withdrawn_on_cancel(approvals, interrupt), approvals.reviewing(interrupt) as resume:
        (decided,) = to_calls(request, resume)
    return approved_input(call, decided, file)


def approved_input(call: ToolCall, decided: DecidedCall, file: SeenFile | None) -> Json:
    """Return the input that may run now, by what people decided. Errors are as in `ask`."""
    given = to_input(call, decided.args)
    if decided.record.sticky and call.is_protected:
        raise DecisionNotAllowedError(
            "a standing approval is not enough for Claude Code's settings and this hook"
        )
    if file and call.path and SeenFile.look(call.path) != file:
        raise DecisionNotAllowedError(f"{file.path} changed while people decided: read it again")
    return given


@dataclass(frozen=True, slots=True)
class Grants:
    """Calls that people approved a moment ago, for the prompt of the same call. Each is a file, and is taken once."""

    folder: Path

    @classmethod
    def here(cls) -> "Grants":
        """The grants of this user."""
        return cls(Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "assent")

    def give(self, call: ToolCall, approved: Mapping[str, Any]) -> None:
        """Leave a grant for one prompt with this input."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            if not self._is_fresh(old):
                old.unlink(missing_ok=True)
        self._of(call, approved).touch(mode=0o600)

    def take(self, call: ToolCall) -> bool:
        """Use up the grant for this call, and say whether there was one."""
        grant = self._of(call, call.input)
        is_fresh = self._is_fresh(grant)
        grant.unlink(missing_ok=True)
        return is_fresh

    def _is_fresh(self, grant: Path) -> bool:
        with suppress(FileNotFoundError):
            return 0 <= time.time() - grant.stat().st_mtime <= LASTS
        return False

    def _of(self, call: ToolCall, given: Mapping[str, Any]) -> Path:
        parts = (call.session, call.prompt, call.tool, sorted(given.items()))
        return self.folder / digest("claude-grant", *parts)


def allowed(call: ToolCall, given: Mapping[str, Any]) -> Json:
    """Return the answer that lets a call run, with this input."""
    # With an input, Claude Code would judge the call anew, and prompt again.
    return _said(call, {"behavior": "allow"}, permissionDecision="allow", updatedInput=dict(given))


def denied(call: ToolCall, reason: str) -> Json:
    """Return the answer that refuses a call, with the reason for the model."""
    decision = {"behavior": "deny", "message": reason}
    return _said(call, decision, permissionDecision="deny", permissionDecisionReason=reason)


def _said(call: ToolCall, to_prompt: Json, **to_call: Any) -> Json:
    own = {"decision": to_prompt} if call.event == "PermissionRequest" else to_call
    return {"hookSpecificOutput": {"hookEventName": call.event, **own}}


async def answer(
    call: ToolCall, connect: Callable[[], ApprovalClient], grants: Grants, **asking: Unpack[Asking]
) -> Json:
    """Return what the hook prints for a call: a decision, or nothing for a tool that only reads.

    Raises:
        AgentAdapterError: in every doubt, as in `ask`; the call must not run.
    """
    if call.tool in READING:
        return {}
    if call.event == "PermissionRequest":
        sentence = f"{call.tool} was not approved: no hook of Assent has asked about this call"
        return allowed(call, call.input) if grants.take(call) else denied(call, sentence)
    try:
        async with connect() as approvals:
            waiting = asyncio.current_task()
            assert waiting is not None
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                # Claude Code ends the hook: nobody waits for this answer any more.
                asyncio.get_running_loop().add_signal_handler(number, waiting.cancel)
            given = await ask(call, approvals, **asking)
    except NotApprovedError as error:
        return denied(call, str(error))
    grants.give(call, given)
    return allowed(call, given)
