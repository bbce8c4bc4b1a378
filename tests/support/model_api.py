"""A local stand-in for the HTTP API of a model: real clients keep their connections to it, as they do to the real one."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class ModelApi:
    """Speaks as much of OpenAI's Responses and of Anthropic's Messages as agents need.

    It answers a person with the first tool of the request that it has arguments for, and a tool with *done*.
    """

    def __init__(self, **calls: dict[str, Any]) -> None:
        self.calls = calls
        self.asked: list[Any] = []
        """The conversations, as they came."""
        self.url = ""
        self._ids = itertools.count(1)

    def _turn(self, conversation: Any, body: Any) -> tuple[str, dict[str, Any]] | None:
        self.asked.append(conversation)
        last = conversation[-1] if isinstance(conversation, list) else {"role": "user"}
        is_person = last.get("role") == "user" and "tool_result" not in str(last)
        names = [tool["name"] for tool in body["tools"] if tool["name"] in self.calls]
        return (names[0], self.calls[names[0]]) if is_person else None

    async def responses(self, request: web.Request) -> web.Response:
        body = await request.json()
        number = next(self._ids)
        if call := self._turn(body["input"], body):
            name, arguments = call
            item = {"type": "function_call", "call_id": f"call_{number}", "name": name,
                    "arguments": json.dumps(arguments)}  # fmt: skip
        else:
            text = {"type": "output_text", "text": "done", "annotations": []}
            item = {"type": "message", "role": "assistant", "content": [text]}
        output = [{"id": f"item_{number}", "status": "completed", **item}]
        response = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": "gpt-5",
                    "status": "completed", "output": output, "parallel_tool_calls": True,
                    "tool_choice": "auto", "tools": []}  # fmt: skip
        if not body.get("stream"):
            return web.json_response(response)
        event = {"type": "response.completed", "sequence_number": 0, "response": response}
        text = f"event: response.completed\ndata: {json.dumps(event)}\n\n"
        return web.Response(text=text, content_type="text/event-stream")

    async def messages(self, request: web.Request) -> web.Response:
        body = await request.json()
        number = next(self._ids)
        if call := self._turn(body["messages"], body):
            content = {"type": "tool_use", "id": f"call_{number}", "name": call[0], "input": call[1]}
        else:
            content = {"type": "text", "text": "done"}
        return web.json_response(
            {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude",
             "content": [content], "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None,
             "usage": {"input_tokens": 1, "output_tokens": 1}}
        )  # fmt: skip

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["ModelApi"]:
        """Serve in this event loop while the body runs."""
        app = web.Application()
        app.router.add_post("/v1/responses", self.responses)
        app.router.add_post("/v1/messages", self.messages)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()
