"""Schema fragments that the workflow capabilities share."""

from __future__ import annotations

from typing import Any, Final

from mainspring.workspace.boards.schemas import (
    ID,
    MOMENT,
    NUMBER,
    JsonSchema,
    object_of,
    schema_with_examples,
)
from mainspring.workspace.workflows.templates import TEMPLATES
from mainspring.workspace.workflows.validation import ROLES, STATUSES

SOME_WORKFLOW: Final = "01900000-0000-7000-8000-00000000000f"
SOME_BOARD: Final = "01900000-0000-7000-8000-00000000000b"
SOME_AUTOMATION: Final = "01900000-0000-7000-8000-00000000000a"
SOME_PERSON: Final = "01900000-0000-7000-8000-000000000002"
_SOME_TIME: Final = "2026-01-31T09:00:00+00:00"
_LARGEST: Final = 1_000_000_000_000_000

WORKFLOW_ID: Final[JsonSchema] = {**ID}
AUTOMATION_ID: Final[JsonSchema] = {**ID}
_LINE: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": r"\S",
    "x-mainspring-says": "A name cannot be blank.",
}
_DAY: Final[JsonSchema] = {"type": "string", "format": "date", "maxLength": 10}
_QUANTITY: Final[JsonSchema] = {"type": "number", "minimum": -_LARGEST, "maximum": _LARGEST}
TITLE: Final[JsonSchema] = {**_LINE}
STATUS: Final[JsonSchema] = {"enum": list(STATUSES)}
KPI_NAME: Final[JsonSchema] = {**_LINE}
CURRENT: Final[JsonSchema] = {**_QUANTITY}
KPI: Final = object_of(
    {
        "name": _LINE,
        "target": {**_QUANTITY},
        "unit": {"type": "string", "maxLength": 40},
        "deadline": {
            "description": "Default: the last deadline of the workflow.",
            **_DAY,
        },
        "current": CURRENT,
    },
    ["name", "target"],
)
_KPIS: Final[JsonSchema] = {"type": "array", "maxItems": 50, "items": KPI}
_DEADLINES: Final[JsonSchema] = {
    "type": "array",
    "maxItems": 200,
    "items": object_of({"label": _LINE, "date": _DAY}, ["label", "date"]),
}
_ROSTER: Final[JsonSchema] = {
    "description": "Members of the workspace. On the board, contributors are editors and "
    "observers are viewers.",
    "type": "array",
    "maxItems": 200,
    "items": object_of({"user_id": ID, "role": {"enum": list(ROLES)}}, ["user_id", "role"]),
}
_ZONE: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 100, "default": "UTC"}
TIMEZONE: Final[JsonSchema] = {
    "description": "Of the templates' times, such as Europe/Berlin.",
    **_ZONE,
}
DAYS_IN: Final[JsonSchema] = {
    "description": "For the days of standing, such as Europe/Berlin.",
    **_ZONE,
}
TEMPLATE_NAMES: Final[JsonSchema] = {
    "description": "Automations to create. progress_scorer: records KPI progress daily at 9:00 "
    "and reports delays. task_nudger: reminds daily at 8:00 of tasks due within 24 "
    "hours. milestone_reviewer: writes a weekly page on Fridays at 18:00.",
    "type": "array",
    "uniqueItems": True,
    "items": {"enum": list(TEMPLATES)},
}
FIELDS: Final[dict[str, JsonSchema]] = {
    "title": TITLE,
    "charter": {"description": "Its purpose.", "type": "string", "maxLength": 20_000},
    "kpis": _KPIS,
    "deadlines": _DEADLINES,
    "roster": _ROSTER,
    "automation_ids": {
        "description": "Automations to attach.",
        "type": "array",
        "maxItems": 100,
        "items": ID,
    },
    "templates": TEMPLATE_NAMES,
    "timezone": TIMEZONE,
}
WAITING: Final[JsonSchema] = {
    "description": "Automations that could not be activated, with the reason.",
    "type": "array",
    "items": object_of(
        {
            "automation_id": ID,
            "name": {"type": "string"},
            "code": {"type": "string"},
            "detail": {"type": "string"},
        }
    ),
}
_TEXT: Final[JsonSchema] = {"type": "string"}
_SCORE: Final = object_of(
    {
        "key": _TEXT,
        "day": _TEXT,
        "kpi": _TEXT,
        "current": {"type": ["number", "null"]},
        "target": {"type": "number"},
        "unit": _TEXT,
        "progress": {"type": "number"},
        "elapsed": {"type": ["number", "null"]},
        "slipping": {"enum": ["yes", "no"]},
    }
)
_TASKS: Final[JsonSchema] = {
    "type": "array",
    "items": object_of(
        {
            "key": _TEXT,
            "title": _TEXT,
            "owner": _TEXT,
            "due": _TEXT,
            "overdue": {"type": "boolean"},
        },
    ),
}
_DAYS: Final[JsonSchema] = {
    "type": "array",
    "items": object_of({"label": _TEXT, "date": _TEXT, "days": {"type": "integer"}}),
}
_SCORES: Final[JsonSchema] = {"type": "array", "items": _SCORE}
STANDING: Final = object_of(
    {
        "at": MOMENT,
        "day": _TEXT,
        "week": _TEXT,
        "scores": _SCORES,
        "slipping": {
            "description": "KPIs with less than half the progress expected by now.",
            **_SCORES,
        },
        "deadlines_passed": _DAYS,
        "deadlines_coming": _DAYS,
        "tasks_due": _TASKS,
        "tasks_to_nudge": {"description": "Tasks without a reminder yet.", **_TASKS},
        "tasks_done": _TASKS,
    },
    ["day", "week", "scores", "slipping", "tasks_due", "tasks_to_nudge", "tasks_done"],
)
_ATTACHED: Final = object_of(
    {
        "automation_id": ID,
        "name": _TEXT,
        "state": {"enum": ["active", "paused", "archived"]},
        "template": {"type": ["string", "null"]},
        "resumes": {
            "description": "Whether it resumes with the workflow.",
            "type": "boolean",
        },
    }
)
TOLD: Final[dict[str, JsonSchema]] = {
    "id": ID,
    "title": _TEXT,
    "charter": _TEXT,
    "kpis": _KPIS,
    "deadlines": _DEADLINES,
    "roster": _ROSTER,
    "status": STATUS,
    "board_id": {"type": ["string", "null"]},
    "automation_ids": {"type": "array", "items": ID},
    "automations": {"type": "array", "items": _ATTACHED},
    "version": NUMBER,
    "created_by": ID,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
SOME_KPI: Final[dict[str, Any]] = {
    "name": "Paying customers",
    "target": 100,
    "unit": "customers",
    "deadline": "2026-06-30",
}
SOME_TOLD: Final[dict[str, Any]] = {
    "id": SOME_WORKFLOW,
    "title": "Launch",
    "charter": "Bring it to the first hundred customers.",
    "kpis": [{**SOME_KPI, "current": 12}],
    "deadlines": [{"label": "Beta", "date": "2026-03-31"}],
    "roster": [{"user_id": SOME_PERSON, "role": "owner"}],
    "status": "active",
    "board_id": SOME_BOARD,
    "automation_ids": [SOME_AUTOMATION],
    "automations": [
        {
            "automation_id": SOME_AUTOMATION,
            "name": "Launch: progress",
            "state": "active",
            "template": "progress_scorer",
            "resumes": False,
        }
    ],
    "version": 1,
    "created_by": SOME_PERSON,
    "created_at": _SOME_TIME,
    "updated_at": _SOME_TIME,
}
_SOME_SCORE: Final[dict[str, Any]] = {
    "key": f"2026-01-31 {SOME_WORKFLOW} Paying customers",
    "day": "2026-01-31",
    "kpi": "Paying customers",
    "current": 12,
    "target": 100,
    "unit": "customers",
    "progress": 0.12,
    "elapsed": 0.1,
    "slipping": "no",
}
SOME_STANDING: Final[dict[str, Any]] = {
    "at": _SOME_TIME,
    "day": "2026-01-31",
    "week": "2026-w05",
    "scores": [_SOME_SCORE],
    "slipping": [],
    "deadlines_passed": [],
    "deadlines_coming": [],
    "tasks_due": [],
    "tasks_to_nudge": [],
    "tasks_done": [],
}


def build_workflow_schema(*, waiting: bool = False, standing: bool = False) -> JsonSchema:
    """The schema of a workflow in results."""
    fields, required, example = dict(TOLD), list(TOLD), dict(SOME_TOLD)
    if waiting:
        fields["waiting"] = WAITING
        required.append("waiting")
        example["waiting"] = []
    if standing:
        fields["standing"] = STANDING
        example["standing"] = SOME_STANDING
    return schema_with_examples(fields, required, [example], ({"id": SOME_WORKFLOW}, "what is it?"))
