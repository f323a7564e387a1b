"""Reading workflows: one, with its current progress on request, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mainspring.contracts.errors import Finding, Invalid
from mainspring.workspace.workflows.repository import (
    Workflow,
    describe_workflows,
    find_workflow,
    list_all,
)
from mainspring.workspace.workflows.templates import NUDGES, TASKS
from mainspring.workspace.workflows.validation import read_day

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction


# Progress at a point in time: KPIs against elapsed time, deadlines, tasks. Pure functions of plain
# values; templates have no date arithmetic, so it is done here.

SLIP_THRESHOLD: Final = 0.5
NUDGE_WINDOW: Final = timedelta(hours=24)
WEEK: Final = timedelta(days=7)
DONE: Final = ("done", "closed", "completed")
# The cap of a KPI's progress.
_MOST: Final = 10.0


@dataclass(frozen=True, slots=True)
class WorkflowTask:
    """A row of the board's tasks dataset."""

    row_id: str
    data: Mapping[str, Any]
    nudged: bool = False

    @property
    def due(self) -> str:
        return str(self.data.get("due") or "")

    def describe(self, now: datetime, zone: tzinfo) -> dict[str, Any]:
        span = parse_due_span(self.due, zone)
        return {
            # A new due date makes a new reminder.
            "key": f"{self.row_id} {self.due}",
            "title": _to_text(self.data.get("title")) or "A task without a title",
            "owner": _to_text(self.data.get("owner")) or "nobody",
            "due": self.due,
            "overdue": span is not None and span[1] < now,
        }


def compute_progress(current: float | None, target: float) -> float:
    """Compute a KPI's progress: 0 is none, 1 is complete."""
    reached = current or 0
    if target == 0:
        return 1.0 if reached == 0 and current is not None else 0.0
    return round(min(max(reached / target, 0.0), _MOST), 4)


def compute_elapsed(
    began: datetime, deadline: str | None, now: datetime, zone: tzinfo
) -> float | None:
    """Compute the elapsed fraction of time, 0 to 1; None without a deadline."""
    day = None if deadline is None else read_day(deadline)
    if day is None:
        return None
    ends = datetime.combine(day, time.max, zone)
    if ends <= began or now >= ends:
        return 1.0
    return round(max((now - began) / (ends - began), 0.0), 4)


def is_slipping(progress: float, elapsed: float | None) -> bool:
    return elapsed is not None and progress < elapsed * SLIP_THRESHOLD


def build_kpi_scores(
    workflow_id: str,
    kpis: Iterable[Mapping[str, Any]],
    deadlines: Sequence[Mapping[str, Any]],
    began: datetime,
    now: datetime,
    zone: tzinfo,
) -> list[dict[str, Any]]:
    """Build one row per KPI and day for the board."""
    day = now.astimezone(zone).date().isoformat()
    last = max((str(one["date"]) for one in deadlines), default=None)
    found = []
    for kpi in kpis:
        progress = compute_progress(kpi.get("current"), kpi["target"])
        elapsed = compute_elapsed(began, kpi.get("deadline") or last, now, zone)
        found.append(
            {
                "key": f"{day} {workflow_id} {kpi['name']}",
                "day": day,
                "kpi": kpi["name"],
                "current": kpi.get("current"),
                "target": kpi["target"],
                "unit": kpi.get("unit", ""),
                "progress": progress,
                "elapsed": elapsed,
                "slipping": "yes" if is_slipping(progress, elapsed) else "no",
            }
        )
    return found


def build_status(
    workflow_id: str,
    kpis: Sequence[Mapping[str, Any]],
    deadlines: Sequence[Mapping[str, Any]],
    began: datetime,
    now: datetime,
    due: Sequence[WorkflowTask],
    done: Sequence[WorkflowTask],
    zone: tzinfo,
) -> dict[str, Any]:
    """Build the status as template variables."""
    rows = build_kpi_scores(workflow_id, kpis, deadlines, began, now, zone)
    today = now.astimezone(zone).date()
    year, week, _ = today.isocalendar()
    near = [one for one in due if _is_near(one, now, zone)]
    return {
        "at": now.isoformat(),
        "day": today.isoformat(),
        "week": f"{year}-w{week:02d}",
        "scores": rows,
        "slipping": [row for row in rows if row["slipping"] == "yes"],
        "deadlines_passed": _count_deadline_days(deadlines, today, -7, -1),
        "deadlines_coming": _count_deadline_days(deadlines, today, 0, 7),
        "tasks_due": [one.describe(now, zone) for one in near],
        "tasks_to_nudge": [one.describe(now, zone) for one in near if not one.nudged],
        "tasks_done": [one.describe(now, zone) for one in done],
    }


