"""One call of a tool that a client makes: the question that people see, and what the client reads instead of a result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp.types import CallToolResult, TextContent, Tool

from agent_adapter.contract.arguments import digest
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.wire import check_request


class Caller(NamedTuple):
    """Who calls, and in which run."""

    principal: str | None
    """The Slack id of the person for whom the client works; `None` where the operator has named nobody."""
    run: str
    can_return: bool
    """Whether the run has a name of its own, so that a client finds its questions again after this process has ended."""

    @property
    def run_id(self) -> str:
        """The id of the run in Redis. No other principal can find what is asked in it."""
        return digest("mcp-run", self.principal, self.run)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a client makes of a tool, by the definition that the tool has now."""

    upstream: str
    tool: Tool
    args: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the tool on the card and in the policy, as Claude Code writes it."""
        return f"mcp__{self.upstream}__{self.tool.name}"

    def pause(self, caller: Caller, use: int) -> str:
        """Return the id of its question. `use` counts how often an identical call was answered in this run."""
        definition = self.tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        return digest("mcp-call", caller.run_id, self.upstream, definition, dict(self.args), use)

    def to_request(self) -> HITLRequest:
        """Return the question about this call.

        Raises:
            InvalidRequestError: when it cannot be shown, as when it is too large.
        """
        # A client refuses a text in place of a result whose parts are declared.
        decisions = ("approve", "edit", "reject", *(() if self.tool.output_schema else ("respond",)))
        config = ReviewConfig(
            action_name=self.name, allowed_decisions=decisions, args_schema=self.tool.input_schema
        )
        action = ActionRequest(name=self.name, args=dict(self.args))
        request = HITLRequest(action_requests=(action,), review_configs=(config,))
        check_request(request)
        return request


def said(text: str, *, is_error: bool = True) -> CallToolResult:
    """Return a text that the client reads in place of the tool's result."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


def text_of(result: CallToolResult) -> str:
    """Return what a result says, for its card."""
    return "\n".join(
        part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in result.content
    )
