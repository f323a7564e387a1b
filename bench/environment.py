"""The stage for the benchmarks: a fresh embedded database and a capability that does nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from mainspring.actions.script.runner import ScriptRunner
from mainspring.app import Application, build_registry, open_application
from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.settings import Settings
from mainspring.workspace.automations import FIRST_MEMBER, save


async def _nothing(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del ctx
    return {"said": arguments["say"]}


NOOP = Capability(
    id="bench.noop",
    description="Do nothing",
    input_schema={
        "type": "object",
        "required": ["say"],
        "properties": {"say": {"type": "string"}},
        "additionalProperties": False,
    },
    output_schema={"type": "object", "required": ["said"]},
    handler=_nothing,
    annotations=Annotations(seconds=0.01),
)


def plan_of(steps: int) -> dict[str, Any]:
    """A plan of calls that do nothing, each with one template."""
    return {
        "schema_version": "1.2",
        "name": f"noop {steps}",
        "goal": "Measure what the engine itself costs.",
        "plan": [
            {
                "step_id": f"step_{number}",
                "action": "bench.noop",
                "config": {"say": "{{ run.attempt }} of many"},
            }
            for number in range(steps)
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


@asynccontextmanager
async def fresh_house(
    *, capabilities: Sequence[Capability] = (NOOP,), **settings: Any
) -> AsyncIterator[Application]:
    """An application over an empty database in a folder of its own, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-bench-", dir="/tmp"))
    # The database may run as another account, which has to be able to enter.
    os.chmod(folder, 0o755)
    given = Settings(home=folder / "home", **settings)
    script_runner = ScriptRunner(Limits(), address=given.address, warm=given.script_warm)
    registry = build_registry(
        Limits(), capabilities=list(capabilities), script_runner=script_runner
    )
    try:
        async with open_application(
            given, registry=registry, script_runner=script_runner
        ) as application:
            yield application
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def saved(application: Application, document: dict[str, Any]) -> tuple[UUID, int]:
    """Keeps a definition; answers the automation and its version."""
    report = validate(document, application.registry, application.limits)
    if report.definition is None:
        raise SystemExit(f"The benchmark's own definition is not valid: {report.findings}")
    async with application.database.transaction() as tx:
        stored = await save(
            tx, application.workspace_id, report.definition, report.grants, FIRST_MEMBER
        )
    return stored.automation_id, stored.version
