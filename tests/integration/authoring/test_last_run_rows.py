"""When an automation last ran, as lists and overlaps say it: its own runs, and no rehearsal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest_asyncio

from mainspring.authoring.overlaps import ExistingAutomation, _read, living
from mainspring.authoring.playbook_capabilities import list_handler
from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database, WorkspaceDatabase
from mainspring.workspace.automation_list import list_automations
from tests.kit.definitions import WORDS, document
from tests.kit.run_rows import add_automation, add_run
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()
BEGAN = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
BOARD, OTHER_BOARD = str(generate_id()), str(generate_id())


@dataclass
class Rows:
    """Four automations here, the oldest first, and one there; two of them have run."""

    database: Database
    ran: UUID
    idle: UUID
    tried: UUID
    archived: UUID
    last: UUID


@pytest_asyncio.fixture
async def rows(database: Database) -> Rows:
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    ran, idle, tried, archived = [
        await add_automation(database, HERE, document(goal=f"goal {number}")) for number in range(4)
    ]
    # The first has an older version, with another definition.
    digest = generate_id().bytes * 2
    await database.execute(
        "INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3::text::json)",
        HERE,
        digest,
        json.dumps(document(goal="new goal")),
    )
    await database.execute(
        "INSERT INTO automation_versions (workspace_id, automation_id, version, definition_hash, "
        "grants, author) VALUES ($1, $2, 2, $3, '[]', $4)",
        HERE,
        ran,
        digest,
        generate_id(),
    )
    await database.execute("UPDATE automations SET version = 2 WHERE id = $1", ran)
    await database.execute("UPDATE automations SET state = 'archived' WHERE id = $1", archived)
    theirs = await add_automation(database, THERE, document())
    await add_run(database, HERE, ran, started_at=BEGAN - timedelta(days=1), status="running")
    last = await add_run(
        database,
        HERE,
        ran,
        started_at=BEGAN,
        finished_at=BEGAN + timedelta(hours=1),
        status="succeeded",
        outcome="done",
        reason="why",
    )
    # A newer one that only rehearses, and one of another workspace.
    await add_run(
        database,
        HERE,
        ran,
        started_at=BEGAN + timedelta(days=1),
        mode="dry_run",
        rehearsal_id=generate_id(),
    )
    await add_run(
        database, HERE, tried, started_at=BEGAN, mode="dry_run", rehearsal_id=generate_id()
    )
    await add_run(database, THERE, theirs, started_at=BEGAN + timedelta(days=2))
    return Rows(database, ran, idle, tried, archived, last)


async def _listed(rows: Rows, **value: Any) -> dict[str, Any]:
    studio: Any = SimpleNamespace(
        open_workspace=lambda space: WorkspaceDatabase(rows.database, space)
    )
    context: Any = SimpleNamespace(actor=Actor(HERE, "member", generate_id()))
    found = await list_handler(studio)(context, value)
    assert isinstance(found, dict)
    return found


async def test_a_list_says_when_each_automation_last_ran(rows: Rows) -> None:
    found = await _listed(rows)
    assert found["next"] is None
    assert {one["automation_id"]: one["last_run_at"] for one in found["automations"]} == {
        str(rows.ran): (BEGAN + timedelta(hours=1)).isoformat(),
        str(rows.idle): None,
        str(rows.tried): None,
    }
    (ran,) = [one for one in found["automations"] if one["automation_id"] == str(rows.ran)]
    assert (ran["version"], ran["goal"]) == (2, "new goal")


async def test_a_list_goes_on_after_its_last_entry(rows: Rows) -> None:
    first = await _listed(rows, limit=2)
    assert [one["automation_id"] for one in first["automations"]] == [
        str(rows.tried),
        str(rows.idle),
    ]
    assert first["next"] == str(rows.idle)
    second = await _listed(rows, limit=2, after=first["next"])
    assert [one["automation_id"] for one in second["automations"]] == [str(rows.ran)]
    assert second["next"] is None
    whole = await _listed(rows, limit=3)
    assert (len(whole["automations"]), whole["next"]) == (3, None)


async def test_the_last_run_is_the_newest_that_was_no_rehearsal(rows: Rows) -> None:
    found = await list_automations(rows.database, HERE)
    assert {one["id"]: one["last_run"] for one in found} == {
        rows.ran: {
            "id": rows.last,
            "status": "succeeded",
            "outcome": "done",
            "reason": "why",
            "at": BEGAN + timedelta(hours=1),
        },
        rows.idle: None,
        rows.tried: None,
    }
    assert not [key for one in found for key in one if key.startswith("run_")]


async def test_a_list_says_what_each_automation_is_agreed_to(rows: Rows) -> None:
    person = generate_id()
    await rows.database.execute(
        "UPDATE automations SET agreed_version = 1, agreed_by = $2, agreed_via = 'page' "
        "WHERE id = $1",
        rows.ran,
        person,
    )
    found = {one["id"]: one["agreed"] for one in await list_automations(rows.database, HERE)}
    assert found == {
        rows.ran: {"version": 1, "by": person, "via": "page"},
        rows.idle: None,
        rows.tried: None,
    }


async def test_an_overlap_says_when_the_other_one_last_ran(rows: Rows) -> None:
    found = await living(rows.database, HERE, WORDS)
    assert [(one.id, one.last_run_at) for one in found] == [
        (rows.tried, None),
        (rows.idle, None),
        (rows.ran, BEGAN.isoformat()),
    ]
    assert [one.about for one in found] == ["goal 2", "goal 1", "new goal"]
    own = found[0].describe(found[0].owner_id, strict=True)
    assert (own["is_self"], own["strict_overlap"]) == (True, True)
    assert found[2].describe(generate_id(), strict=False)["last_run_at"] == BEGAN.isoformat()
    assert not found[2].describe(generate_id(), strict=False)["is_self"]


def _living(**value: Any) -> ExistingAutomation:
    row: dict[str, Any] = {
        "id": generate_id(),
        "name": "name",
        "description": None,
        "state": "live",
        "created_by": generate_id(),
        "email": None,
        "last_run_at": None,
        "writes": None,
        "boards": None,
        "grants": [],
        "intent": None,
        "goal": "",
        "triggers": None,
        **value,
    }
    return _read(row, frozenset({"append"}))


def test_a_board_is_known_from_what_a_script_declares_a_plan_names_or_a_grant_pins() -> None:
    assert _living().boards == frozenset()
    assert _living(writes={"boards": [BOARD]}, boards=[OTHER_BOARD]).boards == {BOARD, OTHER_BOARD}
    assert _living(boards=["{{ inputs.board }}", BOARD.upper()]).boards == {BOARD}

    def pinned(capability: str, board: Any) -> frozenset[str]:
        params = {} if board is None else {"board_id": board}
        return _living(grants=[{"capability": capability, "params": params}]).boards

    assert pinned("append", BOARD) == {BOARD}
    assert pinned("append", [BOARD, OTHER_BOARD]) == {BOARD, OTHER_BOARD}
    assert pinned("append", None) == pinned("read", BOARD) == frozenset()


def test_an_automation_is_about_the_first_text_that_it_has() -> None:
    assert _living().about == "name"
    assert _living(goal="goal").about == "goal"
    assert _living(goal="goal", description="description").about == "description"
    assert _living(intent="intent", description="description").about == "intent"
    assert _living(writes={"dedupe_target_field": "a", "dedupe_key_field": "b"}).target == "a"
