"""Print the size of the MCP tool list: bytes and approximate tokens, by tool and by toolset.

``python -m scripts.tool_list_size [--toolset NAMES] [--output-schemas] [--totals]``. Sizes are
those of the JSON that ``tools/list`` sends to an administrator. A token is counted as four bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.limits import Limits
from mainspring.definition.tool_patterns import map_tool_aliases
from mainspring.registry import build_registry
from mainspring.surfaces.mcp.server import describe, serialize_tool
from mainspring.surfaces.mcp.toolsets import DESCRIPTIONS, ToolSelection, parse_toolsets

VERSION: Final = "2025-11-25"
_BYTES_PER_TOKEN: Final = 4
_HEADER: Final = f"{'':<34}{'total':>9}{'text':>9}{'input':>9}{'output':>9}{'tokens':>9}"


@dataclass(frozen=True, slots=True)
class ToolSize:
    """The bytes of one tool, or of a list of tools."""

    total: int
    description: int
    input_schema: int
    output_schema: int

    @property
    def tokens(self) -> int:
        return round(self.total / _BYTES_PER_TOKEN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolset", help="toolsets, separated by commas; without it: default")
    parser.add_argument("--output-schemas", action="store_true")
    parser.add_argument("--totals", action="store_true", help="print the toolsets only")
    given = parser.parse_args()
    capabilities = list_capabilities()
    names = None if given.toolset is None else parse_toolsets(given.toolset)
    print(_HEADER)
    if not given.totals:
        selection = ToolSelection(names, given.output_schemas)
        sizes = {tool["name"]: measure(tool) for tool in list_tools(capabilities, selection)}
        for name, size in sorted(sizes.items(), key=lambda item: -item[1].total):
            print(_row(name, size))
        print()
    for name in DESCRIPTIONS:
        selection = ToolSelection(frozenset({name}), given.output_schemas)
        tools = list(list_tools(capabilities, selection))
        print(_row(f"{name} ({len(tools)})", measure_list(tools)))


def list_capabilities() -> list[Capability]:
    """The built-in capabilities that a person or their token can call."""
    found = build_registry(Limits()).capabilities.values()
    return [one for one in found if one.annotations.audience is not Audience.RUNS]


def list_tools(
    capabilities: list[Capability], selection: ToolSelection
) -> Iterator[dict[str, Any]]:
    """The tools as they are sent, ordered by name."""
    aliases = {full: alias for alias, full in map_tool_aliases(c.id for c in capabilities).items()}
    for one in sorted(capabilities, key=lambda one: one.id):
        if selection.names_capability(one):
            tool = describe(
                aliases.get(one.id, one.id),
                one,
                one.input_schema,
                output_schema=selection.output_schemas,
            )
            yield serialize_tool(VERSION, tool)


def measure(tool: dict[str, Any]) -> ToolSize:
    return ToolSize(
        len(orjson.dumps(tool)),
        len(orjson.dumps(tool["description"])),
        len(orjson.dumps(tool["inputSchema"])),
        len(orjson.dumps(tool["outputSchema"])) if "outputSchema" in tool else 0,
    )


def measure_list(tools: list[dict[str, Any]]) -> ToolSize:
    """The response as a whole: the tools and the message around them."""
    parts = [measure(tool) for tool in tools]
    message = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    return ToolSize(
        len(orjson.dumps(message)),
        sum(part.description for part in parts),
        sum(part.input_schema for part in parts),
        sum(part.output_schema for part in parts),
    )


def _row(name: str, size: ToolSize) -> str:
    figures = (
        size.total,
        size.description,
        size.input_schema,
        size.output_schema,
        size.tokens,
    )
    return f"{name:<34}" + "".join(f"{figure:>9,}" for figure in figures)


if __name__ == "__main__":
    main()
