"""Watches runs from outside by polling: what changed since the last look.

The rows are the source of truth, so a watcher polls them and reports what is new. A watcher that
reconnects passes the last position it saw and misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import get_lowest_id_at
from mainspring.runs.history import COLUMNS
from mainspring.runs.output import (
    AFTER,
    ORDER,
    OutputPosition,
    format_output_position,
    parse_output_position,
)
from mainspring.runs.rows import FINAL

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# A committed row may be slightly older than one that was seen before it.
_OVERLAP: Final = timedelta(seconds=10)
_DAWN: Final = datetime(1970, 1, 2, tzinfo=UTC)
_BACKLOG: Final = timedelta(days=1)
_MOST: Final = 500

_RUN = f"""
    SELECT {COLUMNS}, nullif(coalesce(r.parked_due_at, r.due_at), 'infinity') AS due_at,
        r.output, r.error
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""
# Finished steps and new output in one query.
_NEWS = f"""
    SELECT step, item, attempt, run_attempt, status, ms, finished_at, until, error,
        NULL::int AS seq, NULL::text AS stream, NULL::text AS text, NULL::timestamptz AS at
    FROM steps WHERE workspace_id = $1 AND run_id = $2 AND finished_at > $8
    UNION ALL (
        SELECT step, item, attempt, NULL, NULL, NULL, NULL, NULL, NULL, seq, stream, text, at
        FROM run_output WHERE workspace_id = $1 AND run_id = $2 AND {AFTER}
        ORDER BY {ORDER} LIMIT {_MOST}
    )
"""
_CHANGED = f"""
    SELECT {COLUMNS}
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND (r.id > $2 OR r.id = ANY($3::uuid[]))
      AND r.rehearsal_id IS NULL
    ORDER BY r.id DESC LIMIT {_MOST}
"""
_BEGINNING = f"""
    SELECT {COLUMNS}
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id > $2 AND (r.finished_at IS NULL OR r.finished_at > $3)
      AND r.rehearsal_id IS NULL
    ORDER BY r.id DESC LIMIT {_MOST}
"""
_NOW = "SELECT now() AS now"

Change = tuple[str, dict[str, Any]]

_STEP = ("step", "item", "attempt", "run_attempt", "status", "ms", "finished_at", "until", "error")
_PIECE = ("step", "item", "attempt", "seq", "stream", "text", "at")


@dataclass(frozen=True, slots=True)
class RunStreamPosition:
    """How far an observer has followed a run: its steps by time, its output by position."""

    moment: datetime | None = None
    place: OutputPosition | None = None

    def write(self) -> str | None:
        """The position as an event id: a timestamp and, after a slash, the output position."""
        moment = "" if self.moment is None else self.moment.isoformat()
        if self.place is not None:
            return f"{moment}/{format_output_position(self.place)}"
        return moment or None

    @classmethod
    def read(cls, text: str) -> RunStreamPosition | None:
        """Parse an event id; None for any other text."""
        first, stroke, rest = text.partition("/")
        moment = parse_timestamp(first) if first else None
        place = parse_output_position(rest) if stroke else None
        wrong = (first and moment is None) or (stroke and place is None)
        return None if wrong or not text else cls(moment, place)


