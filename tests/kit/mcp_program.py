"""A server of tools as a program of its own, which needs nothing but Python.

    python tests/kit/mcp_program.py [noise|huge|silent|crash|child FILE|daemon FILE]

Its tool ``environment`` returns what it was given, ``say`` the text in its arguments, ``process``
its process id, and ``fail`` always fails.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

OLD = "2025-11-25"
TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}}
    for name in ("environment", "say", "process", "fail")
]

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
# Starts the rest of its line in a session of its own, tells who that is, and is gone.
APART = """
import subprocess, sys
print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=2).pid)
"""


def left_alone() -> int:
    """A process that has no parent any more, and holds on to our pipes."""
    return int(subprocess.check_output([sys.executable, "-c", APART, *SLEEP]))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def answered(method: str, params: dict[str, Any], mode: str) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": OLD,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "program", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if params["name"] == "environment":
        return {"content": [], "structuredContent": dict(os.environ)}
    if params["name"] == "process":
        return {"content": [], "structuredContent": {"pid": os.getpid()}}
    if params["name"] == "fail":
        return {"content": [{"type": "text", "text": "It failed."}], "isError": True}
    text = "x" * 6_000_000 if mode == "huge" else str(params.get("arguments", {}).get("text", ""))
    return {"content": [{"type": "text", "text": text}]}


def main(mode: str, where: str) -> None:
    if mode == "crash":
        sys.exit("I cannot start.")
    if mode in {"child", "daemon"}:
        child = left_alone() if mode == "daemon" else subprocess.Popen(SLEEP).pid
        with open(f"{where}.new", "w") as file:
            file.write(f"{os.getpid()} {child}")
        os.replace(f"{where}.new", where)
    for line in sys.stdin:
        asked = json.loads(line)
        if mode == "noise":
            say("Listening, and other chatter.")
            greeting = os.environ.get("GREETING", "")
            sys.stderr.write(f"{greeting * 20_000}\nI was told {greeting}.\n")
        if mode == "silent" and asked["method"] == "tools/call":
            time.sleep(600)
        if "id" not in asked:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in {"initialize", "tools/list", "tools/call"}:
            answer["result"] = answered(asked["method"], asked.get("params", {}), mode)
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        say(json.dumps(answer))


if __name__ == "__main__":
    main(*[*sys.argv[1:], "", ""][:2])
