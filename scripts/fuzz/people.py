"""Who asks: one of each role, and those who should not get far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from mainspring.app import Application
from mainspring.contracts.context import RunRef
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.run_tokens import mint
from mainspring.runs.run_requests import NewRun, RunRequest, insert_runs
from mainspring.workspace.people.sessions import build_csrf_token, start_session
from tests.kit.tenants import add_person

MEMBERS: Final = ("viewer", "operator", "editor", "admin", "owner")
# From those who may nothing to the one who may everything.
ROLES: Final = (
    "none",
    "removed",
    "oauth-client",
    "limited-token",
    "run",
    *MEMBERS,
    "browser",
    "installation-administrator",
)
# After one of these the application holds less than before.
CHANGING: Final = frozenset({"editor", "admin", "owner", "browser", "installation-administrator"})
# Capabilities that a token may be limited to.
_FEW: Final = ("list_boards", "create_page", "search_pages")
_WORKER: Final = """
    INSERT INTO workers (name, lease_until) VALUES ('holds one run', now() + interval '1 day')
    RETURNING id
"""
_TAKEN: Final = """
    UPDATE runs SET status = 'running', fence = 1, worker = $2, claimed_at = now(),
        started_at = now()
    WHERE id = $1
"""
_PLANNED: Final = """
    SELECT v.automation_id AS id, d.document #>> '{plan,0,step_id}' AS step
    FROM automation_versions v
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE v.workspace_id = $1 AND v.version = 1 ORDER BY v.automation_id LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """The headers that somebody sends, and the ids that would take their own way in away."""

    role: str
    headers: Mapping[str, str]
    own: frozenset[str] = frozenset()


async def caller_of(application: Application, role: str) -> Caller:
    """Somebody of this role, new each time: what was taken from the last one is given back."""
    if role == "none":
        return Caller(role, {})
    if role == "run":
        return Caller(role, _bearer(await _run_token(application)))
    if role == "installation-administrator":
        return await _administrator(application)
    kind = Role(role) if role in MEMBERS else Role.OWNER
    few = _FEW if role == "limited-token" else None
    database, space = application.database, application.workspace_id
    person = await add_person(database, space, kind, name=f"{role} who asks", capabilities=few)
    own = frozenset({str(person.id), str(person.token_id)})
    if role == "removed":
        gone = "DELETE FROM members WHERE workspace_id = $1 AND user_id = $2"
        await database.execute(gone, space, person.id)
    if role == "oauth-client":
        given = "UPDATE access_tokens SET client_id = $2 WHERE id = $1"
        await database.execute(given, person.token_id, generate_id())
    if role == "browser":
        return await _browser(application, person.id, own)
    return Caller(role, _bearer(person.token), own)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def _administrator(application: Application) -> Caller:
    person = await add_person(
        application.database, application.workspace_id, Role.OWNER, name="looks after"
    )
    await application.database.execute(
        "UPDATE users SET administrator = true WHERE id = $1", person.id
    )
    own = frozenset({str(person.id), str(person.token_id)})
    return Caller("installation-administrator", _bearer(person.token), own)


async def _browser(application: Application, person: UUID, own: frozenset[str]) -> Caller:
    async with application.database.transaction() as tx:
        session_id, plain = await start_session(tx, person, application.workspace_id, "a browser")
    headers = {"Cookie": f"mainspring={plain}", "X-CSRF-Token": build_csrf_token(plain)}
    return Caller("browser", headers, own | {str(session_id)})


async def _run_token(application: Application) -> str:
    """A token of a try at a step whose worker will not come back for a day."""
    space, database = application.workspace_id, application.database
    row = await database.fetchrow(_PLANNED, space)
    assert row is not None, "a run needs an automation"
    run_id, request = generate_id(), RunRequest(space, row["id"])
    run = NewRun(run_id, request, 1, "fast", {}, None, False, None, None, 0)
    place = RunRef(run_id, row["id"], row["step"])
    async with database.transaction() as tx:
        worker = await tx.fetchrow(_WORKER)
        assert worker is not None
        await insert_runs(tx, [run])
        # In the same transaction: nobody else can have claimed it.
        await tx.execute(_TAKEN, run_id, worker["id"])
        made = await mint(tx, space, place, 1, datetime.now(UTC))
    return made.token
