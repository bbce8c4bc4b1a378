"""The names by which local MCP servers gate their tools, checked before a model is called."""

import logging
from collections.abc import Iterator
from typing import Any

from agents import Handoff
from agents.agent import AgentBase
from agents.mcp import MCPServer

from agent_adapter.gating import check_tools

logger = logging.getLogger(__name__)


async def check_servers(agent: AgentBase[Any]) -> None:
    """Refuse names in `require_approval` that no tool of the server has. Otherwise the tool that was meant would run unasked."""
    servers = {id(server): server for known in _agents_of(agent) for server in known.mcp_servers}
    for server in servers.values():
        # The SDK has no public name for the parsed `require_approval`.
        names = getattr(server, "_needs_approval_policy", None)
        if isinstance(names, dict) and (tools := await _tools(server)) is not None:
            check_tools(names, tools, where=f"MCP server {server.name!r}: require_approval")


async def _tools(server: MCPServer) -> set[str] | None:
    """Name the tools of a server, including those that a filter hides; `None` if the server does not list them now."""
    listed = None
    try:
        listed = await server.list_tools()
    except Exception as error:  # noqa: BLE001  # the run itself raises it, if it needs this server
        # A filter that asks for the run's context fails after the server has been asked.
        if server.cached_tools is None:
            logger.warning(
                "MCP server %r did not list its tools, so the names in its require_approval were not checked: %s",
                server.name,
                error,
            )
    every = server.cached_tools if server.cached_tools is not None else listed
    return None if every is None else {tool.name for tool in every}


def _agents_of(agent: AgentBase[Any]) -> Iterator[AgentBase[Any]]:
    """Yield the agent, and all agents that it can hand over to or call as a tool, each once."""
    found, seen = [agent], set()
    while found:
        current = found.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        found += filter(None, map(_agent_of, (*getattr(current, "handoffs", ()), *current.tools)))


def _agent_of(other: Any) -> AgentBase[Any] | None:
    """Return the agent behind a handoff or a tool, if there is one and the SDK shows it."""
    if isinstance(other, AgentBase):
        return other
    if isinstance(other, Handoff):
        reference = getattr(other, "_agent_ref", None)
        return reference() if reference else None
    return getattr(other, "_agent_instance", None)
