"""Events: facts in the log, each of a declared type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class EventType:
    """A declared kind of event and the shape of its payload."""

    type: str
    description: str
    payload_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One fact, in one workspace."""

    id: UUID
    workspace_id: UUID
    type: str
    source_id: str
    payload: Mapping[str, Any]
    created_at: datetime
