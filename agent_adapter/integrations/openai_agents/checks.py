"""Checks of a run's arguments, before its model is called."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any

from agents import FunctionTool, Handoff, HostedMCPTool, Runner, Session
from agents.agent import AgentBase

from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import WrongArgumentError
from agent_adapter.expected import expect, kind_of
from agent_adapter.gating import check_tools
from agent_adapter.integrations.openai_agents.servers import agents_of


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
