"""Automation templates for workflows, written as data.

They are ordinary definitions that people read, pause and edit, each granted its own workflow and
board only. None of them calls a model. Their output carries a key of its day, week or task, so that
a repeated run writes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

PROGRESS: Final = "progress"
TASKS: Final = "tasks"
NUDGES: Final = "nudges"

# Datasets of a workflow's board; existing ones are not changed.
DATASETS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": TASKS,
        "columns": [
            {"key": "title", "label": "Title"},
            {
                "key": "status",
                "label": "Status",
                "field_type": "select",
                "options": ["open", "doing", "done"],
            },
            {"key": "owner", "label": "Owner", "field_type": "user"},
            {"key": "due", "label": "Due", "field_type": "date"},
        ],
    },
    {
        "name": PROGRESS,
        "columns": [
            {"key": "day", "label": "Day", "field_type": "date"},
            {"key": "kpi", "label": "KPI"},
            {"key": "current", "label": "Current", "field_type": "number"},
            {"key": "target", "label": "Target", "field_type": "number"},
            {"key": "progress", "label": "Progress", "field_type": "number"},
            {"key": "elapsed", "label": "Time passed", "field_type": "number"},
            {"key": "slipping", "label": "Slipping"},
        ],
        "dedupe_key_field": "key",
    },
    {
        "name": NUDGES,
        "columns": [
            {"key": "title", "label": "Task"},
            {"key": "owner", "label": "Owner"},
            {"key": "due", "label": "Due"},
        ],
        "dedupe_key_field": "key",
    },
)

_SLIPS: Final = (
    "{% for one in steps.read.standing.slipping %}"
    "- {{ one.kpi }}: {{ one.current | default(0, true) }} of {{ one.target }} {{ one.unit }}\n"
    "{% endfor %}"
    "Each has come less than half as far as the time has."
)
_REVIEW: Final = (
    "## KPIs\n\n"
    "{% for one in steps.read.standing.scores %}"
    "- {{ one.kpi }}: {{ 'not known' if one.current is none else one.current }} "
    "of {{ one.target }} {{ one.unit }}"
    "{% if one.slipping == 'yes' %} (slipping){% endif %}\n"
    "{% else %}There are none.\n{% endfor %}"
    "\n## Deadlines that passed this week\n\n"
    "{% for one in steps.read.standing.deadlines_passed %}- {{ one.date }}: {{ one.label }}\n"
    "{% else %}None.\n{% endfor %}"
    "\n## Deadlines of the next week\n\n"
    "{% for one in steps.read.standing.deadlines_coming %}- {{ one.date }}: {{ one.label }}\n"
    "{% else %}None.\n{% endfor %}"
    "\n## Tasks done this week\n\n"
    "{% for one in steps.read.standing.tasks_done %}- {{ one.title }} ({{ one.owner }})\n"
    "{% else %}None.\n{% endfor %}"
    "\n## Tasks that are due\n\n"
    "{% for one in steps.read.standing.tasks_due %}- {{ one.due }}: {{ one.title }} "
    "({{ one.owner }})\n"
    "{% else %}None.\n{% endfor %}"
)


def build_progress_scorer(workflow_id: str, board_id: str, timezone: str) -> dict[str, Any]:
    """Every morning: a row for each KPI, and a message about those that slip."""
    keep = {"board_id": board_id, "dataset": PROGRESS, "dedupe_key_field": "key"}
    return {
        "goal": "Write down every morning how far each KPI has come, and tell of those that slip.",
        "cron": "0 9 * * *",
        "plan": [
            _read(workflow_id, timezone),
            {
                "step_id": "keep",
                "description": "One row for each KPI and day.",
                "action": "append_board_rows",
                "when": "steps.read.standing.scores | length > 0",
                "config": {**keep, "rows": "{{ steps.read.standing.scores }}"},
            },
            {
                "step_id": "tell",
                "action": "notification",
                # Nothing new was written: this day was already reported.
                "when": "steps.read.standing.slipping | length > 0 "
                "and steps.keep.appended | default(0) > 0",
                "config": {
                    "title": "{{ steps.read.title | truncate(100) }}: "
                    "{{ steps.read.standing.slipping | length }} "
                    "{{ 'KPI slips' if steps.read.standing.slipping | length == 1 "
                    "else 'KPIs slip' }}",
                    "message_template": _SLIPS,
                    "level": "warning",
                },
            },
        ],
        "grants": [
            _may_read(workflow_id, timezone),
            {"capability": "append_board_rows", "params": keep},
            {"capability": "inbox.post_notification", "params": {}},
        ],
    }


def build_task_nudger(workflow_id: str, board_id: str, timezone: str) -> dict[str, Any]:
    """Every morning: one message for each open task that is due within a day."""
    keep = {"board_id": board_id, "dataset": NUDGES, "dedupe_key_field": "key"}
    remember = {
        "step_id": "remember",
        "action": "append_board_rows",
        "config": {
            **keep,
            "rows": [
                {
                    "key": "{{ task.key }}",
                    "title": "{{ task.title }}",
                    "owner": "{{ task.owner }}",
                    "due": "{{ task.due }}",
                }
            ],
        },
    }
    tell = {
        "step_id": "tell",
        "action": "notification",
        "when": "steps.remember.appended > 0",
        "config": {
            "title": "{{ task.owner | truncate(60) }}: {{ task.title | truncate(100) }}",
            "message_template": "The task {{ task.title }} {{ 'was' if task.overdue else 'is' }} "
            "due {{ task.due }}. Its owner is {{ task.owner }}.",
        },
    }
    return {
        "goal": "Remind the owner of each task that is due within 24 hours, once.",
        "cron": "0 8 * * *",
        "plan": [
            _read(workflow_id, timezone),
            {
                "step_id": "nudge",
                "action": "for_each",
                "config": {
                    "items": "{{ steps.read.standing.tasks_to_nudge }}",
                    "as": "task",
                    "steps": [remember, tell],
                },
            },
        ],
        "grants": [
            _may_read(workflow_id, timezone),
            {"capability": "append_board_rows", "params": keep},
            {"capability": "inbox.post_notification", "params": {}},
        ],
    }


def build_milestone_reviewer(workflow_id: str, board_id: str, timezone: str) -> dict[str, Any]:
    """Friday evening: a page about the week; a repeated run writes the same page."""
    del board_id
    return {
        "goal": "Write a page every Friday about the week: deadlines, KPIs and tasks.",
        "cron": "0 18 * * 5",
        "plan": [
            _read(workflow_id, timezone),
            {
                "step_id": "write",
                "action": "create_page",
                "config": {
                    "slug": f"workflow-{workflow_id}-{{{{ steps.read.standing.week }}}}",
                    "type": "derived",
                    "title": "{{ steps.read.title | truncate(150) }}: "
                    "{{ steps.read.standing.week | upper }}",
                    "body": _REVIEW,
                },
            },
        ],
        "grants": [
            _may_read(workflow_id, timezone),
            {"capability": "create_page", "params": {"type": "derived"}},
        ],
    }


TEMPLATES: Final[Mapping[str, Callable[[str, str, str], dict[str, Any]]]] = MappingProxyType(
    {
        "progress_scorer": build_progress_scorer,
        "task_nudger": build_task_nudger,
        "milestone_reviewer": build_milestone_reviewer,
    }
)
_CALLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "progress_scorer": "progress",
        "task_nudger": "task reminders",
        "milestone_reviewer": "week in review",
    }
)


def build_definition(
    template: str, title: str, workflow_id: str, board_id: str, timezone: str
) -> dict[str, Any]:
    """Build the definition; its name starts with the workflow's title."""
    made = TEMPLATES[template](workflow_id, board_id, timezone)
    config = {"cron": made.pop("cron"), "timezone": timezone, "misfire": "fire_once"}
    return {
        "schema_version": "1.2",
        "name": f"{_escape_title(title)}: {_CALLED[template]}",
        "triggers": [{"id": "schedule", "type": "schedule", "config": config}],
        **made,
        "metadata": {"tags": ["workflow", template]},
    }


def _escape_title(title: str) -> str:
    """Escape template braces in a title."""
    return title.replace("{", "(").replace("}", ")")[:90].strip()


def _read(workflow_id: str, timezone: str) -> dict[str, Any]:
    return {
        "step_id": "read",
        "action": "get_workflow",
        "config": _build_status_step(workflow_id, timezone),
    }


def _may_read(workflow_id: str, timezone: str) -> dict[str, Any]:
    return {"capability": "get_workflow", "params": _build_status_step(workflow_id, timezone)}


def _build_status_step(workflow_id: str, timezone: str) -> dict[str, Any]:
    """Days are counted in the time zone of its schedule."""
    return {"workflow_id": workflow_id, "standing": True, "timezone": timezone}
