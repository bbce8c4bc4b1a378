"""An MCP server over standard input, with a tool that makes a file."""

import json
import sys
from pathlib import Path

TOOL = {
    "name": "touch",
    "description": "Make a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
}

for line in sys.stdin:
    asked = json.loads(line)
    match asked["method"]:
        case "initialize":
            version = asked["params"]["protocolVersion"]
            result = {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "files", "version": "1"},
            }
        case "tools/list":
            result = {"tools": [TOOL]}
        case "tools/call":
            Path(asked["params"]["arguments"]["path"]).touch()
            result = {"content": [{"type": "text", "text": "made"}]}
        case _:
            result = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
