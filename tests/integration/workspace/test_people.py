"""People below the surfaces: their workspaces, their passwords, and what is kept of them."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from argon2 import PasswordHasher

from mainspring.contracts.errors import Conflict, Invalid, LimitExceeded, NotFound, PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.people.members import change_role, remove_member
from mainspring.workspace.people.passwords import PasswordVerifier
from mainspring.workspace.people.sessions import end_session, start_session
from mainspring.workspace.people.users import clean_email, create_user, describe_user, read_user
from mainspring.workspace.people.workspaces import find_home_workspace, list_user_workspaces
from tests.kit.bench import Bench
from tests.kit.people import PASSWORD, cheap, make_person, member

CHEAP: dict[str, Any] = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


class Counting(PasswordHasher):
    """Counts the slow work, which is what a stopwatch would see."""

    work = 0

    def verify(self, *value: Any, **more: Any) -> Any:
        self.work += 1
        return super().verify(*value, **more)

    def hash(self, *value: Any, **more: Any) -> Any:
        self.work += 1
        return super().hash(*value, **more)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a@",
        "@b",
        "a b@c.example",
        "a@b@c",
        "<a@b.example>",
        "a@b/c",
        "a\x00@b.example",
        "a@b\n.example",
        "é" * 65 + "@b.example",
        "a@" + "b" * 253,
        "a\u202e@b.example",
    ],
)
def test_what_cannot_be_an_email_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        clean_email(text)
    assert refused.value.findings[0].pointer == "/email"


@pytest.mark.parametrize("password", ["", "eleven char", "x" * 1025, "aaaaaaaaaaaaaaaa"])
async def test_a_password_that_is_too_short_long_or_plain_is_refused(password: str) -> None:
    with pytest.raises(Invalid) as refused:
        await cheap().hash(password)
    assert refused.value.findings[0].pointer == "/password"
    assert password == "" or password not in refused.value.detail


async def test_a_password_is_kept_as_argon2_and_fits_itself_alone() -> None:
    passwords = cheap()
    hashed = await passwords.hash("Käsekuchen mit Ä")

    assert hashed.startswith("$argon2id$")
    assert await passwords.verify(hashed, "Käsekuchen mit Ä")
    # The same to the eye, typed on another keyboard.
    assert await passwords.verify(hashed, "Ka\u0308sekuchen mit A\u0308")
    for other in ("Käsekuchen mit A", "käsekuchen mit Ä", "", "Käsekuchen mit Ä ", "x" * 5_000):
        assert not await passwords.verify(hashed, other)
    assert not await passwords.verify("not a hash", "Käsekuchen mit Ä")


async def test_nobody_costs_as_much_as_somebody() -> None:
    hasher = Counting(**CHEAP)
    passwords = PasswordVerifier(hasher)
    hashed = await passwords.hash(PASSWORD)
    costs = []
    for known in (hashed, None, hashed, None):
        before = hasher.work
        assert not await passwords.verify(known, "not the password")
        costs.append(hasher.work - before)

    assert costs[1:] == [1, 1, 1]
    assert not await passwords.verify(None, "nobody has this password")


async def test_a_burst_is_asked_to_retry_instead_of_filling_the_memory() -> None:
    passwords = cheap()
    hashed = await passwords.hash(PASSWORD)
    answers = await asyncio.gather(
        *(passwords.verify(hashed, PASSWORD) for _ in range(200)), return_exceptions=True
    )

    refused = [answer for answer in answers if isinstance(answer, LimitExceeded)]
    assert len(refused) == 200 - 64
    assert refused[0].retry_after
    assert all(answer is True for answer in answers if not isinstance(answer, LimitExceeded))
    assert await passwords.verify(hashed, PASSWORD)


async def test_everybody_has_a_workspace_of_their_own_that_they_may_change(bench: Bench) -> None:
    database = bench.application.database
    ada = await make_person(database, "ada@example.org", workspace_id=FIRST_WORKSPACE)
    assert ada.default_workspace_id is not None
    assert await find_home_workspace(database, ada.id) == ada.default_workspace_id
    assert {row["role"] for row in await list_user_workspaces(database, ada.id)} == {
        "owner",
        "viewer",
    }

    async with database.transaction() as tx:
        await describe_user(tx, ada.id, default_workspace_id=FIRST_WORKSPACE)
    assert await find_home_workspace(database, ada.id) == FIRST_WORKSPACE

    owner = member(FIRST_WORKSPACE, FIRST_MEMBER, Role.OWNER)
    async with database.transaction() as tx:
        await remove_member(tx, owner, ada.id)
    assert await find_home_workspace(database, ada.id) == ada.default_workspace_id
    await database.execute("DELETE FROM members WHERE user_id = $1", ada.id)
    made = await find_home_workspace(database, ada.id)
    assert [row["id"] for row in await list_user_workspaces(database, ada.id)] == [made]


async def test_one_email_is_one_person_however_it_is_written_and_raced(database: Database) -> None:
    async def add(email: str) -> UUID:
        async with database.transaction() as tx:
            return (await create_user(tx, email)).id

    answers = await asyncio.gather(
        *(add(email) for email in ["ada@example.org", "ADA@example.org"] * 5),
        return_exceptions=True,
    )
    made = [answer for answer in answers if isinstance(answer, UUID)]

    assert len(made) == 1
    assert all(isinstance(answer, Conflict) for answer in answers if answer not in made)
    assert await database.fetchval("SELECT count(*) FROM workspaces") == 1
    assert (await read_user(database, made[0])).email.lower() == "ada@example.org"


async def test_nobody_raises_themselves_or_acts_where_they_are_no_member(bench: Bench) -> None:
    database = bench.application.database
    ada = await make_person(
        database, "ada@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    assert ada.default_workspace_id is not None
    # What a surface believes about a role counts less than the row.
    for actor, whom in [
        (member(FIRST_WORKSPACE, ada.id, Role.OWNER), ada.id),
        (member(FIRST_WORKSPACE, ada.id, Role.OWNER), FIRST_MEMBER),
        (member(ada.default_workspace_id, FIRST_MEMBER, Role.OWNER), ada.id),
    ]:
        with pytest.raises(PermissionDenied):
            async with database.transaction() as tx:
                await change_role(tx, actor, whom, Role.OWNER)
    await database.execute("UPDATE members SET role = 'admin' WHERE user_id = $1", ada.id)
    own = member(FIRST_WORKSPACE, ada.id, Role.OWNER)
    with pytest.raises(PermissionDenied) as refused:
        async with database.transaction() as tx:
            await change_role(tx, own, ada.id, Role.OWNER)
    assert refused.value.code == "own_role"


async def test_a_session_of_somebody_else_is_not_there(bench: Bench) -> None:
    database = bench.application.database
    ada = await make_person(database, "ada@example.org")
    async with database.transaction() as tx:
        session_id, _ = await start_session(tx, FIRST_MEMBER, FIRST_WORKSPACE, "\x07 a browser")
    with pytest.raises(NotFound):
        await end_session(database, ada.id, session_id)
    assert await database.fetchval("SELECT label FROM sessions") == " a browser"
