"""The config of a script step, as its form and its validator know it."""

from __future__ import annotations

from typing import Any, Final

SOURCE_CHARACTERS: Final = 200_000
LEAST_WALL: Final = 5
MOST_WALL: Final = 300
DEFAULT_WALL: Final = 60

_EXAMPLE: Final = """\
import { brains } from "https://brains/sdks/automation-sdk-v1.ts";

const board = await brains.get_board({ name: "Revenue weekly" });
console.log(`${board.data.datasets.default.rows.length} rows`);
return { rows: board.data.datasets.default.rows.length };
"""


def build_script_config_schema() -> dict[str, Any]:
    """Its source and its grants are approved as they stand, so neither is a template."""
    return {
        "type": "object",
        "required": ["source"],
        "additionalProperties": False,
        "properties": {
            "source": {
                "type": "string",
                "minLength": 1,
                "maxLength": SOURCE_CHARACTERS,
                "description": "The whole file, main.ts. Secrets stand in it as {{name}}, in "
                "the url, headers and query of http_fetch.",
                "x-mainspring-scope": "none",
                "x-mainspring-widget": "typescript",
            },
            "grants": {
                "type": "array",
                "maxItems": 100,
                "description": "What it may call; left out, it follows from the source.",
                "x-mainspring-scope": "none",
                "items": {
                    "type": "object",
                    "required": ["tool"],
                    "additionalProperties": False,
                    "properties": {
                        "tool": {"type": "string", "minLength": 1, "maxLength": 200},
                        "params": {"type": "object"},
                    },
                },
            },
            "input": {"description": "Any JSON value; the script sees it as `input`."},
            "wall_seconds": {
                "type": "integer",
                "minimum": LEAST_WALL,
                "maximum": MOST_WALL,
                "default": DEFAULT_WALL,
                "description": "How long it may run before it is killed.",
                "x-mainspring-scope": "none",
            },
            "output_schema": {
                "type": "object",
                "description": "JSON Schema of what it returns; left out, anything is taken.",
                "x-mainspring-scope": "none",
            },
        },
        "examples": [{"source": _EXAMPLE, "grants": [{"tool": "get_board"}]}],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "which file?"},
            {"value": {"source": ""}, "reason": "an empty file does nothing"},
            {"value": {"source": "return 1", "wall_seconds": 1}, "reason": "too short to start"},
            {
                "value": {"source": "return 1", "grants": [{"capability": "get_board"}]},
                "reason": "a grant of a script names its tool",
            },
        ],
    }
