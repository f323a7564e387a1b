"""Whose secrets are read for a call: the owner's own, and the workspace's for its admins."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, InternalError, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database
from mainspring.workspace.key_rotation import rotate
from mainspring.workspace.keyring import create_key
from mainspring.workspace.publisher_secrets import (
    SLACK_SIGNING_SECRET,
    check_may_publish,
    filter_publisher_secrets,
    format_set_hint,
    has_publisher_secret,
    list_set_publisher_secrets,
)
from mainspring.workspace.vault import SecretScope, Vault, connection_scope, publisher_scope
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()
ADMIN, EDITOR, DISABLED, GONE, ELSEWHERE = (generate_id() for _ in range(5))
CONNECTION = generate_id()
MEMBERS = [
    (HERE, ADMIN, "admin"),
    (HERE, EDITOR, "editor"),
    (HERE, DISABLED, "owner"),
    (THERE, ELSEWHERE, "owner"),
    (THERE, EDITOR, "owner"),
]


@pytest_asyncio.fixture
async def vault(database: Database, tmp_path: Path) -> Vault:
    """Every member has a secret of the same name, and so has each workspace."""
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    for user in {member for _, member, _ in MEMBERS}:
        await database.execute(
            "INSERT INTO users (id, email, name, disabled_at) "
            "VALUES ($1, $2, 'x', CASE WHEN $3 THEN now() END)",
            user,
            f"{user}@example.com",
            user == DISABLED,
        )
    for space, user, role in MEMBERS:
        await database.execute(
            "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, $3)",
            space,
            user,
            role,
        )
    vault = Vault(database, tmp_path / "master.key", Limits())
    for space, user, _ in [*MEMBERS, (HERE, GONE, "")]:
        await vault.set(SecretScope(space, user), "key", f"{space} {user}")
        await vault.set(SecretScope(space, user), "other", f"other {space} {user}")
    for space in (HERE, THERE):
        await vault.set(publisher_scope(space), "OURS", f"published {space}")
    await vault.set(connection_scope(HERE, CONNECTION), "token", "of the connection")
    return vault


async def test_each_member_reads_the_secrets_that_are_theirs(vault: Vault) -> None:
    for space, user in ((HERE, ADMIN), (HERE, EDITOR), (THERE, EDITOR), (THERE, ELSEWHERE)):
        assert await vault.lend(SecretScope(space, user), ["key"]) == {"key": f"{space} {user}"}
    both = await vault.lend(SecretScope(HERE, ADMIN), ["key", "other", "key"])
    assert both == {"key": f"{HERE} {ADMIN}", "other": f"other {HERE} {ADMIN}"}
    assert await vault.reveal(SecretScope(HERE, ADMIN), []) == {}


@pytest.mark.parametrize("user", [DISABLED, GONE, ELSEWHERE, generate_id()])
async def test_nobody_reads_for_an_owner_who_is_not_here(vault: Vault, user: UUID) -> None:
    with pytest.raises(NotFound) as refused:
        await vault.lend(SecretScope(HERE, user), ["key"])
    assert refused.value.code == "owner_left"
    # Without a secret there is nothing to refuse.
    assert await vault.lend(SecretScope(HERE, user), []) == {}


async def test_a_connection_reads_what_it_holds(vault: Vault) -> None:
    scope = connection_scope(HERE, CONNECTION)
    assert await vault.lend(scope, ["token"]) == {"token": "of the connection"}


async def test_an_admin_reads_what_belongs_to_the_workspace(vault: Vault) -> None:
    assert await vault.lend(SecretScope(HERE, ADMIN), ["key", "publisher.OURS"]) == {
        "key": f"{HERE} {ADMIN}",
        "publisher.OURS": f"published {HERE}",
    }
    assert await vault.lend(SecretScope(THERE, EDITOR), ["publisher.OURS"]) == {
        "publisher.OURS": f"published {THERE}"
    }


async def test_others_do_not_read_what_belongs_to_the_workspace(
    vault: Vault, database: Database
) -> None:
    with pytest.raises(PermissionDenied) as refused:
        await vault.lend(SecretScope(HERE, EDITOR), ["key", "publisher.OURS"])
    assert refused.value.code == "publisher_secret_denied"
    await check_may_publish(database, HERE, ADMIN)
    await check_may_publish(database, THERE, EDITOR)
    for user in (EDITOR, DISABLED, GONE, ELSEWHERE):
        with pytest.raises(PermissionDenied):
            await check_may_publish(database, HERE, user)


async def test_a_secret_that_verifies_requests_is_lent_to_nobody(
    vault: Vault, database: Database
) -> None:
    assert not await has_publisher_secret(database, HERE, SLACK_SIGNING_SECRET)
    await vault.set(publisher_scope(HERE), SLACK_SIGNING_SECRET, "signs")
    assert await has_publisher_secret(database, HERE, SLACK_SIGNING_SECRET)
    assert not await has_publisher_secret(database, THERE, SLACK_SIGNING_SECRET)
    for names in ([f"publisher.{SLACK_SIGNING_SECRET}"], ["key", "publisher.SLACK_SIGNING_SECRET"]):
        with pytest.raises(PermissionDenied) as refused:
            await vault.lend(SecretScope(HERE, ADMIN), names)
        assert refused.value.code == "secret_not_sendable"
    # What verifies a request reads it from where it is kept.
    held = await vault.reveal(publisher_scope(HERE), [SLACK_SIGNING_SECRET])
    assert held == {SLACK_SIGNING_SECRET: "signs"}


async def test_a_secret_that_is_missing_is_named_with_what_to_do(vault: Vault) -> None:
    for secret_scope, name, says, remedy in (
        (SecretScope(HERE, ADMIN), "gone", "no secret called gone", "mainspring secrets set gone`"),
        (publisher_scope(HERE), "GONE", "no publisher secret called GONE", "GONE --publisher`"),
    ):
        with pytest.raises(NotFound) as missing:
            await vault.reveal(
                secret_scope, ["key" if secret_scope.kind == "automation" else "OURS", name]
            )
        assert says in missing.value.detail
        assert missing.value.suggestion is not None
        assert remedy in missing.value.suggestion
    assert format_set_hint("X") == "An admin adds it with `mainspring secrets set X --publisher`."


async def test_only_names_of_the_workspace_are_published(vault: Vault, database: Database) -> None:
    assert filter_publisher_secrets(["publisher.OURS", "key", "publisher"]) == {"OURS"}
    names = ["publisher.OURS", "publisher.NONE", "key", "publisher.key"]
    assert await list_set_publisher_secrets(database, HERE, names) == {"publisher.OURS"}
    assert await list_set_publisher_secrets(database, HERE, ["publisher.NONE"]) == set()
    assert await list_set_publisher_secrets(database, HERE, ["key"]) == set()
    await vault.delete(publisher_scope(HERE), "OURS")
    assert await list_set_publisher_secrets(database, HERE, names) == set()
    # Nor what a row says that belongs to somebody else.
    row = SecretScope(HERE, ADMIN, "publisher")
    await vault.set(row, "OURS", "not of the workspace")
    await vault.set(SecretScope(HERE, HERE), "ours_too", "of no member")
    assert await list_set_publisher_secrets(database, HERE, [*names, "publisher.ours_too"]) == set()


async def test_a_key_that_another_process_made_is_found(
    database: Database, vault: Vault, tmp_path: Path
) -> None:
    scope = SecretScope(HERE, ADMIN)
    kept = (tmp_path / "master.key").read_bytes()
    other = Vault(database, tmp_path / "late.key", Limits())
    await other.keyring.keys()
    with pytest.raises(InternalError) as missing:
        await other.reveal(scope, ["key"])
    assert (missing.value.code, missing.value.retryable) == ("master_key_missing", False)
    (tmp_path / "late.key").write_bytes(kept)
    (tmp_path / "late.key").chmod(0o600)
    assert await other.reveal(scope, ["key"]) == {"key": f"{HERE} {ADMIN}"}


async def test_a_key_that_was_changed_meanwhile_is_read_again(
    database: Database, vault: Vault, tmp_path: Path
) -> None:
    other = Vault(database, tmp_path / "master.key", Limits())
    scope = SecretScope(HERE, ADMIN)
    before = await other.reveal(scope, ["key", "other"])
    done = await rotate(database, vault.keyring)
    assert done.retired is not None
    done.retired.unlink()
    assert await other.reveal(scope, ["key", "other"]) == before


async def test_a_key_command_that_answers_another_key_is_asked_again(
    database: Database, vault: Vault, tmp_path: Path
) -> None:
    """No file shows that the key has changed."""
    del vault
    secret_scope, first, second = SecretScope(HERE, ADMIN), tmp_path / "first", tmp_path / "second"
    kept = []
    for path, name in ((first, "sealed_first"), (second, "sealed_second")):
        create_key(path)
        with_command = Vault(database, tmp_path / "none", Limits(), key_command=f"cat {path}")
        await with_command.set(secret_scope, name, name)
        kept.append(with_command)
    assert await kept[0].reveal(secret_scope, ["sealed_first"]) == {"sealed_first": "sealed_first"}
    first.write_bytes(second.read_bytes())
    assert await kept[0].reveal(secret_scope, ["sealed_second"]) == {
        "sealed_second": "sealed_second"
    }


async def test_what_does_not_open_is_not_read(
    database: Database, vault: Vault, tmp_path: Path
) -> None:
    scope = SecretScope(HERE, ADMIN)
    create_key(tmp_path / "other.key")
    with pytest.raises(Conflict) as closed:
        await Vault(database, tmp_path / "other.key", Limits()).reveal(scope, ["key"])
    assert closed.value.code == "secret_other_key"
    await database.execute("UPDATE secrets SET nonce = '' WHERE name = 'key'")
    with pytest.raises(InternalError) as damaged:
        await vault.reveal(scope, ["other", "key"])
    assert (damaged.value.code, damaged.value.retryable) == ("secret_damaged", False)
