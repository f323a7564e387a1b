"""Which tokens a change reaches: those of one workspace, one member and one client, no others."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.errors import InternalError, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from mainspring.workspace import tokens
from mainspring.workspace.tokens import StoredToken, TokenLimits
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()
ANN, BEN = generate_id(), generate_id()
CLIENT, OTHER_CLIENT = generate_id(), generate_id()
NEVER = datetime(2099, 1, 1, tzinfo=UTC)


@dataclass
class Rows:
    """A token for each workspace, member and client, by these three, and one that was revoked."""

    database: Database
    made: dict[tuple[UUID, UUID, UUID | None], tuple[StoredToken, str]]
    revoked: StoredToken

    def token(self, client: UUID | None = None) -> StoredToken:
        return self.made[HERE, ANN, client][0]

    async def stored(self) -> dict[UUID, StoredToken]:
        return {
            one.id: one
            for workspace in (HERE, THERE)
            for one in await tokens.list_tokens(self.database, workspace)
        }

    async def changed(self) -> set[tuple[UUID, UUID, UUID | None]]:
        """Which tokens differ from how they were made."""
        now = await self.stored()
        assert now[self.revoked.id] == self.revoked
        return {key for key, (one, _) in self.made.items() if now[one.id] != one}


@pytest_asyncio.fixture
async def rows(database: Database) -> Rows:
    made = {}
    for workspace in (HERE, THERE):
        await add_workspace(database, workspace, "one of two")
        for member in (ANN, BEN):
            for client in (None, CLIENT, OTHER_CLIENT):
                made[workspace, member, client] = await tokens.make_token(
                    database, workspace, member, "x", client_id=client
                )
    ended, _ = await tokens.make_token(database, HERE, ANN, "ended", client_id=CLIENT)
    await tokens.revoke_token(database, HERE, ended.id)
    await database.execute(
        "UPDATE access_tokens SET revoked_at = now() - interval '1 day' WHERE id = $1", ended.id
    )
    (revoked,) = [one for one in await tokens.list_tokens(database, HERE) if one.id == ended.id]
    return Rows(database, made, revoked)


async def test_tokens_are_listed_for_a_workspace_or_one_member_of_it(rows: Rows) -> None:
    async def listed(*of: UUID) -> set[UUID]:
        return {one.id for one in await tokens.list_tokens(rows.database, *of)}

    every = {key: one.id for key, (one, _) in rows.made.items()}
    assert await listed(HERE) == {
        rows.revoked.id,
        *(one for key, one in every.items() if key[0] == HERE),
    }
    assert await listed(HERE, BEN) == {one for key, one in every.items() if key[:2] == (HERE, BEN)}


async def test_a_token_is_found_by_its_hash_unless_it_was_revoked(rows: Rows) -> None:
    for one, plain in rows.made.values():
        assert await tokens.find_token(rows.database, tokens.hash_token(plain)) == one
    digest = await rows.database.fetchval(
        "SELECT hash FROM access_tokens WHERE id = $1", rows.revoked.id
    )
    assert await tokens.find_token(rows.database, digest) is None
    assert await tokens.find_token(rows.database, b"unknown") is None
    assert await tokens.is_revoked(rows.database, HERE, rows.revoked.id)
    assert not await tokens.is_revoked(rows.database, HERE, rows.token().id)
    assert not await tokens.is_revoked(rows.database, THERE, rows.revoked.id)


async def test_use_is_noted_for_one_token_and_once_a_minute(rows: Rows) -> None:
    token = rows.token()

    async def noted() -> datetime | None:
        return (await rows.stored())[token.id].last_used_at

    await tokens.record_token_use(rows.database, THERE, token.id)
    assert await rows.changed() == set()
    await tokens.record_token_use(rows.database, HERE, token.id)
    first = await noted()
    assert first is not None
    assert await rows.changed() == {(HERE, ANN, None)}
    await tokens.record_token_use(rows.database, HERE, token.id)
    assert await noted() == first
    await rows.database.execute(
        "UPDATE access_tokens SET last_used_at = now() - interval '61 seconds' WHERE id = $1",
        token.id,
    )
    await tokens.record_token_use(rows.database, HERE, token.id)
    again = await noted()
    assert again is not None
    assert again >= first


async def test_a_token_is_revoked_in_its_workspace_and_for_its_member_alone(rows: Rows) -> None:
    token = rows.token()
    for workspace, member in ((THERE, None), (THERE, ANN), (HERE, BEN)):
        with pytest.raises(NotFound) as refused:
            await tokens.revoke_token(rows.database, workspace, token.id, member)
        assert refused.value.code == "no_token"
    assert await rows.changed() == set()
    ended = await tokens.revoke_token(rows.database, HERE, token.id, ANN)
    assert ended.id == token.id
    assert ended.revoked_at is not None
    assert await rows.changed() == {(HERE, ANN, None)}
    # An administrator names no member; the first end stays.
    assert await tokens.revoke_token(rows.database, HERE, token.id) == ended


async def test_a_member_who_leaves_loses_their_tokens_of_that_workspace(rows: Rows) -> None:
    await tokens.revoke_tokens_of(rows.database, HERE, ANN)
    assert await rows.changed() == {(HERE, ANN, one) for one in (None, CLIENT, OTHER_CLIENT)}


async def test_a_person_loses_their_tokens_everywhere_perhaps_but_one(rows: Rows) -> None:
    _, plain = rows.made[HERE, ANN, None]
    gone = await tokens.revoke_tokens_everywhere(rows.database, ANN, but=tokens.hash_token(plain))
    assert gone == {HERE: 2, THERE: 3}
    stored = {(HERE, ANN, None)}
    assert await rows.changed() == {key for key in rows.made if key[1] == ANN} - stored
    assert await tokens.revoke_tokens_everywhere(rows.database, ANN) == {HERE: 1}


async def test_a_client_loses_its_tokens_of_one_member(rows: Rows) -> None:
    await tokens.revoke_tokens_of_client(rows.database, HERE, ANN, CLIENT)
    assert await rows.changed() == {(HERE, ANN, CLIENT)}


async def test_the_tokens_of_a_client_are_narrowed_and_never_widened(rows: Rows) -> None:
    await tokens.narrow_tokens_of_client(rows.database, HERE, ANN, CLIENT, Role.OPERATOR)
    assert await rows.changed() == {(HERE, ANN, CLIENT)}

    async def role() -> Role:
        return (await rows.stored())[rows.token(CLIENT).id].role

    assert await role() is Role.OPERATOR
    await tokens.narrow_tokens_of_client(rows.database, HERE, ANN, CLIENT, Role.EDITOR)
    assert await role() is Role.OPERATOR
    await tokens.narrow_tokens_of_client(rows.database, HERE, ANN, CLIENT, Role.VIEWER)
    assert await role() is Role.VIEWER


async def test_only_the_living_token_of_a_client_is_renewed(rows: Rows) -> None:
    renew = tokens.renew_token
    assert await renew(rows.database, THERE, rows.token(CLIENT).id, NEVER) is None
    assert await renew(rows.database, HERE, rows.token().id, NEVER) is None
    assert await renew(rows.database, HERE, rows.revoked.id, NEVER) is None
    assert await rows.changed() == set()
    plain = await renew(rows.database, HERE, rows.token(CLIENT).id, NEVER)
    assert plain is not None
    assert await rows.changed() == {(HERE, ANN, CLIENT)}
    found = await tokens.find_token(rows.database, tokens.hash_token(plain))
    assert found is not None
    assert (found.id, found.expires_at, found.hint) == (rows.token(CLIENT).id, NEVER, plain[-4:])
    before = tokens.hash_token(rows.made[HERE, ANN, CLIENT][1])
    assert await tokens.find_token(rows.database, before) is None


async def test_a_token_keeps_its_bounds(rows: Rows) -> None:
    end = datetime.now(UTC) + timedelta(days=1)
    given = TokenLimits(Role.VIEWER, ("kv.get",), end)
    token, plain = await tokens.make_token(rows.database, HERE, ANN, "n" * 200, given)
    assert (token.role, token.capabilities, token.expires_at) == (Role.VIEWER, ("kv.get",), end)
    assert tokens.is_token(plain)
    assert not tokens.is_token(f"{plain}x")
    assert token.hint == plain[-4:]
    wide = rows.token()
    assert (wide.role, wide.capabilities, wide.expires_at) == (Role.OWNER, None, None)
    none = await tokens.make_token(rows.database, HERE, ANN, "n", TokenLimits(capabilities=()))
    assert none[0].capabilities == ()
    # Nor one that would not show what it says.
    for name in ("", "n" * 201, "n\u202etxt"):
        with pytest.raises(Invalid) as refused:
            await tokens.make_token(rows.database, HERE, ANN, name)
        assert refused.value.findings[0].pointer == "/name"


async def test_the_owners_token_is_kept_in_a_file_that_only_they_can_read(
    rows: Rows, tmp_path: Path
) -> None:
    assert tokens.read_owner_token(tmp_path) is None
    assert await tokens.load_owner_token_hash(tmp_path) is None
    path = await tokens.ensure_owner_token(rows.database, tmp_path, HERE, ANN)
    assert path == tmp_path / "owner.token"
    plain = tokens.read_owner_token(tmp_path)
    assert plain is not None
    assert await tokens.load_owner_token_hash(tmp_path) == tokens.hash_token(plain)
    token = await tokens.find_token(rows.database, tokens.hash_token(plain))
    assert token is not None
    assert (token.workspace_id, token.member_id, token.name) == (HERE, ANN, "local owner")
    assert await tokens.ensure_owner_token(rows.database, tmp_path, HERE, ANN) == path
    assert tokens.read_owner_token(tmp_path) == plain

    # Another database learns it, and one in which it was revoked gets another.
    await rows.database.execute("DELETE FROM access_tokens WHERE id = $1", token.id)
    assert await tokens.ensure_owner_token(rows.database, tmp_path, HERE, ANN) == path
    assert tokens.read_owner_token(tmp_path) == plain
    learned = await tokens.find_token(rows.database, tokens.hash_token(plain))
    assert learned is not None
    await tokens.revoke_token(rows.database, HERE, learned.id)
    assert await tokens.ensure_owner_token(rows.database, tmp_path, HERE, ANN) == path
    other = tokens.read_owner_token(tmp_path)
    assert other is not None
    assert other != plain
    assert await tokens.find_token(rows.database, tokens.hash_token(other)) is not None

    path.write_text("not a token")
    assert tokens.read_owner_token(tmp_path) is None
    path.chmod(0o644)
    with pytest.raises(InternalError, match="read by others") as refused:
        tokens.read_owner_token(tmp_path)
    assert refused.value.code == "owner_token"
    assert not refused.value.retryable
    assert await tokens.load_owner_token_hash(tmp_path) is None


async def test_a_file_of_the_owner_that_cannot_be_read_or_written_is_a_clear_problem(
    rows: Rows, tmp_path: Path
) -> None:
    (tmp_path / "owner.token").mkdir(mode=0o700)
    with pytest.raises(InternalError):
        tokens.read_owner_token(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InternalError) as refused:
        await tokens.ensure_owner_token(rows.database, blocked, HERE, ANN)
    assert refused.value.code == "owner_token"


async def test_a_token_that_cannot_be_written_to_its_file_is_a_clear_problem(
    rows: Rows, tmp_path: Path
) -> None:
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = await rows.stored()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most[1]))
    try:
        with pytest.raises(InternalError, match="cannot be written"):
            await tokens.ensure_owner_token(rows.database, tmp_path, HERE, ANN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert await rows.stored() == before


async def test_a_token_keeps_the_automations_that_it_may_approve(rows: Rows) -> None:
    named = (generate_id(), generate_id())
    bounds = TokenLimits(Role.EDITOR, expires_at=NEVER, approves=named)
    made, _ = await tokens.make_token(rows.database, HERE, ANN, "approves", bounds)
    assert made.approves == named
    assert (await rows.stored())[made.id].approves == named
    assert rows.token().approves is None
