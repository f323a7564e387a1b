"""watch_integration: poll an integration for new items.

It creates an ordinary automation of the caller: one schedule, one polling step, and a grant for
that source. It runs, fails and is paused like any other. It is active at once when a person asked
for exactly this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.service import AuthoringService
from mainspring.connections.accounts.problems import not_connected_error
from mainspring.connections.ingestion.sources import DataSource, DataSources
from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.display_text import clean_name
from mainspring.contracts.errors import Invalid
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace import schedules
from mainspring.workspace.accounts.rows import AccountRow, find_member_account, set_watcher
from mainspring.workspace.automation_states import activate, archive
from mainspring.workspace.automations import (
    create,
    find_automation_ids,
    lock_automations,
    lock_names,
    update,
)
from mainspring.workspace.consents import (
    agree_or_ask,
    ask_if_wider,
    load_baseline,
    summarize_consent,
)

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction

_KEEPS: Final = Annotations(
    toolset=Toolset.INTEGRATIONS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.5,
    audience=Audience.PEOPLE,
    permission=Permission.EDIT,
    connected={"source": "fetch"},
)
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SOME_ID: Final = "01900000-0000-7000-8000-0000000000a1"
_MOST_NAMES: Final = 50
_ALIVE = """
    SELECT id FROM automations WHERE workspace_id = $1 AND id = $2 AND state <> 'archived'
"""
_SCHEDULE = """
    SELECT config FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 AND type = 'schedule' LIMIT 1
"""

Arguments = Mapping[str, Any]


def watching_capabilities(
    studio: AuthoringService, reachable: DataSources
) -> tuple[Capability, ...]:
    """Build the capabilities that start and stop polling a source."""
    names = reachable.poll_names
    source = "gmail" if "gmail" in names or not names else names[0]
    return (
        Capability(
            "watch_integration",
            "Watch an integration on a schedule\n\n"
            "Creates an automation that reads new items with your connection and stores them as "
            "pages. Active immediately if a person asks; otherwise it waits for consent. Call "
            "again to change the schedule; a program's request to read more often waits for "
            "consent, and a paused one stays paused.",
            _input(names, source, every=True),
            _WATCHED,
            _watch(studio, reachable),
            annotations=_KEEPS,
        ),
        Capability(
            "unwatch_integration",
            "Stop watching an integration\n\n"
            "Archives the automation that reads from it. Stored pages stay; watching again "
            "continues from the same place.",
            _input(names, source, every=False),
            _UNWATCHED,
            _unwatch(studio, reachable),
            annotations=_KEEPS,
        ),
    )


def _watch(studio: AuthoringService, reachable: DataSources) -> CapabilityHandler:
    async def watch(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        to, space, tx = _find_polled_source(reachable, arguments), ctx.actor.workspace_id, ctx.tx
        account = await _account(ctx, to)
        await lock_names(tx, space)
        known = await _watcher(tx, space, to, account, ctx.actor.id)
        every = str(arguments.get("every") or await _read_poll_interval(tx, space, to, known))
        name = await _name(tx, space, to, account, known)
        report = await studio.validate(space, _document(to, name, every), known)
        if not report.ok:
            raise Invalid(
                f"This cannot be a schedule: {report.findings[0].detail}",
                code="bad_schedule",
                findings=[_about_every(one) for one in report.findings],
            )
        definition = report.accepted()
        consent, starts = None, True
        if known is None:
            saved = await create(tx, space, definition, report.grants, ctx.actor.id, report.traits)
            consent = await agree_or_ask(tx, space, saved.automation_id, ctx.actor)
            starts = consent is None
        else:
            await lock_automations(tx, space, [known])
            before = await schedules.list_waiting_schedules(tx, [(space, known)])
            agreed = await load_baseline(tx, space, known, ctx.actor)
            saved = await update(
                tx, space, known, definition, report.grants, ctx.actor.id, traits=report.traits
            )
            consent = await ask_if_wider(tx, space, known, agreed, ctx.actor)
            await record_overtaken(tx, before, studio.limits)
            # Only a person resumes a paused automation; a program leaves it paused.
            starts = consent is None and (agreed is None or saved.state == "active")
        if starts:
            document = definition.as_dict()
            words = await studio.load_vocabulary(space, document)
            # A new automation is not visible outside this transaction yet.
            missing = await studio.run_preflight(
                document, DefinitionOwner(space, known, ctx.actor.id), words
            )
            await activate(tx, space, saved.automation_id, words, studio.limits, missing)
        if account is not None:
            await set_watcher(tx, space, account.id, saved.automation_id)
        return {
            "source": to.name,
            "automation_id": str(saved.automation_id),
            "name": name,
            "every": every,
            "state": "active" if starts else "paused",
            "admin_url": studio.admin_url(saved.automation_id),
            **({} if consent is None else {"consent": summarize_consent(consent)}),
            **_hint(to, account),
        }

    return watch


def _hint(to: DataSource, account: AccountRow | None) -> dict[str, str]:
    """Explain what the connection still lacks when nothing can be read."""
    said = {} if account is None else account.settings
    needs = {one.needs for one in to.polls.values()}
    empty = [name for name in needs if name is not None and not str(said.get(name) or "").strip()]
    if None in needs or len(empty) < len(needs):
        return {}
    fields = {one["name"]: one for one in to.integration.manifest["auth"].get("fields", ())}
    name = empty[0]
    label, help_ = fields[name]["label"], fields[name].get("help", "")
    return {
        "hint": f"Nothing is read yet: {label!r} is empty in your connection to "
        f"{to.integration.name}. {help_} Fill it in with connect_integration, as {name!r} in "
        f"fields, or on the page under Integrations."
    }


async def _read_poll_interval(
    tx: Transaction, space: UUID, to: DataSource, known: UUID | None
) -> str:
    """Return the current polling interval, or the source's default."""
    row = None if known is None else await tx.fetchrow(_SCHEDULE, space, known)
    cron = None if row is None else (row["config"] or {}).get("cron")
    return cron if isinstance(cron, str) else next(iter(to.polls.values())).every