def parse_due_span(text: str, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Parse a due date or time into a span; a date spans the whole day."""
    day = read_day(text)
    if day is not None:
        return datetime.combine(day, time.min, zone), datetime.combine(day, time.max, zone)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    at = found if found.tzinfo is not None else found.replace(tzinfo=zone)
    return at, at


def _is_near(task: WorkflowTask, now: datetime, zone: tzinfo) -> bool:
    span = parse_due_span(task.due, zone)
    return span is not None and span[0] <= now + NUDGE_WINDOW


def _count_deadline_days(
    deadlines: Sequence[Mapping[str, Any]], today: date, first: int, last: int
) -> list[dict[str, Any]]:
    """Return the deadlines with the days that remain."""
    found = []
    for one in deadlines:
        day = read_day(str(one["date"]))
        left = None if day is None else (day - today).days
        if left is not None and first <= left <= last:
            found.append({"label": one["label"], "date": one["date"], "days": left})
    return sorted(found, key=lambda one: str(one["date"]))


def _to_text(value: Any) -> str:
    return str(value).strip()[:200] if isinstance(value, (str, int, float)) else ""


# A workflow's tasks, read from the dataset of that name on its board.

# At most this many are reported at a time; those without a reminder come first.
MOST_TASKS: Final = 200

_OPEN = """
    SELECT r.row_id, r.data, EXISTS (
        SELECT FROM board_rows n JOIN board_datasets s
            ON s.workspace_id = n.workspace_id AND s.id = n.dataset_id
        WHERE n.workspace_id = $1 AND s.board_id = $2 AND s.name = $6 AND n.deleted_at IS NULL
            AND n.data ->> 'key' = r.row_id || ' ' || (r.data ->> 'due')
    ) AS nudged
    FROM board_rows r JOIN board_datasets d
        ON d.workspace_id = r.workspace_id AND d.id = r.dataset_id
    WHERE r.workspace_id = $1 AND d.board_id = $2 AND d.name = $3 AND r.deleted_at IS NULL
        AND lower(coalesce(r.data ->> 'status', '')) <> ALL($4::text[])
        AND r.data ->> 'due' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}'
        AND left(r.data ->> 'due', 10) <= $5
    ORDER BY nudged, r.data ->> 'due', r.row_id LIMIT $7
"""
_DONE = """
    SELECT r.row_id, r.data FROM board_rows r JOIN board_datasets d
        ON d.workspace_id = r.workspace_id AND d.id = r.dataset_id
    WHERE r.workspace_id = $1 AND d.board_id = $2 AND d.name = $3 AND r.deleted_at IS NULL
        AND lower(coalesce(r.data ->> 'status', '')) = ANY($4::text[]) AND r.updated_at >= $5
    ORDER BY r.row_id LIMIT $6
"""


async def open_tasks(
    tx: Transaction, workspace_id: UUID, board_id: UUID, now: datetime
) -> list[WorkflowTask]:
    """List open tasks that are overdue or due within a day."""
    # Dates are compared as text, and a time may be written in a zone far east of UTC.
    last = (now + 2 * NUDGE_WINDOW).date().isoformat()
    rows = await tx.fetch(
        _OPEN, workspace_id, board_id, TASKS, list(DONE), last, NUDGES, MOST_TASKS
    )
    return [WorkflowTask(str(row["row_id"]), row["data"], row["nudged"]) for row in rows]


async def list_done_tasks(
    tx: Transaction, workspace_id: UUID, board_id: UUID, now: datetime
) -> list[WorkflowTask]:
    """List tasks that were done in the last seven days."""
    rows = await tx.fetch(_DONE, workspace_id, board_id, TASKS, list(DONE), now - WEEK, MOST_TASKS)
    return [WorkflowTask(str(row["row_id"]), row["data"]) for row in rows]


Arguments = Mapping[str, Any]
DEFAULT_LISTED = 50


async def get(ctx: CallContext, given: Arguments) -> dict[str, Any]:
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(given["workflow_id"]))
    (told,) = await describe_workflows(ctx.tx, space, [workflow])
    if given.get("standing", False):
        zone = read_zone(given.get("timezone", "UTC"))
        told["standing"] = await _load_status(ctx, workflow, zone)
    return told


def read_zone(name: str) -> ZoneInfo:
    """Return the time zone in which days are counted."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        detail = f"There is no time zone {name[:100]!r}."
        way = "Name one such as Europe/Berlin, or leave it out for UTC."
        raise Invalid(
            detail,
            code="unknown_timezone",
            findings=[Finding("/timezone", detail, "unknown_timezone", way)],
            suggestion=way,
        ) from None


async def _load_status(ctx: CallContext, workflow: Workflow, zone: ZoneInfo) -> dict[str, Any]:
    space, now = ctx.actor.workspace_id, ctx.clock.now()
    due, done = [], []
    if workflow.board_id is not None:
        due = await open_tasks(ctx.tx, space, workflow.board_id, now)
        done = await list_done_tasks(ctx.tx, space, workflow.board_id, now)
    return build_status(
        str(workflow.id),
        workflow.kpis,
        workflow.deadlines,
        workflow.created_at,
        now,
        due,
        done,
        zone,
    )


async def list_workflows_handler(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
    space, most = ctx.actor.workspace_id, int(arguments.get("limit", DEFAULT_LISTED))
    after = arguments.get("after")
    found = await list_all(
        ctx.tx, space, arguments.get("status"), None if after is None else UUID(after), most + 1
    )
    entries = await describe_workflows(ctx.tx, space, found[:most])
    return {"workflows": entries, "next": entries[-1]["id"] if len(found) > most else None}
