"""A stand-in for the Messages API: it answers the first question with tool calls, and then ends the turn."""

import json
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

Json = dict[str, Any]
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": _USAGE}


class MessagesApi(ThreadingHTTPServer):
    """Serves a scripted model on this machine, inside of `with`. `results` has what Claude Code sent back for each call, by its id."""

    daemon_threads = True

    def __init__(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.results: dict[str, str] = {}
        self._calls = calls

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, asked: Json) -> Iterator[str]:
        """Give the events of what the model says next."""
        for message in asked.get("messages", ()):
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part.get("type") == "tool_result":
                    self.results[part["tool_use_id"]] = json.dumps(part.get("content"))
        calls = self._calls if asked.get("tools") and not self.results else []
        yield _event("message_start", message={**_MESSAGE, "model": asked.get("model")})
        for index, (name, given) in enumerate(calls):
            call = {"type": "tool_use", "id": f"toolu_{index:02d}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            yield _event("content_block_start", index=index, content_block=call)
            yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        stop = {"stop_reason": "tool_use" if calls else "end_turn"}
        yield _event("message_delta", delta=stop, usage=_USAGE)
        yield _event("message_stop")


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


class _Answers(BaseHTTPRequestHandler):
    server: MessagesApi

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(self.server.answer(asked)).encode())
