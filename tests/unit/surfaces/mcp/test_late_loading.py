"""Without MCP its library is not loaded, nor the web server by a command."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys
def loaded(*libraries):
    return sorted(name for name in sys.modules if name.split(".")[0] in libraries)
import mainspring.surfaces.cli.app
import mainspring.app
print(loaded("fastapi", "starlette", "uvicorn"))
import mainspring.surfaces.mcp.bridge
import mainspring.surfaces.mcp.mount
import mainspring.surfaces.rest.app
print(loaded("mcp", "mcp_types"))
"""


def test_a_library_is_loaded_by_those_who_use_it_alone() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, timeout=120
    )

    assert ended.stdout.split("\n") == ["[]", "[]", ""]
