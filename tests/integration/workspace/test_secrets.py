"""Secrets as capabilities: whose they are, who may touch them, and what is kept of a call."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.vault import SecretScope, publisher_scope
from tests.kit.bench import Bench
from tests.kit.members import member

VALUE = "a-value-that-nobody-else-may-see"


class People:
    """A workspace with one member of each role."""

    def __init__(self, bench: Bench, visitors: dict[Role, CapabilityCaller]) -> None:
        self.bench = bench
        self.visitors = visitors

    def id(self, role: Role) -> UUID:
        return self.visitors[role].actor.id

    def secret_scope(self, role: Role) -> SecretScope:
        return SecretScope(self.bench.application.workspace_id, self.id(role))

    async def call(self, role: Role, capability: str, **arguments: Any) -> Any:
        return await self.bench.application.gate.direct(self.visitors[role], capability, arguments)


@pytest_asyncio.fixture
async def people(bench: Bench) -> People:
    application = bench.application
    made = {
        role: await member(application.database, application.workspace_id, role) for role in Role
    }
    return People(bench, made)


async def test_a_secret_is_set_listed_and_deleted_by_its_owner(people: People) -> None:
    editor = Role.EDITOR
    made = await people.call(
        editor, "automation_secret_set", name="key_1", value=VALUE, description="for tests"
    )
    assert made.keys() == {"id", "owner_user_id", "name"}
    assert (made["owner_user_id"], made["name"]) == (str(people.id(editor)), "key_1")

    again = await people.call(editor, "automation_secret_set", name="key_1", value=VALUE + "2")
    assert again == made
    vault = people.bench.application.vault
    assert await vault.reveal(people.secret_scope(editor), ["key_1"]) == {"key_1": VALUE + "2"}

    listed = await people.call(editor, "automation_secret_list")
    assert listed["owner_user_id"] == str(people.id(editor))
    [entry] = listed["secrets"]
    assert entry.keys() == {"id", "name", "description", "created_at", "updated_at"}
    assert (entry["id"], entry["description"]) == (made["id"], "for tests")
    assert entry["updated_at"] > entry["created_at"]

    assert await people.call(editor, "automation_secret_delete", name="key_1") == {"deleted": 1}
    assert await people.call(editor, "automation_secret_delete", name="key_1") == {"deleted": 0}
    assert (await people.call(editor, "automation_secret_list"))["secrets"] == []


async def test_a_secret_belongs_to_one_member_and_admins_may_look_after_it(people: People) -> None:
    owner, editor, admin = (str(people.id(role)) for role in (Role.OWNER, Role.EDITOR, Role.ADMIN))
    await people.call(Role.EDITOR, "automation_secret_set", name="mine", value=VALUE)

    for capability, arguments in (
        ("automation_secret_set", {"name": "mine", "value": "x", "owner_user_id": admin}),
        ("automation_secret_list", {"owner_user_id": owner}),
        ("automation_secret_delete", {"name": "mine", "owner_user_id": admin}),
        # Somebody who is not here is refused alike: nobody learns who is.
        ("automation_secret_list", {"owner_user_id": str(generate_id())}),
    ):
        with pytest.raises(PermissionDenied) as refused:
            await people.call(Role.EDITOR, capability, **arguments)
        assert refused.value.code == "other_owner"
        assert [entry.pointer for entry in refused.value.findings] == ["/owner_user_id"]
    # One's own id may be said.
    await people.call(Role.EDITOR, "automation_secret_list", owner_user_id=editor)

    await people.call(
        Role.ADMIN, "automation_secret_set", name="mine", value="other", owner_user_id=editor
    )
    vault = people.bench.application.vault
    assert await vault.reveal(people.secret_scope(Role.EDITOR), ["mine"]) == {"mine": "other"}
    with pytest.raises(NotFound):
        await vault.reveal(people.secret_scope(Role.ADMIN), ["mine"])
    with pytest.raises(NotFound) as nobody:
        await people.call(Role.ADMIN, "automation_secret_list", owner_user_id=str(generate_id()))
    assert nobody.value.code == "no_member"
    listed = await people.call(Role.ADMIN, "automation_secret_list", owner_user_id=editor)
    assert [entry["name"] for entry in listed["secrets"]] == ["mine"]


async def test_the_role_decides_and_no_run_can_ever_be_granted_it(people: People) -> None:
    allowed = {
        "automation_secret_set": Role.EDITOR,
        "automation_secret_list": Role.EDITOR,
        "automation_secret_delete": Role.EDITOR,
        "publisher_secret_set": Role.ADMIN,
        "publisher_secret_list": Role.EDITOR,
        "publisher_secret_delete": Role.ADMIN,
    }
    for capability, least in allowed.items():
        name = "KEY" if capability.startswith("publisher") else "of_role"
        arguments: dict[str, str] = {} if capability.endswith("list") else {"name": name}
        if capability.endswith("set"):
            arguments["value"] = VALUE
        assert not people.bench.application.registry.capabilities[capability].grantable
        for role in Role:
            if role.rank >= least.rank:
                await people.call(role, capability, **arguments)
                continue
            with pytest.raises(PermissionDenied) as refused:
                await people.call(role, capability, **arguments)
            assert refused.value.code == "role_too_small"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"value": VALUE}, "/name"),
    ({"name": "Key", "value": VALUE}, "/name"),
    ({"name": "a" * 65, "value": VALUE}, "/name"),
    ({"name": VALUE + " in the wrong place", "value": "x"}, "/name"),
    ({"name": "k"}, "/value"),
    ({"name": "k", "value": ""}, "/value"),
    ({"name": "k", "value": VALUE * 300}, "/value"),
    ({"name": "k", "value": "ü" * 8_192}, "/value"),
    ({"name": "k", "value": {"nested": VALUE}}, "/value"),
    ({"name": "k", "value": [VALUE]}, "/value"),
    ({"name": "k", "value": VALUE, "description": "d" * 501}, "/description"),
    ({"name": "k", "value": "x", "valeu": VALUE}, ""),
    ({"name": "k", "value": "x", VALUE: "swapped"}, ""),
    ({"name": "k", "value": VALUE, "owner_user_id": "me"}, "/owner_user_id"),
]


async def test_bad_arguments_are_pointed_at_and_the_value_is_kept_nowhere(people: People) -> None:
    for arguments, pointer in WRONG:
        with pytest.raises(Invalid) as refused:
            await people.call(Role.EDITOR, "automation_secret_set", **arguments)

        assert pointer in {finding.pointer for finding in refused.value.findings}
        assert VALUE not in json.dumps(refused.value.as_dict())
    assert VALUE not in await _everything_recorded(people)
    rows = await people.bench.application.database.fetch("SELECT outcome FROM direct_calls")
    assert [row["outcome"] for row in rows] == ["failed"] * len(WRONG)
    assert await people.bench.application.vault.names(people.secret_scope(Role.EDITOR)) == ()


async def test_a_call_is_recorded_without_its_value_and_without_a_digest_of_it(
    people: People,
) -> None:
    for value in ("1234", "5678"):
        await people.call(Role.EDITOR, "automation_secret_set", name="pin", value=value)

    rows = await people.bench.application.database.fetch(
        "SELECT arguments, arguments_hash, outcome FROM direct_calls ORDER BY id"
    )
    assert [row["outcome"] for row in rows] == ["kept", "kept"]
    assert all(row["arguments"] == {"name": "pin", "value": "[hidden]"} for row in rows)
    # Two values, one digest: it says nothing about either.
    assert len({row["arguments_hash"] for row in rows}) == 1
    # What was not there is not gone now.
    await people.call(Role.EDITOR, "automation_secret_delete", name="nosuch")
    await people.call(Role.EDITOR, "automation_secret_delete", name="pin")
    result = await people.bench.application.database.fetch(
        "SELECT action, subject FROM audit_log ORDER BY id"
    )
    assert [(row["action"], row["subject"]) for row in result] == [
        *[("automation_secret_set", "pin")] * 2,
        ("automation_secret_delete", "pin"),
    ]


async def test_a_publisher_secret_belongs_to_the_workspace(people: People) -> None:
    made = await people.call(
        Role.ADMIN, "publisher_secret_set", name="API_KEY", value=VALUE, description="recipes"
    )
    assert made.keys() == {"id", "name"}
    listed = await people.call(Role.OWNER, "publisher_secret_list")
    assert [entry["name"] for entry in listed["secrets"]] == ["API_KEY"]
    assert (await people.call(Role.OWNER, "automation_secret_list"))["secrets"] == []

    vault, space = people.bench.application.vault, people.bench.application.workspace_id
    scope = publisher_scope(space)
    assert await vault.reveal(scope, ["API_KEY"]) == {"API_KEY": VALUE}
    for wrong in ("api_key", "1KEY", "_KEY", "A" * 65, "A-B", ""):
        with pytest.raises(Invalid):
            await people.call(Role.ADMIN, "publisher_secret_set", name=wrong, value="x")
    assert await people.call(Role.OWNER, "publisher_secret_delete", name="API_KEY") == {
        "deleted": 1
    }


async def test_names_that_differ_in_nothing_but_case_are_refused_both_ways(people: People) -> None:
    await people.call(Role.EDITOR, "automation_secret_set", name="token", value=VALUE)
    await people.call(Role.ADMIN, "publisher_secret_set", name="OTHER", value=VALUE)

    for role, capability, name in (
        (Role.ADMIN, "publisher_secret_set", "TOKEN"),
        (Role.OWNER, "automation_secret_set", "other"),
    ):
        with pytest.raises(Conflict) as refused:
            await people.call(role, capability, name=name, value="x")
        assert refused.value.code == "secret_name_case"
        assert [entry.pointer for entry in refused.value.findings] == ["/name"]
    # Two members may use one name; a name that is free again may be taken.
    await people.call(Role.OWNER, "automation_secret_set", name="token", value=VALUE)
    await people.call(Role.ADMIN, "publisher_secret_delete", name="OTHER")
    await people.call(Role.OWNER, "automation_secret_set", name="other", value=VALUE)


async def test_another_workspace_has_secrets_of_its_own(people: People) -> None:
    application = people.bench.application
    elsewhere = generate_id()
    await application.database.execute(
        "INSERT INTO workspaces (workspace_id, name) VALUES ($1, 'elsewhere')", elsewhere
    )
    anonymous = await member(application.database, elsewhere, Role.OWNER)
    await people.call(Role.EDITOR, "automation_secret_set", name="ours", value=VALUE)
    arguments = {"owner_user_id": str(people.id(Role.EDITOR))}

    with pytest.raises(NotFound) as refused:
        await application.gate.direct(anonymous, "automation_secret_list", arguments)
    with pytest.raises(NotFound) as nobody:
        await application.gate.direct(
            anonymous, "automation_secret_list", {"owner_user_id": str(generate_id())}
        )

    assert refused.value.as_dict() == nobody.value.as_dict()
    # The other kind's names are looked at within the workspace alone.
    await application.gate.direct(anonymous, "publisher_secret_set", {"name": "OURS", "value": "x"})


async def test_a_handler_without_a_key_fails_with_a_sentence(people: People) -> None:
    await people.call(Role.EDITOR, "automation_secret_set", name="first", value=VALUE)
    people.bench.application.vault.keyring.file.write_text("not a key")

    with pytest.raises(Problem) as refused:
        await people.call(Role.EDITOR, "automation_secret_set", name="second", value=VALUE)

    assert refused.value.code == "master_key"
    assert VALUE not in await _everything_recorded(people)


async def _everything_recorded(people: People) -> str:
    rows = await people.bench.application.database.fetch(
        "SELECT d::text AS one FROM direct_calls d UNION ALL SELECT a::text FROM audit_log a"
    )
    hashes = await people.bench.application.database.fetch(
        "SELECT arguments_hash FROM direct_calls"
    )
    guessed = hashlib.blake2b(VALUE.encode(), digest_size=16).digest()
    assert guessed not in {row["arguments_hash"] for row in hashes}
    return "\n".join(row["one"] for row in rows)
