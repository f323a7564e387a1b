"""Every route and every capability, asked by everybody: allowed where the role table says so.

Nothing is listed here manually. The routes come from the application, the capabilities from
the registry, and what is right comes from the one table of roles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import pytest

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.context import RunRef
from mainspring.contracts.roles import Permission, Role
from mainspring.gate.run_tokens import mint
from mainspring.surfaces.rest.route_access import (
    get_route_capability,
    get_route_permission,
    is_for_anyone_known,
    is_marked,
    is_open_to_runs,
)
from tests.kit.access_matrix import AN_ID, AccessMatrix, Way, values_for
from tests.kit.tenants import Person, add_person

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNKNOWN, REFUSED, HIDDEN, ALLOWED = "unknown", "refused", "hidden", "allowed"
# A route about one's own account may say no to a token that was made for something else.
EITHER = "either"
# A run is judged by its grants, which are another matrix.
BY_GRANT = "by grant"
_BOTH: Final = {
    (EITHER, REFUSED),
    (EITHER, ALLOWED),
    (BY_GRANT, ALLOWED),
    (BY_GRANT, REFUSED),
    (BY_GRANT, HIDDEN),
}
# Routes that answer a question which needs a body; they change nothing.
ONLY_ASK: Final = {"validate_definition", "test_filter", "check_public_address"}
# These are in one order: what the one needs is what the other leaves.
FIRST: Final = (
    "run_automation",
    "cancel_run",
    "retry_run",
    "replay_run",
    "post_event",
    "replay_event",
    "put_event_type",
    "update_automation",
    "roll_back",
    "pause_automation",
    "acknowledge_automation",
    "activate_automation",
    "patch_trigger",
    "make_webhook_token",
    "end_webhook_token",
    "link_artifact",
    "read_message",
    "delete_token",
)
LAST: Final = ("archive_automation", "restore_automation")
# What must have succeeded for the look at the audit log to be worth something.
SURELY: Final = {*FIRST, *LAST, "create_automation", "import_automations", "remove_artifact"}


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody, with what they show."""

    name: str
    token: str | None
    role: Role | None = None
    # The only capability that its token may call.
    limited: str | None = None
    is_run: bool = False


async def _askers(two: AccessMatrix) -> list[Asker]:
    space = two.owner.workspace_id

    async def person(role: Role = Role.OWNER, **more: Any) -> str:
        return (await add_person(two.database, space, role, **more)).token

    people = [Asker(role.value, await person(role), role) for role in Role]
    shut_out = await add_person(two.database, space, Role.OWNER)
    await two.database.execute("UPDATE users SET disabled_at = now() WHERE id = $1", shut_out.id)
    nobodies = {
        "nobody": None,
        "removed member": await person(member=False),
        "shut out": shut_out.token,
        "revoked token": await person(revoked=True),
        "expired token": await person(expired=True),
        "webhook token": "mwh_" + "A" * 43,
        "dead run token": "msr_" + "A" * 43,
    }
    named = _harmless(two)
    limited = Asker("limited token", await person(capabilities=[named]), Role.OWNER, named)
    run = Asker("run token", await _run_token(two), is_run=True)
    return [*people, limited, run, *(Asker(name, token) for name, token in nobodies.items())]


async def _run_token(two: AccessMatrix) -> str:
    """The token of a run that a worker has in its hands."""
    space = two.owner.workspace_id
    async with two.database.transaction() as tx:
        worker = await tx.fetchval(
            "INSERT INTO workers (name, lease_until) VALUES ('matrix', now() + interval '1 hour') "
            "RETURNING id"
        )
        row = await tx.fetchrow(
            "UPDATE runs SET status = 'running', worker = $3, cancel_at = NULL "
            "WHERE workspace_id = $1 AND id = $2 RETURNING automation_id, fence",
            space,
            UUID(two.own["runs.id"][0]),
            worker,
        )
        assert row is not None
        run = RunRef(UUID(two.own["runs.id"][0]), row["automation_id"], "tell")
        return (await mint(tx, space, run, row["fence"], datetime.now(UTC))).token


