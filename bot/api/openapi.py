"""The description of the API for programs: OpenAPI 3.1, from the models that read and write."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from bot.api.messages import Ask, Claiming, DecisionEvent, Failure, Report, Resumed, State

Json = dict[str, Any]

MODELS: tuple[type[BaseModel], ...] = (Ask, Claiming, Resumed, Report, State, DecisionEvent, Failure)
REFUSALS = {
    "400": "The body is not JSON.",
    "401": "No valid key.",
    "404": "No such interrupt of this agent; or there is no key at all, so the API is off.",
    "409": "It does not fit how the interrupt stands: `pending`, `ended` without an answer, `claimed` by another process, "
    "`consumed` already, or in `conflict` with what was asked under these names; or the action was not approved "
    "(`not_allowed`).",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body has a `Content-Encoding`.",
    "422": "The body or a parameter says what cannot be; the message names the place.",
    "429": "More requests than this key may send; the header `Retry-After` says how many seconds to wait.",
    "503": "Redis does not answer. Send the request again: every one of them may be repeated.",
}
READING, WRITING = (
    ("401", "404", "429", "503"),
    (*("400", "401", "404", "408", "409", "413", "415", "422", "429", "503"),),
)

ID: Json = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "As `POST /v1/interrupts` gave it.",
    "schema": {"type": "string", "pattern": r"^[a-z0-9-]{1,40}\.[0-9a-f]{32}$"},
}
WAIT: Json = {
    "name": "wait",
    "in": "query",
    "description": "Seconds to wait for the answer. When there is none by then, the answer says how the interrupt is now.",
    "schema": {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
}
REASON: Json = {
    "name": "reason",
    "in": "query",
    "description": "Shown on the card.",
    "schema": {"type": "string", "maxLength": 500},
}
LAST_EVENT_ID: Json = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "Id of the last event that was received, so that only later ones are sent.",
    "schema": {"type": "string"},
}
TRACE: Json = {
    "name": "traceparent",
    "in": "header",
    "description": "Where the caller stands in a trace, as W3C Trace Context says. Anything else is ignored.",
    "schema": {"type": "string"},
}
EVENT: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": ["decision", "settled", "failure"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}


class _Schemas(GenerateJsonSchema):
    """Writes a decision as any of its kinds: one of a newer version is only known by its type."""

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Json:
        written = super().tagged_union_schema(schema)
        return {"anyOf": written["oneOf"]}


@cache
def document() -> Json:
    """Give the whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Assent",
            "version": "1",
            "summary": "A person between an AI agent's tool call and its execution, in Slack.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key of one agent: `ass_<id>_<secret>`, made by `python -m bot keys create`.",
                }
            },
            "schemas": _schemas(),
            "responses": {
                status: {"description": text, **_json(Failure), **_headers(status)}
                for status, text in REFUSALS.items()
            },
        },
    }


def _paths() -> Json:
    one = "/v1/interrupts/{id}"
    leading_on = {
        "headers": {
            "Location": {
                "description": "Address of the interrupt.",
                "required": True,
                "schema": {"type": "string"},
            }
        },
        "links": {
            name: {"operationId": name, "parameters": {"id": "$response.body#/id"}}
            for name in ("read", "follow", "claim", "resumed", "report", "withdraw")
        },
    }
    state = {"200": _answers("The interrupt as it is now.")}
    return {
        "/v1/interrupts": {
            "post": _operation(
                "ask",
                "Ask people about a pause",
                "The same `run` and `pause` find the interrupt that asks already, so that a request may be repeated and "
                "an agent restarted.",
                {
                    "201": {**_answers("It is asked now."), **leading_on},
                    "200": {**_answers("It was asked before."), **leading_on},
                },
                WRITING,
                parameters=[TRACE],
                body=Ask,
            )
        },
        one: {
            "parameters": [ID],
            "get": _operation(
                "read",
                "Read or await the answer",
                "Only reads.",
                state,
                (*READING, "409", "422"),
                parameters=[WAIT],
            ),
            "delete": _operation(
                "withdraw",
                "Withdraw",
                "For a question that nobody needs any more. One that has ended stays as it is.",
                {"202": _answers("The bot will end it."), "200": _answers("It has ended.")},
                (*READING, "409", "422"),
                parameters=[REASON],
            ),
        },
        f"{one}/events": {
            "parameters": [ID],
            "get": _operation(
                "follow",
                "Follow the decisions",
                "Server-sent events: `decision` for each one, with a DecisionEvent as its data, then `settled` with the "
                "State, and the stream ends. `failure` with a Failure when it has to end before. Comments keep it alive.",
                {
                    "200": {
                        "description": "The events.",
                        "content": {"text/event-stream": {"schema": EVENT}},
                    },
                    "204": {"description": "The last event was received before."},
                },
                (*READING, "409"),
                parameters=[LAST_EVENT_ID],
            ),
        },
        f"{one}/claim": {
            "parameters": [ID],
            "post": _operation(
                "claim",
                "Claim the right to resume",
                "For an agent that runs in several processes: one of them gets it, and renews it by the same name.",
                state,
                WRITING,
                body=Claiming,
            ),
        },
        f"{one}/resumed": {
            "parameters": [ID],
            "post": _operation(
                "resumed",
                "Say that the run went on",
                "Final, and safe to repeat. Until then the card says that it waits for the agent.",
                state,
                WRITING,
                body=Resumed,
                optional=True,
            ),
        },
        f"{one}/outcome": {
            "parameters": [ID],
            "post": _operation(
                "report",
                "Report what became of a call",
                "Of an approved or edited action. The first outcome is kept, and the answer has it in `outcomes`. The card "
                "then says that the call is done, or that it failed, with the error.",
                state,
                WRITING,
                body=Report,
            ),
        },
        "/v1/openapi.json": {
            "get": {
                **_operation(
                    "document",
                    "This document",
                    "Needs no key once there is one.",
                    {
                        "200": {
                            "description": "OpenAPI 3.1.",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        }
                    },
                    ("404", "429", "503"),
                ),
                "security": [],
            }
        },
    }


def _operation(
    name: str,
    summary: str,
    description: str,
    answers: Json,
    refusals: tuple[str, ...],
    *,
    parameters: list[Json] | None = None,
    body: type[BaseModel] | None = None,
    optional: bool = False,
) -> Json:
    operation: Json = {"operationId": name, "summary": summary, "description": description}
    if parameters:
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {"required": not optional, **_json(body)}
    refused = {status: {"$ref": f"#/components/responses/{status}"} for status in refusals}
    return {**operation, "responses": dict(sorted({**answers, **refused}.items()))}


def _answers(description: str) -> Json:
    return {"description": description, **_json(State)}


def _json(model: type[BaseModel]) -> Json:
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"content": {"application/json": {"schema": schema}}}


def _headers(status: str) -> Json:
    if status != "429":
        return {}
    return {"headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}}


def _schemas() -> Mapping[str, Any]:
    _, found = models_json_schema(
        [(model, "validation") for model in MODELS],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Schemas,
    )
    schemas: Json = found["$defs"]
    return schemas
