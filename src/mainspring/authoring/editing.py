"""update_automation and delete_automation: edit, activate, pause or archive.

A change of behaviour makes a version with everything that belongs to it, so that a rollback
restores permissions and caps together with the source. Switching back makes no version: the earlier
one is current again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.authors import AutomationAuthor, author_of, check_may_edit
from mainspring.authoring.draft import HOSTS_NOTE, apply_changes, is_script, refuse
from mainspring.authoring.overlaps import check_boards
from mainspring.authoring.saving import find_warnings
from mainspring.authoring.service import AuthoringService
from mainspring.authoring.validation import build_overlap_query, check_overlap, validate_definition
from mainspring.contracts.errors import Conflict, Finding, Invalid, PermissionDenied
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.strict_json import is_same_value
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace import schedules
from mainspring.workspace.automation_states import activate, archive, pause
from mainspring.workspace.automations import (
    list_triggers,
    lock_automation,
    lock_automations,
    lock_names,
    merge_stored_triggers,
    read_grants,
    update,
)
from mainspring.workspace.consent_rows import AutomationConsent
from mainspring.workspace.consents import (
    AgreedAuthority,
    ask_if_wider,
    load_baseline,
    summarize_consent,
)
from mainspring.workspace.versions import (
    compute_version_id,
    find_version,
    read_version,
    use_version,
    validate_version,
)

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.grant import Grant

# Fields that only scripts have.
_OF_SCRIPTS: Final = ("source", "tool_grants", HOSTS_NOTE)
_OVERLAP: Final = ("acknowledged_overlap", "coexistence_note")
_ROLLBACK: Final = "active_version_id"
# Fields that a run may change on an automation with more permissions than its own.
_WORDS: Final = frozenset({"name", "description", "intent"})
_CAPS: Final = ("cost_cap_daily_usd", "max_wall_seconds", "max_llm_tokens")
# Where each field is in a definition, to detect whether it changes anything.
_PLACES: Final[Mapping[str, Sequence[tuple[str | int, ...]]]] = {
    "name": [("name",)],
    "description": [("description",)],
    "intent": [("intent",)],
    "source": [("plan", 0, "config", "source")],
    "tool_grants": [("plan", 0, "config", "grants")],
    "triggers": [("triggers",)],
    "cost_cap_daily_usd": [("execution", "cost_cap_daily_usd")],
    "max_wall_seconds": [("plan", 0, "config", "wall_seconds"), ("execution", "timeout_seconds")],
    "max_llm_tokens": [("execution", "max_llm_tokens")],
    "model": [("execution", "model")],
    "write_policy": [("execution", "write_policy")],
    "writes_to_boards": [("writes", "boards")],
    "dedupe_key_field": [("writes", "dedupe_key_field")],
    "dedupe_target_field": [("writes", "dedupe_target_field")],
    "coexistence_note": [("writes", "coexistence_note")],
    HOSTS_NOTE: [("metadata", HOSTS_NOTE)],
}
EDITABLE: Final = frozenset({*_PLACES, "state", _ROLLBACK})


@dataclass(slots=True)
class _EditResult:
    """The result of an edit."""

    state: str
    version: int | None = None
    columns: list[str] = field(default_factory=list)
    warnings: Sequence[Finding] = ()
    # The consent it waits for.
    consent: AutomationConsent | None = None


def update_handler(studio: AuthoringService) -> CapabilityHandler:
    async def change(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        fields = {name: value for name, value in arguments.items() if name != "automation_id"}
        _check_fields(ctx, fields)
        automation_id, space, tx = UUID(arguments["automation_id"]), ctx.actor.workspace_id, ctx.tx
        await lock_names(tx, space)
        await lock_automations(tx, space, [automation_id])
        before = await schedules.list_waiting_schedules(tx, [(space, automation_id)])
        author = await author_of(ctx, tx)
        made = await _apply_edit(studio, ctx, automation_id, fields, author)
        await record_overtaken(tx, before, studio.limits)
        result = _describe_edit(studio, automation_id, made)
        return result if made.columns else Unchanged(result)

    return change


def _check_fields(ctx: CallContext, fields: Mapping[str, Any]) -> None:
    if not fields.keys() & EDITABLE:
        detail = f"Nothing to change: give at least one of {', '.join(sorted(EDITABLE))}."
        raise Invalid(detail, code="nothing_to_change", findings=[Finding("", detail, "missing")])
    others = fields.keys() - {"state", _ROLLBACK}
    if _ROLLBACK in fields and others:
        detail = "Going back brings back a whole version; nothing else is changed with it."
        way = "Go back first, then make the other changes."
        refuse([Finding(f"/{name}", detail, "with_rollback", way) for name in sorted(others)])
    if fields.keys() != {"state"}:
        check_may_edit(ctx)


async def _apply_edit(
    studio: AuthoringService,
    ctx: CallContext,
    automation_id: UUID,
    fields: Mapping[str, Any],
    author: AutomationAuthor,
) -> _EditResult:
    space, tx = ctx.actor.workspace_id, ctx.tx
    row = await lock_automation(tx, space, automation_id)
    made = _EditResult(row["state"])
    agreed = await load_baseline(tx, space, automation_id, ctx.actor)
    if _ROLLBACK in fields:
        await _go_back(studio, tx, space, row, UUID(fields[_ROLLBACK]), author, made)
    elif fields.keys() - {"state"}:
        await _edit(studio, tx, space, row, fields, author, made)
    if fields.keys() - {"state"}:
        await _ask(studio, ctx, automation_id, agreed, made)
    if "state" in fields and (made.consent is None or fields["state"] == "paused"):
        now = await lock_automation(tx, space, automation_id)
        missing: tuple[Finding, ...] = ()
        if fields["state"] == "active":
            grants = read_grants(now["grants"])
            missing = await studio.find_warnings(space, now["document"], grants, automation_id)
        made.state = await _set_state(studio, tx, space, now, fields["state"], author, missing)
        made.warnings = tuple(dict.fromkeys((*made.warnings, *missing)))
    if made.state != row["state"]:
        made.columns.append("state")
    return made


async def _ask(
    studio: AuthoringService,
    ctx: CallContext,
    automation_id: UUID,
    agreed: AgreedAuthority | None,
    made: _EditResult,
) -> None:
    """Ask for consent when a program widens what an automation may do."""
    space, tx = ctx.actor.workspace_id, ctx.tx
    made.consent = await ask_if_wider(tx, space, automation_id, agreed, ctx.actor)
    if made.consent is not None:
        made.state = "paused"


async def _edit(
    studio: AuthoringService,
    tx: Transaction,
    space: UUID,
    row: Any,
    fields: Mapping[str, Any],
    author: AutomationAuthor,
    made: _EditResult,
) -> None:
    automation_id = row["id"]
    rows = await list_triggers(tx, space, automation_id)
    before = merge_stored_triggers(row["document"], rows)
    _check_is_script(before, fields)
    document, early = apply_changes(before, fields)
    report = await validate_definition(studio, space, document, fields, early, automation_id)
    definition = report.accepted()
    after = definition.as_dict()
    await _check_run(author, tx, space, row, after, report.grants, fields)
    if "writes_to_boards" in fields:
        await check_boards(tx, space, fields["writes_to_boards"])
    if fields.keys() & {"writes_to_boards", "dedupe_target_field", "triggers", *_OVERLAP}:
        noted = bool((before.get("writes") or {}).get("coexistence_note"))
        acknowledged = fields.get("acknowledged_overlap")
        query = build_overlap_query(after, automation_id)
        if acknowledged is not None or not noted:
            await check_overlap(studio, tx, space, query, acknowledged=bool(acknowledged))
    saved = await update(
        tx,
        space,
        automation_id,
        definition,
        report.grants,
        author.member_id,
        traits=report.traits,
    )
    made.warnings = find_warnings(report, saved)
    made.columns += [
        name for name in sorted(fields.keys() & _PLACES.keys()) if _differs(name, before, after)
    ]
    if saved.changed:
        made.version = saved.version


async def _check_run(
    author: AutomationAuthor,
    tx: Transaction,
    space: UUID,
    row: Any,
    after: Mapping[str, Any],
    grants: Sequence[Grant],
    fields: Mapping[str, Any],
) -> None:
    """A run that changes an automation's behaviour needs all of its permissions."""
    before = row["document"]
    if fields.keys() - _WORDS - {name for name in _CAPS if not _rises(name, before, after)}:
        author.check_within(after, grants)
    await author.check_daily_cap(tx, space, after, before, row["id"])


