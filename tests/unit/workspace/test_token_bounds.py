"""A new token gives no more than its maker has: role, capabilities and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Audience, Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Denied, Invalid
from mainspring.contracts.ids import new_id
from mainspring.contracts.roles import Permission, Role
from mainspring.workspace.token_bounds import check_bounds
from mainspring.workspace.tokens import Bounds

NOW = datetime(2026, 5, 26, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)


async def _nothing(ctx: Any, given: Any) -> None:
    del ctx, given


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
    )
}


def _check(
    bounds: Bounds,
    role: Role | None = Role.OWNER,
    *,
    administrator: bool = False,
    ends: datetime | None = None,
) -> None:
    actor = Actor(new_id(), "member", new_id(), role=role, administrator=administrator)
    check_bounds(bounds, actor, KNOWN, NOW, ends)


def test_a_token_has_at_most_the_role_of_its_maker() -> None:
    _check(Bounds(Role.EDITOR), Role.EDITOR)
    _check(Bounds(Role.VIEWER), Role.EDITOR)
    for role in (Role.OPERATOR, None):
        with pytest.raises(Denied) as refused:
            _check(Bounds(Role.EDITOR), role)
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
    bounds = Bounds(role, ("kv.get", name))
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
    bounds = Bounds(expires_at=ends)
    if code is None:
        _check(bounds)
        return
    with pytest.raises(Invalid) as refused:
        _check(bounds)
    assert [found.code for found in refused.value.findings] == [code]


def test_a_token_made_with_another_does_not_outlive_it() -> None:
    _check(Bounds(expires_at=NOW + DAY), ends=NOW + DAY)
    for late in (None, NOW + DAY + timedelta(seconds=1)):
        with pytest.raises(Denied) as refused:
            _check(Bounds(expires_at=late), ends=NOW + DAY)
        assert refused.value.code == "outlives"
        assert refused.value.findings[0].pointer == "/expires_at"
