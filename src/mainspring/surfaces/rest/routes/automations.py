"""Automations: save, read, activate and pause.

The body of a save is the definition itself, and the response lists what the new version may do
beyond the previous one. A person at a page has seen that and consents by saving. A token belongs to
a program: what it creates or adds waits for a person's consent. A new automation is paused until it
is activated.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from pydantic import Field

from mainspring.actions.script.prebuild import prebuild_scripts
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.contracts.roles import Permission
from mainspring.definition.authority import AuthorityAddition
from mainspring.definition.model import TriggerType
from mainspring.definition.strict_json import hash_content
from mainspring.definition.validate import ValidationReport
from mainspring.gate.policy import mode_of
from mainspring.recipes.compiling.compiler import compile_bare_definition, is_bare
from mainspring.runs.run_requests import RunRequest as Wish
from mainspring.store.audit import AuditRecord, build_audit_record
from mainspring.store.database import Connection
from mainspring.surfaces.rest.answers import (
    MOST_PREFERRED_SECONDS,
    read_preferred_wait,
    wait_for_result,
)
from mainspring.surfaces.rest.auth import AuthenticatedCaller, SignedIn, check_role
from mainspring.surfaces.rest.automation_shapes import (
    AgreedShape,
    AutomationDetail,
    AutomationState,
    AutomationSummary,
    GrantsUsed,
    SavedShape,
    StateShape,
    TriggerSummary,
    Verdict,
    describe_secret_uses,
    grants_used,
)
from mainspring.surfaces.rest.idempotency import KEY_HEADER, REPLAY, key_of
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import (
    Body,
    JsonAnswer,
    may_take,
    read_json_body,
    read_optional,
    takes_schema,
)
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import PREFIX, router
from mainspring.surfaces.rest.routes.runs import answer_accepted
from mainspring.surfaces.rest.run_shapes import Accepted, Finished
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.audit import describe_save, is_unchanged
from mainspring.workspace.automation_list import (
    AutomationHealth,
    AutomationQuery,
    AutomationSort,
    list_with_health,
    load_health,
    load_usage,
    read_automation,
)
from mainspring.workspace.automation_resources import find_missing_boards
from mainspring.workspace.automation_states import acknowledge, activate, archive, pause, restore
from mainspring.workspace.automations import (
    AutomationStatus,
    SavedAutomation,
    create,
    read_grants,
    update,
)
from mainspring.workspace.consent_rows import AutomationConsent
from mainspring.workspace.consents import (
    agree_or_ask,
    agree_to_shown,
    change_by,
    check_previewed,
    compute_additions_digest,
    confirm_agreement,
    ensure_asked,
    preview_additions,
    summarize_consent,
)
from mainspring.workspace.tokens import ANSWER
from mainspring.workspace.workspace_validation import (
    find_missing_dependencies,
    load_vocabulary,
    validate_in_workspace,
)

_ONE: Final = "/automations/{automation_id}"
# How long a second request with the same idempotency key returns the first one's run.
_KEY_LIFETIME: Final = timedelta(hours=24)
_PREFER: Final[dict[str, Any]] = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": f"wait=N: wait up to N seconds, {MOST_PREFERRED_SECONDS} at most, for the end "
    "of the run (RFC 7240).",
    "schema": {"type": "string", "examples": ["wait=30"]},
}
_APPLIED: Final[dict[str, Any]] = {
    "Preference-Applied": {
        "description": "The wait that was applied.",
        "schema": {"type": "string"},
    }
}
DIGEST: Final = "^[0-9a-f]{64}$"
_ETAG: Final = re.compile(r'"([1-9][0-9]{0,8})"')
DEFINITION: Final = takes_schema(
    {"title": "DefinitionDocument", "type": "object", "additionalProperties": True},
    "A definition; its schema is at /api/v1/schemas/definition.",
)

Previewed = Annotated[
    str | None,
    Query(
        pattern=DIGEST,
        description="The digest of the additions that a person was shown: refused if the save "
        "would add anything else.",
    ),
]

Act = Callable[[Any, UUID, UUID], Awaitable[AutomationStatus]]


class Start(Body):
    """What a person was shown before they start something that a program wrote."""

    digest: str | None = Field(
        None,
        pattern=DIGEST,
        description="The digest that a 409 consent_needed carried. A person who sends it agrees "
        "to exactly that; from a program it counts for nothing.",
    )


class RunNow(Start):
    """What a run by hand is given."""

    inputs: dict[str, Any] = Field(default_factory=dict)
    payload: Any = Field(
        None, description="The payload of the trigger, as a webhook or an event would send it."
    )
    idempotency_key: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="A second request with it finds the first one's run, for 24 hours.",
    )
    dry_run: bool = Field(
        False,
        description="Change nothing: calls that would are only pretended, and listed in the "
        "run's story. False is exactly what a trigger would start.",
    )
    verify_mode: bool = Field(
        False,
        description="Send nothing outside; what the workspace keeps is kept. With dry_run it "
        "is a dry run.",
    )


def routes(services: ApplicationServices) -> APIRouter:
    made = router("automations")
    _judging(made, services)
    _reading(made, services)
    _using(made)
    _saving(made, services)
    _updating(made, services)
    _changing(made, services)
    _running(made, services)
    return made


async def judge(
    services: ApplicationServices,
    workspace_id: UUID,
    document: Any,
    automation_id: UUID | None = None,
    author_id: UUID | None = None,
) -> ValidationReport:
    """Validates a document, including the warnings of this installation.

    A declarative integration is validated as the definition that it expands to.
    """
    if is_bare(document):
        try:
            document = compile_bare_definition(document)
        except Invalid as wrong:
            return ValidationReport(tuple(wrong.findings))
    vocabulary = await load_vocabulary(services.registry, workspace_id, document)
    whose = DefinitionOwner(workspace_id, automation_id, author_id)
    report = await validate_in_workspace(
        document, whose, vocabulary, services.gate.models, services.limits, services.gate.preflight
    )
    return await prebuild_scripts(services.script_runner, workspace_id, report)


def _judging(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/validate",
        summary="Judge a definition without saving it",
        response_model=Verdict,
        openapi_extra=DEFINITION,
    )
    @needs(Permission.READ)
    async def validate_definition(
        request: Request,
        caller: SignedIn,
        automation_id: Annotated[
            UUID | None, Query(description="As the next version of this automation.")
        ] = None,
        adds: Annotated[
            bool,
            Query(description="Also tell what saving it would add to what was agreed to."),
        ] = False,
    ) -> JsonAnswer:
        if adds:
            check_role(caller, Permission.EDIT)
        document = await read_json_body(request)
        author = caller.member_id if automation_id is None else None
        report = await judge(services, caller.workspace_id, document, automation_id, author)
        definition = report.definition
        told: dict[str, Any] = {}
        if adds and definition is not None:
            async with caller.database.acquire() as connection:
                found = await _preview(connection, caller, automation_id, report)
            told["adds"] = describe_additions(found)
        return JsonAnswer(
            {
                **told,
                "ok": report.ok,
                "errors": [finding.as_dict() for finding in report.findings],
                "warnings": [finding.as_dict() for finding in report.warnings],
                "notes": [note.as_dict() for note in report.notes],
                "grants": [grant.as_dict() for grant in report.grants],
                "definition": None if definition is None else definition.as_dict(),
            }
        )


async def _preview(
    tx: Connection,
    caller: AuthenticatedCaller,
    automation_id: UUID | None,
    report: ValidationReport,
) -> Sequence[AuthorityAddition]:
    return await preview_additions(
        tx,
        caller.workspace_id,
        automation_id,
        caller.member_id,
        report.accepted().as_dict(),
        report.grants,
        report.traits,
    )


def describe_additions(additions: Sequence[AuthorityAddition]) -> dict[str, Any]:
    """The additions of a save with the digest that stands for them."""
    return {
        "additions": [one.as_dict() for one in additions],
        "digest": compute_additions_digest(additions),
    }


def _reading(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/automations",
        summary="List automations, the newest first or as asked",
        response_model=Page[AutomationSummary],
    )
    @needs(Permission.READ)
    async def get_automations(
        caller: SignedIn,
        state: Annotated[
            AutomationState | None, Query(description="Default: all but archived ones.")
        ] = None,
        search: Annotated[
            str | None, Query(description="A part of the name or of the goal.", max_length=200)
        ] = None,
        health: Annotated[
            AutomationHealth | None,
            Query(description="failing: its latest runs failed; waiting: for a person."),
        ] = None,
        trigger: Annotated[
            TriggerType | None, Query(description="Only those with such a trigger.")
        ] = None,
        sort: Annotated[
            AutomationSort,
            Query(description="next: what starts first; last: what ran last; cost: this month's."),
        ] = "newest",
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            rows = await list_with_health(
                connection,
                caller.workspace_id,
                AutomationQuery(health, trigger, sort, in_goal=True),
                state=state,
                search=search,
                after=cursor,
                most=limit + 1,
            )
        return JsonAnswer(page(rows, limit))

    @made.get(_ONE, summary="Read an automation as it is now", response_model=AutomationDetail)
    @needs(Permission.READ)
    async def get_automation(automation_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_automation(connection, caller.workspace_id, automation_id)
            found |= (await load_health(connection, caller.workspace_id, [automation_id]))[
                automation_id
            ]
        found["triggers"] = [
            {name: row[name] for name in TriggerSummary.model_fields} for row in found["triggers"]
        ]
        # A large script takes long to parse, so it is parsed on a thread.
        found["secrets"] = await asyncio.to_thread(
            describe_secret_uses, found["definition"], services.limits
        )
        # Imported on first use: the review is large, and most processes never need it.
        from mainspring.authoring.review.impact import describe_grants

        vocabulary = await load_vocabulary(
            services.registry, caller.workspace_id, found["definition"]
        )
        found["grants"] = await asyncio.to_thread(
            describe_grants, found["definition"], read_grants(found["grants"]), vocabulary
        )
        return JsonAnswer(found, headers=_etag(found["version"]))


def _using(made: APIRouter) -> None:
    @made.get(
        f"{_ONE}/grants",
        summary="See which of its grants the latest runs of an automation used",
        response_model=GrantsUsed,
    )
    @needs(Permission.READ)
    async def get_grants(automation_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_automation(connection, caller.workspace_id, automation_id)
            use = await load_usage(connection, caller.workspace_id, automation_id)
        return JsonAnswer(grants_used(found["grants"], use))


def _saving(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/automations",
        summary="Save a definition as a new automation, paused",
        response_model=SavedShape,
        status_code=201,
        responses=problems(409),
        openapi_extra=DEFINITION,
    )
    @needs(Permission.EDIT)
    async def create_automation(
        request: Request, caller: SignedIn, agreed: Previewed = None
    ) -> JsonAnswer:
        space = caller.workspace_id
        document = await read_json_body(request)
        report = await judge(services, space, document, None, caller.member_id)
        definition = report.accepted()

        async def work(tx: Connection) -> tuple[SavedAutomation, AutomationConsent | None]:
            if agreed is not None:
                check_previewed(agreed, await _preview(tx, caller, None, report))
            saved = await create(
                tx, space, definition, report.grants, caller.member_id, report.traits
            )
            caller.subject, caller.detail = (
                saved.automation_id,
                describe_save(saved, definition.name),
            )
            consent = await agree_or_ask(tx, space, saved.automation_id, caller.actor)
            return saved, consent

        saved, consent = await change(caller.database, services.limits, space, work, names=())
        shown = {
            **_describe_saved(saved, definition.name, report),
            "consent": summarize_consent(consent),
        }
        place = {"Location": f"{PREFIX}/automations/{saved.automation_id}"}
        return JsonAnswer(shown, status_code=201, headers={**place, **_etag(saved.version)})


def _updating(made: APIRouter, services: ApplicationServices) -> None:
    @made.put(
        _ONE,
        summary="Save a definition as the next version of an automation",
        description="With If-Match it is saved only if that version is still the one in force.",
        response_model=SavedShape,
        responses=problems(409),
        openapi_extra=DEFINITION,
    )
    @needs(Permission.EDIT)
    async def update_automation(
        automation_id: UUID,
        request: Request,
        caller: SignedIn,
        if_match: Annotated[
            str | None, Header(description='The version that was edited, as in "3".')
        ] = None,
        agreed: Previewed = None,
    ) -> JsonAnswer:
        expected, space = _parse_if_match(if_match), caller.workspace_id
        report = await judge(services, space, await read_json_body(request), automation_id)
        definition = report.accepted()

        async def work(tx: Connection) -> tuple[SavedAutomation, AutomationConsent | None]:
            async def put() -> SavedAutomation:
                if agreed is not None:
                    check_previewed(agreed, await _preview(tx, caller, automation_id, report))
                return await update(
                    tx,
                    space,
                    automation_id,
                    definition,
                    report.grants,
                    caller.member_id,
                    expected_version=expected,
                    traits=report.traits,
                )

            saved, consent = await change_by(tx, space, automation_id, caller.actor, put)
            saved = saved if consent is None else replace(saved, state="paused")
            caller.idle = is_unchanged(saved)
            caller.detail |= describe_save(saved, definition.name)
            return saved, consent

        saved, consent = await change(
            caller.database, services.limits, space, work, automations=[automation_id], names=()
        )
        shown = {
            **_describe_saved(saved, definition.name, report),
            "consent": summarize_consent(consent),
        }
        return JsonAnswer(shown, headers=_etag(saved.version))


def _changing(made: APIRouter, services: ApplicationServices) -> None:
    may_switch, may_edit = needs(Permission.SWITCH), needs(Permission.EDIT)
    offered = (
        ("activate", "Let triggers start an automation", may_switch(_acting(services, None))),
        (
            "pause",
            "Keep triggers from starting an automation; current runs continue",
            may_switch(_acting(services, pause)),
        ),
        (
            "archive",
            "Put an automation away; its name is free and its history stays",
            may_edit(_acting(services, archive)),
        ),
        (
            "restore",
            "Bring an archived automation back, paused",
            may_edit(_acting(services, restore)),
        ),
        (
            "acknowledge",
            "Say that its failures so far are known",
            may_switch(_acting(services, acknowledge)),
        ),
    )
    for name, summary, endpoint in offered:
        made.add_api_route(
            f"{_ONE}/{name}",
            endpoint,
            methods=["POST"],
            name=f"{name}_automation",
            summary=summary,
            response_model=StateShape,
            responses=problems(409),
            openapi_extra=may_take(Start) if name == "activate" else None,
        )

    @made.post(
        f"{_ONE}/reviewed",
        summary="Acknowledge what an upgrade carried over",
        description="An automation that was at work before agreement was recorded goes on as it "
        "is and is listed for review. For a person alone.",
        response_model=AgreedShape,
        responses=problems(403, 409),
    )
    @needs(Permission.EDIT)
    async def mark_automation_reviewed(automation_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.transaction() as tx:
            await confirm_agreement(tx, caller.workspace_id, automation_id, caller.actor)
            found = await read_automation(tx, caller.workspace_id, automation_id)
        return JsonAnswer(found["agreed"])


def _acting(services: ApplicationServices, act: Act | None) -> Callable[..., Awaitable[JsonAnswer]]:
    """An endpoint for one of these state changes; activation has its own."""

    async def act_on(automation_id: UUID, request: Request, caller: SignedIn) -> JsonAnswer:
        space = caller.workspace_id
        found: tuple[Finding, ...] = ()
        doing = act
        if doing is None:
            body = await read_optional(request, Start)
            await _ensure_consent_requested(caller, automation_id)
            doing, found = await _activation(services, caller, automation_id, body.digest)

        async def work(tx: Connection) -> tuple[AutomationStatus, tuple[Finding, ...]]:
            state = await doing(tx, space, automation_id)
            doubts = await _doubts(tx, space, automation_id) if state == "active" else ()
            return state, (*doubts, *found)

        state, doubts = await change(
            caller.database,
            services.limits,
            space,
            work,
            # The others find its triggers disabled, and have their own lock order.
            automations=[automation_id] if act in (pause, archive) else (),
        )
        warnings = [finding.as_dict() for finding in doubts]
        return JsonAnswer({"id": automation_id, "state": state, "warnings": warnings})

    return act_on


async def _activation(
    services: ApplicationServices,
    caller: AuthenticatedCaller,
    automation_id: UUID,
    digest: str | None,
) -> tuple[Act, tuple[Finding, ...]]:
    """What activates an automation, and what it lacks; read before any lock is taken."""
    space = caller.workspace_id
    async with caller.database.acquire() as connection:
        there = await read_automation(connection, space, automation_id)
    document, grants = there["definition"], read_grants(there["grants"])
    vocabulary = await load_vocabulary(services.registry, space, document)
    whose = DefinitionOwner(space, automation_id)
    doubts = await find_missing_dependencies(
        document, grants, vocabulary, services.gate.models, services.gate.preflight, whose
    )

    async def start(tx: Any, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
        if digest is not None:
            await _agree(tx, caller, automation_id, digest)
        return await activate(tx, workspace_id, automation_id, vocabulary, services.limits, doubts)

    return start, doubts


async def _ensure_consent_requested(caller: AuthenticatedCaller, automation_id: UUID) -> None:
    """Opens the missing consent request, before the start is rejected because of it."""
    async with replace(caller.database, tell=lambda: ()).transaction() as tx:
        await ensure_asked(tx, caller.workspace_id, automation_id, caller.actor)


async def _agree(
    tx: Any, caller: AuthenticatedCaller, automation_id: UUID, digest: str
) -> UUID | None:
    """Records a person's consent to what they were shown; requires the role for consents."""
    if not caller.actor.is_person:
        return None
    check_role(caller, Permission.EDIT)
    return await agree_to_shown(tx, caller.workspace_id, automation_id, digest, caller.actor)


