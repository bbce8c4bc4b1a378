"""LangChain's pause for each call: what is allowed, and the tool's arguments, are in its `response_schema`."""

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from agent_adapter.dialects import langchain_per_call
from tests.agent_adapter.integrations.office import CONFIG, GO, MAIL, TURN, Office
from tests.support.scripted_model import ScriptedModel, says


def payload_of(pause):
    return {**pause.value, "response_schema": pause.response_schema}


async def payloads(turn=TURN, **settings):
    """Give the payload of each pause by its tool."""
    agent = Office().agent(turn, mode="per_call", **settings)
    return {p.value["name"]: payload_of(p) for p in (await agent.ainvoke(GO, CONFIG))["__interrupt__"]}


async def payload_for(tool, args, allowed=("approve", "edit")):
    """Give the payload of the pause of one call of this tool."""
    agent = create_agent(
        ScriptedModel(turns=[says((tool.name, args))]),
        [tool],
        middleware=[
            HumanInTheLoopMiddleware(
                {tool.name: {"allowed_decisions": list(allowed)}}, interrupt_mode="per_call"
            )
        ],
        checkpointer=InMemorySaver(),
    )
    (pause,) = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]
    return payload_of(pause)


async def test_real_pauses_become_requests():
    """The framework lists no decisions; they are the constants of its schema, also of the schema of a single one."""
    found = {name: langchain_per_call.to_request(payload) for name, payload in (await payloads()).items()}

    assert {name: request.review_configs[0].allowed_decisions for name, request in found.items()} == {
        "send_email": ("approve", "edit", "reject", "respond"),
        "delete_file": ("approve", "reject"),
        "ask_user": ("respond",),
    }
    assert {name: request.action_requests[0].id for name, request in found.items()} == {
        "send_email": "call_1",
        "delete_file": "call_3",
        "ask_user": "call_4",
    }
    assert found["send_email"].action_requests[0].args == MAIL
    assert found["send_email"].action_requests[0].description is None
    assert found["delete_file"].action_requests[0].description == "This cannot be undone."


async def test_only_edit_as_single_decision_is_read_too():
    """Its schema stands without `oneOf`."""
    settings = {"interrupt_on": {"send_email": {"allowed_decisions": ["edit"]}}}
    (payload,) = (await payloads(says(("send_email", MAIL)), **settings)).values()

    (config,) = langchain_per_call.to_request(payload).review_configs

    assert config.allowed_decisions == ("edit",)
    assert config.args_schema["required"] == ["to", "subject"]


async def test_schema_of_the_arguments_comes_with_the_edit_and_only_then():
    """It is the tool's own, and stands by itself."""
    found = await payloads()

    (config,) = langchain_per_call.to_request(found["send_email"]).review_configs
    (no_edit,) = langchain_per_call.to_request(found["delete_file"]).review_configs

    assert config.args_schema == {
        "description": "Send an email.",
        "properties": {
            "to": {"title": "To", "type": "string"},
            "subject": {"title": "Subject", "type": "string"},
            "body": {"default": "", "title": "Body", "type": "string"},
        },
        "required": ["to", "subject"],
        "title": "send_email",
        "type": "object",
    }
    assert no_edit.args_schema is None


class Person(BaseModel):
    """Somebody."""

    reports: list["Person"] = []


class Team(BaseModel):
    """Somebody's people."""

    lead: Person


async def test_definitions_that_the_arguments_need_are_carried_along():
    """Nested and recursive models keep their references; what belongs to the decisions stays behind."""

    def form(team: Team) -> str:
        """Form a team."""
        return "formed"

    payload = await payload_for(StructuredTool.from_function(form), {"team": {"lead": {}}})

    (config,) = langchain_per_call.to_request(payload).review_configs

    assert config.args_schema["properties"]["team"] == {"$ref": "#/$defs/Team"}
    assert sorted(config.args_schema["$defs"]) == ["Person", "Team"]
    assert config.args_schema["$defs"]["Person"]["properties"]["reports"]["items"] == {
        "$ref": "#/$defs/Person"
    }


async def test_tool_with_a_json_schema_is_shown_as_it_is():
    """Tools of MCP servers bring a finished schema instead of a model."""
    schema = {
        "type": "object",
        "properties": {"to": {"type": "string", "format": "email"}},
        "required": ["to"],
    }
    tool = StructuredTool(name="send", description="Send.", args_schema=schema, func=lambda **args: "sent")

    (config,) = langchain_per_call.to_request(await payload_for(tool, {"to": "a"})).review_configs

    assert config.args_schema.items() >= schema.items()


def payload_with(response_schema, **changes):
    call = {"type": "tool_approval", "tool_call_id": "call_1", "name": "t", "args": {}, "description": ""}
    return {**call, "response_schema": response_schema, **changes}


def branch(kind, **properties):
    return {"type": "object", "properties": {"type": {"const": kind}, **properties}}


def test_schema_that_allows_any_arguments_is_left_out():
    """The framework writes a bare object where it has no tool at hand; the caller's tools may know more."""
    any_arguments = {"properties": {"args": {"title": "Args", "type": "object"}}}
    payload = payload_with({"oneOf": [branch("approve"), branch("edit", edited_action=any_arguments)]})

    assert langchain_per_call.to_request(payload).review_configs[0].args_schema is None
