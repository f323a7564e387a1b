"""Tokens: shown once, kept as a hash, ended for ever; and the local owner's, in a file."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
from pathlib import Path
from uuid import UUID

import pytest

from mainspring.contracts.errors import InternalError, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.tokens import (
    StoredToken,
    ensure_owner_token,
    find_token,
    hash_token,
    list_tokens,
    make_token,
    read_owner_token,
    revoke_token,
)
from tests.kit.bench import Bench

OTHER = UUID("01900000-0000-7000-8000-0000000000aa")


async def _owner(bench: Bench, home: Path) -> str:
    path = await ensure_owner_token(
        bench.application.database, home, bench.application.workspace_id, FIRST_MEMBER
    )
    return path.read_text().strip()


async def _known(bench: Bench, plain: str) -> StoredToken | None:
    return await find_token(bench.application.database, hash_token(plain))


async def test_a_token_is_random_text_of_which_the_hash_is_kept(bench: Bench) -> None:
    database = bench.application.database
    stored, plain = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a laptop")
    again, other = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a laptop")

    assert re.fullmatch(r"msk_[A-Za-z0-9_-]{43}", plain)
    assert plain != other
    assert (stored.name, stored.hint, stored.revoked_at) == ("a laptop", plain[-4:], None)
    rows = await database.fetch("SELECT t.*, t::text AS whole FROM access_tokens t")
    assert {row["hash"] for row in rows} == {
        hashlib.sha256(text.encode()).digest() for text in (plain, other)
    }
    assert not [row for row in rows if plain[4:-4] in row["whole"]]
    assert await list_tokens(database, FIRST_WORKSPACE) == [stored, again]


async def test_a_token_is_found_by_its_hash_until_it_is_revoked(bench: Bench) -> None:
    database = bench.application.database
    stored, plain = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a laptop")

    assert await _known(bench, plain) == stored
    assert await _known(bench, plain[:-1] + ("A" if plain[-1] != "A" else "B")) is None
    ended = await revoke_token(database, FIRST_WORKSPACE, stored.id)
    assert ended.revoked_at is not None
    assert await _known(bench, plain) is None
    assert await revoke_token(database, FIRST_WORKSPACE, stored.id) == ended
    assert await list_tokens(database, FIRST_WORKSPACE) == [ended]


async def test_nobody_sees_or_ends_the_tokens_of_another_workspace(bench: Bench) -> None:
    database = bench.application.database
    await ensure_workspace(database, OTHER, "Next door")
    stored, plain = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a laptop")

    assert await list_tokens(database, OTHER) == []
    with pytest.raises(NotFound):
        await revoke_token(database, OTHER, stored.id)
    with pytest.raises(NotFound):
        await revoke_token(database, FIRST_WORKSPACE, generate_id())
    assert await _known(bench, plain) == stored


@pytest.mark.parametrize("name", ["", "x" * 201])
async def test_a_token_needs_a_name_of_a_bearable_length(bench: Bench, name: str) -> None:
    with pytest.raises(Invalid):
        await make_token(bench.application.database, FIRST_WORKSPACE, FIRST_MEMBER, name)

    assert await list_tokens(bench.application.database, FIRST_WORKSPACE) == []


async def test_the_owners_token_is_made_once_and_for_its_owners_eyes(
    bench: Bench, tmp_path: Path
) -> None:
    home = tmp_path / "new" / "home"
    assert await asyncio.to_thread(read_owner_token, home) is None

    plain = await _owner(bench, home)

    assert await _owner(bench, home) == plain
    assert stat.S_IMODE((home / "owner.token").stat().st_mode) == 0o600
    assert os.listdir(home) == ["owner.token"]
    found = await _known(bench, plain)
    assert found is not None
    assert (found.workspace_id, found.member_id) == (bench.application.workspace_id, FIRST_MEMBER)
    assert len(await list_tokens(bench.application.database, FIRST_WORKSPACE)) == 1
    assert await asyncio.to_thread(read_owner_token, home) == plain


async def test_a_database_that_does_not_know_the_owners_token_learns_it(
    bench: Bench, tmp_path: Path
) -> None:
    plain = await _owner(bench, tmp_path)
    await bench.application.database.execute("DELETE FROM access_tokens")

    assert await _owner(bench, tmp_path) == plain
    assert await _known(bench, plain) is not None


async def test_a_lost_or_broken_file_gets_a_new_token(bench: Bench, tmp_path: Path) -> None:
    first = await _owner(bench, tmp_path)
    (tmp_path / "owner.token").unlink()
    second = await _owner(bench, tmp_path)
    (tmp_path / "owner.token").write_text("msk_half")
    third = await _owner(bench, tmp_path)

    assert len({first, second, third}) == 3
    assert await _known(bench, third) is not None


async def test_a_revoked_owners_token_is_replaced(bench: Bench, tmp_path: Path) -> None:
    first = await _owner(bench, tmp_path)
    found = await _known(bench, first)
    assert found is not None
    await revoke_token(bench.application.database, FIRST_WORKSPACE, found.id)

    second = await _owner(bench, tmp_path)

    assert await _known(bench, first) is None
    assert await _known(bench, second) is not None


async def test_starts_at_the_same_time_agree_on_one_token(bench: Bench, tmp_path: Path) -> None:
    found = await asyncio.gather(*(_owner(bench, tmp_path) for _ in range(8)))

    assert len(set(found)) == 1
    assert len(await list_tokens(bench.application.database, FIRST_WORKSPACE)) == 1


async def test_a_token_that_others_could_have_read_is_refused(bench: Bench, tmp_path: Path) -> None:
    plain = await _owner(bench, tmp_path)
    (tmp_path / "owner.token").chmod(0o644)

    with pytest.raises(InternalError) as result:
        await _owner(bench, tmp_path)

    assert "0600" in str(result.value.suggestion)
    assert (tmp_path / "owner.token").read_text().strip() == plain


async def test_a_pipe_in_the_place_of_the_file_holds_nobody_up(
    bench: Bench, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "owner.token", 0o600)

    async with asyncio.timeout(60):
        with pytest.raises(InternalError):
            await _owner(bench, tmp_path)
