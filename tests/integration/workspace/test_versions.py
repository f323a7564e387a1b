"""Versions, the way back, and automations as files."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.definition.validate import validate
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automation_states import archive
from mainspring.workspace.automations import (
    FIRST_MEMBER,
    SavedAutomation,
    set_state,
    switch,
    update,
)
from mainspring.workspace.import_export import (
    ImportResult,
    OnClash,
    export_all,
    export_automation,
    import_validated,
    validate_import,
)
from mainspring.workspace.versions import diff, list_versions, read_version, rollback
from mainspring.workspace.webhooks import rotate
from tests.kit.bench import Bench, document, step

DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
HOOK = {"id": "hook", "type": "webhook"}


def _first(**more: Any) -> dict[str, Any]:
    return document(step("a", "test.echo", {"n": 1}), triggers=[DAILY], **more)


def _second(**more: Any) -> dict[str, Any]:
    plan = (step("b", "test.note"), step("a", "test.echo", {"n": 2}))
    return document(*plan, triggers=[HOOK], **more)


async def _rollback(bench: Bench, automation_id: UUID, version: int) -> SavedAutomation:
    application = bench.application
    async with application.database.transaction() as tx:
        return await rollback(
            tx,
            application.workspace_id,
            automation_id,
            version,
            FIRST_MEMBER,
            application.registry,
            application.limits,
        )


async def _version(bench: Bench, automation_id: UUID, version: int) -> dict[str, Any]:
    async with bench.application.database.acquire() as connection:
        return await read_version(
            connection, bench.application.workspace_id, automation_id, version
        )


async def _read(bench: Bench, automation_id: UUID) -> dict[str, Any]:
    async with bench.application.database.acquire() as connection:
        return await read_automation(connection, bench.application.workspace_id, automation_id)


async def _import(bench: Bench, value: Any, on_clash: OnClash = "refuse") -> list[ImportResult]:
    application = bench.application
    candidates = await validate_import(value, application.registry, application.limits)
    async with application.database.transaction() as tx:
        return await import_validated(
            tx,
            application.workspace_id,
            candidates,
            FIRST_MEMBER,
            application.registry,
            application.limits,
            on_clash,
        )


async def _export(bench: Bench, automation_id: UUID) -> dict[str, Any]:
    async with bench.application.database.acquire() as connection:
        return await export_automation(connection, bench.application.workspace_id, automation_id)


async def _counted(bench: Bench, table: str) -> int:
    return int(await bench.application.database.fetchval(f"SELECT count(*) FROM {table}"))


async def test_going_back_brings_exactly_the_old_definition_and_grants(bench: Bench) -> None:
    saved = await bench.save(_first())
    await bench.save(_second())
    again = await _rollback(bench, saved.automation_id, 1)
    assert (again.version, again.changed) == (3, True)
    first = await _version(bench, saved.automation_id, 1)
    third = await _version(bench, saved.automation_id, 3)
    assert third["definition_hash"] == first["definition_hash"]
    assert (third["definition"], third["grants"]) == (first["definition"], first["grants"])
    assert (third["rollback_of"], third["in_force"]) == (1, True)
    found = await _read(bench, saved.automation_id)
    assert [trigger["slug"] for trigger in found["triggers"]] == ["daily"]


async def test_going_back_deletes_nothing_and_may_be_undone(bench: Bench) -> None:
    saved = await bench.save(_first())
    await bench.save(_second())
    await _rollback(bench, saved.automation_id, 1)
    forth = await _rollback(bench, saved.automation_id, 2)
    assert forth.version == 4
    async with bench.application.database.acquire() as connection:
        rows = await list_versions(connection, bench.application.workspace_id, saved.automation_id)
    assert [(row["version"], row["rollback_of"]) for row in rows] == [
        (4, 2),
        (3, 1),
        (2, None),
        (1, None),
    ]


async def test_going_back_tells_what_widens(bench: Bench) -> None:
    saved = await bench.save(_second())
    await bench.save(_first())
    again = await _rollback(bench, saved.automation_id, 1)
    assert [grant.capability for grant in again.widened] == ["test.note"]


async def test_going_back_to_what_is_in_force_changes_nothing(bench: Bench) -> None:
    saved = await bench.save(_first())
    assert not (await _rollback(bench, saved.automation_id, 1)).changed
    assert await _counted(bench, "automation_versions") == 1


async def test_the_old_name_comes_back_if_it_is_free(bench: Bench) -> None:
    application = bench.application
    saved = await bench.save(_first(name="old"))
    report = validate(_second(name="new"), application.registry, application.limits)
    async with application.database.transaction() as tx:
        await update(
            tx,
            application.workspace_id,
            saved.automation_id,
            report.accepted(),
            report.grants,
            FIRST_MEMBER,
        )
    other = await bench.save(_first(name="old"))
    with pytest.raises(Conflict) as caught:
        await _rollback(bench, saved.automation_id, 1)
    assert caught.value.findings[0].pointer == "/name"
    async with application.database.transaction() as tx:
        await archive(tx, application.workspace_id, other.automation_id)
    await _rollback(bench, saved.automation_id, 1)
    assert (await _read(bench, saved.automation_id))["name"] == "old"


async def test_a_version_that_no_longer_fits_is_not_brought_back(bench: Bench) -> None:
    saved = await bench.save(_first())
    await bench.application.database.execute(
        """UPDATE definitions SET document =
           jsonb_set(document::jsonb, '{plan,0,action}', '"no_such_action"')::json"""
    )
    await bench.save(_second())
    with pytest.raises(Conflict) as caught:
        await _rollback(bench, saved.automation_id, 1)
    assert [finding.pointer for finding in caught.value.findings] == ["/plan/0/action"]
    assert (await _read(bench, saved.automation_id))["version"] == 2


async def test_an_archived_automation_is_not_rolled_back(bench: Bench) -> None:
    saved = await bench.save(_first())
    async with bench.application.database.transaction() as tx:
        await archive(tx, bench.application.workspace_id, saved.automation_id)
    with pytest.raises(Conflict):
        await _rollback(bench, saved.automation_id, 1)


@pytest.mark.parametrize("version", [0, -1, 2, 2**31, 2**70])
async def test_a_version_that_is_not_there_is_missing(bench: Bench, version: int) -> None:
    saved = await bench.save(_first())
    with pytest.raises(NotFound) as caught:
        await _rollback(bench, saved.automation_id, version)
    assert caught.value.code == "no_version"
    with pytest.raises(NotFound) as caught:
        await _version(bench, generate_id(), 1)
    assert caught.value.code == "no_automation"


async def test_a_diff_tells_each_change_and_what_it_means_for_grants(bench: Bench) -> None:
    saved = await bench.save(_first())
    await bench.save(_second())
    async with bench.application.database.acquire() as connection:
        where = (connection, bench.application.workspace_id, saved.automation_id)
        found = await diff(*where, 1, 2)
        back = await diff(*where, 2, 1)
        same = await diff(*where, 2, 2)
    assert [(c["op"], c["pointer"]) for c in found["changes"]] == [
        ("remove", "/triggers/0"),
        ("add", "/triggers/0"),
        ("add", "/plan/0"),
        ("replace", "/plan/1/config/n"),
    ]
    assert [grant["capability"] for grant in found["widened"]] == ["test.note"]
    assert (found["narrowed"], back["widened"]) == ([], [])
    assert [grant["capability"] for grant in back["narrowed"]] == ["test.note"]
    assert same["changes"] == []


async def test_an_export_is_read_back_as_the_same_definition(bench: Bench) -> None:
    saved = await bench.save(_second())
    before = await _version(bench, saved.automation_id, 1)
    exported = json.loads(json.dumps(await _export(bench, saved.automation_id)))
    async with bench.application.database.transaction() as tx:
        await archive(tx, bench.application.workspace_id, saved.automation_id)
    (imported,) = await _import(bench, exported)
    after = await _version(bench, imported.saved.automation_id, 1)
    assert after["definition_hash"] == before["definition_hash"]
    assert after["grants"] == before["grants"]


async def test_an_export_has_the_triggers_as_they_are_and_no_token(bench: Bench) -> None:
    saved = await bench.save(document(step("a", "test.echo"), triggers=[DAILY, HOOK]))
    async with bench.application.database.transaction() as tx:
        where = (bench.application.workspace_id, saved.automation_id)
        await switch(tx, *where, "daily", enabled=False)
        hint, token = await rotate(tx, *where, "hook", FIRST_MEMBER)
    exported = await _export(bench, saved.automation_id)
    assert [(t["id"], t["enabled"]) for t in exported["triggers"]] == [
        ("daily", False),
        ("hook", True),
    ]
    text = json.dumps(exported)
    assert token not in text
    assert hint not in text
    assert str(saved.automation_id) not in text


async def test_everything_is_exported_by_name_and_read_back(bench: Bench) -> None:
    for name in ("b", "a", "c"):
        await bench.save(_first(name=name))
    async with bench.application.database.transaction() as tx:
        bundle = await export_all(tx, bench.application.workspace_id)
    assert [one["name"] for one in bundle["automations"]] == ["a", "b", "c"]
    imported = await _import(bench, json.loads(json.dumps(bundle)), "rename")
    assert [one.name for one in imported] == ["a (2)", "b (2)", "c (2)"]
    assert [one.renamed_from for one in imported] == ["a", "b", "c"]
    assert {one.saved.state for one in imported} == {"paused"}


async def test_a_bad_bundle_is_reported_with_every_problem_and_stores_nothing(bench: Bench) -> None:
    bundle = {
        "format": "mainspring.export",
        "version": 1,
        "automations": [
            _first(name="good"),
            {**_first(name="bad"), "workspace_id": "x"},
            7,
            document(step("a", "no_such_action"), name="worse"),
        ],
    }
    with pytest.raises(Invalid) as caught:
        await _import(bench, bundle)
    assert [finding.pointer for finding in caught.value.findings] == [
        "/automations/1/workspace_id",
        "/automations/2",
        "/automations/3/plan/0/action",
    ]
    assert await _counted(bench, "automations") == await _counted(bench, "definitions") == 0


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"format": "n8n"}, "/format"),
        ({"version": 2}, "/version"),
        ({"version": True}, "/version"),
        ({"version": None}, "/version"),
        ({"automations": {}}, "/automations"),
        ({"automations": None}, "/automations"),
        ({"workspace_id": "x"}, "/workspace_id"),
        ({"__proto__": {}}, "/__proto__"),
    ],
)
async def test_an_envelope_that_is_not_ours_is_refused(
    bench: Bench, more: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await _import(
            bench, {"format": "mainspring.export", "version": 1, "automations": [], **more}
        )
    assert [finding.pointer for finding in caught.value.findings] == [pointer]


@pytest.mark.parametrize("value", [None, 7, "text", [], {}, {"automations": []}])
async def test_what_is_no_definition_is_refused(bench: Bench, value: Any) -> None:
    with pytest.raises(Invalid) as caught:
        await _import(bench, value)
    assert caught.value.findings
    assert await _counted(bench, "automations") == 0


async def test_two_of_one_name_in_a_bundle_are_refused(bench: Bench) -> None:
    bundle = {"format": "mainspring.export", "version": 1, "automations": [_first(), _second()]}
    with pytest.raises(Invalid) as caught:
        await _import(bench, bundle, "rename")
    assert [finding.pointer for finding in caught.value.findings] == ["/automations/1/name"]


async def test_a_taken_name_refuses_the_whole_import_unless_said_otherwise(bench: Bench) -> None:
    await bench.save(_first(name="there"))
    bundle = {
        "format": "mainspring.export",
        "version": 1,
        "automations": [_first(name="new"), _second(name="there")],
    }
    with pytest.raises(Conflict) as caught:
        await _import(bench, bundle)
    assert [finding.pointer for finding in caught.value.findings] == ["/automations/1/name"]
    assert await _counted(bench, "automations") == 1


async def test_an_import_over_an_active_automation_pauses_it(bench: Bench) -> None:
    """What a file says has been agreed to by nobody yet."""
    saved = await bench.save(_first())
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    (same,) = await _import(bench, _first(), "new_version")
    assert (same.saved.changed, same.saved.state) == (False, "active")
    (imported,) = await _import(bench, _second(), "new_version")
    assert imported.saved.automation_id == saved.automation_id
    assert (imported.saved.version, imported.saved.state) == (2, "paused")
    found = await _read(bench, saved.automation_id)
    assert found["state"] == "paused"
    assert [trigger["armed_at"] for trigger in found["triggers"]] == [None]


async def test_an_import_starts_nothing_and_calls_nothing(bench: Bench) -> None:
    every_minute = {"cron": "* * * * *", "timezone": "UTC"}
    await _import(
        bench,
        document(step("a", "test.note"), triggers=[{"type": "schedule", "config": every_minute}]),
    )
    async with bench.worker():
        pass
    assert await _counted(bench, "runs") == 0
    assert not bench.outside.keys
    assert await _counted(bench, "triggers WHERE next_due_at IS NOT NULL") == 0


async def test_a_renamed_import_that_would_follow_itself_is_refused(bench: Bench) -> None:
    """A trigger may go by names; under its new name it could start itself for ever."""
    await bench.save(_first(name="a"))
    follows = {
        "event_type": "automation.run.succeeded",
        "filters": {"automation_name": {"equals": "a (2)"}},
    }
    written = document(
        step("x", "test.echo"), name="a", triggers=[{"type": "event", "config": follows}]
    )
    bundle = {"format": "mainspring.export", "version": 1, "automations": [written]}
    with pytest.raises(Invalid) as caught:
        await _import(bench, bundle, "rename")
    assert caught.value.findings[0].pointer.startswith("/automations/0/triggers/0")
    assert await _counted(bench, "automations") == 1


async def test_a_name_of_full_length_is_renamed_within_it(bench: Bench) -> None:
    await bench.save(_first(name="n" * 200))
    (imported,) = await _import(bench, _first(name="n" * 200), "rename")
    assert imported.name == "n" * 196 + " (2)"
