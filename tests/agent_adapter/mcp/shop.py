"""A shop as an MCP server: it writes down what it did. As a program, it serves standard input, and its book is a file."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import MCPError
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    INTERNAL_ERROR,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

ORDER = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
PAY = Tool(name="pay", description="Pay an order.", input_schema=ORDER)
TOOLS = [
    PAY,
    Tool(name="look_up", input_schema=ORDER, annotations=ToolAnnotations(read_only_hint=True)),
    Tool(name="price", input_schema=ORDER, output_schema={"type": "object"}),
    Tool(name="paint", input_schema={"type": "object"}),
    Tool(name="refuse", input_schema={"type": "object"}),
    Tool(name="fail", input_schema={"type": "object"}),
    Tool(name="lose", input_schema={"type": "object"}),
    Tool(name="hang", input_schema={"type": "object"}),
    Tool(name="end", input_schema={"type": "object"}),
]
PICTURE = ImageContent(type="image", data="aGk=", mime_type="image/png")


class Shop:
    """What is for sale, and what was done. The list of tools has two pages."""

    def __init__(self, write_down: Callable[[str], Any]) -> None:
        self.write_down = write_down
        self.tools = [*TOOLS]
        self.server = Server("shop", on_list_tools=self.list_tools, on_call_tool=self.call_tool)

    async def list_tools(self, ctx: Any, params: Any) -> ListToolsResult:
        if params is None or params.cursor is None:
            return ListToolsResult(tools=self.tools[:1], next_cursor="rest")
        return ListToolsResult(tools=self.tools[1:])

    async def call_tool(self, ctx: Any, params: Any) -> CallToolResult:
        known = ("progress", "io.modelcontextprotocol")
        more = [name for name in params.meta or {} if not name.startswith(known)]
        more += [params.request_state] if params.request_state else []
        self.write_down(" ".join([params.name, json.dumps(params.arguments), *more]))
        match params.name:
            case "paint":
                return CallToolResult(content=[PICTURE])
            case "price":
                return CallToolResult(content=[], structured_content={"cents": 5})
            case "refuse":
                return CallToolResult(content=[TextContent(type="text", text="sold out")], is_error=True)
            case "fail":
                raise MCPError(-32050, "the shop is closed", {"until": "9:00"})
            case "lose":
                # The SDK gives the same error where an answer was lost on the way.
                raise MCPError(INTERNAL_ERROR, "504 Gateway Timeout")
            case "hang":
                await asyncio.Event().wait()
            case "end":
                os._exit(1)
        return CallToolResult(content=[TextContent(type="text", text=f"{params.name}: done")])


async def main(book: Path) -> None:
    def write_down(line: str) -> None:
        with book.open("a") as file:
            file.write(line + "\n")

    shop = Shop(write_down)
    ours = sorted(name for name in os.environ if name.startswith(("REDIS", "ASSENT")))
    write_down(f"started by {os.getppid()} with {ours}")
    async with stdio_server() as (reading, writing):
        await shop.server.run(reading, writing, shop.server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
