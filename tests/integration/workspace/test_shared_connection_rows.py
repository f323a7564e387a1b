"""Whose connection an automation goes over: its owner's own one, or that of the workspace."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.connections.accounts.service import AccountConnectionService
from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect
from mainspring.contracts.context import Actor, Transaction
from mainspring.contracts.errors import PermissionDenied, PersonRequired, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from mainspring.workspace.accounts import rows
from mainspring.workspace.vault import SecretScope, Vault, connection_scope
from tests.kit.consent_rows import Version, put_automation
from tests.kit.lock_waits import until_in_line
from tests.kit.tenants import add_person, add_workspace

HERE, THERE = generate_id(), generate_id()
GMAIL: Any = SimpleNamespace(
    id="gmail",
    name="Gmail",
    manifest={"id": "gmail", "auth": {"revoke_url": "https://gmail.example/revoke"}},
)


async def _send(*_: Any) -> dict[str, Any]:
    return {}


SEND = Capability(
    id="gmail.send_with_either",
    description="Send with the connection or with a secret.",
    input_schema={"type": "object"},
    output_schema={"type": "object"},
    handler=_send,
    annotations=Annotations(
        effect=Effect.SEND,
        route=ConnectionRoute(
            "gmail", frozenset({"gmail.example"}), "used", secrets=frozenset({"gmail_token"})
        ),
    ),
)


async def _words(workspace_id: UUID, documents: Any) -> Vocabulary:
    del documents
    return await Registry(capabilities=[SEND]).of(workspace_id)


class People:
    """Ann and Ben here, and somebody there who has shared a connection of theirs."""

    def __init__(
        self, database: Database, vault: Vault, ann: UUID, ben: UUID, theirs: UUID
    ) -> None:
        self.database, self.ann, self.ben, self.theirs = database, ann, ben, theirs
        self.vault = vault
        # The connections that ended, as others are notified.
        self.ended: list[tuple[UUID, str]] = []
        # Only these parts are needed, and what the workspace can do.
        self._service = AccountConnectionService((), words=_words)
        # No token is renewed here, so there is no renewal to wait for.
        lines = SimpleNamespace(tokens=SimpleNamespace(held=lambda _: nullcontext()))
        needed: Any = SimpleNamespace(
            database=database, vault=vault, changed=self._changed, lines=lines
        )
        self._service._parts = needed

    async def _changed(self, tx: Transaction, row: rows.AccountRow, what: str) -> None:
        del tx
        self.ended.append((row.id, what))

    async def connect(
        self,
        person: UUID,
        state: str = "ready",
        *,
        shared: bool = False,
        space: UUID = HERE,
        integration: str = "gmail",
        account: str = "",
    ) -> UUID:
        made = generate_id()
        await self.database.execute(
            "INSERT INTO integration_connections (workspace_id, id, owner_id, integration, label, "
            "auth, state, shared_at, account) VALUES ($1, $2, $3, $4, 'x', 'token', $5, "
            "CASE WHEN $6 THEN now() - interval '1 day' END, $7)",
            space,
            made,
            person,
            integration,
            state,
            shared,
            account,
        )
        return made

    async def agreed(self, owner: UUID) -> None:
        """An automation of this owner that writes over the connection, or with a secret."""
        document = {"schema_version": "1.2", "name": "Test", "goal": "Test.", "plan": []}
        sends = Version(document, [{"capability": SEND.id, "params": {}}])
        who = {"agreed_by": self.ben, "agreed_via": "page", "created_by": owner}
        async with self.database.transaction() as tx:
            await put_automation(tx, HERE, generate_id(), sends, agreed_version=1, **who)

    async def disconnect(
        self, person: UUID, *, by_program: bool = False
    ) -> tuple[bool, str | None]:
        actor = Actor(HERE, "member", person, role=Role.EDITOR, by_program=by_program)
        return await self._service.disconnect(actor, GMAIL)

    async def usable(self, person: UUID, *, shared: bool = True) -> UUID | None:
        found = await rows.find_usable_account(self.database, HERE, person, "gmail", shared=shared)
        return None if found is None else found.id

    async def listed(self, person: UUID) -> set[UUID]:
        return {one.id for one in await rows.list_accounts(self.database, HERE, person)}

    async def shared(self) -> dict[UUID, bool]:
        found = await self.database.fetch(
            "SELECT id, shared_at IS NOT NULL AS shared FROM integration_connections "
            "WHERE workspace_id = $1",
            HERE,
        )
        return {row["id"]: row["shared"] for row in found}

    async def share(self, person: UUID) -> bool:
        actor = Actor(HERE, "member", person, role=Role.ADMIN)
        return await self._service.share(actor, GMAIL)

    async def withdraw(self, person: UUID, role: Role, *, by_program: bool = False) -> bool:
        actor = Actor(HERE, "member", person, role=role, by_program=by_program)
        return await self._service.withdraw(actor, GMAIL)


@pytest_asyncio.fixture
async def people(database: Database, tmp_path: Path) -> People:
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    ann, ben = [(await add_person(database, HERE)).id for _ in range(2)]
    theirs = (await add_person(database, THERE)).id
    vault = Vault(database, tmp_path / "master.key", Limits())
    found = People(database, vault, ann, ben, theirs)
    await found.connect(theirs, shared=True, space=THERE)
    # Another integration of the same people, shared here too.
    await found.connect(ann, shared=True, integration="slack")
    return found


async def test_what_nobody_shares_is_its_owners_alone(people: People) -> None:
    own = await people.connect(people.ann)
    assert await people.usable(people.ann) == own
    assert await people.usable(people.ann, shared=False) == own
    assert await people.usable(people.ben) is None
    assert await people.usable(people.theirs) is None
    assert own in await people.listed(people.ann)
    assert own not in await people.listed(people.ben)


async def test_what_is_shared_serves_all_of_the_workspace_after_their_own(people: People) -> None:
    shared = await people.connect(people.ann, shared=True)
    assert await people.usable(people.ben) == shared
    # Unless somebody asks for their own alone.
    usual = await rows.find_usable_account(people.database, HERE, people.ben, "gmail")
    assert usual is not None
    assert await people.usable(people.ben, shared=False) is None
    assert shared in await people.listed(people.ben)
    # One's own that was never finished does not take its place.
    own = await people.connect(people.ben, "sign_in")
    assert await people.usable(people.ben) == shared
    assert shared in await people.listed(people.ben)
    assert own not in await people.listed(people.ben)
    assert await people.usable(people.ben, shared=False) == own
    for state in ("ready", "reconnect"):
        query = "UPDATE integration_connections SET state = $2 WHERE id = $1"
        await people.database.execute(query, own, state)
        assert await people.usable(people.ben) == own
        assert own in await people.listed(people.ben)
        assert shared not in await people.listed(people.ben)


async def test_a_shared_one_that_was_never_finished_serves_nobody_else(people: People) -> None:
    shared = await people.connect(people.ann, "sign_in", shared=True)
    assert await people.usable(people.ben) is None
    assert shared not in await people.listed(people.ben)
    assert await people.usable(people.ann) == shared
    assert shared in await people.listed(people.ann)
    own = await people.connect(people.ben, "sign_in")
    assert await people.usable(people.ben) == own


@pytest.mark.parametrize("how", ["removed", "disabled", "elsewhere"])
async def test_somebody_who_left_lends_only_what_they_shared(people: People, how: str) -> None:
    own = await people.connect(people.ann)
    if how == "disabled":
        query = "UPDATE users SET disabled_at = now() WHERE id = $1"
        await people.database.execute(query, people.ann)
    else:
        await people.database.execute("DELETE FROM members WHERE user_id = $1", people.ann)
        if how == "elsewhere":
            await people.database.execute(
                "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')",
                THERE,
                people.ann,
            )
    assert await people.usable(people.ann) is None
    query = "UPDATE integration_connections SET shared_at = now() WHERE id = $1"
    await people.database.execute(query, own)
    assert await people.usable(people.ben) == own
    assert await people.usable(people.ann) == own


async def test_a_member_shares_their_own_and_there_is_one_for_all(people: People) -> None:
    with pytest.raises(Problem) as refused:
        await people.share(people.ann)
    assert refused.value.code == "not_connected"
    assert refused.value.detail == "You are not connected to Gmail."
    anns, bens = await people.connect(people.ann), await people.connect(people.ben)
    before = await people.shared()
    assert await people.share(people.ann) is True
    assert await people.shared() == {**before, anns: True}
    since = await rows.find(people.database, HERE, anns)
    assert await people.share(people.ann) is False
    assert (await rows.find(people.database, HERE, anns)).shared_at == since.shared_at
    with pytest.raises(Problem) as second:
        await people.share(people.ben)
    assert second.value.code == "shared_already"
    assert await people.shared() == {**before, anns: True, bens: False}


async def test_its_holder_or_an_admin_withdraws_it(people: People) -> None:
    assert await people.withdraw(people.ann, Role.OWNER) is False
    shared = await people.connect(people.ann, shared=True)
    with pytest.raises(PermissionDenied) as refused:
        await people.withdraw(people.ben, Role.EDITOR)
    assert refused.value.code == "role_too_small"
    assert (await people.shared())[shared] is True
    before = await people.shared()
    assert await people.withdraw(people.ann, Role.VIEWER) is True
    assert await people.shared() == {**before, shared: False}
    await people.share(people.ann)
    assert await people.withdraw(people.ben, Role.ADMIN) is True
    assert (await people.shared())[shared] is False


async def test_a_member_without_a_connection_has_nothing_to_share_beside_the_shared_one(
    people: People,
) -> None:
    await people.connect(people.ann, shared=True)
    assert await people.share(people.ben) is False
    # A sign-in that is not finished is a connection of their own, and is kept.
    unfinished = await people.connect(people.ben, "sign_in")
    before = await people.shared()
    with pytest.raises(Problem) as refused:
        await people.share(people.ben)
    assert refused.value.code == "shared_already"
    assert await people.shared() == before
    assert unfinished in before


async def test_a_program_does_not_withdraw_what_an_agreed_automation_writes_over(
    people: People,
) -> None:
    shared = await people.connect(people.ann, shared=True)
    assert await people.withdraw(people.ann, Role.OWNER, by_program=True) is True
    await people.share(people.ann)
    await people.agreed(people.ben)
    with pytest.raises(PersonRequired):
        await people.withdraw(people.ann, Role.OWNER, by_program=True)
    assert (await people.shared())[shared] is True
    assert await people.withdraw(people.ann, Role.OWNER) is True


async def test_a_program_does_not_end_a_connection_that_a_secret_would_replace(
    people: People,
) -> None:
    await people.agreed(people.ann)
    own = await people.connect(people.ann)
    # Without another account the automation cannot write at all.
    assert await people.disconnect(people.ann, by_program=True) == (True, None)
    assert people.ended == [(own, "disconnected")]
    await people.vault.set(SecretScope(HERE, people.ann), "gmail_token", "ours")
    # A sign-in that is not finished was never written over.
    await people.connect(people.ann, "sign_in")
    assert await people.disconnect(people.ann, by_program=True) == (False, None)
    again = await people.connect(people.ann)
    with pytest.raises(PersonRequired):
        await people.disconnect(people.ann, by_program=True)
    assert again in await people.shared()
    assert await people.disconnect(people.ann) == (True, None)
    assert again not in await people.shared()
    assert await people.disconnect(people.ann) == (False, None)


@pytest.mark.parametrize("account", ["ours", "theirs"])
async def test_a_program_does_not_end_a_connection_that_a_shared_account_would_replace(
    people: People, account: str
) -> None:
    await people.agreed(people.ann)
    own = await people.connect(people.ann, account="ours")
    await people.connect(people.ben, shared=True, account=account)
    if account == "ours":
        assert await people.disconnect(people.ann, by_program=True) == (True, None)
        return
    with pytest.raises(PersonRequired):
        await people.disconnect(people.ann, by_program=True)
    assert own in await people.shared()


async def test_a_connection_that_somebody_else_ended_meanwhile_was_not_ended_here(
    people: People,
) -> None:
    own = await people.connect(people.ann)
    async with people.database.transaction() as tx:
        await tx.execute("DELETE FROM integration_connections WHERE id = $1", own)
        ending = asyncio.create_task(people.disconnect(people.ann))
        await until_in_line(people.database)
    assert await ending == (False, None)


@pytest.mark.parametrize(
    ("auth", "has_token", "is_asked"),
    [("oauth", True, True), ("oauth", False, False), ("token", True, False)],
)
async def test_the_provider_is_asked_to_forget_what_was_signed_in_for(
    people: People, auth: str, has_token: bool, is_asked: bool
) -> None:
    client = generate_id()
    await people.database.execute(
        "INSERT INTO oauth_clients (id, workspace_id, provider, client_id) "
        "VALUES ($1, $2, 'google', 'ours')",
        client,
        HERE,
    )
    # With another connection by the same client nothing is revoked, and the member is notified.
    own = await people.connect(people.ann, account="ours")
    await people.connect(people.ben, account="ours")
    await people.database.execute(
        "UPDATE integration_connections SET auth = $1, client_id = $2 WHERE account = 'ours'",
        auth,
        client,
    )
    if has_token:
        await people.vault.set(connection_scope(HERE, own), "token", "secret")
    gone, note = await people.disconnect(people.ann)
    assert (gone, note is not None) == (True, is_asked)
