"""What a scope means, and how much of it a person may give."""

from __future__ import annotations

from itertools import product

import pytest

from mainspring.contracts.roles import Role
from mainspring.workspace.oauth.errors import OAuthError
from mainspring.workspace.oauth.scopes import (
    ROLES,
    describe_role,
    format_scope,
    is_role_sufficient,
    list_role_choices,
    merge_agreed_role,
    parse_requested_role,
    suggest_role,
)

ASKED = (None, *ROLES.values())


def test_a_scope_means_the_least_role_that_covers_it() -> None:
    for role in ROLES.values():
        assert parse_requested_role(format_scope(role)) is role
    assert parse_requested_role("edit") is parse_requested_role("edit read") is Role.EDITOR
    assert parse_requested_role("offline_access operate") is Role.OPERATOR
    for nothing in (None, "", " ", "offline_access"):
        assert parse_requested_role(nothing) is None
    for wrong in ("admin", "read,edit", "READ", "read\tedit", "read " + "x" * 2_000):
        with pytest.raises(OAuthError) as caught:
            parse_requested_role(wrong)
        assert caught.value.error == "invalid_scope"


def test_nobody_gives_more_than_was_asked_for_or_than_they_have_and_never_an_admin() -> None:
    for asked, own in product(ASKED, Role):
        given = list_role_choices(asked, own)
        assert given
        assert given[0] is Role.VIEWER
        for role in given:
            assert role.rank <= min(own.rank, (asked or Role.EDITOR).rank)
        for agreed in ASKED:
            assert suggest_role(asked, own, agreed) in given
    assert suggest_role(None, Role.OWNER, None) is Role.VIEWER
    assert suggest_role(Role.OPERATOR, Role.OWNER, None) is Role.OPERATOR
    assert suggest_role(None, Role.OWNER, Role.EDITOR) is Role.EDITOR


def test_agreement_covers_as_much_and_no_more() -> None:
    assert not is_role_sufficient(None, None)
    for agreed, asked in product(ROLES.values(), ASKED):
        assert is_role_sufficient(agreed, asked) is (asked is None or asked.rank <= agreed.rank)


def test_only_a_role_that_may_grant_more_may_revoke() -> None:
    viewer, operator, editor = ROLES.values()

    assert merge_agreed_role(viewer, viewer, editor) is editor
    assert merge_agreed_role(viewer, editor, operator) is viewer
    assert merge_agreed_role(editor, editor, viewer) is editor
    assert merge_agreed_role(operator, editor, None) is operator


def test_what_a_role_allows_grows_and_never_reaches_an_account() -> None:
    result = [describe_role(role) for role in ROLES.values()]

    assert result[0]
    assert set(result[0]) < set(result[1]) < set(result[2])
    assert not any("password" in sentence for sentence in result[2])
