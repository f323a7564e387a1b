"""script: one TypeScript file as a step, with exactly the granted calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mainspring.actions.script.runner import ScriptRunner, build_script_config_schema
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Finding, InternalError
from mainspring.definition.script import find_script_problems, read_script_grants
from mainspring.definition.suggestions import suggest_capability

# Problems of a script step beyond its schema, reported when it is saved.


def validate_script_config(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Sequence[Finding]:
    """Check the source, and the grants by their names."""
    source, given = config.get("source"), config.get("grants")
    may = {name for name, one in capabilities.items() if one.grantable}
    found = [] if not isinstance(given, list) else list(_validate_grants(given, may, capabilities))
    if isinstance(source, str) and source:
        names = None if not isinstance(given, list) else _read_grant_names(given)
        found += find_script_problems(source, names, capabilities.keys(), may)
    return found


def _read_grant_names(given: Sequence[Any]) -> set[str]:
    return {str(entry["tool"]) for entry in given if isinstance(entry, Mapping) and "tool" in entry}


def _validate_grants(
    given: Sequence[Any], may: Collection[str], known: Collection[str]
) -> Iterator[Finding]:
    for place, entry in enumerate(given):
        tool = entry.get("tool") if isinstance(entry, Mapping) else None
        if not isinstance(tool, str) or tool in may:
            continue
        at, shown = f"/grants/{place}/tool", repr(tool[:100])
        if tool in known:
            detail = f"{shown} can never be granted to an automation."
            yield Finding(at, detail, "never_granted")
        else:
            detail = f"There is no capability called {shown}."
            yield Finding(at, detail, "unknown_capability", suggest_capability(tool, sorted(may)))


def build_script_action(script_runner: ScriptRunner | None = None) -> Action:
    """The action; without a runner a definition can be validated but not run."""

    async def script(ctx: StepContext, config: Mapping[str, Any]) -> Any:
        if script_runner is None:
            raise InternalError("No script can run here: this program only judges definitions.")
        return await script_runner.run(ctx, config)

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
