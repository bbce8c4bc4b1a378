"""LangChain's pause for each call: what is allowed, and the tool's arguments, are in its `response_schema`."""

from typing import Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from agent_adapter.dialects import langchain_per_call
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve, respond
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

    name: str
    reports: list["Person"] = []
    level: Literal["junior", "senior"] = "junior"


class Team(BaseModel):
    """Somebody's people."""

    lead: Person


async def test_definitions_that_definitions_need_are_carried_along():
    """A form of a model within a model has all its fields."""

    def form(team: Team) -> str:
        """Form a team."""
        return team.lead.name

    payload = await payload_for(StructuredTool.from_function(form), {"team": {"lead": {"name": "Al"}}})

    (config,) = langchain_per_call.to_request(payload).review_configs

    assert sorted(config.args_schema["$defs"]) == ["Person", "Team"]


async def test_definitions_that_the_arguments_need_are_carried_along():
    """Nested and recursive models keep their references; what belongs to the decisions stays behind."""

    def hire(person: Person) -> str:
        """Hire."""
        return person.name

    payload = await payload_for(StructuredTool.from_function(hire), {"person": {"name": "Al"}})

    (config,) = langchain_per_call.to_request(payload).review_configs

    assert config.args_schema["properties"]["person"] == {"$ref": "#/$defs/Person"}
    assert list(config.args_schema["$defs"]) == ["Person"]
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


def test_unknown_kind_beside_known_ones_is_carried():
    """A newer framework may allow what this version has not met."""
    payload = payload_with({"oneOf": [branch("approve"), branch("postpone")]})

    assert langchain_per_call.to_request(payload).review_configs[0].allowed_decisions == (
        "approve",
        "postpone",
    )


LOOP = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "oneOf": [{"$ref": "#/$defs/A"}]}
BROKEN = {
    "no schema": (payload_with(None), "pause.response_schema"),
    "no call id": (payload_with(branch("approve"), tool_call_id=None), "pause.tool_call_id"),
    "arguments that are no object": (payload_with(branch("approve"), args=[]), "pause.args"),
    "arguments that are no JSON": (payload_with(branch("approve"), args={"x": b""}), r"args.x: bytes"),
    "schema without decisions": (payload_with({"type": "object"}), "no decision found"),
    "schema with unknown decisions only": (payload_with(branch("maybe")), r"none of \['maybe'\]"),
    "reference to nothing": (payload_with({"oneOf": [{"$ref": "#/$defs/A"}]}), "no decision found"),
    "references in a circle": (payload_with(LOOP), "no decision found"),
    "choices that are no list": (payload_with({"oneOf": 3, "$defs": []}), "no decision found"),
    "properties that are no object": (payload_with({"oneOf": [{"properties": []}, 1]}), "no decision found"),
    "kinds that are no text": (payload_with(branch(["approve"])), "no decision found"),
    "schema that is no JSON": (payload_with({"oneOf": {1, 2}}), "pause.response_schema.oneOf: set"),
}


@pytest.mark.parametrize(("payload", "says_what"), BROKEN.values(), ids=BROKEN)
def test_broken_pause_is_refused_naming_the_place(payload, says_what):
    """One sentence, before anything is stored."""
    with pytest.raises(InvalidRequestError, match=says_what):
        langchain_per_call.to_request(payload)


async def test_answer_is_the_decision_itself():
    """Not a list of one."""
    payload = (await payloads())["ask_user"]

    assert langchain_per_call.to_resume([respond("staging")], payload) == {
        "type": "respond",
        "message": "staging",
    }


@pytest.mark.parametrize("decisions", [[], [respond("a"), respond("b")], [approve()]])
async def test_answer_that_does_not_fit_is_refused(decisions):
    """One decision, of an allowed kind."""
    payload = (await payloads())["ask_user"]

    with pytest.raises(DecisionNotAllowedError):
        langchain_per_call.to_resume(decisions, payload)
