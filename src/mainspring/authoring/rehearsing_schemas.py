"""JSON schemas of the rehearsal capabilities."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from mainspring.authoring.rehearsing import USUAL_FIRINGS
from mainspring.authoring.running import LEAST_WAIT, MOST_WAIT
from mainspring.authoring.saving_schemas import SOME_AUTOMATION, SOME_RUN
from mainspring.contracts.model_schema import SchemaModel
from mainspring.workspace.boards.schemas import (
    SOME_TIME,
)

MOST_FIRINGS: Final = 20

_SOME_REHEARSAL: Final = "01900000-0000-7000-8000-0000000000a7"

_SOME_PROPOSAL: Final = "01900000-0000-7000-8000-0000000000a8"

_OTHER_RUN: Final = "01900000-0000-7000-8000-0000000000a9"


class _RehearsalCandidate(SchemaModel):
    definition: Annotated[dict[str, Any] | None, Meta(description="A full definition.")] = None
    version: Annotated[int, Meta(description="Version number of the automation.", ge=1)] | None = (
        None
    )
    proposal_id: Annotated[
        UUID | None, Meta(description="A proposal that changes the automation.")
    ] = None
    consent_id: Annotated[
        UUID | None, Meta(description="The change that waits for this consent.")
    ] = None

    keywords: ClassVar = {
        "description": "What to rehearse. Default: the active version.",
        "minProperties": 1,
        "maxProperties": 1,
    }


class _RehearsalSample(SchemaModel):
    inputs: Annotated[dict[str, Any] | None, Meta(description="Inputs, as for a manual run.")] = (
        None
    )
    payload: Annotated[
        Any | UnsetType, Meta(description="Payload of a trigger: any JSON value.")
    ] = UNSET

    keywords: ClassVar = {"minProperties": 1}


class RehearseAutomationArguments(SchemaModel):
    automation_id: UUID
    candidate: _RehearsalCandidate | None = None
    last: Annotated[
        int, Meta(description="How many past fire times to use.", ge=1, le=MOST_FIRINGS)
    ] = USUAL_FIRINGS
    samples: (
        Annotated[
            list[_RehearsalSample],
            Meta(
                description="Use these instead of past fire times; the active version runs on "
                "them too, for comparison.",
                min_length=1,
                max_length=MOST_FIRINGS,
            ),
        ]
        | None
    ) = None
    live_reads: Annotated[
        bool | None,
        Meta(
            description="Read data outside that no record has, as in a dry run. Default: true, "
            "unless the candidate has permissions without consent; then only a person"
            " who can edit automations can set it."
        ),
    ] = None
    wait_seconds: (
        Annotated[
            int,
            Meta(
                description="How long to wait. Default: the run's time limit plus 90 s.",
                ge=LEAST_WAIT,
                le=MOST_WAIT,
            ),
        ]
        | None
    ) = None

    examples: ClassVar = [
        {"automation_id": SOME_AUTOMATION},
        {"automation_id": SOME_AUTOMATION, "candidate": {"version": 3}, "last": 10},
        {
            "automation_id": SOME_AUTOMATION,
            "candidate": {"proposal_id": _SOME_PROPOSAL},
            "live_reads": False,
        },
        {
            "automation_id": SOME_AUTOMATION,
            "samples": [{"inputs": {"limit": 5}}, {"payload": {"total": 120}}],
        },
    ]
    anti_examples: ClassVar = [
        ({}, "which automation?"),
        ({"automation_id": SOME_AUTOMATION, "last": 0}, "one firing at least"),
        ({"automation_id": SOME_AUTOMATION, "samples": []}, "one sample at least"),
        ({"automation_id": SOME_AUTOMATION, "samples": [{"input": {}}]}, "inputs or payload"),
        ({"automation_id": SOME_AUTOMATION, "candidate": {}}, "a candidate is something"),
        (
            {"automation_id": SOME_AUTOMATION, "candidate": {"version": 1, "definition": {}}},
            "one of them, not both",
        ),
    ]


class GetRehearsalArguments(SchemaModel):
    rehearsal_id: UUID

    examples: ClassVar = [{"rehearsal_id": _SOME_REHEARSAL}]
    anti_examples: ClassVar = [
        ({}, "which rehearsal?"),
        ({"rehearsal_id": "the last one"}, "an id, not words"),
    ]


_SOME_SIDE: Final[dict[str, Any]] = {
    "run_id": SOME_RUN,
    "at": SOME_TIME,
    "status": "succeeded",
    "outcome": "drafts_waiting",
    "reason": None,
    "error": None,
    "cost_usd": "0.002",
    "deeds": [],
}

_SOME_DEED: Final = {
    "what": "drafted",
    "step": "mail",
    "capability": "send_email",
    "arguments": {"to": "ada@example.com", "subject": "120 orders", "body": "…"},
}


class _RehearsalCandidate2(SchemaModel):
    kind: Literal["version", "definition", "proposal"]
    version: int | None = None
    proposal_id: UUID | None = None


_Usd = Annotated[str, Meta(description="US dollars, as decimal text.")]


class _RehearsedEffect(SchemaModel):
    what: Literal["written", "drafted", "sent"]
    step: str
    capability: str
    arguments: Annotated[Any, Meta(description="Shortened; secrets by name only.")]


class _RehearsalFiringThen(SchemaModel):
    run_id: UUID
    at: datetime
    status: str
    outcome: str | None
    reason: str | None
    error: str | None
    cost_usd: _Usd
    deeds: Annotated[list[_RehearsedEffect], Meta(description="What it wrote, drafted and sent.")]

    keywords: ClassVar = {
        "description": (
            "What happened; on samples, what the active version would have done. null:"
            " nothing to compare with."
        )
    }


class _LiveCalls(SchemaModel):
    step: str
    capability: str
    cost_usd: _Usd


class _RehearsalFiringNow(_RehearsalFiringThen):
    spent_usd: Annotated[str, Meta(description="Cost of the rehearsal.")]
    recorded: Annotated[int, Meta(description="Answers taken from records.", ge=0)]
    live: Annotated[
        list[_LiveCalls], Meta(description="Reads without a record that were made now.")
    ]

    keywords: ClassVar = {
        "description": (
            "What would have happened; null: it was not started. status skipped: not "
            "rehearsed, for example because the daily budget is spent."
        )
    }


class _RehearsalDifferenceField(SchemaModel):
    pointer: str
    then: Any
    now: Any


class _RehearsalDifference(SchemaModel):
    kind: Literal["added", "removed", "changed", "status", "cost"]
    says: str
    step: str | None = None
    capability: str | None = None
    fields: Annotated[
        list[_RehearsalDifferenceField] | None,
        Meta(description="Arguments that differ, with old and new values."),
    ] = None


class _RehearsalFiring(SchemaModel):
    then: Annotated[
        _RehearsalFiringThen | None,
        Meta(
            description="What happened; on samples, what the active version would have done. "
            "null: nothing to compare with."
        ),
    ]
    now: Annotated[
        _RehearsalFiringNow | None,
        Meta(
            description="What would have happened; null: it was not started. status skipped: not "
            "rehearsed, for example because the daily budget is spent."
        ),
    ]
    done: bool
    otherwise: Annotated[bool, Meta(description="Whether the result differs.")]
    differences: list[_RehearsalDifference]
    note: str | None


class RehearsalResult(SchemaModel):
    rehearsal_id: UUID
    automation_id: UUID
    candidate: _RehearsalCandidate2
    version_in_force: int
    live_reads: bool
    done: Annotated[bool, Meta(description="Whether all of it has finished.")]
    otherwise: Annotated[int, Meta(description="Fire times with a different result.", ge=0)]
    summary: str
    spent_usd: Annotated[
        str,
        Meta(description="Cost of the rehearsal, with the runs of the active version on samples."),
    ]
    firings: list[_RehearsalFiring]
    next_step: str

    examples: ClassVar = [
        {
            "rehearsal_id": _SOME_REHEARSAL,
            "automation_id": SOME_AUTOMATION,
            "candidate": {"kind": "version", "version": 3},
            "version_in_force": 2,
            "live_reads": True,
            "done": True,
            "otherwise": 1,
            "summary": "1 of 1 run would differ: it would have drafted send_email.",
            "spent_usd": "0",
            "firings": [
                {
                    "then": _SOME_SIDE,
                    "now": {
                        **_SOME_SIDE,
                        "run_id": _OTHER_RUN,
                        "deeds": [_SOME_DEED],
                        "spent_usd": "0",
                        "recorded": 2,
                        "live": [],
                    },
                    "done": True,
                    "otherwise": True,
                    "differences": [
                        {
                            "kind": "added",
                            "says": "It would have drafted send_email, which it did not then.",
                            "step": "mail",
                            "capability": "send_email",
                        }
                    ],
                    "note": None,
                }
            ],
            "next_step": "Show the differences to the person.",
        }
    ]
    anti_examples: ClassVar = [({"rehearsal_id": _SOME_REHEARSAL}, "it must say what came of it")]
