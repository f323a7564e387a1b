"""The list of automations: pages by an id, whether there is a row of it or not."""

from __future__ import annotations

from uuid import UUID

from mainspring.workspace.automation_list import list_automations
from tests.kit.bench import Bench, document, step

PLAN = step("one", "transform_data", {"output": 1})


async def test_the_newest_before_an_id_are_found_though_nothing_has_that_id(bench: Bench) -> None:
    """The lookup of the command line by the prefix of an id."""
    made = [(await bench.save(document(PLAN, name=name))).automation_id for name in "abc"]
    space = bench.application.workspace_id
    beyond = UUID(int=made[-1].int + 1)
    async with bench.application.database.acquire() as connection:
        rows = await list_automations(connection, space, after=beyond, most=2)
        assert [row["name"] for row in rows] == ["c", "b"]
        rows = await list_automations(connection, space, after=UUID(int=made[1].int + 1), most=2)
        assert [row["name"] for row in rows] == ["b", "a"]
        rows = await list_automations(connection, space, after=made[1], most=2)
        assert [row["name"] for row in rows] == ["a"]
