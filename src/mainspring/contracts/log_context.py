"""Which request, run and step the work under way belongs to, so that a report can say so.

Whoever begins such work says it once, and everything that is called from there is within it,
also what goes on beside. Only ids are kept: what a run was given or has found stays out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LogContext:
    """What is known of the work under way."""

    request_id: str | None = None
    workspace_id: UUID | None = None
    automation_id: UUID | None = None
    run_id: UUID | None = None

    def known(self) -> Iterator[tuple[str, str]]:
        """What there is, by name."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is not None:
                yield entry.name, str(value)


NOWHERE = LogContext()
HERE: ContextVar[LogContext] = ContextVar("mainspring_here", default=NOWHERE)
# Apart from the rest, because it changes often and the rest does not.
STEP: ContextVar[str | None] = ContextVar("mainspring_step", default=None)


def enter_run(workspace_id: UUID, automation_id: UUID, run_id: UUID) -> None:
    """From here on the work of this task is that of a run."""
    HERE.set(LogContext(None, workspace_id, automation_id, run_id))


def enter_workspace(workspace_id: UUID) -> None:
    """The request under way has turned out to be one of this workspace."""
    HERE.set(LogContext(HERE.get().request_id, workspace_id))
