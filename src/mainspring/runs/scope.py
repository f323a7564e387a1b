"""What templates see under ``run``."""

from __future__ import annotations

from typing import Any

from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import ClaimedRun


def run_fields(run: ClaimedRun, version: LoadedVersion) -> dict[str, Any]:
    """The fixed namespace ``run.*``; ids and times are text, as they are in JSON."""
    return {
        "id": str(run.id),
        "started_at": run.started_at.isoformat(),
        "automation_id": str(run.automation_id),
        "automation_name": version.name,
        "automation_version": run.version,
        "trigger_type": run.trigger_type,
        "trigger_id": None if run.trigger_id is None else str(run.trigger_id),
        "search_space_id": str(run.workspace_id),
        "workspace_id": str(run.workspace_id),
        "creator_id": str(version.created_by),
        "attempt": run.attempt,
    }
