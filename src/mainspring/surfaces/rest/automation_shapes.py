"""The response models of automations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.limits import Limits
from mainspring.definition.model import TriggerType
from mainspring.definition.secret_use import find_secret_uses

AutomationState = Literal["active", "paused", "archived"]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class GrantShape(_Shape):
    """Permission to call one capability, with bounds on its arguments."""

    capability: str
    params: dict[str, Any]


class DescribedGrant(GrantShape):
    """A grant, and how far it reaches as the definition uses it."""

    label: str = Field(description="What it does, in a few words.")
    effect: Literal["read", "keep", "send"]
    waits_for_person: bool


class FindingShape(_Shape):
    """One thing that is wrong or doubtful, and where."""

    pointer: str = Field(description="A JSON pointer into the document.")
    detail: str
    code: str
    suggestion: str | None = None


class NoteShape(_Shape):
    """What was changed to bring a document to today's format."""

    pointer: str
    detail: str
    was: str | None = None


class AdditionShape(_Shape):
    """One thing that an automation may do beyond what a person has agreed to."""

    kind: str
    pointer: str = Field(description="Place in the definition.")
    says: str = Field(description="The sentence for the person who is asked.")
    capability: str | None = Field(None, description="The capability it calls, if any.")


class AdditionsShape(_Shape):
    """What a save would add to what a person has agreed to."""

    additions: list[AdditionShape]
    digest: str = Field(description="Stands for exactly these additions.")


class Verdict(_Shape):
    """What the validator says about a document."""

    ok: bool
    errors: list[FindingShape]
    warnings: list[FindingShape]
    notes: list[NoteShape]
    grants: list[GrantShape] = Field(description="What its runs would be allowed to call.")
    definition: dict[str, Any] | None = Field(
        description="The document in today's format with its defaults; null with errors."
    )
    adds: AdditionsShape | None = Field(
        None, description="What saving it would add; only if that was asked for."
    )


class LastRun(_Shape):
    """The newest run of an automation."""

    id: UUID
    status: str
    outcome: str | None
    reason: str | None = Field(description="items_failed: it went on past items that failed.")
    at: datetime = Field(description="When it ended, else began, else was recorded.")


class AgreedShape(_Shape):
    """What a person's agreement covers."""

    version: int
    by: UUID | None = Field(description="The member who agreed.")
    via: Literal["page", "terminal", "token", "upgrade"] = Field(
        description="upgrade: it was at work before agreement was recorded; look it through."
    )


class AutomationSummary(_Shape):
    """An automation in a list."""

    id: UUID
    name: str
    goal: str | None
    state: AutomationState
    paused_reason: str | None = Field(
        description="Why it was paused automatically: failures, consent or owner_left."
    )
    version: int = Field(description="The version in force.")
    agreed: AgreedShape | None = Field(
        description="What a person has agreed to; null: no consent, so it starts nothing."
    )
    failures: int = Field(description="Its latest runs by triggers that failed in a row.")
    acknowledged_at: datetime | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime
    next_due_at: datetime | None = Field(description="When a schedule starts it next.")
    next_due_timezone: str | None = Field(
        description="The time zone of the schedule that starts it next."
    )
    last_run: LastRun | None
    trigger_types: list[TriggerType] = Field(description="Of its triggers that are on.")
    streak: int = Field(
        description="How many of its latest finished runs in a row succeeded, at most 50."
    )
    recent: list[str] = Field(
        description="The status of its latest runs, at most 12; oldest first."
    )
    month_usd: float = Field(description="What it has cost since this month began, in UTC.")
    drafts_waiting: int
    approvals_waiting: int
    consent_waiting: bool = Field(description="A person has to agree before it starts.")
    halted: str | None = Field(description="Why it is halted; null: it is not.")


class TriggerSummary(_Shape):
    """What starts an automation; its settings stand in the definition."""

    id: UUID
    slug: str = Field(description="Its id in the definition.")
    type: TriggerType
    enabled: bool
    armed_at: datetime | None = Field(description="Since when it can go off; null: it cannot.")
    next_due_at: datetime | None
    last_fired_at: datetime | None


class GrantUse(GrantShape):
    """A grant, and how often the latest runs made use of it."""

    calls: int
    last_used_at: datetime | None


class GrantsUsed(_Shape):
    """What an automation may call, and what its latest runs really called."""

    runs: int = Field(description="How many of the latest runs were counted.")
    since: datetime | None = Field(description="When the oldest of them was recorded.")
    items: list[GrantUse]


