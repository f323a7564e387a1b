"""What stops when a member leaves, what they left, and who takes it over, as rows say it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Connection, Database
from mainspring.workspace.departed_members import (
    UnownedResources,
    list_leavers,
    load_unowned_resources,
    record_departure,
    resume_triggers,
    stop_member_resources,
    take_over,
)
from tests.kit.consent_rows import put_automation, version
from tests.kit.run_rows import add_run
from tests.kit.tenants import add_person, add_workspace

pytestmark = pytest.mark.asyncio(loop_scope="module")
HERE, THERE = generate_id(), generate_id()
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
SENDS = version("a.example")


@dataclass
class Rows:
    """Ada, who leaves, and Ben, who stays; both own automations in two workspaces."""

    database: Database
    ada: UUID
    ben: UUID
    # Of Ada: active, paused, archived, and the same id in the other workspace; Ben's own one.
    active: UUID
    paused: UUID
    archived: UUID
    bens: UUID

    @property
    def actor(self) -> Actor:
        return Actor(HERE, "member", self.ben)

    async def leave(self, *, disabled: bool = False, space: UUID | None = HERE) -> None:
        async with self.database.transaction() as tx:
            await stop_member_resources(tx, self.ada, space, why="left")
            await record_departure(tx, HERE, self.ada)
            if disabled:
                await tx.execute("UPDATE users SET disabled_at = now() WHERE id = $1", self.ada)
            else:
                await tx.execute(
                    "DELETE FROM members WHERE user_id = $1 AND workspace_id = $2", self.ada, HERE
                )

    async def states(self, space: UUID = HERE) -> dict[UUID, tuple[str, str | None]]:
        found = await self.database.fetch(
            "SELECT id, state, paused_reason FROM automations WHERE workspace_id = $1", space
        )
        return {row["id"]: (row["state"], row["paused_reason"]) for row in found}

    async def suspended(self, space: UUID = HERE) -> set[tuple[UUID, str]]:
        found = await self.database.fetch(
            "SELECT automation_id, slug FROM triggers "
            "WHERE workspace_id = $1 AND suspended_at IS NOT NULL",
            space,
        )
        return {(row["automation_id"], row["slug"]) for row in found}

    async def messages(self, space: UUID = HERE) -> list[tuple[str, list[str]]]:
        found = await self.database.fetch(
            "SELECT title, message FROM notifications WHERE workspace_id = $1", space
        )
        return [(row["title"], row["message"].splitlines()) for row in found]

    async def estate(self, actor: Actor | None = None, of: UUID | None = None) -> UnownedResources:
        async with self.database.acquire() as tx:
            return await load_unowned_resources(tx, actor or self.actor, of or self.ada)

    async def take(self, **more: Any) -> UnownedResources:
        digest = more.pop("digest", None) or (await self.estate()).digest
        async with self.database.transaction() as tx:
            return await take_over(tx, more.pop("actor", self.actor), self.ada, digest, **more)

    async def owners(self, space: UUID = HERE) -> dict[UUID, UUID]:
        found = await self.database.fetch(
            "SELECT id, created_by FROM automations WHERE workspace_id = $1", space
        )
        return {row["id"]: row["created_by"] for row in found}

    async def makers(self, space: UUID = HERE) -> dict[tuple[UUID, str], UUID | None]:
        found = await self.database.fetch(
            "SELECT automation_id, slug, secret_made_by FROM triggers WHERE workspace_id = $1",
            space,
        )
        return {(row["automation_id"], row["slug"]): row["secret_made_by"] for row in found}


async def _trigger(
    tx: Connection, space: UUID, automation: UUID, slug: str, maker: UUID | None = None
) -> None:
    await tx.execute(
        "INSERT INTO triggers (workspace_id, id, automation_id, slug, type, config, secret_hash, "
        "secret_made_by) VALUES ($1, $2, $3, $4, 'webhook', '{}', $5, $6)",
        space,
        generate_id(),
        automation,
        slug,
        None if maker is None else generate_id().bytes * 2,
        maker,
    )


@pytest_asyncio.fixture(loop_scope="module")
async def rows(rolled_back: Database) -> Rows:
    for space in (HERE, THERE):
        await add_workspace(rolled_back, space, "one of two")
    ada = (await add_person(rolled_back, HERE, name="Ada")).id
    ben = (await add_person(rolled_back, HERE, name="Ben")).id
    async with rolled_back.transaction() as tx:
        await tx.execute(
            "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')", THERE, ada
        )
        found = Rows(rolled_back, ada, ben, *(generate_id() for _ in range(4)))
        for automation, owner, state in (
            (found.active, ada, "active"),
            (found.paused, ada, "paused"),
            (found.archived, ada, "archived"),
            (found.bens, ben, "active"),
        ):
            name = {found.active: "digest", found.bens: "his"}.get(automation, state)
            await put_automation(
                tx,
                HERE,
                automation,
                version("old.example"),
                SENDS,
                created_by=owner,
                state=state,
                name=name,
                agreed_version=2,
                agreed_by=owner,
                agreed_via="page",
            )
            await _trigger(tx, HERE, automation, "plain")
            await _trigger(tx, HERE, automation, "adas", ada)
            await _trigger(tx, HERE, automation, "bens", ben)
        await put_automation(
            tx, THERE, found.active, SENDS, created_by=ada, state="active", name="there"
        )
        await _trigger(tx, THERE, found.active, "adas", ada)
    return found


def _all(automation: UUID) -> set[tuple[UUID, str]]:
    return {(automation, slug) for slug in ("plain", "adas", "bens")}


async def test_what_a_member_made_in_a_workspace_stops_there_and_nothing_else(rows: Rows) -> None:
    await rows.leave()
    assert await rows.states() == {
        rows.active: ("paused", "owner_left"),
        rows.paused: ("paused", None),
        rows.archived: ("archived", None),
        rows.bens: ("active", None),
    }
    assert await rows.suspended() == {
        *_all(rows.active),
        (rows.paused, "adas"),
        (rows.archived, "adas"),
        (rows.bens, "adas"),
    }
    assert await rows.states(THERE) == {rows.active: ("active", None)}
    assert await rows.suspended(THERE) == set()
    ((title, lines),) = await rows.messages()
    assert title == "Ada left: what they made has stopped"
    assert lines[1:-1] == [
        "- digest",
        *(f"- the webhook token of {name} (adas)" for name in ("paused", "archived", "his")),
    ]
    assert f"mainspring members takeover {rows.ada}@example.test" in lines[-1]
    assert await rows.messages(THERE) == []


async def test_somebody_who_is_disabled_stops_everywhere(rows: Rows) -> None:
    await rows.leave(disabled=True, space=None)
    assert await rows.states(THERE) == {rows.active: ("paused", "owner_left")}
    assert await rows.suspended(THERE) == {(rows.active, "adas")}
    assert len(await rows.messages(THERE)) == len(await rows.messages()) == 1


async def test_a_suspension_keeps_its_time_and_a_long_list_is_cut(rows: Rows) -> None:
    async with rows.database.transaction() as tx:
        for number in range(20):
            await put_automation(
                tx,
                HERE,
                generate_id(),
                SENDS,
                created_by=rows.ada,
                state="active",
                name=f"n{number}",
            )
        await tx.execute("UPDATE triggers SET suspended_at = $1 WHERE slug = 'plain'", LONG_AGO)
        await tx.execute("UPDATE users SET name = '' WHERE id = $1", rows.ada)
    await rows.leave()
    found = await rows.database.fetch("SELECT suspended_at FROM triggers WHERE slug = 'plain'")
    assert {row["suspended_at"] for row in found} == {LONG_AGO}
    ((title, lines),) = await rows.messages()
    assert title.startswith(f"{rows.ada}@example.test left")
    assert lines[1:22] == ["- digest", *(f"- n{number}" for number in range(19)), "- and 1 more"]
    assert not [line for line in lines[22:] if "more" in line]


async def test_twenty_names_are_all_of_them(rows: Rows) -> None:
    async with rows.database.transaction() as tx:
        for number in range(19):
            await put_automation(
                tx,
                HERE,
                generate_id(),
                SENDS,
                created_by=rows.ada,
                state="active",
                name=f"n{number}",
            )
    await rows.leave()
    ((_, lines),) = await rows.messages()
    assert not [line for line in lines if "more" in line]


async def test_nobody_is_notified_when_nothing_stopped(rows: Rows) -> None:
    async with rows.database.transaction() as tx:
        await stop_member_resources(tx, generate_id(), HERE, why="left")
    assert await rows.messages() == []
    assert await rows.suspended() == set()


async def test_triggers_fire_again_but_for_tokens_whose_maker_is_gone(rows: Rows) -> None:
    await rows.leave()
    async with rows.database.transaction() as tx:
        await resume_triggers(tx, HERE, rows.active)
    assert await rows.suspended() == {
        (one, "adas") for one in (rows.active, rows.paused, rows.archived, rows.bens)
    }
    async with rows.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')",
            HERE,
            rows.ada,
        )
        await tx.execute("UPDATE users SET disabled_at = now() WHERE id = $1", rows.ada)
        await resume_triggers(tx, HERE, rows.active)
    assert (rows.active, "adas") in await rows.suspended()
    async with rows.database.transaction() as tx:
        await tx.execute("UPDATE users SET disabled_at = NULL WHERE id = $1", rows.ada)
        await resume_triggers(tx, HERE, rows.active)
    assert (rows.active, "adas") not in await rows.suspended()
    assert (rows.bens, "adas") in await rows.suspended()


async def _left(rows: Rows, space: UUID = HERE) -> list[tuple[Any, ...]]:
    async with rows.database.acquire() as tx:
        found = await list_leavers(tx, space)
    return [
        (one["id"], one["email"], one["name"], one["disabled"], one["automations"], one["webhooks"])
        for one in found
    ]


@pytest.mark.parametrize("disabled", [False, True])
async def test_those_who_left_are_listed_with_what_waits(rows: Rows, disabled: bool) -> None:
    assert await _left(rows) == []
    await rows.leave(disabled=disabled)
    email = f"{rows.ada}@example.test"
    assert await _left(rows) == [(rows.ada, email, "Ada", disabled, 2, 1)]
    # The other workspace has nothing to do with who left this one, unless they were disabled.
    assert await _left(rows, THERE) == ([(rows.ada, email, "Ada", True, 1, 0)] if disabled else [])
    await rows.take()
    assert await _left(rows) == []


async def test_a_token_of_somebody_who_came_back_is_listed_until_it_is_taken(rows: Rows) -> None:
    await rows.leave()
    async with rows.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')",
            HERE,
            rows.ada,
        )
    ((who, *_, automations, webhooks),) = await _left(rows)
    assert (who, automations, webhooks) == (rows.ada, 0, 1)
    # They take it themselves, and what stopped of theirs too; nobody else does.
    assert await rows.estate() == UnownedResources((), ())
    mine = await rows.estate(replace(rows.actor, id=rows.ada))
    assert [one.id for one in mine.automations] == [rows.active]
    assert [one.automation_id for one in mine.webhooks] == [rows.bens]
    # Of an automation that is stopped itself it is not listed apart.
    async with rows.database.transaction() as tx:
        await stop_member_resources(tx, rows.ben, HERE, why="left")
    bens = (rows.ben, 0, 1)
    assert {(one[0], one[4], one[5]) for one in await _left(rows)} == {bens}
    async with rows.database.transaction() as tx:
        await tx.execute("DELETE FROM members WHERE user_id = $1", rows.ada)
    assert {(one[0], one[4], one[5]) for one in await _left(rows)} == {bens, (rows.ada, 2, 1)}


async def test_an_estate_is_what_somebody_left_and_nobody_has_taken(rows: Rows) -> None:
    assert await rows.estate() == UnownedResources((), ())
    for status, reason in (
        ("skipped", "owner_left"),
        ("skipped", "owner_left"),
        ("skipped", "paused"),
        ("failed", "owner_left"),
    ):
        await add_run(rows.database, HERE, rows.active, status=status, reason=reason)
    await add_run(rows.database, HERE, rows.bens, status="skipped", reason="owner_left")
    await add_run(rows.database, THERE, rows.active, status="skipped", reason="owner_left")
    await rows.leave()
    found = await rows.estate()
    result = [(one.id, one.name, one.state, one.stopped, one.missed) for one in found.automations]
    assert result == [
        (rows.active, "digest", "paused", True, 2),
        (rows.paused, "paused", "paused", False, 0),
    ]
    assert "It may send requests to a.example." in found.automations[0].may
    assert (found.automations[0].version, "old" in str(found.automations[0].may)) == (2, False)
    assert [(one.automation_id, one.automation, one.slug) for one in found.webhooks] == [
        (rows.bens, "his", "adas")
    ]
    other = replace(rows.actor, id=generate_id())
    assert await rows.estate(other, of=rows.ben) == UnownedResources((), ())
    assert await rows.estate(replace(other, workspace_id=THERE)) == UnownedResources((), ())


async def test_a_webhook_that_is_not_suspended_is_nobodys_estate(rows: Rows) -> None:
    await rows.leave()
    async with rows.database.transaction() as tx:
        await tx.execute("UPDATE triggers SET suspended_at = NULL")
    assert (await rows.estate()).webhooks == ()
    assert (await _left(rows))[0][4:] == (2, 0)
    async with rows.database.transaction() as tx:
        await tx.execute("UPDATE triggers SET suspended_at = now()")
        await tx.execute("UPDATE automations SET state = 'archived' WHERE id = $1", rows.bens)
    assert (await rows.estate()).webhooks == ()
    assert (await _left(rows))[0][4:] == (2, 0)
    async with rows.database.transaction() as tx:
        await tx.execute("UPDATE automations SET state = 'active' WHERE id = $1", rows.bens)
        await tx.execute("UPDATE triggers SET secret_hash = NULL")
    assert (await rows.estate()).webhooks == ()
    assert (await _left(rows))[0][4:] == (2, 0)


async def test_the_new_owner_agrees_to_what_they_were_shown(rows: Rows) -> None:
    await rows.leave()
    async with rows.database.transaction() as tx:
        await tx.execute(
            "UPDATE automations SET agreed_version = 7 WHERE id = $1 AND workspace_id = $2",
            rows.paused,
            HERE,
        )
    for actor in (replace(rows.actor, kind="client"), replace(rows.actor, by_program=True)):
        with pytest.raises(PermissionDenied) as refused:
            await rows.take(actor=actor)
        assert refused.value.code == "person_needed"
    digest = (await rows.estate()).digest
    for other in ("0" * 64, digest[:10], digest + "0"):
        with pytest.raises(Conflict) as changed:
            await rows.take(digest=other)
        assert changed.value.code == "takeover_changed"
    assert set((await rows.owners()).values()) == {rows.ada, rows.ben}
    accepted = await rows.take(actor=replace(rows.actor, at_terminal=True))
    assert ([one.id for one in accepted.automations], len(accepted.webhooks)) == (
        [rows.active, rows.paused],
        1,
    )
    assert await rows.owners() == {
        rows.active: rows.ben,
        rows.paused: rows.ben,
        rows.bens: rows.ben,
        rows.archived: rows.ada,
    }
    assert await rows.owners(THERE) == {rows.active: rows.ada}
    makers = await rows.makers()
    assert {key for key, maker in makers.items() if maker == rows.ada} == {(rows.archived, "adas")}
    assert {key for key, maker in makers.items() if maker is None} == {
        (one, "plain") for one in (rows.active, rows.paused, rows.archived, rows.bens)
    }
    assert await rows.makers(THERE) == {(rows.active, "adas"): rows.ada}
    agreed = {
        row["id"]: (row["agreed_version"], row["agreed_by"], row["agreed_via"])
        for row in await rows.database.fetch(
            "SELECT * FROM automations WHERE workspace_id = $1", HERE
        )
    }
    assert agreed[rows.active] == (2, rows.ben, "terminal")
    # What was not agreed to in this version is not agreed to now.
    assert agreed[rows.paused] == (7, rows.ada, "page")
    # Only the webhook of an automation that goes on fires again; nothing is activated here.
    assert await rows.suspended() == {
        *_all(rows.active),
        (rows.paused, "adas"),
        (rows.archived, "adas"),
    }
    assert (await rows.states())[rows.active] == ("paused", "owner_left")
    with pytest.raises(NotFound) as nothing:
        await rows.take()
    assert nothing.value.code == "nothing_left"


async def test_some_automations_are_taken_without_the_webhooks_of_others(rows: Rows) -> None:
    await rows.leave()
    for unknown in ({rows.bens}, {rows.active, generate_id()}):
        with pytest.raises(NotFound) as refused:
            await rows.take(wanted=unknown)
        assert refused.value.code == "no_automation"
    accepted = await rows.take(wanted={rows.paused})
    assert ([one.id for one in accepted.automations], accepted.webhooks) == ([rows.paused], ())
    owners = await rows.owners()
    assert (owners[rows.paused], owners[rows.active]) == (rows.ben, rows.ada)
    assert (rows.bens, "adas") in await rows.suspended()
    assert (await rows.makers())[rows.bens, "adas"] == rows.ada
    # What is left is still there to be taken.
    left = await rows.estate()
    assert ([one.id for one in left.automations], len(left.webhooks)) == ([rows.active], 1)
    assert left.digest != replace(left, webhooks=()).digest
    other = replace(left.automations[0], version=3)
    assert replace(left, automations=(other,)).digest != left.digest
    more = replace(left.automations[0], may=("It may do more.",))
    assert replace(left, automations=(more,)).digest != left.digest
    # Automations alone can be taken, too.
    async with rows.database.transaction() as tx:
        await tx.execute("DELETE FROM triggers")
    assert [one.id for one in (await rows.take()).automations] == [rows.active]


async def test_webhooks_alone_can_be_taken(rows: Rows) -> None:
    async with rows.database.transaction() as tx:
        await tx.execute(
            "UPDATE automations SET created_by = $1 WHERE workspace_id = $2", rows.ben, HERE
        )
        await tx.execute("DELETE FROM triggers WHERE automation_id <> $1", rows.bens)
    await rows.leave()
    assert await rows.suspended() == {(rows.bens, "adas")}
    assert len((await rows.take()).webhooks) == 1
    assert await rows.suspended() == set()
    assert (await rows.makers())[rows.bens, "adas"] == rows.ben


async def test_a_webhook_of_an_automation_that_is_stopped_too_stays_suspended(rows: Rows) -> None:
    await rows.leave()
    async with rows.database.transaction() as tx:
        await stop_member_resources(tx, rows.ben, HERE, why="left")
        await put_automation(tx, THERE, rows.bens, SENDS, name="his there")
    assert len((await rows.take()).webhooks) == 1
    assert (rows.bens, "adas") in await rows.suspended()
    assert (await rows.makers())[rows.bens, "adas"] == rows.ben


async def test_those_who_left_are_listed_with_the_time_that_was_recorded_here(rows: Rows) -> None:
    await rows.leave()
    async with rows.database.transaction() as tx:
        await stop_member_resources(tx, rows.ben, HERE, why="left")
        for space in (HERE, THERE):
            await record_departure(tx, space, rows.ben)
        await tx.execute("DELETE FROM members WHERE user_id = $1", rows.ben)
        await tx.execute(
            "UPDATE former_members SET left_at = $1 WHERE workspace_id = $2 AND user_id = $3",
            LONG_AGO,
            HERE,
            rows.ada,
        )
        await tx.execute(
            "UPDATE former_members SET left_at = $1 WHERE workspace_id = $2",
            LONG_AGO - timedelta(days=1),
            THERE,
        )
        ben, ada = await list_leavers(tx, HERE)
    assert (ada["id"], ada["left_at"]) == (rows.ada, LONG_AGO)
    assert ben["id"] == rows.ben
    assert ben["left_at"] > LONG_AGO


async def test_a_missed_run_that_was_replayed_is_missed_no_more(rows: Rows) -> None:
    runs = [
        await add_run(rows.database, HERE, rows.active, status="skipped", reason="owner_left")
        for _ in range(3)
    ]
    await rows.leave()
    assert (await rows.estate()).automations[0].missed == 3
    await add_run(rows.database, HERE, rows.active, replay_of=runs[0])
    assert (await rows.estate()).automations[0].missed == 2


async def test_a_webhook_without_a_token_is_not_named_when_its_maker_leaves(rows: Rows) -> None:
    await rows.database.execute("UPDATE triggers SET secret_hash = NULL")
    await rows.leave()
    ((_, lines),) = await rows.messages()
    assert lines[1:-1] == ["- digest"]
