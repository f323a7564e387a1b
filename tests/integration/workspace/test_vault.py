"""The vault over a real database: values come back to their owner and to nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, InternalError, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.keyring import create_key
from mainspring.workspace.vault import SecretScope, Vault

VALUES = [
    "x",
    "sk-live-0123456789",
    "line one\nline two\n",
    "{{ secrets.other }} ${HOME} %s",
    '{"json": "like"}',
    "^(regex+)*$",
    "ключ 🔑",
    "nul \0 inside",
    "y" * 8_192,
]


@pytest_asyncio.fixture
async def workspaces(database: Database) -> tuple[SecretScope, SecretScope]:
    made = (generate_id(), generate_id())
    for workspace_id in made:
        await database.execute(
            "INSERT INTO workspaces (workspace_id, name) VALUES ($1, 'test')", workspace_id
        )
    return SecretScope(made[0], FIRST_MEMBER), SecretScope(made[1], FIRST_MEMBER)


@pytest.fixture
def vault(database: Database, tmp_path: Path) -> Vault:
    return Vault(database, tmp_path / "master.key", Limits())


async def test_values_come_back_as_they_were(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    names = {f"secret_{number}": value for number, value in enumerate(VALUES)}
    for name, value in names.items():
        await vault.set(workspaces[0], name, value)

    assert await vault.reveal(workspaces[0], names) == names
    assert await vault.reveal(workspaces[0], []) == {}


async def test_a_list_tells_everything_but_the_values(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    stored = await vault.set(workspaces[0], "b_key", "value-of-b", "for the b system")
    await vault.set(workspaces[0], "a_key", "value-of-a")

    result = await vault.names(workspaces[0])

    assert [entry.name for entry in result] == ["a_key", "b_key"]
    assert result[1] == stored
    assert result[1].description == "for the b system"
    assert "value-of" not in repr(result)
    assert await vault.names(workspaces[1]) == ()


async def test_a_second_value_takes_the_place_of_the_first(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    first = await vault.set(workspaces[0], "key", "one", "first")
    second = await vault.set(workspaces[0], "key", "two")

    assert await vault.reveal(workspaces[0], ["key"]) == {"key": "two"}
    assert (second.id, second.created_at) == (first.id, first.created_at)
    # A description that was not given again is still there.
    assert second.description == "first"
    assert second.updated_at > first.updated_at


async def test_a_deleted_secret_is_gone(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    await vault.set(workspaces[0], "key", "one")

    assert not await vault.delete(workspaces[1], "key")
    assert await vault.delete(workspaces[0], "key")
    assert not await vault.delete(workspaces[0], "key")
    with pytest.raises(NotFound):
        await vault.reveal(workspaces[0], ["key"])


async def test_a_secret_that_is_absent_is_named(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    await vault.set(workspaces[0], "here", "one")

    with pytest.raises(NotFound, match="not_here") as caught:
        await vault.reveal(workspaces[0], ["here", "not_here"])

    assert caught.value.code == "secret_missing"


async def test_another_workspace_sees_nothing(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    await vault.set(workspaces[0], "key", "one")
    await vault.set(workspaces[1], "key", "two")

    assert await vault.reveal(workspaces[0], ["key"]) == {"key": "one"}
    assert await vault.reveal(workspaces[1], ["key"]) == {"key": "two"}


async def test_nothing_in_the_table_can_be_read(
    vault: Vault, database: Database, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    await vault.set(workspaces[0], "key", "the-plain-value")
    await vault.set(workspaces[0], "same", "the-plain-value")

    rows = await database.fetch("SELECT * FROM secrets ORDER BY name")

    assert all(b"plain" not in bytes(row["ciphertext"]) for row in rows)
    assert "plain" not in str([dict(row) for row in rows])
    assert rows[0]["nonce"] != rows[1]["nonce"]
    assert rows[0]["ciphertext"] != rows[1]["ciphertext"]


ONE = "WHERE workspace_id = $1 AND name = 'one'"
FROM_TWO = "FROM secrets b WHERE a.workspace_id = $1 AND b.workspace_id = $1 AND b.name = 'two'"
FROM_OTHER = "FROM secrets b WHERE a.workspace_id = $1 AND b.workspace_id = $2 AND b.name = 'one'"
SEALED = "nonce = b.nonce, ciphertext = b.ciphertext"


@pytest.mark.parametrize(
    "swap",
    [
        pytest.param(f"UPDATE secrets a SET {SEALED} {FROM_TWO} AND a.name = 'one'", id="name"),
        pytest.param(f"UPDATE secrets SET name = 'gone' {ONE}", id="renamed"),
        pytest.param(
            f"UPDATE secrets a SET {SEALED}, id = b.id {FROM_OTHER} AND a.name = 'one'",
            id="workspace",
        ),
        pytest.param(f"UPDATE secrets SET id = gen_random_uuid() {ONE}", id="identity"),
        pytest.param(
            f"UPDATE secrets SET ciphertext = set_bit(ciphertext, 3, 1 - get_bit(ciphertext, 3))"
            f" {ONE}",
            id="bit of the value",
        ),
        pytest.param(
            f"UPDATE secrets SET nonce = set_bit(nonce, 3, 1 - get_bit(nonce, 3)) {ONE}",
            id="bit of the nonce",
        ),
        pytest.param(f"UPDATE secrets SET nonce = ''::bytea {ONE}", id="no nonce"),
        pytest.param(f"UPDATE secrets SET ciphertext = ''::bytea {ONE}", id="no value"),
    ],
)
async def test_a_row_that_was_moved_or_changed_does_not_open(
    vault: Vault, database: Database, workspaces: tuple[SecretScope, SecretScope], swap: str
) -> None:
    for secret_scope in workspaces:
        for name in ("one", "two"):
            await vault.set(secret_scope, name, f"value {name} of {secret_scope}")
    values = [secret_scope.workspace_id for secret_scope in workspaces][: 2 if "$2" in swap else 1]

    assert await database.execute(swap, *values) == "UPDATE 1"

    name = "gone" if "'gone'" in swap else "one"
    with pytest.raises(InternalError) as caught:
        await vault.reveal(workspaces[0], [name])
    assert caught.value.code == "secret_damaged"
    assert not caught.value.retryable


async def test_another_key_opens_nothing_and_says_so(
    database: Database, workspaces: tuple[SecretScope, SecretScope], tmp_path: Path
) -> None:
    await Vault(database, tmp_path / "one.key", Limits()).set(workspaces[0], "key", "value")
    (tmp_path / "one.key").unlink()
    other = tmp_path / "two.key"
    create_key(other)

    with pytest.raises(Conflict) as caught:
        await Vault(database, other, Limits()).reveal(workspaces[0], ["key"])

    assert caught.value.code == "secret_other_key"


async def test_a_lost_key_is_not_made_again_while_secrets_exist(
    database: Database, workspaces: tuple[SecretScope, SecretScope], tmp_path: Path
) -> None:
    path = tmp_path / "master.key"
    await Vault(database, path, Limits()).set(workspaces[0], "key", "value")
    path.unlink()
    fresh = Vault(database, path, Limits())

    for attempt in (fresh.set(workspaces[1], "new", "v"), fresh.reveal(workspaces[0], ["key"])):
        with pytest.raises(InternalError) as caught:
            await attempt
        assert caught.value.code == "master_key_missing"
    assert not path.exists()


async def test_a_worker_whose_key_opens_nothing_does_not_begin(
    database: Database, workspaces: tuple[SecretScope, SecretScope], tmp_path: Path
) -> None:
    right, other = tmp_path / "right.key", tmp_path / "other.key"
    await Vault(database, right, Limits()).check_readable()
    await Vault(database, right, Limits()).set(workspaces[0], "key", "value")
    await Vault(database, right, Limits()).check_readable()
    for there in (False, True):
        if there:
            create_key(other)
        with pytest.raises(InternalError) as caught:
            await Vault(database, other, Limits()).check_readable()
        assert caught.value.code == "no_secret_opens"


async def test_two_processes_with_one_key_file_understand_each_other(
    database: Database, workspaces: tuple[SecretScope, SecretScope], tmp_path: Path
) -> None:
    vaults = [Vault(database, tmp_path / "master.key", Limits()) for _ in range(4)]

    await asyncio.gather(
        *(vault.set(workspaces[0], f"key_{n}", f"value {n}") for n, vault in enumerate(vaults))
    )

    assert await vaults[0].reveal(workspaces[0], [f"key_{n}" for n in range(4)]) == {
        f"key_{n}": f"value {n}" for n in range(4)
    }


async def test_many_writers_of_one_name_leave_one_value_that_opens(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope]
) -> None:
    values = [f"value {number}" for number in range(20)]

    stored = await asyncio.gather(*(vault.set(workspaces[0], "key", value) for value in values))

    assert len({entry.id for entry in stored}) == 1
    assert (await vault.reveal(workspaces[0], ["key"]))["key"] in values


@pytest.mark.parametrize("name", ["", "A", "a-b", "a b", "ä", "a" * 65, "a.b", "a\n", "\0"])
async def test_a_name_is_lower_case_letters_digits_and_underscores(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope], name: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await vault.set(workspaces[0], name, "value")

    assert caught.value.code == "secret_name"


@pytest.mark.parametrize("value", ["", "y" * 8_193, "ü" * 4_097, "\ud800"])
async def test_a_value_has_a_size_and_is_never_quoted(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope], value: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await vault.set(workspaces[0], "key", value)

    assert caught.value.code == "secret_value"
    assert caught.value.__cause__ is None
    assert len(str(caught.value.as_dict())) < 400


@pytest.mark.parametrize("description", ["d" * 501, "a\0b"])
async def test_a_description_is_short_text(
    vault: Vault, workspaces: tuple[SecretScope, SecretScope], description: str
) -> None:
    with pytest.raises(Invalid):
        await vault.set(workspaces[0], "key", "value", description)
