"""The response models of runs.

A response is serialized directly from rows; tests check it against these models.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mainspring.runs.rows import RunStatus, StepStatus

RunMode = Literal["live", "verify", "dry_run"]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Accepted(_Shape):
    """A run that was recorded and will start by itself."""

    run_id: UUID
    status: RunStatus
    url: str = Field(description="Where to read the run.")
    reason: str | None = Field(None, description="Why it did not start, if it did not.")


class Finished(_Shape):
    """A run that has ended while its caller waited."""

    run_id: UUID
    status: RunStatus
    reason: str | None
    outcome: str | None
    output: Any = Field(description="The output of its last step.")
    error: Any = Field(description="Why it failed, if it did.")
    url: str = Field(description="Where to read the run.")


class RunState(_Shape):
    """What was asked for is on its way."""

    run_id: UUID
    status: str = Field(examples=["cancelled", "cancelling", "pending"])


class RunSummary(_Shape):
    """A run in a list."""

    id: UUID
    automation: str = Field(description="The name of its automation.")
    automation_id: UUID
    version: int
    status: RunStatus
    reason: str | None
    outcome: str | None
    trigger_type: str
    trigger_id: UUID | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    effects: int
    drafts: int
    cost_usd: float
    attempt: int
    replay_of: UUID | None
    mode: RunMode = Field(
        description="A dry run changes nothing; verify mode sends nothing outside."
    )
    parent_id: UUID | None
    halted: str | None = Field(description="Why a halt holds it; null: none does.")


class ProcessEnd(_Shape):
    """How the process of a script ended, what it used, and how much of its output is kept."""

    exit_code: int | None = Field(description="Null when it did not end.")
    reason: str | None = Field(
        description="Why it was ended from outside: wall, cpu, memory, output, killed, crashed."
    )
    cpu_ms: int | None
    peak_kb: int | None
    out_bytes: int
    err_bytes: int


class StepShape(_Shape):
    """One finished attempt at a step."""

    step: str
    item: str
    attempt: int
    run_attempt: int
    status: StepStatus
    ms: int
    finished_at: datetime
    until: datetime | None
    output: Any
    error: dict[str, Any] | None
    process: ProcessEnd | None = Field(description="Null for a step that has no process.")


class PieceShape(_Shape):
    """Some text that a step said, at its place."""

    id: str = Field(description="What 'after' takes, to go on behind this piece.")
    step: str
    item: str
    attempt: int
    seq: int = Field(description="Its number within one try at a step, from 1 on.")
    stream: Literal["out", "err", "end", "agent"] = Field(
        description="The last piece of a try is of the stream 'end': JSON that says how it ended. "
        "A piece of 'agent' is JSON too: what an agent thinks, calls and answers."
    )
    text: str
    at: datetime


class CallShape(_Shape):
    """One call of a capability, secrets redacted."""

    step: str
    item: str
    attempt: int
    call: int
    capability: str
    outcome: str
    at: datetime
    ms: int
    cost_usd: float
    arguments: Any
    result: Any
    result_id: UUID | None
    error: dict[str, Any] | None


class RunUsage(_Shape):
    """What one step of a run asked of one model."""

    step: str
    caller: str = Field(description="The capability that asked; script: a script's own word.")
    provider: str
    model: str
    reported: bool = Field(description="The script said so of a model of its own.")
    asks: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float


class TranscriptShape(_Shape):
    """Where a conversation of an agent is kept."""

    step: str
    artifact_id: UUID = Field(description="GET /artifacts/{artifact_id}/content has it, as JSON.")
    created_at: datetime


class Suppressed(_Shape):
    """A call that was only pretended."""

    step: str
    capability: str
    arguments: Any


class WaitsFor(_Shape):
    """What a waiting run needs of a person."""

    kind: Literal["draft", "approval"] = Field(
        description="A held write that a person approves, or a question that a person answers."
    )
    id: UUID = Field(description="The id of the draft or of the question.")
    text: str = Field(description="What would be sent; empty for a question.")
    page: str = Field(description="Where it is answered, as a path of the web page.")
    step: str
    item: str
    until: datetime | None = Field(description="After this the step fails as expired.")


class Story(_Shape):
    """The run in a few sentences."""

    headline: str
    because: str | None = None
    step: str | None = None
    trial: str | None = Field(None, description="What a dry run or verify mode did not do.")
    suppressed: list[Suppressed] | None = None
    next: list[str] = Field(description="The operations that this run allows now.")
    waits_for: list[WaitsFor] | None = Field(
        None, description="The drafts and questions that it waits for."
    )


class RunDetail(RunSummary):
    """A run, whole."""

    due_at: datetime | None = Field(description="Null while it waits for another run to end.")
    takeovers: int
    queue: str
    root_id: UUID | None
    depth: int
    inputs: Any
    payload: Any
    output: Any
    error: dict[str, Any] | None
    steps: list[StepShape]
    calls: list[CallShape]
    usage: list[RunUsage] = Field(description="What it asked of models, by step and model.")
    transcripts: list[TranscriptShape] = Field(
        description="What its agents said and did, a conversation each; the oldest first."
    )
    story: Story