def _rises(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    pairs = ((_at(before, path), _at(after, path)) for path in _PLACES[name])
    return any(now is not None and Decimal(str(now)) > Decimal(str(was or 0)) for was, now in pairs)


def _check_is_script(document: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Reject a source for a step plan, whose steps are edited in the definition."""
    if is_script(document):
        return
    detail = "This automation is a plan of steps and not one script, so it has no {name}."
    way = "Save its definition again, or make a script with save_automation_draft."
    refuse(
        Finding(f"/{name}", detail.format(name=name), "not_a_script", way)
        for name in _OF_SCRIPTS
        if name in fields
    )


def _differs(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return any(not is_same_value(_at(before, path), _at(after, path)) for path in _PLACES[name])


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and len(value) > part else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return value


async def _go_back(
    studio: AuthoringService,
    tx: Transaction,
    space: UUID,
    row: Any,
    wanted: UUID,
    author: AutomationAuthor,
    made: _EditResult,
) -> None:
    automation_id = row["id"]
    number = await find_version(tx, space, automation_id, wanted)
    if number is None:
        detail = f"{wanted} is no version of this automation."
        way = "Use a version_id that was answered for this very automation."
        raise Invalid(
            detail,
            code="no_version",
            findings=[Finding(f"/{_ROLLBACK}", detail, "no_version", way)],
            suggestion=way,
        )
    then = await read_version(tx, space, automation_id, number)
    words = await studio.load_vocabulary(space, then["definition"])
    content = await validate_version(tx, space, automation_id, number, words, studio.limits)
    saved = await use_version(tx, space, automation_id, number, content, author.member_id)
    after = content.definition.as_dict()
    author.check_within(after, read_grants(content.grants))
    await author.check_daily_cap(tx, space, after, row["document"], automation_id)
    made.version, made.warnings = number, saved.warnings
    if saved.changed:
        made.columns.append(_ROLLBACK)


async def _set_state(
    studio: AuthoringService,
    tx: Transaction,
    space: UUID,
    row: Any,
    state: str,
    author: AutomationAuthor,
    missing: Sequence[Finding],
) -> str:
    automation_id = row["id"]
    if state == "paused":
        author.check_within(row["document"], read_grants(row["grants"]))
        return await pause(tx, space, automation_id)
    if author.is_run:
        raise PermissionDenied(
            "A person sets an automation going; a run cannot.",
            code="person_needed",
            suggestion=f"It is activated at {studio.admin_url(automation_id)}.",
        )
    words = await studio.load_vocabulary(space, row["document"])
    return await activate(tx, space, automation_id, words, studio.limits, missing)


def _describe_edit(
    studio: AuthoringService, automation_id: UUID, made: _EditResult
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "automation_id": str(automation_id),
        "columns_changed": made.columns,
        "state": made.state,
        "admin_url": studio.admin_url(automation_id),
    }
    if made.version is not None:
        shown["version_id"] = str(compute_version_id(automation_id, made.version))
        shown["version"] = made.version
    if made.consent is not None:
        shown["consent"] = summarize_consent(made.consent)
    if made.warnings:
        shown["warnings"] = [one.as_dict() for one in made.warnings]
    return shown


def delete_handler(studio: AuthoringService) -> CapabilityHandler:
    async def delete(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        automation_id, space, tx = UUID(arguments["automation_id"]), ctx.actor.workspace_id, ctx.tx
        if ctx.run is not None and ctx.run.automation_id == automation_id:
            raise Conflict(
                "A run cannot archive its own automation.",
                code="own_automation",
                suggestion="Let it pause itself with update_automation, or ask a person.",
            )
        await lock_automations(tx, space, [automation_id])
        before = await schedules.list_waiting_schedules(tx, [(space, automation_id)])
        row = await lock_automation(tx, space, automation_id, archived=True)
        await archive(tx, space, automation_id)
        await record_overtaken(tx, before, studio.limits)
        told = {"automation_id": str(automation_id), "state": "killed"}
        return Unchanged(told) if row["state"] == "archived" else told

    return delete
