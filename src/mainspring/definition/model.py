"""The definition model: the strict pydantic model of the document that an author writes.

Nothing is coerced: text never becomes a number, a number never a boolean, and an unknown key is an
error. Checks that need the vocabulary (does this action exist, is its config valid) are in
``validate``; this module only knows the envelope.

The published JSON Schema is generated from this model, and forms show the field docstrings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

CURRENT_VERSION: Final = "1.2"

Backoff = Literal["none", "linear", "exponential"]
Concurrency = Literal["drop_if_running", "queue", "allow_parallel"]
WritePolicy = Literal["always_draft", "auto_confirm_safe"]
ApprovalMode = Literal["ask", "automatic"]
OnHold = Literal["wait", "continue"]
TriggerType = Literal[
    "schedule",
    "webhook",
    "form",
    "event",
    "board_change",
    "page_ingested",
    "chat_message",
    "poll",
    "rss_item",
    "url_changed",
    "github",
    "calendar_event",
    "email_received",
    "file_added",
]

MONEY_PLACES: Final = 6
MONEY_CEILING: Final = Decimal(1_000_000)
MONEY_TEXT: Final = r"[0-9]{1,7}(\.[0-9]{1,6})?"


def _read_money(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise PydanticCustomError("money", "Write an amount as a number or as decimal text.")
    if isinstance(value, str) and not re.fullmatch(MONEY_TEXT, value):
        raise PydanticCustomError("money", 'Decimal text has digits and a point, as in "1.50".')
    # Use the float's repr, which is what the author typed, not its binary value.
    amount = Decimal(str(value))
    if not amount.is_finite() or not 0 <= amount <= MONEY_CEILING:
        raise PydanticCustomError("money", "An amount is at least 0 and at most 1000000.")
    if amount != round(amount, MONEY_PLACES):
        raise PydanticCustomError("money", "An amount has at most 6 decimal places.")
    return amount


def show_money(amount: Decimal) -> str:
    """The canonical spelling of an amount: 1.50 and 1.5 give the same definition."""
    return format(amount.normalize(), "f") if amount else "0"


def _money_schema(highest: int | None = None) -> WithJsonSchema:
    number: dict[str, Any] = {"type": "number", "minimum": 0}
    if highest is not None:
        number["maximum"] = highest
    text = {"type": "string", "pattern": f"^{MONEY_TEXT}$", "maxLength": 14}
    return WithJsonSchema({"anyOf": [number, text], "x-mainspring-widget": "money"})


def _read_day_cap(value: Any) -> Decimal:
    amount = _read_money(value)
    if amount > 100:
        raise PydanticCustomError("money", "An automation may spend at most $100 a day.")
    return amount


def _read_approval(value: Any) -> Any:
    modes = list(value.values()) if isinstance(value, dict) else [value]
    if not modes or any(one not in ("ask", "automatic") for one in modes):
        raise PydanticCustomError(
            "approval",
            'Approval is "ask" or "automatic", or one of them for each capability by its name.',
        )
    return value


_MODES: Final = {"enum": ["ask", "automatic"]}
Approval = Annotated[
    ApprovalMode | dict[str, ApprovalMode],
    BeforeValidator(_read_approval),
    WithJsonSchema(
        {
            "anyOf": [
                _MODES,
                {"type": "object", "additionalProperties": _MODES, "minProperties": 1},
            ]
        }
    ),
]
Money = Annotated[
    Decimal, BeforeValidator(_read_money), PlainSerializer(show_money), _money_schema()
]
DayCap = Annotated[
    Decimal, BeforeValidator(_read_day_cap), PlainSerializer(show_money), _money_schema(100)
]
StepName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", max_length=64)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$", max_length=64)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=4_000)]
BoardId = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Retries = Annotated[int, Field(ge=0, le=10)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]


HOLD_TEXT: Final = r"[1-9][0-9]{0,6}[smhd]"
_SECONDS_OF: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
SHORTEST_HOLD, LONGEST_HOLD = 60, 2_592_000


def hold_seconds(text: str) -> int:
    """A duration such as 90m, 72h or 3d in seconds."""
    return int(text[:-1]) * _SECONDS_OF[text[-1]]


def _check_hold(text: str) -> str:
    if not SHORTEST_HOLD <= hold_seconds(text) <= LONGEST_HOLD:
        raise PydanticCustomError(
            "hold_time", "A held write waits for at least one minute and at most 30 days."
        )
    return text


HoldTime = Annotated[
    str, Field(pattern=f"^{HOLD_TEXT}$", max_length=8), AfterValidator(_check_hold)
]


def _template(**more: Any) -> dict[str, Any]:
    return {"x-mainspring-widget": "jinja", "x-mainspring-scope": "run", **more}


def _without_default(made: dict[str, Any]) -> None:
    made.pop("default", None)


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Inputs(_Part):
    """What a run is given, described by a JSON Schema whose defaults fill the gaps."""

    # The wire name is "schema", which would shadow a method of the model class.
    shape: dict[str, Any] = Field(
        alias="schema",
        default_factory=lambda: {"type": "object", "properties": {}},
        json_schema_extra={"x-mainspring-widget": "json-schema"},
    )
    """JSON Schema 2020-12 of an object; a default may be $last_fired_at, $creator or
    $space_default."""


class TriggerEntry(_Part):
    """One moment at which the automation starts."""

    # Generated when the definition is read without one.
    id: Slug = Field(default="", json_schema_extra=_without_default)
    """Keeps the trigger's identity when the definition is edited; given when left out."""
    type: TriggerType
    """What makes it go off."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The settings of this kind of trigger."""
    inputs: dict[str, Any] = Field(default_factory=dict)
    """Fixed inputs of the runs that this trigger starts."""
    enabled: bool = True
    """A disabled trigger keeps its settings and never goes off."""


