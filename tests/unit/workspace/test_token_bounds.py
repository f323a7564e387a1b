"""A new token gives no more than its maker has: role, capabilities and time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Audience, Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Invalid, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Permission, Role
from mainspring.workspace.tokens import (
    MOST_APPROVED,
    StoredToken,
    TokenLimits,
    check_bounds,
    describe_token,
)

NOW = datetime(2026, 5, 26, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)


async def _nothing(ctx: Any, value: Any) -> None:
    del ctx, value


def _capability(name: str, permission: Permission, audience: Audience) -> Capability:
    hints = Annotations(audience=audience, permission=permission)
    return Capability(name, name, {}, {}, _nothing, annotations=hints)


KNOWN = {
    one.id: one
    for one in (
        _capability("kv.get", Permission.READ, Audience.ANYONE),
        _capability("kv.set", Permission.EDIT, Audience.PEOPLE),
        _capability("run.only", Permission.READ, Audience.RUNS),
        _capability("admin_reset", Permission.READ, Audience.ADMINISTRATORS),
        _capability("answer_consent", Permission.EDIT, Audience.PEOPLE),
    )
}


def _check(
    bounds: TokenLimits,
    role: Role | None = Role.OWNER,
    *,
    administrator: bool = False,
    ends: datetime | None = None,
) -> None:
    actor = Actor(generate_id(), "member", generate_id(), role=role, administrator=administrator)
    check_bounds(bounds, actor, KNOWN, NOW, ends)


def test_a_token_has_at_most_the_role_of_its_maker() -> None:
    _check(TokenLimits(Role.EDITOR), Role.EDITOR)
    _check(TokenLimits(Role.VIEWER), Role.EDITOR)
    for role in (Role.OPERATOR, None):
        with pytest.raises(PermissionDenied) as refused:
            _check(TokenLimits(Role.EDITOR), role)
        assert refused.value.code == "role_too_small"
        assert refused.value.findings[0].pointer == "/role"


@pytest.mark.parametrize(
    ("name", "role", "administrator", "code"),
    [
        ("kv.get", Role.VIEWER, False, None),
        ("kv.set", Role.EDITOR, False, None),
        ("kv.set", Role.OPERATOR, False, "capability_out_of_reach"),
        ("run.only", Role.OWNER, True, "capability_out_of_reach"),
        ("admin_reset", Role.OWNER, True, None),
        ("admin_reset", Role.OWNER, False, "capability_out_of_reach"),
        ("admin_reset", Role.ADMIN, True, "capability_out_of_reach"),
        ("unheard.of", Role.OWNER, True, "unknown_capability"),
    ],
)
def test_a_token_names_only_what_it_can_call(
    name: str, role: Role, administrator: bool, code: str | None
) -> None:
    bounds = TokenLimits(role, ("kv.get", name))
    if code is None:
        _check(bounds, administrator=administrator)
        return
    with pytest.raises(Invalid) as refused:
        _check(bounds, administrator=administrator)
    (found,) = refused.value.findings
    assert (found.pointer, found.code) == ("/capabilities/1", code)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        (NOW + DAY, None),
        (None, None),
        (datetime(9998, 12, 31, tzinfo=UTC), None),
        (NOW, "past"),
        (NOW - DAY, "past"),
        (datetime(9999, 1, 1, tzinfo=UTC), "range"),
    ],
)
def test_a_token_ends_in_the_future(ends: datetime | None, code: str | None) -> None:
    bounds = TokenLimits(expires_at=ends)
    if code is None:
        _check(bounds)
        return
    with pytest.raises(Invalid) as refused:
        _check(bounds)
    assert [found.code for found in refused.value.findings] == [code]


def test_a_token_made_with_another_does_not_outlive_it() -> None:
    _check(TokenLimits(expires_at=NOW + DAY), ends=NOW + DAY)
    for late in (None, NOW + DAY + timedelta(seconds=1)):
        with pytest.raises(PermissionDenied) as refused:
            _check(TokenLimits(expires_at=late), ends=NOW + DAY)
        assert refused.value.code == "outlives"
        assert refused.value.findings[0].pointer == "/expires_at"


APPROVING = TokenLimits(Role.EDITOR, expires_at=NOW + DAY, approves=(generate_id(),))


def _of(kind: Any, *, by_program: bool = False) -> Actor:
    return Actor(generate_id(), kind, generate_id(), role=Role.OWNER, by_program=by_program)


@pytest.mark.parametrize("maker", [_of("client"), _of("run"), _of("member", by_program=True)])
def test_only_a_person_makes_a_token_that_may_approve(maker: Actor) -> None:
    check_bounds(TokenLimits(Role.EDITOR), maker, KNOWN, NOW, None)
    with pytest.raises(PermissionDenied) as refused:
        check_bounds(APPROVING, maker, KNOWN, NOW, None)
    assert refused.value.code == "person_needed"
    assert refused.value.findings[0].pointer == "/approves"


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, None),
        ({"approves": ()}, ("/approves", "required")),
        ({"approves": (generate_id(),) * MOST_APPROVED}, None),
        ({"approves": (generate_id(),) * (MOST_APPROVED + 1)}, ("/approves", "length")),
        ({"expires_at": None}, ("/expires_at", "expiry_required")),
        ({"role": Role.OPERATOR}, ("/role", "role_too_small")),
        ({"capabilities": ("kv.get",)}, ("/capabilities", "capability_missing")),
        ({"capabilities": ("kv.get", "answer_consent")}, None),
    ],
)
def test_a_token_that_may_approve_names_its_automations_and_expires(
    changed: dict[str, Any], found: tuple[str, str] | None
) -> None:
    bounds = replace(APPROVING, **changed)
    if found is None:
        _check(bounds)
        return
    with pytest.raises(Invalid) as refused:
        _check(bounds)
    assert [(one.pointer, one.code) for one in refused.value.findings] == [found]


def test_a_token_approves_at_most_a_hundred_automations() -> None:
    assert MOST_APPROVED == 100


def test_the_audit_log_says_what_a_token_approves() -> None:
    one = generate_id()
    stored = StoredToken(
        generate_id(),
        generate_id(),
        generate_id(),
        "x",
        "hint",
        Role.EDITOR,
        None,
        NOW,
        None,
        None,
        None,
        None,
    )
    assert describe_token(stored) == {"role": "editor"}
    assert describe_token(replace(stored, approves=(one,))) == {
        "role": "editor",
        "approves": [str(one)],
    }
