"""Observes a run from inside the process that executes it.

The record is the source of truth; this is for interfaces that show a step in progress. An observer
must be fast and must not raise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

Kind = Literal[
    "run_started", "run_resumed", "step_started", "step_retrying", "step_finished", "run_ended"
]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something observed in a run."""

    kind: Kind
    run_id: UUID
    step: str = ""
    item: str = ""
    status: str = ""
    attempt: int = 1
    ms: int = 0
    detail: Any = None


Watcher = Callable[[RunEvent], None]
# Called with the name of a commit point right before and right after it, so that a test can end the
# process exactly there.
Hook = Callable[[str], None]


def ignore_event(event: RunEvent) -> None:
    """No observer."""
    del event


def no_hook(point: str) -> None:
    """Does nothing at commit points."""
    del point
