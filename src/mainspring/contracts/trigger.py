"""Triggers create firings; a firing starts at most one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class TriggerKind:
    """A trigger type: the schemas of its config and of its payload."""

    type: str
    description: str
    config_schema: Mapping[str, Any]
    payload_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TriggerFiring:
    """One firing of a trigger.

    ``key`` is the dedup key. It is computed from the fire time, the event id or the idempotency
    key, so that two watchers of one trigger cannot start two runs.
    """

    key: str
    automation_id: UUID
    trigger_id: UUID | None
    trigger_type: str
    payload: Mapping[str, Any]
    at: datetime
    parent_run_id: UUID | None = None
