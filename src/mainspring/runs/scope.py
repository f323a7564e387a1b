"""What the templates of a run see."""

from __future__ import annotations

from mainspring.definition.templates import RunFacts
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import ClaimedRun


def run_facts(run: ClaimedRun, version: LoadedVersion) -> RunFacts:
    """The fixed namespace ``run.*`` of a claimed run."""
    return RunFacts(
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