def _unwatch(studio: AuthoringService, reachable: DataSources) -> CapabilityHandler:
    async def unwatch(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
        to, space, tx = _find_polled_source(reachable, arguments), ctx.actor.workspace_id, ctx.tx
        account = await find_member_account(tx, space, ctx.actor.id, to.integration.id)
        known = await _watcher(tx, space, to, account, ctx.actor.id)
        told = {"source": to.name, "state": "stopped"}
        if known is None:
            return Unchanged(told)
        await lock_names(tx, space)
        await lock_automations(tx, space, [known])
        before = await schedules.list_waiting_schedules(tx, [(space, known)])
        await archive(tx, space, known)
        await record_overtaken(tx, before, studio.limits)
        if account is not None:
            await set_watcher(tx, space, account.id, None)
        return {**told, "automation_id": str(known)}

    return unwatch


def _find_polled_source(reachable: DataSources, arguments: Arguments) -> DataSource:
    to = reachable.get(arguments["source"])
    if to is None or not to.polls:
        raise Invalid(
            f"{arguments['source']} cannot be read again and again.",
            code="unknown_source",
            suggestion=f"These can: {', '.join(reachable.poll_names) or 'none here'}.",
        )
    return to


async def _account(ctx: CallContext, to: DataSource) -> AccountRow | None:
    """Return the caller's connection; rejects callers without a required one."""
    row = await find_member_account(ctx.tx, ctx.actor.workspace_id, ctx.actor.id, to.integration.id)
    if to.route.connection == "needed" and (row is None or row.state == "sign_in"):
        raise not_connected_error(to.integration, own=True)
    return row


async def _watcher(
    tx: Transaction, space: UUID, to: DataSource, account: AccountRow | None, owner_id: UUID
) -> UUID | None:
    """Return the automation that already polls the source, unless archived."""
    if account is not None:
        if account.automation_id is None:
            return None
        row = await tx.fetchrow(_ALIVE, space, account.automation_id)
    else:
        row = await tx.fetchrow(_BY_MARK, space, owner_id, to.name)
    return None if row is None else row["id"]


# A source without a connection has no row to store it: the definition identifies it.
_BY_MARK = """
    SELECT a.id FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.created_by = $2 AND a.state <> 'archived'
        AND d.document #>> '{metadata,watches_integration}' = $3
    ORDER BY a.id LIMIT 1
"""


async def _name(
    tx: Transaction, space: UUID, to: DataSource, account: AccountRow | None, known: UUID | None
) -> str:
    """The automation's name; with another member's poller, it includes the owner."""
    plain = f"Read {to.integration.name}"
    whose = f" ({clean_name(account.account)})" if account is not None and account.account else ""
    choices = [plain, f"{plain}{whose}"[:200], *(f"{plain} {n}" for n in range(2, _MOST_NAMES))]
    for name in choices:
        taken = await find_automation_ids(tx, space, [name])
        if not taken or taken == [known]:
            return name
    return f"{plain} {_MOST_NAMES}"


def _document(to: DataSource, name: str, every: str) -> dict[str, Any]:
    """Build the definition; any author could have written it."""
    polls = "; ".join(one.description for one in to.polls.values())
    return {
        "schema_version": "1.2",
        "name": name,
        "goal": f"Keep what is new at {to.integration.name} as pages. {polls}",
        "triggers": [
            {"id": "every", "type": "schedule", "config": {"cron": every, "timezone": "UTC"}}
        ],
        "plan": [{"step_id": "read", "action": "poll_integration", "config": {"source": to.name}}],
        "grants": [{"capability": "poll_integration", "params": {"source": to.name}}],
        "execution": {
            "concurrency": "drop_if_running",
            "max_retries": 3,
            "retry_backoff": "exponential",
            "timeout_seconds": 600,
        },
        "metadata": {"watches_integration": to.name},
    }


def _about_every(finding: Any) -> Any:
    """The schedule is the only part of the definition that the caller wrote."""
    kind = type(finding)
    return kind("/every", finding.detail, finding.code, finding.suggestion)


def _input(names: list[str], source: str, *, every: bool) -> dict[str, Any]:
    named: dict[str, Any] = {"type": "string", "description": "From list_integrations."}
    properties: dict[str, Any] = {"source": {**named, "enum": names} if names else named}
    wrong = [{"value": {}, "reason": "from where?"}]
    if every:
        properties["every"] = {
            "type": "string",
            "minLength": 9,
            "maxLength": 100,
            "description": "Cron expression in UTC, such as */15 * * * *. Default: the "
            "integration's suggestion.",
        }
        wrong.append({"value": {"source": source, "every": 15}, "reason": "a cron expression"})
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["source"],
        "properties": properties,
        "examples": [{"source": source}, *([{"source": source, "every": "0 * * * *"}] * every)],
        "x-mainspring-anti-examples": wrong,
    }


_WATCHED: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": ["source", "automation_id", "name", "every", "state", "admin_url"],
    "properties": {
        "source": {"type": "string"},
        "automation_id": {"type": "string", "format": "uuid"},
        "name": {"type": "string"},
        "every": {"type": "string"},
        "state": {
            "enum": ["active", "paused"],
            "description": "paused: a person paused it or has to agree first.",
        },
        "consent": {"type": "object", "description": "The pending consent with its digest."},
        "hint": {"type": "string", "description": "What is missing if nothing is read yet."},
        "admin_url": {"type": "string"},
    },
    "examples": [
        {
            "source": "gmail",
            "automation_id": _SOME_ID,
            "name": "Read Gmail",
            "every": "*/10 * * * *",
            "state": "active",
            "admin_url": f"https://mainspring.example/automations/{_SOME_ID}",
        }
    ],
}
_UNWATCHED: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": ["source", "state"],
    "properties": {
        "source": {"type": "string"},
        "state": {"const": "stopped"},
        "automation_id": {"type": "string", "format": "uuid"},
    },
    "examples": [{"source": "gmail", "state": "stopped", "automation_id": _SOME_ID}],
}
