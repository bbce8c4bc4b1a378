"""A local stand-in for the HTTP API of a model: real clients keep their connections to it, as they do to the real one."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.support.web import served


class ModelApi:
    """Speaks as much of OpenAI's Responses and of Anthropic's Messages as agents need.

    It answers a person with a call of each tool that it has arguments for, and a tool with *done*. `asked` keeps what came.
    """

    def __init__(self, **calls: dict[str, Any]) -> None:
        self.calls = calls
        self.asked: list[list[Any]] = []
        self.url = ""

    def _calls(self, conversation: Any, tools: list[Any]) -> dict[str, dict[str, Any]]:
        self.asked.append(conversation if isinstance(conversation, list) else [{"role": "user"}])
        last = self.asked[-1][-1]
        named = {tool["name"] for tool in tools} & self.calls.keys()
        is_person = last.get("role") == "user" and "tool_result" not in str(last)
        return {f"{name}:{len(self.asked)}": self.calls[name] for name in named} if is_person else {}

    async def _openai(self, request: web.Request) -> web.Response:
        body = await request.json()
        output: list[dict[str, Any]] = [
            {"type": "function_call", "call_id": id, "name": id.partition(":")[0], "arguments": json.dumps(args)}
            for id, args in self._calls(body["input"], body["tools"]).items()
        ]  # fmt: skip
        said = {"type": "output_text", "text": "done", "annotations": []}
        output = output or [
            {"type": "message", "role": "assistant", "status": "completed", "content": [said]}
        ]
        response = {"id": "r", "object": "response", "created_at": 0, "model": "gpt-5", "tools": [],
                    "output": [{"id": "i", **item} for item in output], "tool_choice": "auto",
                    "parallel_tool_calls": True}  # fmt: skip
        if not body.get("stream"):
            return web.json_response(response)
        event = {"type": "response.completed", "sequence_number": 0, "response": response}
        return web.Response(text=f"data: {json.dumps(event)}\n\n", content_type="text/event-stream")

    async def _anthropic(self, request: web.Request) -> web.Response:
        body = await request.json()
        content = [
            {"type": "tool_use", "id": id, "name": id.partition(":")[0], "input": args}
            for id, args in self._calls(body["messages"], body.get("tools", [])).items()
        ]
        return web.json_response(
            {"id": "m", "type": "message", "role": "assistant", "model": "claude",
             "content": content or [{"type": "text", "text": "done"}],
             "usage": {"input_tokens": 1, "output_tokens": 1}}
        )  # fmt: skip

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["ModelApi"]:
        """Serve in this event loop while the body runs."""
        routes = web.post("/v1/responses", self._openai), web.post("/v1/messages", self._anthropic)
        async with served(*routes) as self.url:
            yield self