class Step(_Part):
    """One entry of a plan: an action with its config."""

    step_id: StepName
    """Unique in the definition; the step's output is steps.<step_id>."""
    action: Word = Field(json_schema_extra={"x-mainspring-source": "actions"})
    """An action, or the id of a capability to call it directly."""
    description: Text | None = None
    """What the step is for, in words."""
    when: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, json_schema_extra=_template(examples=["{{ inputs.count > 0 }}"])
    )
    """The step runs when this expression is true and is skipped when it is false."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Rendered, then judged by the action's own schema."""
    output_as: StepName | None = None
    """A further name for the output: <name> and steps.<name>."""
    max_retries: Retries | None = None
    """Further attempts after the first one fails; default: the execution's."""
    retry_backoff: Backoff | None = None
    """How the pauses between attempts grow; default: the execution's."""
    timeout_seconds: Seconds | None = None
    """How long one attempt may take; default: the execution's."""
    budget_cap_usd: Money | None = None
    """What the step may spend in one run, in USD: every attempt, every item and what stands
    inside it together; left out, the run's cap is the only one."""
    approval: Approval | None = None
    """For a step that writes outside: "ask" makes each write a draft, "automatic" sends it at
    once within what was agreed to. Of several capabilities each may have its own. Left out:
    mail to the owner is sent, and execution.write_policy decides about the rest."""
    on_hold: OnHold | None = None
    """What the run does while an outside write of this step waits for a person. wait: the run
    waits without a worker, and the step's output is the result of the write. continue: the run
    goes on, and the output is the draft. Left out: wait if another step reads the result."""
    hold_expires_after: HoldTime | None = Field(
        default=None, json_schema_extra={"examples": ["72h", "90m", "3d"]}
    )
    """How long a write of this step waits for a person, from 1m to 30d; default: the
    workspace's setting, which is 72 hours unless it was changed."""

    @property
    def output_name(self) -> str:
        """Where later steps find the output, under ``steps``."""
        return self.output_as or self.step_id


