"""script: one TypeScript file as a step, with exactly the calls that it was granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.actions.script.judging import config_findings
from mainspring.actions.script.schema import config_schema
from mainspring.actions.script.workshop import Workshop
from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Fault
from mainspring.definition.script import grants_of_script


def script_action(workshop: Workshop | None = None) -> Action:
    """The action; without a workshop a definition can be judged by it and not run."""

    async def script(ctx: StepContext, config: Mapping[str, Any]) -> Any:
        if workshop is None:
            raise Fault("No script can run here: this program only judges definitions.")
        return await workshop.run(ctx, config)

    return Action(
        type="script",
        description="Run a TypeScript file\n\n"
        "The file runs in a sandbox without network, files or secrets. It calls capabilities "
        "as methods of `brains`, within its grants, and what it returns is the step's output. "
        "After a crash it is started again and every call it has made is answered from the "
        "record.",
        config_schema=config_schema(),
        output_schema=None,
        handler=script,
        uses=grants_of_script,
        check=config_findings,
        resumes=True,
        reports_usage=True,
        seconds=5.0,
    )
