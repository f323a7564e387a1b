"""``rollback``: what the earlier version may do beyond what was agreed to is shown and asked."""

from __future__ import annotations

import json

from tests.integration.surfaces.cli.conftest import Command
from tests.kit.bench import Bench, document, step

NOTE = step("note", "transform_data", {"output": "x"})
FETCH = step("get", "http_fetch", {"url": "https://a.example/"})


async def _narrowed(bench: Bench) -> str:
    """Version 2 may do less than version 1; a person has agreed to both."""
    await bench.save(document(NOTE, FETCH, name="Narrowed"))
    return str((await bench.save(document(NOTE, name="Narrowed"))).automation_id)


async def _versions(bench: Bench) -> int:
    return int(await bench.application.database.fetchval("SELECT version FROM automations"))


async def test_a_person_sees_what_a_rollback_adds_before_it_is_done(
    bench: Bench, command: Command
) -> None:
    await _narrowed(bench)
    code, output = await command("rollback", "Narrowed", "1", answers=["n"])
    assert code == 1, output
    assert "- It may now send requests to a.example." in output
    assert await _versions(bench) == 2

    code, output = await command("rollback", "Narrowed", "1", answers=["y"])
    assert code == 0, output
    assert await _versions(bench) == 3
    (agreed,) = await bench.application.database.fetch(
        "SELECT agreed_version, agreed_via, paused_reason FROM automations"
    )
    assert tuple(agreed) == (3, "terminal", None)


async def test_a_rollback_that_adds_nothing_asks_nothing(bench: Bench, command: Command) -> None:
    await bench.save(document(NOTE, name="Narrowed"))
    await bench.save(document(NOTE, FETCH, name="Narrowed"))
    code, output = await command("rollback", "Narrowed", "1", answers=[])
    assert code == 0, output
    assert "agree" not in output


async def test_what_a_program_brings_back_waits_for_a_person(
    bench: Bench, command: Command
) -> None:
    automation_id = await _narrowed(bench)
    code, output = await command("rollback", "Narrowed", "1")
    assert code == 0, output
    (asked,) = await bench.application.database.fetch("SELECT id, status, digest FROM consents")
    assert asked["status"] == "waiting"
    assert "- It may now send requests to a.example." in output
    assert f"/automations/{automation_id}" in output
    assert f"consents agree {asked['id']}" in output

    code, result = await command("rollback", "Narrowed", "1", "--json")
    consent = json.loads(result)["consent"]
    assert (code, consent["consent_id"]) == (0, str(asked["id"]))
    assert consent["url"].endswith(f"/automations/{automation_id}")
