"""script: one TypeScript file as a step, with exactly the calls that it was granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.actions.script.judging import validate_script_config
from mainspring.actions.script.schema import build_script_config_schema
from mainspring.actions.script.workshop import ScriptRunner
from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import InternalError
from mainspring.definition.script import read_script_grants


def build_script_action(workshop: ScriptRunner | None = None) -> Action:
    """The action; without a workshop a definition can be judged by it and not run."""

    async def script(ctx: StepContext, config: Mapping[str, Any]) -> Any:
        if workshop is None:
            raise InternalError("No script can run here: this program only judges definitions.")
        return await workshop.run(ctx, config)

    return Action(
        type="script",
        description="Run a TypeScript file\n\n"
        "The file runs in a sandbox without network, files or secrets. It calls capabilities "
        "as methods of `brains`, within its grants, and what it returns is the step's output. "
        "After a crash it is started again and every call it has made is answered from the "
        "record.",
        config_schema=build_script_config_schema(),
        output_schema=None,
        handler=script,
        uses=read_script_grants,
        check=validate_script_config,
        resumes=True,
        reports_usage=True,
        seconds=5.0,
    )
