"""Every kind of call that an agent of the OpenAI Agents SDK can pause on, in this process and after it was stored."""

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    CustomTool,
    HostedMCPTool,
    Runner,
    RunState,
    ShellTool,
    function_tool,
    handoff,
)
from agents.mcp import MCPServer
from agents.testing import ScriptedModel
from mcp.types import CallToolResult, TextContent, Tool
from openai.types.responses import ResponseCustomToolCall, ResponseFunctionShellToolCall
from openai.types.responses.response_output_item import McpApprovalRequest

from agent_adapter import approval_key
from agent_adapter.errors import InvalidRequestError
from agent_adapter.integrations.openai_agents import (
    EditableMCPAgent,
    PausedRun,
    editable,
    run,
    stream,
    to_request,
)
from agent_adapter.testing import approve, edit, reject
from agent_adapter.worker.openai_agents import ResumableAgent
from tests.agent_adapter.integrations.desk import DONE, Desk, answers_to_model, resumed, says
from tests.support.deciding import deciding

SHELL = ResponseFunctionShellToolCall(
    id="sh_1",
    call_id="call_1",
    type="shell_call",
    status="completed",
    action={"commands": ["rm -rf build", "ls"], "timeout_ms": 1000},
)
PATCH = {
    "type": "apply_patch_call",
    "id": "ap_1",
    "call_id": "call_1",
    "status": "completed",
    "operation": {"type": "update_file", "path": "a.txt", "diff": "@@\n-x\n+y\n"},
}
HOSTED = McpApprovalRequest(
    id="mcpr_1", arguments='{"a":1}', name="add", server_label="sums", type="mcp_approval_request"
)
CUSTOM = ResponseCustomToolCall(call_id="call_1", name="sql", input="DROP TABLE x", type="custom_tool_call")


class Editor:
    def __init__(self, ran):
        self.ran = ran

    def update_file(self, operation):
        self.ran.append((operation.path, operation.diff))

    create_file = delete_file = update_file


class Sums(MCPServer):
    """A server of one tool, in this process."""

    name = "sums"

    def __init__(self, ran, require_approval="always"):
        super().__init__(require_approval=require_approval)
        self.ran = ran

    async def connect(self):
        pass

    cleanup = list_prompts = connect

    async def get_prompt(self, name, arguments=None):
        raise NotImplementedError

    async def list_tools(self, run_context=None, agent=None):
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        return [Tool(name="add", description="Add one.", inputSchema=schema)]

    async def call_tool(self, tool_name, arguments, meta=None):
        self.ran.append(arguments)
        return CallToolResult(content=[TextContent(type="text", text="2")])


def shell(ran):
    return {
        "tools": [
            ShellTool(
                executor=lambda call: ran.extend(call.data.action.commands) or "ok", needs_approval=True
            )
        ]
    }


def patch(ran):
    return {"tools": [ApplyPatchTool(editor=Editor(ran), needs_approval=True)]}


def hosted(ran):
    config = {"type": "mcp", "server_label": "sums", "server_url": "https://x", "require_approval": "always"}
    return {"tools": [HostedMCPTool(tool_config=config)]}


def custom(ran):
    async def invoke(context, text):
        ran.append(text)
        return "ok"

    return {"tools": [CustomTool(name="sql", description="", on_invoke_tool=invoke, needs_approval=True)]}


def local(ran):
    return {"mcp_servers": [Sums(ran)]}


KINDS = {
    "shell": (shell, SHELL, "shell", {"commands": ["rm -rf build", "ls"], "timeout_ms": 1000}, ["rm -rf build", "ls"]),
    "apply_patch": (patch, PATCH, "apply_patch", PATCH["operation"], [("a.txt", "@@\n-x\n+y\n")]),
    "hosted MCP": (hosted, HOSTED, "add", {"a": 1}, []),
    "local MCP": (local, says(("add", {"a": 1}))[0], "add", {"a": 1}, [{"a": 1}]),
    "custom": (custom, CUSTOM, "sql", {"input": "DROP TABLE x"}, ["DROP TABLE x"]),
}  # fmt: skip
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def agent_of(kind, ran):
    make, call, *_ = KINDS[kind]
    return Agent(name="Builder", model=ScriptedModel([[call], DONE]), **make(ran))


