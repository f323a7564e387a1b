"""save_automation_draft: the last step of the playbook. It creates a paused automation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.authoring.authors import AUTHORED_BY, author_of
from mainspring.authoring.draft import as_written, new_document
from mainspring.authoring.overlaps import check_boards
from mainspring.authoring.service import AuthoringService
from mainspring.authoring.validation import build_overlap_query, check_overlap, validate_definition
from mainspring.contracts.errors import Conflict, Finding
from mainspring.definition.strict_json import hash_content
from mainspring.definition.validate import ValidationReport
from mainspring.workspace.automations import (
    SavedAutomation,
    create,
    find_automation_ids,
    lock_names,
)
from mainspring.workspace.consent_rows import AutomationConsent, load_latest_consent
from mainspring.workspace.consents import agree_or_ask, summarize_consent
from mainspring.workspace.idempotency_keys import find_saved_automation, store_save_key
from mainspring.workspace.versions import compute_version_id

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext


def save_handler(studio: AuthoringService) -> CapabilityHandler:
    async def save(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, tx = ctx.actor.workspace_id, ctx.tx
        author = await author_of(ctx, tx)
        document, early = new_document(given)
        if author.budget_automation_id is not None:
            document["metadata"] = {
                **document.get("metadata", {}),
                AUTHORED_BY: author.budget_automation_id,
            }
        report = await validate_definition(
            studio, space, document, given, early, author_id=author.member_id
        )
        definition = report.accepted()
        author.check_within(definition.as_dict(), report.grants)
        await lock_names(tx, space)
        key, body = given.get("idempotency_key"), hash_content(_body(given))
        if key is not None:
            before = await find_saved_automation(tx, space, author.member_id, key, body)
            if before is not None:
                return _describe_saved_automation(
                    studio, before, 1, (), await load_latest_consent(tx, space, before)
                )
        await author.check_daily_cap(tx, space, definition.as_dict())
        await check_boards(tx, space, given.get("writes_to_boards") or ())
        await check_name_free(studio, ctx, definition.name)
        await check_overlap(
            studio,
            tx,
            space,
            build_overlap_query(definition.as_dict()),
            acknowledged=bool(given.get("acknowledged_overlap")),
        )
        saved = await create(tx, space, definition, report.grants, author.member_id, report.traits)
        consent = await agree_or_ask(tx, space, saved.automation_id, ctx.actor)
        if key is not None:
            await store_save_key(tx, space, author.member_id, key, body, saved.automation_id)
        return _describe_saved_automation(
            studio, saved.automation_id, saved.version, find_warnings(report, saved), consent
        )

    return save


def _body(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "idempotency_key"}


async def check_name_free(
    studio: AuthoringService, ctx: CallContext, name: str, tool: str = "update_automation"
) -> None:
    """Reject a name in use: changes go through update_automation."""
    taken = await find_automation_ids(ctx.tx, ctx.actor.workspace_id, [name])
    if taken:
        detail = f"There is an automation called {name!r} already: {taken[0]}."
        raise Conflict(
            detail,
            code="name_taken",
            findings=[Finding("/name", detail, "name_taken")],
            suggestion=f"Change it with {tool} and automation_id {taken[0]}, or choose "
            f"another name. It is at {studio.admin_url(taken[0])}.",
        )


def find_warnings(report: ValidationReport, saved: SavedAutomation) -> tuple[Finding, ...]:
    """Warnings that do not block saving."""
    return tuple(as_written(one) for one in (*saved.warnings, *report.warnings))


def _describe_saved_automation(
    studio: AuthoringService,
    automation_id: UUID,
    version: int,
    warnings: Sequence[Finding],
    consent: AutomationConsent | None,
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "automation_id": str(automation_id),
        "version_id": str(compute_version_id(automation_id, version)),
        "version": version,
        "state": "paused",
        "admin_url": studio.admin_url(automation_id),
    }
    if consent is not None and consent.blocks(version):
        shown["consent"] = summarize_consent(consent)
    if warnings:
        shown["warnings"] = [one.as_dict() for one in warnings]
    return shown
