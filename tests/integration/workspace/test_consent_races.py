"""What is agreed to does not change while it is compared or answered."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict
from mainspring.contracts.ids import generate_id
from mainspring.definition.authority import AuthorityAddition
from mainspring.store.database import Database
from mainspring.workspace import consents
from mainspring.workspace.automations import lock_automation
from mainspring.workspace.consent_rows import find_consent, hold_agreements, keep_agreed
from tests.kit.consent_rows import put_automation, version
from tests.kit.declared_writes import declare_built_in_writes
from tests.kit.lock_waits import until_in_line
from tests.kit.tenants import add_person, add_workspace

HERE, ONE = generate_id(), generate_id()
CLIENT = Actor(HERE, "client", generate_id(), generate_id())


async def _put(database: Database) -> UUID:
    """An automation; its owner is the answer."""
    await add_workspace(database, HERE, "here")
    ann = (await add_person(database, HERE)).id
    async with database.transaction() as tx:
        await put_automation(tx, HERE, ONE, version("a.example"), created_by=ann)
    return ann


async def test_a_change_begins_when_nobody_else_changes_the_automation(database: Database) -> None:
    await _put(database)
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()

    async def change() -> None:
        async with database.transaction() as tx:
            await consents.change_by(tx, HERE, ONE, CLIENT, work)

    async with database.transaction() as tx:
        await lock_automation(tx, HERE, ONE)
        changing = asyncio.create_task(change())
        await until_in_line(database)
        assert not begun.is_set()
    await changing
    assert begun.is_set()


async def test_an_answer_counts_for_the_account_that_is_connected_then(database: Database) -> None:
    declare_built_in_writes()
    ann = await _put(database)
    await database.execute(
        "INSERT INTO integration_connections (workspace_id, id, owner_id, integration, label, "
        "account, auth, state) VALUES ($1, $2, $3, 'slack', 'x', 'ours', 'token', 'ready')",
        HERE,
        generate_id(),
        ann,
    )
    says = "It may post to the Slack channel #ops with its owner's Slack account."
    async with database.transaction() as tx:
        asked = await consents.ask_consent(
            tx, HERE, ONE, 1, "edit", [AuthorityAddition("grant", "/grants", says)], CLIENT
        )
    assert "as ours" in asked.additions[0].says

    async def answer() -> None:
        async with database.transaction() as tx:
            digest = asked.digest.hex()
            await consents.answer_consent(tx, HERE, asked.id, digest, ann, agree=True)

    async with database.transaction() as tx:
        await hold_agreements(tx, HERE)
        await tx.execute("UPDATE integration_connections SET account = 'theirs'")
        answering = asyncio.create_task(answer())
        await until_in_line(database)
    with pytest.raises(Conflict) as changed:
        await answering
    assert changed.value.code == "consent_changed"
    async with database.acquire() as tx:
        found = await find_consent(tx, HERE, asked.id)
    assert (found.status, "as theirs" in found.additions[0].says) == ("waiting", True)


async def test_no_account_is_replaced_while_somebody_agrees(database: Database) -> None:
    ann = await _put(database)

    async def replace() -> None:
        async with database.transaction() as tx:
            await hold_agreements(tx, HERE)

    async with database.transaction() as tx:
        await keep_agreed(tx, HERE, ONE, ann, "page")
        replacing = asyncio.create_task(replace())
        waiting = asyncio.create_task(until_in_line(database))
        done, _ = await asyncio.wait({replacing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        assert done == {waiting}
    await replacing