@EVERY_KIND
async def test_what_is_shown_is_what_runs(kind):
    """Commands, patches and arguments are shown as they are, also once stored, and run as they were shown.

    Edit is not offered: the SDK would run what the model wrote.
    """
    *_, name, shown, runs = KINDS[kind]
    ran, approvals = [], deciding(approve())
    agent = agent_of(kind, [])
    paused = await Runner.run(agent, "go")
    request = to_request(paused.interruptions)
    state = await RunState.from_string(agent, paused.to_state().to_string())
    assert to_request(state.get_interruptions()) == request
    assert request.review_configs[0].allowed_decisions == ("approve", "reject", "respond")
    # Two servers may have a tool of one name.
    assert ("MCP server sums" in (request.action_requests[0].description or "")) is ("MCP" in kind)

    result = await run(agent_of(kind, ran), "go", approvals=approvals)

    assert [(action.name, action.args) for action in approvals.reviewer.asked] == [(name, shown)]
    assert ran == runs
    assert result.final_output == "done"


@EVERY_KIND
async def test_rejected_it_does_not_run_and_the_model_reads_why(kind):
    """Each kind has its own form of a no; the person's words are in it."""
    ran = []
    approvals = deciding(reject("Not in November."))

    result = await run(agent_of(kind, ran), "go", approvals=approvals)

    assert ran == []
    assert "Not in November." in str(result.to_input_list()[2])


@pytest.mark.parametrize(
    ("item", "says_what"),
    [
        ({"type": "shell_call", "call_id": "call_1"}, "has nothing that could be shown"),
        ({"type": "shell_call", "action": {"commands": ["ls"]}}, "has no call id"),
    ],
)
async def test_a_call_that_nobody_could_approve_is_refused(item, says_what):
    """What cannot be read, or be answered."""
    (call,) = (await Runner.run(agent_of("shell", []), "go")).interruptions
    call.raw_item = item

    with pytest.raises(InvalidRequestError, match=says_what):
        to_request([call])


class TestAgentsAsTools:
    """An agent that another one calls: its call may wait, and so may the calls inside."""

    def agents(self, desk):
        @editable
        @function_tool(needs_approval=True)
        def search(words: str) -> str:
            """Search."""
            desk.ran.append(("search", words))
            return f"found {words}"

        inner = Agent(
            name="Researcher",
            model=ScriptedModel([says(("search", {"words": "invoices"}), first_call=11), DONE]),
            tools=[search],
        )
        ask = editable(inner.as_tool("research", "Ask the researcher.", needs_approval=True))
        outer = desk.agent(says(("research", {"input": "find invoices"})), DONE, more=[ask])
        return outer, inner

    async def test_both_layers_can_be_edited_also_through_a_stored_pause_inside(self):
        """First the call of the agent, then the tool inside, in another process; both models are told what was changed."""
        desk = Desk()
        outer, inner = self.agents(desk)
        approvals = deciding(edit({"input": "find receipts"}), edit({"words": "receipts"}))
        paused = PausedRun.of(outer, await Runner.run(outer, "go"))
        for _ in range(2):
            paused = await PausedRun.load(outer, paused.dump())
            result, paused = await resumed(paused, approvals)

        assert paused is None
        assert [(a.name, a.description) for a in approvals.reviewer.asked] == [
            ("research", "Hands this to the agent Researcher."),
            ("search", None),
        ]
        assert inner.model.calls[0].input[0]["content"] == "find receipts"
        assert desk.ran == [("search", "receipts")]
        assert '{"words":"receipts"}' in inner.model.calls[1].input[-1]["output"]
        assert '{"input":"find receipts"}' in answers_to_model(result)["call_1"]

    async def test_a_call_inside_that_nobody_was_asked_about_has_no_key(self):
        """The key is that of the call of the agent, and two calls inside would share it."""
        keys = []

        @function_tool
        def look() -> str:
            keys.append(approval_key())
            return "seen"

        inner = Agent(name="Researcher", model=ScriptedModel([says(("look", {})), DONE]), tools=[look])
        ask = inner.as_tool("research", "Ask the researcher.", needs_approval=True)
        outer = Desk().agent(says(("research", {"input": "find"}), first_call=5), DONE, more=[ask])

        await run(outer, "go", approvals=deciding(approve()))

        assert keys == [None]


@pytest.mark.parametrize("wrap", [lambda agent: agent, handoff])
async def test_after_a_handoff_the_other_agents_tools_are_asked_about(wrap):
    """Edit works there as well, and the agent that asks is named."""
    desk = Desk()
    billing = desk.agent(says(("cancel_order", {"order": 7, "reason": "x"})), DONE, name="Billing")
    front = Agent(
        name="Front",
        model=ScriptedModel([says(("transfer_to_billing", {}), first_call=5)]),
        handoffs=[wrap(billing)],
    )
    approvals = deciding(edit({"order": 99, "reason": "x"}))

    result = await run(front, "go", approvals=approvals)

    assert desk.ran == [("cancel_order", {"order": 99, "reason": "x"})]
    assert result.last_agent is billing
    assert [interrupt.context.subagent for interrupt in approvals.asked] == ["Billing"]


