"""Watching runs as they happen, from the outside: what changed since the last look.

The rows are the truth, so a watcher looks at them again and again and tells what is new. A
watcher that was away names the last thing it saw and misses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Missing
from mainspring.contracts.ids import floor_id
from mainspring.runs.history import COLUMNS
from mainspring.runs.rows import FINAL

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# What is committed may be a little older than what was seen before it.
_OVERLAP: Final = timedelta(seconds=10)
_DAWN: Final = datetime(1970, 1, 2, tzinfo=UTC)
_BACKLOG: Final = timedelta(days=1)
_MOST: Final = 500

_RUN = f"""
    SELECT {COLUMNS}, nullif(r.due_at, 'infinity') AS due_at, r.output, r.error
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""
_STEPS = """
    SELECT step, item, attempt, run_attempt, status, ms, finished_at, until, error
    FROM steps WHERE workspace_id = $1 AND run_id = $2 AND finished_at > $3
    ORDER BY finished_at, attempt
"""
_CHANGED = f"""
    SELECT {COLUMNS}
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND (r.id > $2 OR r.id = ANY($3::uuid[]))
    ORDER BY r.id DESC LIMIT {_MOST}
"""
_BEGINNING = f"""
    SELECT {COLUMNS}
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id > $2 AND (r.finished_at IS NULL OR r.finished_at > $3)
    ORDER BY r.id DESC LIMIT {_MOST}
"""
_NOW = "SELECT now() AS now"

Change = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class RunWatch:
    """One run, from one look to the next."""

    workspace_id: UUID
    run_id: UUID
    # When the last step that was told of was over.
    seen: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    told: tuple[Any, ...] | None = None
    # Steps near that moment: one may be committed after another that was over later.
    _recent: dict[tuple[Any, ...], datetime] | None = None

    async def look(self, tx: Transaction) -> list[Change]:
        """Finished steps first, then the run itself if it has changed."""
        # The run before its steps: an end that is seen has all of its steps in place.
        row = await tx.fetchrow(_RUN, self.workspace_id, self.run_id)
        if row is None:
            raise Missing("There is no such run.", code="no_run")
        since = max(self.seen, _DAWN) - _OVERLAP
        steps = await tx.fetch(_STEPS, self.workspace_id, self.run_id, since)
        changes: list[Change] = [("step", dict(step)) for step in self._new(steps)]
        state = _state(row)
        if state != self.told:
            self.told = state
            changes.append(("end" if row["status"] in FINAL else "run", dict(row)))
        return changes

    def _new(self, steps: Sequence[Any]) -> list[Any]:
        found = {_step_key(step): step for step in steps}
        if self._recent is None:
            # Whoever comes back has been told of everything up to what they saw last.
            seen = [key for key, step in found.items() if step["finished_at"] <= self.seen]
            self._recent = dict.fromkeys(seen, self.seen)
        new = [step for key, step in found.items() if key not in self._recent]
        self._recent = {key: step["finished_at"] for key, step in found.items()}
        self.seen = max([self.seen, *self._recent.values()])
        return new


@dataclass(slots=True)
class WorkspaceWatch:
    """Every run of a workspace, from one look to the next."""

    workspace_id: UUID
    # Where to go on, with a little told twice rather than once too seldom; without it the
    # watch begins with what is unfinished now.
    since: datetime | None = None
    _told: dict[UUID, tuple[Any, ...]] = field(default_factory=dict)
    _open: set[UUID] = field(default_factory=set)
    _looked: datetime | None = None

    async def look(self, tx: Transaction) -> tuple[datetime, list[dict[str, Any]]]:
        """The moment of the look, and the runs that are new or changed, oldest first."""
        now: datetime = (await tx.fetchrow(_NOW))["now"]
        if self._looked is None:
            ended_after = (self.since or now) - _OVERLAP
            rows = await tx.fetch(
                _BEGINNING, self.workspace_id, floor_id(now - _BACKLOG), ended_after
            )
            if self.since is None:
                # What is over when the watch begins is no news, and not the next time either.
                self._told = {row["id"]: _state(row) for row in rows if row["status"] in FINAL}
        else:
            after = floor_id(self._looked - _OVERLAP)
            rows = await tx.fetch(_CHANGED, self.workspace_id, after, list(self._open))
        self._looked = now
        changed = [dict(row) for row in reversed(rows) if self._is_news(row)]
        self._forget(now)
        return now, changed

    def _is_news(self, row: Mapping[str, Any]) -> bool:
        run_id, state = row["id"], _state(row)
        if row["status"] in FINAL:
            self._open.discard(run_id)
        elif len(self._open) < _MOST:
            self._open.add(run_id)
        if self._told.get(run_id) == state:
            return False
        self._told[run_id] = state
        return True

    def _forget(self, now: datetime) -> None:
        """What can no longer come up again need not be remembered."""
        oldest = floor_id(now - 2 * _OVERLAP)
        for run_id in [one for one in self._told if one < oldest and one not in self._open]:
            del self._told[run_id]


def _step_key(step: Mapping[str, Any]) -> tuple[Any, ...]:
    return step["step"], step["item"], step["attempt"], step["status"], step["finished_at"]


def _state(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["status"], row["attempt"], row["reason"], row["finished_at"]
