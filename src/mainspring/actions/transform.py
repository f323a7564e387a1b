"""transform_data: builds a value from templates, and does nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext


async def transform(ctx: StepContext, config: Mapping[str, Any]) -> Any:
    """The config is already rendered, so it is the result."""
    del ctx
    return config["output"]


TRANSFORM_DATA = Action(
    type="transform_data",
    description="Build a value from templates\n\n"
    "Every text in `output` is a template; a text that is exactly one expression keeps the "
    "type of its value. No code runs.",
    config_schema={
        "type": "object",
        "required": ["output"],
        "additionalProperties": False,
        "properties": {"output": {"description": "The value to build: any JSON with templates."}},
        "examples": [
            {"output": {"title": "Report for {{ inputs.week }}", "rows": "{{ steps.read.rows }}"}},
            {"output": "{{ inputs.names | join(', ') }}"},
        ],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "output is missing"},
            {"value": {"output": 1, "code": "x"}, "reason": "there is no code"},
        ],
    },
    output_schema=None,
    handler=transform,
    seconds=0.01,
)
