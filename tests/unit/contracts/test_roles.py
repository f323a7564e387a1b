"""Roles: what each may do, and how two of them compare."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import (
    LEAST,
    Permission,
    Role,
    check_may,
    min_role,
    role_too_small_error,
)

# The permissions that each role adds to those of the roles before it.
ADDED = {
    Role.VIEWER: {"read", "account"},
    Role.OPERATOR: {"run", "switch", "decide"},
    Role.EDITOR: {"edit", "secret"},
    Role.ADMIN: {"connect", "members", "audit"},
    Role.OWNER: {"own"},
}


@pytest.mark.parametrize("role", list(Role))
def test_a_role_has_its_permissions_and_those_of_the_smaller_roles(role: Role) -> None:
    smaller = list(ADDED)[: list(ADDED).index(role) + 1]
    allowed = {permission.value for permission in Permission if role.may(permission)}
    assert allowed == set().union(*(ADDED[one] for one in smaller))


def test_roles_have_the_names_that_the_database_keeps() -> None:
    assert [role.value for role in Role] == ["viewer", "operator", "editor", "admin", "owner"]


def test_every_permission_has_a_least_role_and_is_described() -> None:
    assert set(LEAST) == set(Permission)
    meanings = [permission.meaning for permission in Permission]
    deeds = [permission.deed for permission in Permission]
    assert len(set(meanings)) == len(set(deeds)) == len(Permission)
    assert all(text.endswith(".") for text in meanings)


@pytest.mark.parametrize(
    ("one", "other", "smaller"),
    [
        (Role.VIEWER, Role.OWNER, Role.VIEWER),
        (Role.OWNER, Role.VIEWER, Role.VIEWER),
        (Role.EDITOR, Role.OPERATOR, Role.OPERATOR),
        (Role.ADMIN, Role.ADMIN, Role.ADMIN),
    ],
)
def test_a_token_gives_the_smaller_of_two_roles(one: Role, other: Role, smaller: Role) -> None:
    assert min_role(one, other) is smaller


def test_a_refusal_names_the_role_and_the_least_that_is_needed() -> None:
    refused = role_too_small_error(Role.VIEWER, Permission.EDIT)
    assert refused.code == "role_too_small"
    assert "(viewer)" in refused.detail
    assert Permission.EDIT.deed in refused.detail
    assert refused.detail.endswith("the required role is editor or more.")


def test_a_refusal_to_somebody_without_a_role_says_so() -> None:
    assert role_too_small_error(None, Permission.READ).detail.startswith("Without a role here you ")


def test_only_an_owner_is_enough_for_what_takes_an_owner() -> None:
    assert role_too_small_error(Role.ADMIN, Permission.OWN).detail.endswith(
        "the required role is owner."
    )


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("permission", list(Permission))
def test_a_role_that_is_too_small_is_refused(role: Role | None, permission: Permission) -> None:
    if role is not None and role.rank >= LEAST[permission].rank:
        check_may(role, permission)
        return
    with pytest.raises(PermissionDenied) as refused:
        check_may(role, permission)
    assert refused.value.code == "role_too_small"