async def _agree_first(caller: AuthenticatedCaller, automation_id: UUID, digest: str) -> None:
    """The same before a run; the audit log records an answer, not a started run."""
    entries: list[AuditRecord] = []
    async with replace(caller.database, tell=lambda: entries).transaction() as tx:
        agreed = await _agree(tx, caller, automation_id, digest)
        if agreed is not None:
            detail = {"automation_id": str(automation_id), "agree": True}
            entries.append(build_audit_record(caller.actor, ANSWER, str(agreed), detail))


async def _doubts(tx: Connection, workspace_id: UUID, automation_id: UUID) -> tuple[Finding, ...]:
    """The warnings about the triggers of an automation that is to start by itself."""
    found = await read_automation(tx, workspace_id, automation_id)
    return await find_missing_boards(tx, workspace_id, found["definition"])


def _running(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        f"{_ONE}/run",
        summary="Run an automation now, also while it is paused",
        description="With 'Prefer: wait=N' the answer waits up to N seconds for the end of the "
        "run: 200 with its output, or 202 if it takes longer.",
        response_model=Accepted,
        status_code=202,
        responses={
            200: {"model": Finished, "headers": _APPLIED, "description": "The run has ended."},
            **problems(409),
        },
        openapi_extra={**may_take(RunNow), "parameters": [KEY_HEADER, _PREFER]},
    )
    @needs(Permission.RUN)
    async def run_automation(automation_id: UUID, request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_optional(request, RunNow)
        mode = mode_of(dry_run=body.dry_run, verify=body.verify_mode)
        payload = {} if body.payload is None else body.payload
        wish = Wish(
            caller.workspace_id, automation_id, inputs=body.inputs, payload=payload, mode=mode
        )
        key = key_of(request, body.idempotency_key)
        if mode != "dry_run":
            await _ensure_consent_requested(caller, automation_id)
        if body.digest is not None:
            await _agree_first(caller, automation_id, body.digest)
        dispatched = await services.dispatcher.dispatch(_keyed(wish, key, body, services))
        caller.detail["run_id"] = str(dispatched.run_id)
        await caller.database.note()
        seconds = read_preferred_wait(request)
        answer = None
        if seconds is not None:
            answer = await _wait_for_end(services, request, caller, dispatched.run_id, seconds)
        if answer is None:
            answer = answer_accepted(
                services, dispatched.run_id, dispatched.status, dispatched.reason
            )
        if seconds is not None:
            answer.headers["Preference-Applied"] = f"wait={seconds}"
        if dispatched.existed:
            answer.headers[REPLAY] = "true"
        return answer


async def _wait_for_end(
    services: ApplicationServices,
    request: Request,
    caller: AuthenticatedCaller,
    run_id: UUID,
    seconds: int,
) -> JsonAnswer | None:
    """The run and its output once it has ended; None when that takes too long."""
    if services.run_waiter.is_full:
        return None
    with services.run_waiter.expect(caller.workspace_id, run_id, seconds, exists=True) as expected:
        result = await wait_for_result(request, expected, seconds)
    if result is None:
        return None
    url = f"{services.settings.address}{PREFIX}/runs/{run_id}"
    if not result.final:
        return answer_accepted(services, run_id, result.status, result.reason)
    shown = {
        "run_id": run_id,
        "status": result.status,
        "reason": result.reason,
        "outcome": result.outcome,
        "output": result.output,
        "error": result.error,
        "url": url,
    }
    return JsonAnswer(shown, headers={"Location": url})


def _keyed(wish: Wish, key: str | None, body: RunNow, services: ApplicationServices) -> Wish:
    if key is None:
        return wish
    hashed = body.inputs if wish.mode == "live" else {"inputs": body.inputs, "mode": wish.mode}
    if body.payload is not None:
        hashed = {"inputs": body.inputs, "mode": wish.mode, "payload": body.payload}
    return replace(
        wish,
        key=f"key:{key}",
        key_expires_at=services.clock.now() + _KEY_LIFETIME,
        body_hash=hash_content(hashed),
    )


def _parse_if_match(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        detail = 'If-Match names one version in quotes, as in "3".'
        raise Invalid(
            detail, code="if_match", findings=[Finding("/header/if-match", detail, "if_match")]
        )
    return int(found[1])


def _etag(version: int) -> dict[str, str]:
    return {"ETag": f'"{version}"'}


def _describe_saved(saved: SavedAutomation, name: str, report: ValidationReport) -> dict[str, Any]:
    return {
        "id": saved.automation_id,
        "name": name,
        "version": saved.version,
        "changed": saved.changed,
        "state": saved.state,
        "widened": [grant.as_dict() for grant in saved.widened],
        "warnings": [finding.as_dict() for finding in (*report.warnings, *saved.warnings)],
    }
