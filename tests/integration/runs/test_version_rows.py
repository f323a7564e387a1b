"""Which definition a run gets: that of its own version, rehearsal and workspace."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Conflict, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.runs.rows import ClaimedRun
from mainspring.runs.versions import VersionCache
from mainspring.store.database import Database
from tests.kit.definitions import LIMITS, WORDS, document, shape, step
from tests.kit.run_rows import add_automation
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()
OUTSIDE, SECOND = (WORDS.capabilities[f"automation_kv.{name}"] for name in ("get", "set"))


class Words(Registry):
    """A vocabulary with tools from outside, which may be others the next time."""

    tools: tuple[Capability, ...] = ()
    asked = 0

    async def of(self, workspace_id: UUID, *, needing: Iterable[str] = ()) -> Vocabulary:
        del workspace_id, needing
        self.asked += 1
        return Registry(
            actions=self.actions.values(), capabilities=[*self.capabilities.values(), *self.tools]
        )


async def _add_version(
    database: Database, automation: UUID, version: int, plan: dict[str, Any], *grants: str
) -> bytes:
    digest = generate_id().bytes * 2
    await database.execute(
        "INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3::text::json)",
        HERE,
        digest,
        json.dumps(document(plan)),
    )
    await database.execute(
        "INSERT INTO automation_versions (workspace_id, automation_id, version, definition_hash, "
        "grants, author) VALUES ($1, $2, $3, $4, $5, $6)",
        HERE,
        automation,
        version,
        digest,
        [{"capability": name, "params": {}} for name in grants],
        generate_id(),
    )
    await database.execute(
        "UPDATE automations SET version = $3 WHERE workspace_id = $1 AND id = $2",
        HERE,
        automation,
        version,
    )
    return digest


def _run(automation: UUID, version: int = 1, **more: Any) -> ClaimedRun:
    now = datetime.now(UTC)
    return ClaimedRun(
        HERE,
        generate_id(),
        automation,
        version,
        None,
        "manual",
        1,
        1,
        0,
        None,
        {},
        {},
        now,
        0,
        Decimal(0),
        False,
        "fast",
        now,
        **more,
    )


@pytest_asyncio.fixture
async def automation(database: Database) -> UUID:
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    # One among others, older and newer.
    await add_automation(database, HERE, document(shape("older", 1)))
    made = await add_automation(database, HERE, document(shape("first", 1)))
    await add_automation(database, HERE, document(shape("newer", 1)))
    return made


async def test_a_run_gets_the_version_that_it_was_started_with(
    database: Database, automation: UUID
) -> None:
    await _add_version(database, automation, 2, shape("second", 2))
    versions = VersionCache(database, WORDS, LIMITS)

    async def steps(version: int) -> list[str]:
        loaded = await versions.load(_run(automation, version))
        assert loaded.name == str(automation)
        return [one.step_id for one in loaded.program.steps]

    assert await steps(1) == ["first"]
    assert await steps(2) == ["second"]
    versions.forget()
    await versions.warm([(HERE, automation, 2), (HERE, automation, 1)])
    assert (await steps(1), await steps(2)) == (["first"], ["second"])
    for key in ((HERE, automation, 3), (THERE, automation, 1), (HERE, generate_id(), 1)):
        with pytest.raises(NotFound) as gone:
            await versions.get(*key)
        assert gone.value.code == "no_version"


async def test_a_version_is_known_by_its_workspace_too(
    database: Database, automation: UUID
) -> None:
    """The same automation, version and definition in two workspaces: two versions."""
    await database.execute(
        "INSERT INTO definitions (workspace_id, hash, document) "
        "SELECT $1, hash, $2::text::json FROM definitions WHERE workspace_id = $3",
        THERE,
        json.dumps(document(shape("theirs", 1))),
        HERE,
    )
    await database.execute(
        "INSERT INTO automations (workspace_id, id, name, version, created_by) "
        "SELECT $1, id, 'theirs', version, $2 FROM automations "
        "WHERE workspace_id = $3 AND id = $4",
        THERE,
        generate_id(),
        HERE,
        automation,
    )
    await database.execute(
        "INSERT INTO automation_versions (workspace_id, automation_id, version, definition_hash, "
        "grants, author) SELECT $1, automation_id, version, definition_hash, grants, $2 "
        "FROM automation_versions WHERE workspace_id = $3 AND automation_id = $4",
        THERE,
        generate_id(),
        HERE,
        automation,
    )
    versions = VersionCache(database, WORDS, LIMITS)
    for space, name in ((HERE, "first"), (THERE, "theirs")):
        loaded = await versions.get(space, automation, 1)
        assert [one.step_id for one in loaded.program.steps] == [name]
        assert (loaded.name == "theirs") is (space == THERE)


async def test_a_run_that_rehearses_gets_the_definition_of_its_rehearsal(
    database: Database, automation: UUID
) -> None:
    digest = await _add_version(database, automation, 2, shape("tried", 2))
    other = await _add_version(database, automation, 3, shape("newest", 3))
    elsewhere = await add_automation(database, THERE, document(shape("theirs", 1)))
    theirs = await database.fetchval("SELECT hash FROM definitions WHERE workspace_id = $1", THERE)
    made = {}
    for space, of, tried in (
        (HERE, automation, digest),
        (HERE, automation, other),
        (THERE, elsewhere, theirs),
    ):
        made[tried] = generate_id()
        await database.execute(
            "INSERT INTO rehearsals (workspace_id, id, automation_id, definition_hash, grants, "
            "live_reads, candidate, firings, asked_by) "
            "VALUES ($1, $2, $3, $4, '[]', false, '{}', '[]', $5)",
            space,
            made[tried],
            of,
            tried,
            generate_id(),
        )
    versions = VersionCache(database, WORDS, LIMITS)
    loaded = await versions.load(_run(automation, rehearsal_id=made[digest]))
    assert [one.step_id for one in loaded.program.steps] == ["tried"]
    assert loaded.name == str(automation)
    assert await versions.load_rehearsal(HERE, made[digest]) is loaded
    # Together with a version, each gets its own.
    versions.forget()
    await versions.warm([(HERE, automation, 1), (HERE, made[digest], 0)])
    assert (await versions.get(HERE, automation, 1)).program.steps[0].step_id == "first"
    assert (await versions.load_rehearsal(HERE, made[digest])).program.steps[0].step_id == "tried"
    for space, rehearsal in ((HERE, made[theirs]), (THERE, made[digest]), (HERE, generate_id())):
        with pytest.raises(NotFound):
            await versions.load_rehearsal(space, rehearsal)


async def test_a_version_is_compiled_anew_when_a_tool_from_outside_changed(
    database: Database, automation: UUID
) -> None:
    plan = step("ask", OUTSIDE.id, config={"key": "x"})
    await _add_version(database, automation, 2, plan, OUTSIDE.id, SECOND.id)
    words = Words(
        actions=WORDS.actions.values(),
        capabilities=[one for one in WORDS.capabilities.values() if one not in (OUTSIDE, SECOND)],
    )
    words.tools = (OUTSIDE, SECOND)
    versions = VersionCache(database, words, LIMITS)
    run = _run(automation, 2)
    first = await versions.load(run)
    assert first.tools == {OUTSIDE.id: OUTSIDE, SECOND.id: SECOND}
    assert await versions.load(run) is first

    # One of two is another one.
    words.tools = (replace(OUTSIDE), SECOND)
    # Who only asks what a version is like gets what is there.
    assert await versions.get(HERE, automation, 2) is first
    second = await versions.load(run)
    assert second is not first
    assert second.tools[OUTSIDE.id] is words.tools[0]
    assert await versions.load(run) is second

    words.tools = ()
    with pytest.raises(Conflict) as gone:
        await versions.load(run)
    assert gone.value.code == "tool_gone"
    assert OUTSIDE.id in gone.value.detail
    # A failure is not kept.
    words.tools = (OUTSIDE, SECOND)
    assert (await versions.load(run)).tools[OUTSIDE.id] is OUTSIDE
    # A version without such tools needs nobody to be asked.
    asked = words.asked
    await versions.load(_run(automation, 1))
    assert words.asked == asked


async def test_what_another_run_has_compiled_meanwhile_stays(
    database: Database, automation: UUID
) -> None:
    versions = VersionCache(database, WORDS, LIMITS)
    old = await versions.get(HERE, automation, 1)
    versions.forget()
    new = await versions.get(HERE, automation, 1)
    versions._let_go((HERE, automation, 1), old)
    assert await versions.get(HERE, automation, 1) is new
    versions._let_go((HERE, automation, 1), new)
    assert await versions.get(HERE, automation, 1) is not new
    versions.forget()
    versions._let_go((HERE, automation, 1), new)