def with_servers(ran, *turns):
    servers = [Sums(ran)]
    return EditableMCPAgent(name="Builder", model=ScriptedModel(list(turns)), mcp_servers=servers)


@pytest.mark.parametrize("is_stored", [False, True])
async def test_a_local_mcp_call_is_edited(is_stored):
    """Also in another process: a stored run lists the tools of its servers before anybody's edit is applied."""
    ran, approvals = [], deciding(edit({"a": 2}))
    agent = with_servers(ran, says(("add", {"a": 1})), DONE)
    paused = PausedRun.of(agent, await Runner.run(agent, "go"))
    if is_stored:
        agent = with_servers(ran, DONE)
        paused = await PausedRun.load(agent, paused.dump())

    await run(agent, paused, approvals=approvals)

    assert ran == [{"a": 2}]


class TestNamesInRequireApproval:
    """A misspelt name would let the tool that was meant run with nobody asked."""

    @staticmethod
    def misspelt(ran, kind=Agent, require_approval=None):
        names = require_approval or {"ad": "always"}
        return kind(
            name="Sums", model=ScriptedModel([says(("add", {"a": 1})), DONE]), mcp_servers=[Sums(ran, names)]
        )

    @pytest.mark.parametrize("kind", [Agent, EditableMCPAgent])
    @pytest.mark.parametrize(
        "require_approval", [{"ad": "always"}, {"ad": True}, {"always": {"tool_names": ["ad"]}}]
    )
    async def test_a_name_that_no_tool_of_the_server_has_is_an_error_before_anything_runs(
        self, kind, require_approval
    ):
        """In each form that the SDK takes, with the nearest name that there is."""
        ran = []
        agent = self.misspelt(ran, kind, require_approval)

        with pytest.raises(
            InvalidRequestError,
            match=r"MCP server 'sums': require_approval\['ad'\]: no tool has this name \(did you mean 'add'\?\)",
        ):
            await run(agent, "go", approvals=deciding())

        assert ran == []
        assert agent.model.calls == ()

    @pytest.mark.parametrize("behind", ["a handoff", "a handoff with options", "a tool"])
    async def test_agents_behind_the_first_one_are_looked_at_as_well(self, behind):
        """Also when two agents hand over to each other."""
        ran = []
        inner = self.misspelt(ran)
        others = {
            "a handoff": {"handoffs": [inner]},
            "a handoff with options": {"handoffs": [handoff(inner)]},
            "a tool": {"tools": [editable(inner.as_tool("sum", "Add."))]},
        }
        front = Agent(name="Front", model=ScriptedModel([DONE]), **others[behind])
        inner.handoffs = [front]

        with pytest.raises(InvalidRequestError, match="did you mean 'add'"):
            await run(front, "go", approvals=deciding())

    async def test_streams_stored_runs_and_workers_look_as_well(self):
        """Wherever a run can begin or go on."""
        ran, approvals = [], deciding(approve())
        agent = self.misspelt(ran)
        with pytest.raises(InvalidRequestError, match="did you mean 'add'"):
            await anext(aiter(stream(agent, "go", approvals=approvals)))
        with pytest.raises(InvalidRequestError, match="did you mean 'add'"):
            await ResumableAgent("sums", agent, version="1").start("go", approvals=approvals)
        good = with_servers(ran, says(("add", {"a": 1})))
        text = PausedRun.of(good, await Runner.run(good, "go")).dump()
        agent.name = good.name
        with pytest.raises(InvalidRequestError, match="did you mean 'add'"):
            await run(agent, await PausedRun.load(agent, text), approvals=approvals)

        assert ran == []

    async def test_tools_that_a_filter_hides_from_the_model_are_there(self):
        """They stay named as gated, and need no filter to be written anew for that."""

        class Filtered(Sums):
            cached_tools = tuple(Tool(name=name, description="", inputSchema={}) for name in ("add", "rm"))

        servers = [Filtered([], {"rm": "always"})]
        agent = Agent(name="Cleaner", model=ScriptedModel([DONE]), mcp_servers=servers)

        assert (await run(agent, "go", approvals=deciding())).final_output == "done"

    async def test_a_server_that_lists_nothing_now_is_named_in_the_log(self, caplog):
        """Another agent's server may be connected later; the SDK runs nothing of it before."""
        server = Sums([], {"ad": "always"})

        async def list_tools(run_context=None, agent=None):
            raise ConnectionError("not connected")

        server.list_tools = list_tools
        later = Agent(name="Later", model=ScriptedModel([DONE]), mcp_servers=[server])
        front = Agent(name="Front", model=ScriptedModel([DONE]), handoffs=[later])

        await run(front, "go", approvals=deciding())

        assert "MCP server 'sums' did not list its tools" in caplog.text
