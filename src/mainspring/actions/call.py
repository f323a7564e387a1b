"""A direct call: a step that names a capability instead of an action.

No wrapper is needed: the capability's input schema is the step's config schema and its output
schema the step's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.context import StepContext


async def call_directly(ctx: StepContext, capability: str, config: Mapping[str, Any]) -> Any:
    """Call the capability with the step's config."""
    return await ctx.call(capability, config)
