"""Prompts go to the people who may answer: the owner, and without one owners and admins."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.prompting.prompts import queue_new_prompts
from mainspring.store.database import Connection
from mainspring.workspace.push_subscriptions import KINDS, Target, queue_waiting, save_subscription
from tests.kit.bench import Bench, document, step
from tests.kit.people import make_person

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = ("ada", "ben", "eve")
# An approval step, and a write that waits for a person.
PLAN = document(
    step("post", "slack_post", {"channel": "#team", "text": "Hello"}),
    step("ask", "approval", {"title": "Go on?", "notify": ["inbox", "email"]}),
    name="Digest",
)


async def _world(bench: Bench) -> dict[str, UUID]:
    """Ada owns an automation that waits, Ben is an admin and Eve an editor; all are reachable."""
    database, space = bench.application.database, bench.application.workspace_id
    roles = {"ada": Role.EDITOR, "ben": Role.ADMIN, "eve": Role.EDITOR}
    people = {
        name: (await make_person(database, f"{name}@example.org", workspace_id=space, role=role)).id
        for name, role in roles.items()
    }
    async with database.transaction() as tx:
        for name, one in people.items():
            await tx.execute(
                "INSERT INTO slack_identities (workspace_id, member_id, team_id, user_id,"
                " linked_at) VALUES ($1, $2, 'T1', $3, $4)",
                space,
                one,
                name,
                LONG_AGO,
            )
            target = Target(generate_id(), f"https://push.example/{name}", b"key", b"auth")
            await save_subscription(tx, one, generate_id(), name, target, KINDS)
        await tx.execute("UPDATE push_subscriptions SET since = $1", LONG_AGO)
    made = await bench.dispatch(PLAN)
    await database.execute("UPDATE automations SET created_by = $1", people["ada"])
    async with bench.worker():
        await bench.until(made.run_id, "waiting")
    await database.execute("UPDATE drafts SET notify = '{inbox,telegram}'")
    return people


async def _told(tx: Connection, people: dict[str, UUID]) -> dict[str, set[str]]:
    """The recipients of each channel."""
    await queue_new_prompts(tx)
    await queue_waiting(tx)
    names = {one: name for name, one in people.items()}
    rows = await tx.fetch(
        "SELECT about || ' by ' || target AS how, member_id FROM prompts_sent UNION ALL"
        " SELECT about || ' by push', s.user_id FROM push_messages p"
        " JOIN push_subscriptions s ON s.id = p.subscription_id"
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["how"], set()).add(names.get(row["member_id"], "somebody else"))
    return found


ALL = (
    "approval by email",
    "approval by slack",
    "draft by slack",
    "draft by telegram",
    "draft by push",
    "question by push",
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("", {"ada"}),
        # Taken over by somebody else, who is the owner from then on.
        ("UPDATE automations SET created_by = '{eve}'", {"eve"}),
        ("DELETE FROM members WHERE user_id = '{ada}'", {"ben", "somebody else"}),
        ("UPDATE users SET disabled_at = now() WHERE id = '{ada}'", {"ben", "somebody else"}),
        (
            "UPDATE members SET role = 'viewer' WHERE user_id = '{ada}'",
            {"ben", "somebody else"},
        ),
    ],
)
async def test_a_prompt_goes_to_the_owner_or_else_to_owners_and_admins(
    bench: Bench, change: str, told: set[str]
) -> None:
    people = await _world(bench)
    async with bench.application.database.transaction() as tx:
        if change:
            await tx.execute(change.format(**{name: str(one) for name, one in people.items()}))
        found = await _told(tx, people)
        # The first member, who owns the workspace, has only an address for mail and a chat.
        linked = told - {"somebody else"}
        assert found == {
            how: told if how.endswith(("email", "telegram")) else linked for how in ALL
        }
        # Nobody is notified twice.
        before = await tx.fetch("SELECT id FROM prompts_sent ORDER BY id")
        await _told(tx, people)
        assert await tx.fetch("SELECT id FROM prompts_sent ORDER BY id") == before


async def test_what_cannot_be_delivered_to_the_owner_goes_to_owners_and_admins(
    bench: Bench,
) -> None:
    people = await _world(bench)
    async with bench.application.database.transaction() as tx:
        await _told(tx, people)
        await tx.execute("UPDATE prompts_sent SET state = 'given_up' WHERE target = 'email'")
        found = await _told(tx, people)
        assert found["approval by email"] == {"ada", "ben", "somebody else"}
        assert found["draft by telegram"] == {"ada"}
        assert found["approval by slack"] == {"ada"}


async def test_a_question_for_other_roles_goes_to_everybody_who_has_one(bench: Bench) -> None:
    people = await _world(bench)
    async with bench.application.database.transaction() as tx:
        await tx.execute("UPDATE approvals SET roles = '{admin}'")
        found = await _told(tx, people)
    about_question = {how: who for how, who in found.items() if not how.startswith("draft")}
    expected = ("approval by email", "approval by slack", "question by push")
    assert about_question == {how: {"ben"} for how in expected}
    assert found["draft by slack"] == {"ada"}
