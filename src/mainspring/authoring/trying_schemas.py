"""JSON schemas of running, cancelling and pre-save checks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from mainspring.authoring.overlaps import MOST_MATCHES
from mainspring.authoring.playbook_capabilities import MOST_LISTED
from mainspring.authoring.run_report import STATUSES, TIMEOUT_REASONS
from mainspring.authoring.running import LEAST_WAIT, MOST_WAIT
from mainspring.authoring.saving_schemas import (
    SOME_AUTOMATION,
    SOME_RUN,
    SOME_URL,
    SOME_VERSION,
)
from mainspring.authoring.trigger_kinds import KINDS
from mainspring.contracts.model_schema import SchemaModel
from mainspring.workspace.boards.schemas import (
    SOME_BOARD,
    SOME_TIME,
)


class RunAutomationOnceArguments(SchemaModel):
    automation_id: UUID
    dry_run: Annotated[bool, Meta(description="Change nothing; simulate and list the calls.")] = (
        True
    )
    verify_mode: Annotated[
        bool, Meta(description="Send nothing outside; keep writes to boards and pages.")
    ] = False
    run_id: Annotated[
        UUID | None,
        Meta(description="Wait for this run and start none. Omit dry_run and verify_mode then."),
    ] = None
    idempotency_key: (
        Annotated[
            str,
            Meta(
                description="For 24 hours the same key returns the same run of the automation, "
                "for all callers. Without one, the same call joins a run in progress.",
                min_length=1,
                max_length=200,
            ),
        ]
        | None
    ) = None
    wait_seconds: (
        Annotated[
            int,
            Meta(
                description="How long to wait. Default: the run's time limit plus 90 s. MCP "
                "clients get an answer after 45 s at most; the run continues.",
                ge=LEAST_WAIT,
                le=MOST_WAIT,
            ),
        ]
        | None
    ) = None

    examples: ClassVar = [
        {"automation_id": SOME_AUTOMATION},
        {"automation_id": SOME_AUTOMATION, "dry_run": False, "wait_seconds": 120},
        {"automation_id": SOME_AUTOMATION, "run_id": SOME_RUN},
        {"automation_id": SOME_AUTOMATION, "idempotency_key": "second try"},
    ]
    anti_examples: ClassVar = [
        ({}, "which automation?"),
        ({"automation_id": SOME_AUTOMATION, "wait_seconds": 5}, "too short to tell anything"),
        ({"automation_id": SOME_AUTOMATION, "dry_run": "no"}, "true or false"),
        ({"run_id": SOME_RUN}, "a run of which automation?"),
    ]


_MAYBE: Final = ["string", "null"]


class _AutomationRunSuppressedItem(SchemaModel):
    step: str
    capability: str
    arguments: Any


class AutomationRunResult(SchemaModel):
    run_id: UUID
    status: Annotated[str, Meta(extra_json_schema={"enum": list(STATUSES)})]
    terminal: bool
    timed_out: bool
    timeout_reason: Annotated[str, Meta(extra_json_schema={"enum": [*TIMEOUT_REASONS, None]})]
    next_step: str
    exit_code: int | None
    duration_ms: Annotated[int, Meta(ge=0)] | None
    cost_usd: Annotated[float, Meta(ge=0)]
    stdout: Annotated[str, Meta(description="At most 8 KB.")]
    stderr: Annotated[str, Meta(description="At most 8 KB.")]
    error: str | None
    admin_url: Annotated[str, Meta(description="The page of the run.")]
    suppressed: Annotated[
        list[_AutomationRunSuppressedItem],
        Meta(description="Simulated calls with their arguments."),
    ]

    examples: ClassVar = [
        {
            "run_id": SOME_RUN,
            "status": "succeeded",
            "terminal": True,
            "timed_out": False,
            "timeout_reason": None,
            "next_step": "Check stdout and suppressed.",
            "exit_code": 0,
            "duration_ms": 42,
            "cost_usd": 0,
            "stdout": "3 rows\n",
            "stderr": "",
            "error": None,
            "admin_url": SOME_URL,
            "suppressed": [],
        }
    ]
    anti_examples: ClassVar = [({"run_id": SOME_RUN}, "it must say what became of it")]


class GetAutomationRunArguments(SchemaModel):
    run_id: UUID

    examples: ClassVar = [{"run_id": SOME_RUN}]
    anti_examples: ClassVar = [({}, "which run?"), ({"run_id": "the last one"}, "an id, not words")]


_STATES: Final = ["active", "paused", "archived"]


class ListAutomationsArguments(SchemaModel):
    name: (
        Annotated[
            str,
            Meta(description="Text in the name; case-insensitive.", min_length=1, max_length=200),
        ]
        | None
    ) = None
    state: Annotated[
        str | None,
        Meta(
            description="Default: all that are not archived.", extra_json_schema={"enum": _STATES}
        ),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = 50
    after: Annotated[UUID | None, Meta(description="next of the previous page.")] = None

    examples: ClassVar = [
        {},
        {"name": "invoice", "state": "active", "limit": 10},
        {"after": SOME_AUTOMATION},
    ]
    anti_examples: ClassVar = [
        ({"state": "killed"}, "what was put away is archived"),
        ({"limit": 0}, "at least one"),
        ({"after": "Monday report"}, "an id, not a name"),
    ]


class _AutomationEntry(SchemaModel):
    automation_id: UUID
    name: str
    state: Annotated[str, Meta(extra_json_schema={"enum": _STATES})]
    version: Annotated[int, Meta(ge=1)]
    version_id: UUID
    goal: str | None
    last_run_at: datetime | None


class ListAutomationsResult(SchemaModel):
    automations: Annotated[list[_AutomationEntry], Meta(description="Newest first.")]
    next: Annotated[UUID | None, Meta(description="For after; null on the last page.")]

    examples: ClassVar = [
        {
            "automations": [
                {
                    "automation_id": SOME_AUTOMATION,
                    "name": "Log invoices",
                    "state": "active",
                    "version": 2,
                    "version_id": SOME_VERSION,
                    "goal": "Log every invoice to the finance board.",
                    "last_run_at": SOME_TIME,
                }
            ],
            "next": None,
        }
    ]
    anti_examples: ClassVar = [({"automations": []}, "it must say whether there are more")]


class DeleteAutomationArguments(SchemaModel):
    automation_id: UUID

    examples: ClassVar = [{"automation_id": SOME_AUTOMATION}]
    anti_examples: ClassVar = [
        ({}, "which automation?"),
        ({"automation_id": "Monday report"}, "an id, not a name"),
    ]


class DeleteAutomationResult(SchemaModel):
    automation_id: UUID
    state: Literal["killed"]

    examples: ClassVar = [{"automation_id": SOME_AUTOMATION, "state": "killed"}]
    anti_examples: ClassVar = [({"deleted": 1}, "nothing is deleted; it is put away")]


class FindOverlappingAutomationsArguments(SchemaModel):
    writes_to_boards: Annotated[
        list[UUID],
        Meta(
            description="Boards that it writes to.",
            max_length=50,
            min_length=1,
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    dedupe_target_field: (
        Annotated[
            str, Meta(description="Only writers of this list field.", min_length=1, max_length=200)
        ]
        | None
    ) = None
    trigger_kind: Annotated[
        str | None,
        Meta(description="Only this trigger kind.", extra_json_schema={"enum": list(KINDS)}),
    ] = None
    intent: (
        Annotated[
            str,
            Meta(description="Its purpose; adds automations with a similar one.", max_length=2000),
        ]
        | None
    ) = None

    examples: ClassVar = [
        {"writes_to_boards": [SOME_BOARD]},
        {
            "writes_to_boards": [SOME_BOARD],
            "dedupe_target_field": "updates",
            "trigger_kind": "cron",
            "intent": "Log every invoice to the finance board.",
        },
    ]
    anti_examples: ClassVar = [
        ({}, "overlap on which boards?"),
        ({"writes_to_boards": []}, "at least one board"),
        ({"writes_to_boards": ["CRM"]}, "ids, not names"),
    ]


class _OverlappingAutomation(SchemaModel):
    automation_id: UUID
    owner_email: str | None
    is_self: bool
    name: str
    description: str | None
    state: Literal["active", "paused"]
    last_run_at: datetime | None
    writes_to_boards: list[UUID]
    dedupe_target_field: str | None
    dedupe_key_field: str | None
    trigger_kinds: list[str]
    trigger_types: list[str]
    strict_overlap: bool


class FindOverlappingAutomationsResult(SchemaModel):
    count: Annotated[int, Meta(ge=0)]
    strict_count: Annotated[int, Meta(ge=0)]
    matches: Annotated[list[_OverlappingAutomation], Meta(max_length=MOST_MATCHES)]
    similarity_by: Annotated[
        Literal["meaning", "words"] | UnsetType | None,
        Meta(description="How intents were compared: by an embedding model or by words."),
    ] = UNSET

    examples: ClassVar = [
        {
            "count": 1,
            "strict_count": 1,
            "matches": [
                {
                    "automation_id": SOME_AUTOMATION,
                    "owner_email": "ada@example.com",
                    "is_self": False,
                    "name": "Log invoices",
                    "description": None,
                    "state": "active",
                    "last_run_at": SOME_TIME,
                    "writes_to_boards": [SOME_BOARD],
                    "dedupe_target_field": None,
                    "dedupe_key_field": "invoice_id",
                    "trigger_kinds": ["cron"],
                    "trigger_types": [],
                    "strict_overlap": True,
                }
            ],
            "similarity_by": None,
        }
    ]
    anti_examples: ClassVar = [({"matches": []}, "it must say how many")]


class CreateAutomationFlowArguments(SchemaModel):
    purpose_hint: (
        Annotated[
            str,
            Meta(
                description="What it is for, if known; skips the first question.", max_length=2000
            ),
        ]
        | None
    ) = None

    examples: ClassVar = [{}, {"purpose_hint": "Post a revenue report every Monday at 9am ET."}]
    anti_examples: ClassVar = [
        ({"purpose_hint": 7}, "in words"),
        ({"purpose": "x"}, "an argument that does not exist"),
    ]


_Objects = list[dict[str, Any]]


class _CreateAutomationFlowPlaybook(SchemaModel):
    how: str
    purpose: str | None
    reach_for: _Objects
    steps: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    skeletons: _Objects
    similar: dict[str, Any]


class CreateAutomationFlowResult(SchemaModel):
    purpose_hint: str | None
    playbook: _CreateAutomationFlowPlaybook

    examples: ClassVar = [
        {
            "purpose_hint": None,
            "playbook": {
                "how": "One question at a time.",
                "purpose": None,
                "reach_for": [],
                "steps": [{"id": "trigger", "title": "What wakes it"}],
                "skeletons": [],
                "similar": {"similarity_by": None, "automations": []},
            },
        }
    ]
    anti_examples: ClassVar = [({"playbook": {}}, "a playbook has steps")]
