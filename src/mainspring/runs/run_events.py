"""Watching a run from inside the process that executes it.

The record is the truth; this is for a face that wants to show a step while it is still
going on. A watcher must be quick and must not raise.
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
    """Something that was seen to happen in a run."""

    kind: Kind
    run_id: UUID
    step: str = ""
    item: str = ""
    status: str = ""
    attempt: int = 1
    ms: int = 0
    detail: Any = None


Watcher = Callable[[RunEvent], None]
# Called with the name of a commit point right before and right after it, so that a test
# can end the process exactly there.
Hook = Callable[[str], None]


def nobody(event: RunEvent) -> None:
    """No one is watching."""
    del event


def no_hook(point: str) -> None:
    """Nothing happens at commit points."""
    del point
