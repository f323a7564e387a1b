"""Whose agreement counts in a workspace, as its own rows say, and which policy is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Invalid, PersonRequired
from mainspring.contracts.ids import generate_id
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Role
from mainspring.store.database import Connection, Database
from mainspring.workspace.approval_policy import (
    DECIDERS,
    GET_APPROVAL_POLICY,
    SET_APPROVAL_POLICY,
    ApprovalPolicy,
    explain_lockout,
    load_approval_policy,
    parse_approval_policy,
)
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()
STRICT = {
    "approvers": 2,
    "roles": ["admin"],
    "author_may_approve": False,
    "draft_seconds": 600,
    "held_seconds": 86_400,
}
USUAL = {
    "approvers": 1,
    "roles": [],
    "author_may_approve": True,
    "draft_seconds": None,
    "held_seconds": None,
}


async def _call(tx: Connection, one: Capability, space: UUID = HERE, **value: Any) -> Any:
    context: Any = SimpleNamespace(
        actor=Actor(space, "member", generate_id(), role=Role.OWNER), tx=tx
    )
    return await one.handler(context, value)


async def _member(tx: Connection, role: str, space: UUID = HERE, *, disabled: bool = False) -> None:
    user = generate_id()
    await tx.execute(
        "INSERT INTO users (id, email, name, disabled_at) "
        "VALUES ($1, $2, 'x', CASE WHEN $3 THEN now() END)",
        user,
        f"{user}@example.com",
        disabled,
    )
    await tx.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, $3)", space, user, role
    )


@pytest_asyncio.fixture
async def spaces(database: Database) -> Database:
    """Two workspaces; here are an owner and a viewer, there three administrators more."""
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    async with database.transaction() as tx:
        await _member(tx, "owner")
        await _member(tx, "viewer")
        for role in ("owner", "admin", "admin", "admin"):
            await _member(tx, role, THERE)
    return database


async def test_a_policy_is_kept_for_its_own_workspace(spaces: Database) -> None:
    async with spaces.transaction() as tx:
        assert await _call(tx, GET_APPROVAL_POLICY, THERE) == USUAL
        assert await _call(tx, SET_APPROVAL_POLICY, THERE, **STRICT) == STRICT
        assert await _call(tx, GET_APPROVAL_POLICY, THERE) == STRICT
        assert await _call(tx, GET_APPROVAL_POLICY) == USUAL
        assert await load_approval_policy(tx, THERE) == ApprovalPolicy(2, (Role.ADMIN,), False)
        assert await load_approval_policy(tx, HERE) == ApprovalPolicy()
        # A workspace that is gone has what is usual.
        assert await load_approval_policy(tx, generate_id()) == ApprovalPolicy()
        assert await _call(tx, GET_APPROVAL_POLICY, generate_id()) == USUAL


async def test_what_is_left_out_stays_and_the_same_again_is_no_change(spaces: Database) -> None:
    async with spaces.transaction() as tx:
        await _call(tx, SET_APPROVAL_POLICY, THERE, **STRICT)
        same = await _call(tx, SET_APPROVAL_POLICY, THERE, approvers=2)
        assert isinstance(same, Unchanged)
        assert same.value == STRICT
        less = await _call(tx, SET_APPROVAL_POLICY, THERE, approvers=1)
        assert less == {**STRICT, "approvers": 1}
        assert await _call(tx, GET_APPROVAL_POLICY, THERE) == less


@pytest.mark.parametrize("disabled", [False, True])
async def test_only_members_here_who_can_sign_in_are_counted(
    spaces: Database, disabled: bool
) -> None:
    async with spaces.transaction() as tx:
        await _member(tx, "editor", disabled=disabled)
        if not disabled:
            assert (await _call(tx, SET_APPROVAL_POLICY, approvers=2))["approvers"] == 2
        with pytest.raises(Invalid) as refused:
            await _call(tx, SET_APPROVAL_POLICY, approvers=2 + (not disabled))
        assert refused.value.code == "policy_locks_out"
        assert refused.value.findings[0].pointer == "/approvers"


async def test_a_policy_is_held_while_it_is_changed(spaces: Database) -> None:
    query = "SELECT 1 FROM workspaces WHERE workspace_id = $1 FOR UPDATE NOWAIT"
    async with spaces.transaction() as tx:
        assert isinstance(await _call(tx, SET_APPROVAL_POLICY), Unchanged)
        with pytest.raises(asyncpg.LockNotAvailableError):
            await spaces.execute(query, HERE)
        await spaces.execute(query, THERE)


def test_what_a_workspace_does_not_say_is_as_usual() -> None:
    assert parse_approval_policy({}) == ApprovalPolicy() == ApprovalPolicy(1, (), True)
    assert parse_approval_policy({"approvers": 3}) == ApprovalPolicy(3)
    assert parse_approval_policy({"roles": ["owner"]}) == ApprovalPolicy(1, (Role.OWNER,))
    assert parse_approval_policy({"author_may_approve": False}) == ApprovalPolicy(1, (), False)
    assert ApprovalPolicy(2, (Role.ADMIN,), False).as_dict() == {
        "approvers": 2,
        "roles": ["admin"],
        "author_may_approve": False,
    }


def test_the_named_roles_approve_and_where_none_is_named_all_that_may_decide() -> None:
    assert Role.VIEWER not in DECIDERS
    assert {Role.EDITOR, Role.ADMIN, Role.OWNER} <= set(DECIDERS)
    assert [role for role in Role if ApprovalPolicy().accepts(role)] == list(DECIDERS)
    owners = ApprovalPolicy(roles=(Role.OWNER,))
    assert [role for role in Role if owners.accepts(role)] == [Role.OWNER]
    assert not ApprovalPolicy().accepts(None)


@pytest.mark.parametrize(
    ("approvers", "author", "others"),
    [(1, True, False), (2, True, True), (1, False, True), (2, False, True)],
)
def test_nobody_sends_alone_what_needs_others(approvers: int, author: bool, others: bool) -> None:
    assert ApprovalPolicy(approvers, (), author).needs_others is others


@pytest.mark.parametrize(
    ("approvers", "author", "roles", "expected"),
    [
        (1, True, ["owner"], None),
        (2, True, ["owner", "admin"], None),
        (1, False, ["owner", "admin"], None),
        (1, True, ["viewer"], "only 0 members here could:"),
        (2, True, ["owner", "viewer"], "only 1 member here could:"),
        (3, True, ["owner", "admin"], "only 2 members here could:"),
        (1, False, ["owner"], "only 1 member here could, and one of them may be the author:"),
        (2, False, ["owner", "editor"], "only 2 members here could, and one of them may be the"),
    ],
)
def test_a_policy_that_nobody_can_fulfil_is_explained(
    approvers: int, author: bool, roles: list[str], expected: str | None
) -> None:
    reason = explain_lockout(ApprovalPolicy(approvers, (), author), roles)
    if expected is None:
        assert reason is None
    else:
        assert reason is not None
        assert expected in reason


async def test_only_a_person_decides_whose_agreement_counts(spaces: Database) -> None:
    async with spaces.transaction() as tx:
        for actor in (
            Actor(THERE, "client", generate_id(), role=Role.OWNER),
            Actor(THERE, "member", generate_id(), role=Role.OWNER, by_program=True),
        ):
            context: Any = SimpleNamespace(actor=actor, tx=tx)
            with pytest.raises(PersonRequired):
                await SET_APPROVAL_POLICY.handler(context, STRICT)
        assert await _call(tx, GET_APPROVAL_POLICY, THERE) == USUAL