def _harmless(two: AccessMatrix) -> str:
    """A capability that everybody with a role may call."""
    return min(
        one.id
        for one in two.api.application.registry.capabilities.values()
        if one.annotations.audience is Audience.ANYONE and one.permission is Permission.READ
    )


def _due(way: Way, asker: Asker) -> str:
    """What the table of roles says to this asker on this route."""
    capability = get_route_capability(way.endpoint)
    if asker.is_run and is_open_to_runs(way.endpoint):
        return BY_GRANT
    if asker.role is None:
        return UNKNOWN
    if capability is not None:
        return _due_capability(capability, asker)
    if is_for_anyone_known(way.endpoint):
        return ALLOWED
    permission = get_route_permission(way.endpoint)
    assert permission is not None, f"{way.label} does not say who may use it"
    if asker.limited:
        return EITHER if permission is Permission.ACCOUNT else REFUSED
    return ALLOWED if asker.role.may(permission) else REFUSED


def _due_capability(capability: Capability, asker: Asker) -> str:
    if asker.role is None:
        return UNKNOWN
    audience = capability.annotations.audience
    # None of the askers looks after the installation.
    if audience in (Audience.RUNS, Audience.ADMINISTRATORS):
        return HIDDEN
    if asker.limited not in (None, capability.id):
        return HIDDEN
    return ALLOWED if asker.role.may(capability.permission) else REFUSED


def _was(status: int, text: str) -> str:
    if status == 401:
        return UNKNOWN
    if status == 403 and '"person_needed"' not in text:
        # A token is refused what only a person may do, whatever its role allows.
        return REFUSED
    return HIDDEN if status == 404 and "unknown_capability" in text else ALLOWED


def _anything(two: AccessMatrix, way: Way) -> dict[str, str]:
    known = {"version": "1", "capability_id": _harmless(two)}
    return {name: known.get(name, AN_ID) for where, name in way.places if where == "path"}


async def test_every_route_says_who_may_use_it(two: AccessMatrix) -> None:
    assert [way.label for way in two.ways if not is_marked(way.endpoint)] == []


async def test_every_route_is_open_to_those_the_role_table_names(two: AccessMatrix) -> None:
    askers = await _askers(two)
    wrong: list[tuple[str, str, str, int]] = []
    seen: set[tuple[str, str]] = set()
    for way in two.ways:
        if way.method in {"HEAD", "OPTIONS"}:
            continue
        body: dict[str, Any] | None = None if way.body() is None else {}
        answers = await asyncio.gather(
            *(two.ask(asker.token, way, _anything(two, way), body) for asker in askers)
        )
        for asker, (status, text) in zip(askers, answers, strict=True):
            due = _due(way, asker)
            seen.add((asker.name, due))
            was = _was(status, text)
            if (was != due and (due, was) not in _BOTH) or status >= 500:
                wrong.append((way.label, asker.name, due, status))

    assert wrong == [], "\n".join(map(str, wrong))
    assert {(role.value, REFUSED) for role in Role if role is not Role.OWNER} <= seen
    assert {("viewer", ALLOWED), ("owner", ALLOWED), ("limited token", REFUSED)} <= seen
    assert {("run token", UNKNOWN), ("run token", BY_GRANT)} <= seen


async def test_every_capability_is_open_to_those_the_role_table_names(two: AccessMatrix) -> None:
    # Unauthenticated callers have been refused at the route already, whatever they ask for.
    askers = [asker for asker in await _askers(two) if asker.role is not None]
    capabilities = two.api.application.registry.capabilities
    call = next(way for way in two.ways if way.name == "call_capability")
    wrong: list[tuple[str, str, str, int]] = []
    for capability in capabilities.values():
        # Arguments that no schema takes, so that nothing is done by those who may.
        answers = await asyncio.gather(
            *(
                two.ask(asker.token, call, {"capability_id": capability.id}, {"no_such": 1})
                for asker in askers
            )
        )
        for asker, (status, text) in zip(askers, answers, strict=True):
            due = _due_capability(capability, asker)
            if _was(status, text) != due or status >= 500:
                wrong.append((capability.id, asker.name, due, status))

    assert len(capabilities) > 10
    assert wrong == [], "\n".join(map(str, wrong))


