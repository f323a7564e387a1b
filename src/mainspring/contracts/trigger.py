"""Triggers turn a moment into a firing; a firing becomes at most one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class TriggerKind:
    """A kind of trigger: the shape of its config and of the payload it delivers."""

    type: str
    description: str
    config_schema: Mapping[str, Any]
    payload_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TriggerFiring:
    """One moment at which a trigger went off.

    ``key`` is computed from the moment itself (scheduled time, event id, idempotency
    key), so that two watchers of one trigger cannot start two runs.
    """

    key: str
    automation_id: UUID
    trigger_id: UUID | None
    trigger_type: str
    payload: Mapping[str, Any]
    at: datetime
    parent_run_id: UUID | None = None
