"""``retry`` and ``replay`` by a program: an old version may not do more than is agreed to now."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from mainspring.surfaces.services import ApplicationServices
from tests.kit.bench import Bench, document, step

NOTE = step("note", "transform_data", {"output": "x"})
# The command, and what keeps it from waiting for the end of the run.
REPEATS = [("retry", "--no-wait"), ("replay",)]
FETCH = step("get", "http_fetch", {"url": "https://a.example/"})


async def _narrowed(bench: Bench, services: ApplicationServices) -> UUID:
    """A run of a version that was allowed more than the version a person agreed to since."""
    made = await bench.dispatch(document(NOTE, FETCH, name="Narrowed"))
    await services.control.cancel(services.workspace_id, made.run_id)
    await bench.save(document(NOTE, name="Narrowed"))
    return made.run_id


@pytest.mark.parametrize("repeat", REPEATS)
async def test_a_program_repeats_no_run_of_a_version_that_may_do_more(
    bench: Bench, services: ApplicationServices, command: Any, repeat: tuple[str, ...]
) -> None:
    run_id = await _narrowed(bench, services)
    code, output = await command(*repeat, str(run_id))
    assert code == 1, output
    assert "a.example" in output
    code, output = await command(*repeat, str(run_id), "--json")
    assert code == 1, output
    assert json.loads(output)["code"] == "consent_needed"
    stored = await bench.application.database.fetch("SELECT status FROM runs")
    assert [one["status"] for one in stored] == ["cancelled"]


@pytest.mark.parametrize("repeat", REPEATS)
async def test_a_person_at_a_terminal_repeats_what_ran_before(
    bench: Bench, services: ApplicationServices, command: Any, repeat: tuple[str, ...]
) -> None:
    run_id = await _narrowed(bench, services)
    code, output = await command(*repeat, str(run_id), answers=[])
    assert code == 0, output
    stored = await bench.application.database.fetch("SELECT status FROM runs ORDER BY id DESC")
    assert stored[0]["status"] == "pending"