async def test_a_limited_token_makes_no_other(two: AccessMatrix) -> None:
    limited = (await _askers(two))[len(Role)]
    making = [way for way in two.ways if way.method == "POST" and way.path.endswith("/tokens")]

    for way in making:
        status, _ = await two.ask(limited.token, way, {}, {"name": "more"})
        assert status == 403, way.label


async def test_a_refusal_is_written_to_the_audit_log(two: AccessMatrix) -> None:
    viewer = await add_person(two.database, two.owner.workspace_id, Role.VIEWER)
    pause = next(way for way in two.ways if way.name == "pause_automation")

    status, _ = await two.ask(viewer.token, pause, {"automation_id": AN_ID}, {})

    entry = (await _entries(two, viewer))[0]
    assert status == 403
    assert (entry["action"], entry["subject"]) == ("denied", "pause_automation")
    assert entry["detail"] == {"code": "role_too_small"}


async def test_every_change_that_succeeds_is_written_to_the_audit_log(two: AccessMatrix) -> None:
    changing = [way for way in two.ways if way.method not in {"GET", "HEAD", "OPTIONS"}]
    silent: list[Any] = []
    done = set()
    for way in sorted(changing, key=_turn):
        before = {entry["id"] for entry in await _entries(two, two.owner)}
        status, _ = await _do(two, way)
        if status >= 300 or way.name in ONLY_ASK or await _only_read(two, way):
            continue
        done.add(way.name)
        result = [entry for entry in await _entries(two, two.owner) if entry["id"] not in before]
        action = get_route_capability(way.endpoint)
        if not any(entry["action"] in {way.name, action and action.id} for entry in result):
            silent.append((way.label, way.name, [dict(entry) for entry in result]))
        if any(entry["token_id"] != two.owner.token_id for entry in result):
            silent.append((way.label, "another token", result))

    assert silent == [], "\n".join(map(str, silent))
    assert SURELY - done == set()


def _turn(way: Way) -> tuple[int, int]:
    """What others need comes first, what takes something away comes last."""
    if way.name in FIRST:
        return 0, FIRST.index(way.name)
    if way.name in LAST:
        return 2, LAST.index(way.name)
    return (3 if way.method == "DELETE" else 1), 0


async def _only_read(two: AccessMatrix, way: Way) -> bool:
    """Whether a call of a capability came to no more than a read, as its record says."""
    capability = get_route_capability(way.endpoint)
    if capability is None:
        return False
    outcome = await two.database.fetchval(
        "SELECT outcome FROM direct_calls WHERE workspace_id = $1 AND capability = $2 "
        "ORDER BY id DESC LIMIT 1",
        two.owner.workspace_id,
        capability.id,
    )
    return bool(outcome == "read")


async def _do(two: AccessMatrix, way: Way) -> tuple[int, str]:
    """Asks for it as the owner would, with things that are there."""
    fill: dict[str, str] = {}
    for where, name in way.places:
        if where == "path":
            fill[name] = await _newest(two, way, name)
    return await two.ask(two.owner.token, way, fill, way.body())


async def _newest(two: AccessMatrix, way: Way, name: str) -> str:
    if name == "run_id":
        found = await two.database.fetchval(
            "SELECT id FROM runs WHERE workspace_id = $1 ORDER BY id DESC LIMIT 1",
            two.owner.workspace_id,
        )
        return str(found)
    return (values_for(two.own, way, name) or [AN_ID])[0]


async def _entries(two: AccessMatrix, person: Person) -> list[Mapping[str, Any]]:
    rows = await two.database.fetch(
        "SELECT * FROM audit_log WHERE workspace_id = $1 AND actor_id = $2 ORDER BY id DESC",
        two.owner.workspace_id,
        UUID(str(person.id)),
    )
    return [dict(row) for row in rows]
