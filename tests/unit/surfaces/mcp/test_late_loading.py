"""Whoever never uses MCP does not pay for its library."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys
import mainspring.surfaces.cli.app
import mainspring.surfaces.mcp.mount
import mainspring.surfaces.rest.app
import mainspring.wiring
print(sorted(name for name in sys.modules if name.split(".")[0] in {"mcp", "mcp_types"}))
"""


def test_the_library_is_not_loaded_by_starting_the_server() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, timeout=120
    )

    assert ended.stdout.strip() == "[]"