class SecretUseShape(_Shape):
    """A secret of the owner's that a definition uses, and where it goes."""

    name: str
    action: str = Field(description="What uses it: the action of a step, or a type of trigger.")
    part: str = Field(description="The part of what is sent, as headers; empty for a trigger.")
    site: str = Field(description="The host that gets it; empty where the definition does not say.")


class AutomationDetail(AutomationSummary):
    """An automation, whole."""

    definition: dict[str, Any] = Field(description="With its triggers as they are now.")
    grants: list[DescribedGrant]
    secrets: list[SecretUseShape] = Field(
        description="Every secret that it uses, once for each place that it goes to."
    )
    triggers: list[TriggerSummary]


def describe_secret_uses(document: Mapping[str, Any], limits: Limits) -> list[dict[str, str]]:
    """The secrets of a definition by name, as far as its reader may see them."""
    uses = {
        (one.secret, one.action, one.part, one.site) for one in find_secret_uses(document, limits)
    }
    return [dict(zip(SecretUseShape.model_fields, use, strict=True)) for use in sorted(uses)]


def grants_used(grants: Sequence[Mapping[str, Any]], use: Mapping[str, Any]) -> dict[str, Any]:
    """Each grant with its usage; several grants of one capability share it."""
    items = []
    for grant in grants:
        used = use["used"].get(grant["capability"])
        counted = {"calls": 0, "last_used_at": None} if used is None else used
        items.append(
            {
                "capability": grant["capability"],
                "params": grant["params"],
                "calls": counted["calls"],
                "last_used_at": counted["last_used_at"],
            }
        )
    return {"runs": use["runs"], "since": use["since"], "items": items}


class ConsentShape(_Shape):
    """What a person has to agree to before an automation starts."""

    consent_id: UUID
    digest: str = Field(description="The digest of exactly these additions.")
    additions: list[AdditionShape]


class SavedShape(_Shape):
    """What was saved."""

    id: UUID
    name: str
    version: int
    changed: bool = Field(description="False: it says what the version in force says.")
    state: AutomationState
    widened: list[GrantShape] = Field(
        description="What its runs may call that those of the version before might not."
    )
    warnings: list[FindingShape]
    consent: ConsentShape | None = Field(
        None, description="What a person has to agree to first; null: it adds nothing."
    )


class StateShape(_Shape):
    """The state that an automation is in now."""

    id: UUID
    state: AutomationState
    warnings: list[FindingShape] = Field(
        description="While it is active: what keeps its triggers from going off."
    )


class VersionSummary(_Shape):
    """A version in a list."""

    version: int
    version_id: UUID = Field(description="What update_automation calls it by to go back to it.")
    definition_hash: str = Field(description="SHA-256 of the definition, canonically spelled.")
    author: UUID
    created_at: datetime
    rollback_of: int | None = Field(description="The earlier version that it brought back.")
    in_force: bool


class VersionDetail(VersionSummary):
    """A version exactly as it was saved."""

    definition: dict[str, Any]
    grants: list[GrantShape]


class ChangeShape(_Shape):
    """One difference; the pointer is into the later definition, or the earlier if it is gone."""

    op: Literal["add", "remove", "replace", "move"]
    pointer: str
    from_: str | None = Field(
        None, alias="from", description="The earlier position of a moved step."
    )
    before: Any = None
    after: Any = None


class DiffShape(_Shape):
    """What is different between two versions."""

    from_: int = Field(alias="from")
    to: int
    changes: list[ChangeShape]
    widened: list[GrantShape] = Field(description="What may be called now and not before.")
    narrowed: list[GrantShape] = Field(description="What might be called before and not now.")


class ImportedShape(_Shape):
    """What became of one document."""

    id: UUID
    name: str
    renamed_from: str | None
    version: int
    changed: bool
    state: AutomationState
    widened: list[GrantShape]
    consent: ConsentShape | None = Field(
        description="What waits for a person; null where the file says nothing new."
    )


class ImportShape(_Shape):
    """Everything that was imported, in the order it was handed in."""

    imported: list[ImportedShape]


class ExportShape(_Shape):
    """Every automation as a file that can be imported."""

    format: Literal["mainspring.export"]
    version: Literal[1]
    automations: list[dict[str, Any]]


class MessageShape(_Shape):
    """A message in the inbox."""

    id: UUID
    automation_id: UUID | None
    run_id: UUID | None
    level: Literal["info", "warning", "error"]
    title: str
    message: str
    created_at: datetime
    read_at: datetime | None


class MarkedShape(_Shape):
    """How many messages were unread and are read now."""

    marked: int
