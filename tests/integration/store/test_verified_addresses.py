"""Upgrading to verified addresses stops no mail: what was in use is recorded as pre-existing."""

from __future__ import annotations

from pathlib import Path

from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.migrate import PACKAGED, migrate, read_migrations
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.email_addresses import MailAddressState, load_member_mail_address
from mainspring.workspace.people.workspaces import add_workspace

ADD = "INSERT INTO users (id, email) VALUES ($1, $2)"


async def test_addresses_from_before_keep_getting_mail(
    empty_database_url: str, tmp_path: Path
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for one in read_migrations(PACKAGED):
        if one.name == "verified_addresses":
            break
        (before / f"{one.label}.sql").write_text(one.sql, encoding="utf-8")
    database = await Database.open(Settings(database_url=empty_database_url))
    try:
        await migrate(database, before)
        known, new = generate_id(), generate_id()
        await database.execute(ADD, FIRST_MEMBER, "owner@localhost")
        await database.execute(ADD, known, "ada@example.com")
        await migrate(database)
        await database.execute(ADD, new, "eve@example.com")
        places = {}
        for user_id in (FIRST_MEMBER, known, new):
            async with database.transaction() as tx:
                space = await add_workspace(tx, user_id, "Home", Role.OWNER)
            places[user_id] = await load_member_mail_address(database, space, user_id, None)
    finally:
        await database.close()
    assert places == {
        FIRST_MEMBER: None,
        known: MailAddressState("ada@example.com", verified=False),
        new: None,
    }
