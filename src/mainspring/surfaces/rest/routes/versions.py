"""Versions of automations, and automations as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field

from mainspring.contracts.roles import Permission
from mainspring.definition.authority import AuthorityAddition
from mainspring.store.database import Connection
from mainspring.surfaces.rest.auth import AuthenticatedCaller, SignedIn
from mainspring.surfaces.rest.automation_shapes import (
    AdditionsShape,
    DiffShape,
    ExportShape,
    ImportShape,
    SavedShape,
    VersionDetail,
    VersionSummary,
)
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import (
    Body,
    JsonAnswer,
    read_body,
    read_json_body,
    takes,
    takes_schema,
)
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.automations import DIGEST, describe_additions
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.audit import describe_save
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import SavedAutomation, VersionContent, read_grants
from mainspring.workspace.consent_rows import AutomationConsent
from mainspring.workspace.consents import (
    change_by,
    check_previewed,
    preview_additions,
    summarize_consent,
)
from mainspring.workspace.import_export import (
    ImportResult,
    OnClash,
    add_renamed_candidates,
    export_all,
    export_automation,
    import_validated,
    validate_import,
)
from mainspring.workspace.versions import (
    diff,
    list_versions,
    read_version,
    restore_version,
    validate_version,
)
from mainspring.workspace.workspace_validation import load_vocabulary

_OF_ONE: Final = "/automations/{automation_id}"
_LARGEST: Final = 2**31 - 1
_IMPORT: Final = takes_schema(
    {"title": "ImportDocument", "type": "object", "additionalProperties": True},
    "A definition, or an export of many automations.",
)

Number = Annotated[int, Path(ge=1, le=_LARGEST, description="The number of a version.")]


class Rollback(Body):
    """Which version to bring back."""

    version: int = Field(ge=1, le=_LARGEST)
    agreed: str | None = Field(
        None,
        pattern=DIGEST,
        description="The digest of the additions that a person was shown: refused if the version "
        "would add anything else.",
    )


def routes(services: ApplicationServices) -> APIRouter:
    made = router("versions")
    _reading(made, services)
    _going_back(made, services)
    _exporting(made, services)
    _importing(made, services)
    return made


def _reading(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        f"{_OF_ONE}/versions",
        summary="List the versions of an automation, the newest first",
        response_model=Page[VersionSummary],
    )
    @needs(Permission.READ)
    async def get_versions(
        automation_id: UUID, caller: SignedIn, cursor: Cursor = None, limit: Limit = PAGE
    ) -> JsonAnswer:
        after = None if cursor is None else min(cursor.int, _LARGEST)
        async with caller.database.acquire() as connection:
            rows = await list_versions(
                connection, caller.workspace_id, automation_id, after=after, most=limit + 1
            )
        # A cursor is an id; a version has a number.
        placed = [{**row, "place": UUID(int=row["version"])} for row in rows]
        return JsonAnswer(page(placed, limit, show=_without_place, key="place"))

    @made.get(
        f"{_OF_ONE}/versions/{{version}}",
        summary="Read a version exactly as it was saved",
        response_model=VersionDetail,
    )
    @needs(Permission.READ)
    async def get_version(automation_id: UUID, version: Number, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            return JsonAnswer(
                await read_version(connection, caller.workspace_id, automation_id, version)
            )

    @made.get(
        f"{_OF_ONE}/diff",
        summary="See what changed between two versions",
        response_model=DiffShape,
    )
    @needs(Permission.READ)
    async def get_diff(
        automation_id: UUID,
        caller: SignedIn,
        before: Annotated[int, Query(alias="from", ge=1, le=_LARGEST)],
        after: Annotated[int, Query(alias="to", ge=1, le=_LARGEST)],
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            return JsonAnswer(
                await diff(connection, caller.workspace_id, automation_id, before, after)
            )


async def _load_content(
    services: ApplicationServices, caller: AuthenticatedCaller, automation_id: UUID, version: int
) -> VersionContent:
    """A version, validated against the capabilities of now."""
    space = caller.workspace_id
    async with caller.database.acquire() as connection:
        then = await read_version(connection, space, automation_id, version)
    vocabulary = await load_vocabulary(services.registry, space, then["definition"])
    async with caller.database.acquire() as connection:
        return await validate_version(
            connection, space, automation_id, version, vocabulary, services.limits
        )


async def _preview(
    tx: Connection, caller: AuthenticatedCaller, automation_id: UUID, content: VersionContent
) -> Sequence[AuthorityAddition]:
    return await preview_additions(
        tx,
        caller.workspace_id,
        automation_id,
        caller.member_id,
        content.definition.as_dict(),
        read_grants(content.grants),
        content.traits,
    )


def _going_back(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        f"{_OF_ONE}/versions/{{version}}/additions",
        summary="See what bringing a version back would add to what was agreed to",
        response_model=AdditionsShape,
    )
    @needs(Permission.EDIT)
    async def get_additions(automation_id: UUID, version: Number, caller: SignedIn) -> JsonAnswer:
        content = await _load_content(services, caller, automation_id, version)
        async with caller.database.acquire() as connection:
            found = await _preview(connection, caller, automation_id, content)
        return JsonAnswer(describe_additions(found))

    @made.post(
        f"{_OF_ONE}/rollback",
        summary="Bring an earlier version back, as a new one",
        response_model=SavedShape,
        responses=problems(409),
        openapi_extra=takes(Rollback),
    )
    @needs(Permission.EDIT)
    async def roll_back(automation_id: UUID, request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, Rollback)
        space = caller.workspace_id

        content = await _load_content(services, caller, automation_id, body.version)

        async def go_back(
            tx: Connection,
        ) -> tuple[SavedAutomation, AutomationConsent | None, dict[str, Any]]:
            async def put() -> SavedAutomation:
                if body.agreed is not None:
                    check_previewed(body.agreed, await _preview(tx, caller, automation_id, content))
                return await restore_version(
                    tx, space, automation_id, body.version, content, caller.member_id
                )

            by = caller.actor
            saved, consent = await change_by(tx, space, automation_id, by, put)
            found = await read_automation(tx, space, automation_id)
            caller.detail |= {**describe_save(saved, found["name"]), "rollback_of": body.version}
            return saved, consent, found

        saved, consent, found = await change(
            caller.database, services.limits, space, go_back, automations=[automation_id], names=()
        )
        shown = {
            "id": automation_id,
            "name": found["name"],
            "version": saved.version,
            "changed": saved.changed,
            "state": found["state"],
            "widened": [grant.as_dict() for grant in saved.widened],
            "consent": summarize_consent(consent),
            "warnings": [finding.as_dict() for finding in saved.warnings],
        }
        return JsonAnswer(shown, headers={"ETag": f'"{saved.version}"'})


def _exporting(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        f"{_OF_ONE}/export",
        summary="Export an automation: its definition as it is now",
        response_model=dict[str, Any],
    )
    @needs(Permission.READ)
    async def export_one(automation_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            return JsonAnswer(
                await export_automation(connection, caller.workspace_id, automation_id)
            )

    @made.get("/export", summary="Export every automation in one file", response_model=ExportShape)
    @needs(Permission.READ)
    async def export_every_automation(caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            return JsonAnswer(await export_all(connection, caller.workspace_id))


def _importing(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/import",
        summary="Import a definition or an export: all of it or nothing, and all of it paused",
        response_model=ImportShape,
        responses=problems(409),
        openapi_extra=_IMPORT,
    )
    @needs(Permission.EDIT)
    async def import_automations(
        request: Request,
        caller: SignedIn,
        on_clash: Annotated[
            OnClash, Query(description="What to do with a name that is taken.")
        ] = "refuse",
    ) -> JsonAnswer:
        bounds = replace(services.limits, json_bytes=services.limits.import_bytes)
        bundle = await read_json_body(request, bounds)
        space = caller.workspace_id
        vocabulary = await load_vocabulary(services.registry, space, bundle)
        candidates = await validate_import(bundle, vocabulary, services.limits)
        if on_clash == "rename":
            async with caller.database.acquire() as connection:
                candidates = await add_renamed_candidates(
                    connection, space, candidates, vocabulary, services.limits
                )

        async def work(tx: Connection) -> list[ImportResult]:
            made_of = await import_validated(
                tx, space, candidates, caller.member_id, vocabulary, services.limits, on_clash
            )
            caller.detail["imported"] = [describe_save(one.saved, one.name) for one in made_of]
            return made_of

        names = [one.name for one in candidates] if on_clash == "new_version" else ()
        made_of = await change(caller.database, services.limits, space, work, names=names)
        return JsonAnswer({"imported": [_describe_imported(one) for one in made_of]})


def _describe_imported(one: ImportResult) -> dict[str, Any]:
    saved = one.saved
    return {
        "id": saved.automation_id,
        "name": one.name,
        "renamed_from": one.renamed_from,
        "version": saved.version,
        "changed": saved.changed,
        "state": saved.state,
        "widened": [grant.as_dict() for grant in saved.widened],
        "consent": summarize_consent(one.consent),
    }


def _without_place(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "place"}
