"""What the templates of a run see."""

from __future__ import annotations

from dataclasses import replace

from mainspring.definition.templates import RunFacts
from mainspring.gate.memory import RehearsalRecording
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import ClaimedRun


def run_facts(
    run: ClaimedRun, version: LoadedVersion, memory: RehearsalRecording | None = None
) -> RunFacts:
    """The fixed namespace ``run.*`` of a claimed run.

    One that rehearses another is told what that one was told: which run it is, when it began
    and what started it, so that whatever a plan makes of these is the same again.
    """
    facts = RunFacts(
        id=run.id,
        started_at=run.started_at,
        automation_id=run.automation_id,
        automation_name=version.name,
        automation_version=run.version,
        trigger_type=run.trigger_type,
        trigger_id=run.trigger_id,
        workspace_id=run.workspace_id,
        creator_id=version.created_by,
        attempt=run.attempt,
    )
    then = None if memory is None else memory.then
    if then is None:
        return facts
    return replace(
        facts,
        id=then.run_id,
        started_at=then.started_at or run.started_at,
        trigger_type=then.trigger_type,
        trigger_id=then.trigger_id,
    )
