"""for_each: the same steps for every item of a list, one item after the other.

Each nested step is recorded with the index of its item, so after a crash the run resumes at the
current item and finished items are never repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Invalid, Problem
from mainspring.contracts.limits import Limits


def build_for_each_action(limits: Limits) -> Action:
    """The action, limited by this installation's maximum of items."""

    async def for_each(ctx: StepContext, config: Mapping[str, Any]) -> dict[str, Any]:
        items = config["items"]
        if len(items) > limits.for_each_items:
            raise Invalid(
                f"The list has {len(items)} items; at most {limits.for_each_items} are walked.",
                code="too_many_items",
                suggestion="Take a part of the list, or start one run per part.",
            )
        return await _walk_all(ctx, config, items)

    return Action(
        type="for_each",
        description="Run steps for every item of a list\n\n"
        "Inside, `item` (or the name given by `as`) is the item and `index` its number from 0. "
        "Steps after it see `results`, one entry per item with the outputs by name.",
        config_schema=_build_schema(limits),
        output_schema=_OUTPUT,
        handler=for_each,
        nested="steps",
    )


async def _walk_all(
    ctx: StepContext, config: Mapping[str, Any], items: list[Any]
) -> dict[str, Any]:
    name = config.get("as", "item")
    results: list[Any] = []
    failed: list[dict[str, Any]] = []
    last = Problem("")
    for index, item in enumerate(items):
        try:
            results.append(await ctx.walk(item=index, names={name: item, "index": index}))
        except Problem as problem:
            if not config.get("continue_on_error", False):
                raise
            results.append(None)
            failed.append({"index": index, "error": problem.as_dict()})
            last = problem
    if failed and len(failed) == len(items):
        # Continuing past failures is fine; when every item failed, the step fails.
        raise last
    return {"count": len(items), "results": results, "failed": failed}


def _build_schema(limits: Limits) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["items", "steps"],
        "additionalProperties": False,
        "properties": {
            "items": {"type": "array", "maxItems": limits.for_each_items},
            "as": {
                "type": "string",
                "maxLength": 64,
                "pattern": "^[a-z][a-z0-9_]*$",
                "default": "item",
                "x-mainspring-scope": "none",
            },
            "continue_on_error": {
                "type": "boolean",
                "default": False,
                "description": "Go on with the next item when one fails.",
            },
            # Nested steps are rendered per item, not before.
            "steps": {"type": "array", "minItems": 1, "x-mainspring-scope": "none"},
        },
        "examples": [
            {
                "items": "{{ inputs.names }}",
                "as": "name",
                "steps": [
                    {
                        "step_id": "greet",
                        "action": "transform_data",
                        "config": {"output": "Hello {{ name }}"},
                    }
                ],
            }
        ],
        "x-mainspring-anti-examples": [
            {"value": {"items": []}, "reason": "no steps"},
            {"value": {"items": [1], "steps": []}, "reason": "an empty list of steps"},
        ],
    }


_OUTPUT: dict[str, Any] = {
    "type": "object",
    "required": ["count", "results", "failed"],
    "properties": {
        "count": {"type": "integer"},
        "results": {"type": "array"},
        "failed": {"type": "array", "items": {"type": "object"}},
    },
}