def parse_timestamp(text: str) -> datetime | None:
    """A timestamp with its offset; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    # The first and the last years cannot be converted to UTC from every time zone.
    return None if found.tzinfo is None or not 1 < found.year < 9999 else found


@dataclass(slots=True)
class RunWatch:
    """One run, from one poll to the next."""

    workspace_id: UUID
    run_id: UUID
    # The end time of the last reported step.
    seen: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    # The last reported chunk of output.
    place: OutputPosition | None = None
    told: tuple[Any, ...] | None = None
    # Steps near that time: one may be committed after another that ended later.
    _recent: dict[tuple[Any, ...], datetime] | None = None

    async def look(self, tx: Transaction) -> list[Change]:
        """New output and finished steps, then the run itself if it has changed."""
        # Read the run before its steps: a run that has ended has all of its steps.
        row = await tx.fetchrow(_RUN, self.workspace_id, self.run_id)
        if row is None:
            raise NotFound("There is no such run.", code="no_run")
        since = max(self.seen, _DAWN) - _OVERLAP
        place = (self.place or OutputPosition()).values
        news = await tx.fetch(_NEWS, self.workspace_id, self.run_id, *place, since)
        pieces = [{name: one[name] for name in _PIECE} for one in news if one["seq"] is not None]
        pieces.sort(key=lambda piece: OutputPosition.of(piece).values)
        if pieces:
            self.place = OutputPosition.of(pieces[-1])
        if len(pieces) == _MOST:
            # More output follows, which comes before the end of its step.
            return [("output", piece) for piece in pieces]
        steps = [{name: one[name] for name in _STEP} for one in news if one["seq"] is None]
        steps.sort(key=lambda step: (step["finished_at"], step["attempt"]))
        changes = _merge_changes(self._new(steps), pieces)
        state = _state(row)
        if state != self.told:
            self.told = state
            changes.append(("end" if row["status"] in FINAL else "run", dict(row)))
        return changes

    def _new(self, steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        found = {_step_key(step): step for step in steps}
        if self._recent is None:
            # A reconnecting observer has received everything up to the position it saw last.
            seen = [key for key, step in found.items() if step["finished_at"] <= self.seen]
            self._recent = dict.fromkeys(seen, self.seen)
        new = [step for key, step in found.items() if key not in self._recent]
        self._recent = {key: step["finished_at"] for key, step in found.items()}
        self.seen = max([self.seen, *self._recent.values()])
        return new


def with_positions(
    changes: Sequence[Change], mark: RunStreamPosition
) -> Iterator[tuple[Change, RunStreamPosition]]:
    """Each change with the position of an observer who has received it."""
    for kind, row in changes:
        if kind == "output":
            mark = replace(mark, place=OutputPosition.of(row))
        elif kind == "step":
            mark = replace(mark, moment=max(mark.moment or _DAWN, row["finished_at"]))
        yield (kind, row), mark


def _merge_changes(
    steps: Sequence[dict[str, Any]], pieces: Sequence[dict[str, Any]]
) -> list[Change]:
    """Merge both in order, with a step only after all of its output."""
    last = {_try(piece): number for number, piece in enumerate(pieces)}
    changes: list[Change] = []
    told = 0
    for step in steps:
        until = max(told, last.get(_try(step), -1) + 1)
        changes += [("output", piece) for piece in pieces[told:until]]
        changes.append(("step", step))
        told = until
    return changes + [("output", piece) for piece in pieces[told:]]


def _try(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["step"], row["item"], row["attempt"]


@dataclass(slots=True)
class WorkspaceWatch:
    """Every run of a workspace, from one poll to the next."""

    workspace_id: UUID
    # The cursor, slightly overlapping so that nothing is missed; without it the watch begins with
    # the unfinished runs.
    since: datetime | None = None
    _told: dict[UUID, tuple[Any, ...]] = field(default_factory=dict)
    _open: set[UUID] = field(default_factory=set)
    _looked: datetime | None = None

    async def look(self, tx: Transaction) -> tuple[datetime, list[dict[str, Any]]]:
        """The time of the poll, and the runs that are new or changed, oldest first."""
        now: datetime = (await tx.fetchrow(_NOW))["now"]
        if self._looked is None:
            ended_after = (self.since or now) - _OVERLAP
            rows = await tx.fetch(
                _BEGINNING, self.workspace_id, get_lowest_id_at(now - _BACKLOG), ended_after
            )
            if self.since is None:
                # Runs that had ended when the watch began are not reported.
                self._told = {row["id"]: _state(row) for row in rows if row["status"] in FINAL}
        else:
            after = get_lowest_id_at(self._looked - _OVERLAP)
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
        """Forget entries that can no longer recur."""
        oldest = get_lowest_id_at(now - 2 * _OVERLAP)
        for run_id in [one for one in self._told if one < oldest and one not in self._open]:
            del self._told[run_id]


def _step_key(step: Mapping[str, Any]) -> tuple[Any, ...]:
    return step["step"], step["item"], step["attempt"], step["status"], step["finished_at"]


def _state(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["status"], row["attempt"], row["reason"], row["finished_at"]
