"""Checks before a model is called: the arguments of a run, and the names by which local MCP servers gate their tools."""

import inspect
import logging
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from agents import FunctionTool, Handoff, HostedMCPTool, Runner, Session
from agents.agent import AgentBase
from agents.mcp import MCPServer

from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import WrongArgumentError
from agent_adapter.expected import expect, kind_of
from agent_adapter.gating import check_tools

logger = logging.getLogger(__name__)


def check_agent(agent: Any, allow_always: Collection[str]) -> None:
    """Refuse a value that is not an agent; if all tools are known, refuse names in `allow_always` that no tool has."""
    expect(
        agent, AgentBase, where="agent", cure="pass the Agent itself, as in Agent(name='Billing', tools=[…])"
    )
    check_names(allow_always)
    tools = _tools_of(agent)
    if tools is not None:
        check_tools(allow_always, tools, where="allow_always")


def check_names(allow_always: Any) -> None:
    """Refuse a value that is not a collection of names; a single string would count as a collection of letters."""
    cure = "pass a list with the names of tools, as in allow_always=['send_email']"
    if isinstance(allow_always, str | bytes) or not isinstance(allow_always, Collection):
        raise WrongArgumentError(f"allow_always: this is {kind_of(allow_always)}: {cure}")
    for name in allow_always:
        expect(name, str, where="allow_always", cure=cure)


def settings_of(options: Any, session: Session | None) -> dict[str, Any]:
    """Return the arguments of `Runner.run`, without agent and input."""
    expect(
        options, Mapping | None, where="options", cure="pass a dictionary, as in options={'max_turns': 20}"
    )
    if options and "session" in options:
        raise WrongArgumentError("options['session']: pass it as session=…, beside options")
    check_options(options)
    return {**(options or {}), "session": session}


def check_options(options: Mapping[str, Any] | None) -> None:
    """Refuse an option that `Runner.run` does not have."""
    known = list(inspect.signature(Runner.run).parameters)[2:]
    for name in options or {}:
        if name not in known:
            raise WrongArgumentError(
                f"options[{name!r}]: Runner.run has no such argument{did_you_mean(name, known)}; the arguments are {', '.join(known)}"
            )


def _tools_of(agent: AgentBase[Any]) -> set[str] | None:
    """Name all tools that a run may call; `None` if servers or handoffs add unknown ones."""
    names: set[str] = set()
    for known in agents_of(agent):
        unseen = any(
            isinstance(other, Handoff) and getattr(other, "_agent_ref", None) is None
            for other in getattr(known, "handoffs", ())
        )
        if unseen or known.mcp_servers or any(isinstance(tool, HostedMCPTool) for tool in known.tools):
            return None
        names |= {
            tool.qualified_name if isinstance(tool, FunctionTool) else tool.name for tool in known.tools
        }
    return names


async def check_servers(agent: AgentBase[Any]) -> None:
    """Refuse names in `require_approval` that no tool of the server has. Otherwise the tool that was meant would run unasked."""
    servers = {id(server): server for known in agents_of(agent) for server in known.mcp_servers}
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


def agents_of(agent: AgentBase[Any]) -> Iterator[AgentBase[Any]]:
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