def _not_empty(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    # pydantic's own max_length would also count the steps that it has already rejected.
    if not steps:
        raise PydanticCustomError("too_short", "A plan has at least one step.")
    return steps


# A JSON array arrives as a list, which strict mode would not accept as a tuple.
Steps = Annotated[tuple[Step, ...], Field(strict=False)]


class Execution(_Part):
    """The bounds of every run."""

    timeout_seconds: Seconds = 600
    """How long a run may work; waiting does not count."""
    max_retries: Retries = 2
    """Further attempts at a step after the first one fails."""
    retry_backoff: Backoff = "exponential"
    """How the pauses between attempts grow."""
    concurrency: Concurrency = "queue"
    """What happens to a firing while a run is under way."""
    concurrency_key: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(
        default=None, json_schema_extra=_template(examples=["{{ inputs.customer_id }}"])
    )
    """Runs with the same key wait for each other; without it all runs do."""
    budget_cap_usd: Money = Decimal(1)
    """What one run may spend, in USD."""
    cost_cap_daily_usd: DayCap = Decimal(1)
    """What all runs of one day may spend together, in USD."""
    max_llm_tokens: Annotated[int, Field(ge=100, le=2_000_000)] = 200_000
    """Tokens one run may use, read and written together."""
    model: Word | None = None
    """The model that is asked when a call names none; left out: the installation's."""
    write_policy: WritePolicy = "always_draft"
    """Whether safe outside writes may go without a person."""
    on_failure: Annotated[Steps, Field(max_length=20)] = ()
    """Steps that run after the plan has failed; they see run.error."""


class GrantEntry(_Part):
    """Permission to call one capability, with bounds on its arguments."""

    capability: Word = Field(json_schema_extra={"x-mainspring-source": "capabilities"})
    """The id of the capability."""
    params: dict[str, Any] = Field(default_factory=dict)
    """A scalar must be equal, a list names what is allowed, max_* is an upper bound,
    hosts is compared with the host of the url."""


class Retention(_Part):
    """How long history is kept."""

    runs_days: Annotated[int, Field(ge=1, le=3_650)] = 90
    """Days after which a finished run is deleted."""


class Metadata(_Part):
    """Notes of the author; the engine reads none of them."""

    model_config = ConfigDict(extra="allow")

    tags: Annotated[tuple[Word, ...], Field(strict=False, max_length=50)] = ()
    """Words to find the automation by."""
    created_from_nl: bool | None = None
    """Whether a model wrote the first version."""


class Writes(_Part):
    """What it writes that others write too, so that two of a kind are noticed."""

    boards: Annotated[tuple[BoardId, ...], Field(strict=False, max_length=50)] = ()
    """The boards, by their ids."""
    dedupe_key_field: Word | None = None
    """The field that holds the other side's own id, by which a row is written once."""
    dedupe_target_field: Word | None = None
    """The list field of a row that is added to."""
    coexistence_note: Annotated[str, Field(min_length=10, max_length=1_000)] | None = None
    """Why it can coexist with another writer."""


class Definition(_Part):
    """An automation, whole: everything that decides what its runs do."""

    schema_version: Literal["1.2"]
    """The version of this format."""
    name: Word
    """What people call it; unique in a workspace."""
    goal: Annotated[str, Field(min_length=1, max_length=4_000)]
    """What it is for, in one or two sentences."""
    description: Text | None = None
    """Anything a reader should know."""
    intent: Text | None = None
    """The words of the person who asked for it."""
    inputs: Inputs = Field(default_factory=Inputs)
    triggers: Annotated[tuple[TriggerEntry, ...], Field(strict=False)] = ()
    """Without any trigger the automation runs by hand only."""
    plan: Annotated[Steps, AfterValidator(_not_empty)] = Field(json_schema_extra={"minItems": 1})
    """The steps, in the order they run."""
    execution: Execution = Field(default_factory=Execution)
    grants: Annotated[tuple[GrantEntry, ...], Field(strict=False, max_length=200)] | None = None
    """What runs may call; left out, it follows from the plan."""
    writes: Writes | None = Field(default=None, title="Writes")
    """What it writes that others write too; the engine does not need it."""
    retention: Retention = Field(default_factory=Retention)
    metadata: Metadata = Field(default_factory=Metadata)

    @classmethod
    def from_json(cls, value: Any) -> Definition:
        """Read parsed JSON and give every trigger an id.

        Raises pydantic's ValidationError. Use ``validate`` for documents from users.
        """
        made = cls.model_validate(value)
        return made.model_copy(update={"triggers": _assign_ids(made.triggers)})

    def as_dict(self) -> dict[str, Any]:
        """The canonical form with defaults filled in, so that equal programs have equal hashes."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def read_steps(value: Sequence[Any]) -> tuple[Step, ...]:
    """Reads nested steps, which have the same shape as those of the plan."""
    return _STEPS.validate_python(value)


def _assign_ids(triggers: Iterable[TriggerEntry]) -> tuple[TriggerEntry, ...]:
    entries = tuple(triggers)
    taken = {entry.id for entry in entries}
    named = []
    for place, entry in enumerate(entries, 1):
        if entry.id:
            named.append(entry)
            continue
        number = place
        while f"trigger-{number}" in taken:
            number += 1
        taken.add(f"trigger-{number}")
        named.append(entry.model_copy(update={"id": f"trigger-{number}"}))
    return tuple(named)


_STEPS: Final = TypeAdapter(Steps)

# The model for each pointer pattern; a star matches any index.
PARTS: Final[Mapping[tuple[str, ...], type[BaseModel]]] = {
    (): Definition,
    ("inputs",): Inputs,
    ("triggers", "*"): TriggerEntry,
    ("plan", "*"): Step,
    ("execution",): Execution,
    ("execution", "on_failure", "*"): Step,
    ("grants", "*"): GrantEntry,
    ("writes",): Writes,
    ("retention",): Retention,
}
