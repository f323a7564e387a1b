"""Which automations a token with the permission approve may name: those that are here."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database
from mainspring.workspace.tokens import check_approved_exist
from tests.kit.run_rows import add_automation
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()


async def test_a_token_names_automations_of_its_own_workspace_alone(database: Database) -> None:
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    one, archived = [await add_automation(database, HERE) for _ in range(2)]
    await database.execute("UPDATE automations SET state = 'archived' WHERE id = $1", archived)
    theirs = await add_automation(database, THERE)
    async with database.transaction() as tx:
        for named in (None, (), (one,), (one, one)):
            await check_approved_exist(tx, HERE, named)
        with pytest.raises(Invalid) as refused:
            await check_approved_exist(tx, HERE, (archived, one, theirs, generate_id()))
        assert [(found.pointer, found.code) for found in refused.value.findings] == [
            (f"/approves/{place}", "no_automation") for place in (0, 2, 3)
        ]
