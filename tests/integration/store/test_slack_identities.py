"""The way back from linked Slack accounts says what is lost and leaves the other prompts."""

from __future__ import annotations

from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database
from mainspring.store.downgrade import describe_losses, downgrade, plan_downgrade
from mainspring.store.migrate import PACKAGED, migrate, read_migrations
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.people.users import ensure_first_person

PROMPT = """
    INSERT INTO prompts_sent (workspace_id, id, about, about_id, member_id, target)
    VALUES ($1, $2, 'draft', $3, $4, $5)
"""
IDENTITY = """
    INSERT INTO slack_identities (workspace_id, member_id, team_id, user_id, linked_at)
    VALUES ($1, $2, 'T0ACME', 'U0ADA', now())
"""


async def test_going_back_drops_links_and_their_prompts_alone(database: Database) -> None:
    async with database.transaction() as tx:
        await ensure_workspace(tx, FIRST_WORKSPACE, "Home")
        await ensure_first_person(tx, FIRST_MEMBER, FIRST_WORKSPACE)
    await database.execute(IDENTITY, FIRST_WORKSPACE, FIRST_MEMBER)
    for target in ("slack", "telegram"):
        await database.execute(
            PROMPT, FIRST_WORKSPACE, generate_id(), generate_id(), FIRST_MEMBER, target
        )
    migrations = read_migrations(PACKAGED)
    (ours,) = [one.version for one in migrations if one.name == "slack_identities"]
    ways = plan_downgrade(len(migrations), ours - 1)

    assert any("linked Slack accounts" in one for one in await describe_losses(database, ways))
    await downgrade(database, ways)
    rows = await database.fetch("SELECT target FROM prompts_sent")
    assert [row["target"] for row in rows] == ["telegram"]

    await migrate(database)
    await database.execute(
        PROMPT, FIRST_WORKSPACE, generate_id(), generate_id(), FIRST_MEMBER, "slack"
    )
    assert await database.fetch("SELECT FROM slack_identities") == []
