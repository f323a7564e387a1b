"""The logging context: the request, run and step that the current work belongs to.

It is set once at the start of the work and inherited by everything called from there, including
concurrent tasks. Only ids are kept: inputs and results of a run are not part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LogContext:
    """The ids of the current work."""

    request_id: str | None = None
    workspace_id: UUID | None = None
    automation_id: UUID | None = None
    run_id: UUID | None = None

    def known(self) -> Iterator[tuple[str, str]]:
        """The ids that are set, by name."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is not None:
                yield entry.name, str(value)


NOWHERE = LogContext()
HERE: ContextVar[LogContext] = ContextVar("mainspring_here", default=NOWHERE)
# Separate from the rest, because it changes often and the rest does not.
STEP: ContextVar[str | None] = ContextVar("mainspring_step", default=None)


def enter_run(workspace_id: UUID, automation_id: UUID, run_id: UUID) -> None:
    """Set the run of the current task."""
    HERE.set(LogContext(None, workspace_id, automation_id, run_id))


def enter_workspace(workspace_id: UUID) -> None:
    """Set the workspace of the current request."""
    HERE.set(LogContext(HERE.get().request_id, workspace_id))
