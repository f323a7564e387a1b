"""What providers answer when they are asked for tokens, each in its own way."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.connections.accounts.tokens import missing_scopes, parse_token_response
from mainspring.connections.oauth.authorization_server import TokenEndpointError
from mainspring.contracts.errors import UpstreamError


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "access_token=x",
        {},
        {"access_token": ""},
        {"access_token": 7},
        {"access_token": "two words"},
        {"access_token": "a\nb"},
        {"access_token": "é"},
        {"access_token": "x" * 8_193},
        {"access_token": "x", "refresh_token": ["y"]},
    ],
)
def test_what_is_no_token_is_refused_and_not_repeated(answer: Any) -> None:
    with pytest.raises(UpstreamError) as caught:
        parse_token_response(answer, {})
    assert (caught.value.code, caught.value.retryable) == ("bad_response", False)
    assert "two words" not in caught.value.detail


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"error": "bad_verification_code"}, "invalid_grant"),
        ({"ok": False, "error": "invalid_code"}, "invalid_grant"),
        ({"ok": False, "error": "token_revoked"}, "invalid_grant"),
        ({"error": "invalid_client"}, "invalid_client"),
        ({"error": "incorrect_client_credentials"}, "invalid_client"),
        ({"ok": False, "error": "bad_client_secret"}, "invalid_client"),
        ({"ok": False, "error": "invalid_client_id"}, "invalid_client"),
        ({"error": "redirect_uri_mismatch"}, "redirect_uri_mismatch"),
        ({"ok": False, "error": "bad_redirect_uri"}, "redirect_uri_mismatch"),
        ({"error": "unverified_user_email"}, "unverified_user_email"),
        ({"error": "<b>what a stranger says</b>"}, ""),
        ({"ok": False}, ""),
        ({"error": {"message": "no"}}, ""),
    ],
)
def test_an_error_that_comes_with_status_200_is_an_error(answer: Any, word: str) -> None:
    with pytest.raises(TokenEndpointError) as caught:
        parse_token_response(answer, {})
    assert caught.value.word == word


def test_scopes_times_and_places_are_read_as_they_are_written() -> None:
    plain = parse_token_response({"access_token": "a", "expires_in": "3599", "scope": "x y"}, {})
    commas = parse_token_response(
        {"access_token": "a", "scope": "repo,read:user", "expires_in": True}, {}
    )
    listed = parse_token_response({"access_token": "a", "scope": ["x", "y"], "expires_in": -1}, {})
    slack = parse_token_response(
        {
            "ok": True,
            "access_token": "bot",
            "scope": "chat:write",
            "authed_user": {
                "access_token": "person",
                "scope": "search:read",
                "expires_in": 43_200,
                "refresh_token": "again",
            },
        },
        {"token_field": "authed_user.access_token"},
    )

    assert (plain.access, plain.refresh, plain.lasts) == ("a", None, 3_599)
    assert plain.scopes == frozenset({"x", "y"})
    assert (commas.scopes, commas.lasts) == (frozenset({"repo", "read:user"}), None)
    assert (listed.scopes, listed.lasts) == (frozenset({"x", "y"}), None)
    assert (slack.access, slack.refresh, slack.lasts) == ("person", "again", 43_200)
    assert slack.scopes == frozenset({"search:read"})
    with pytest.raises(UpstreamError):
        parse_token_response({"access_token": "a"}, {"token_field": "authed_user.access_token"})
    assert "person" not in repr(slack)


def test_what_was_not_agreed_to_is_reported_and_silence_is_agreement() -> None:
    asked = frozenset({"a", "b"})
    assert missing_scopes(asked, frozenset({"a", "c"})) == {"b"}
    assert missing_scopes(asked, None) == frozenset()
    # GitHub says so of the user tokens of its Apps, which have permissions and no scopes.
    empty = parse_token_response(
        {"access_token": "ghu_16C7e42F292c6912E7710c838347Ae178B4a", "scope": ""}, {}
    )
    assert empty.scopes == frozenset()
    assert missing_scopes(asked, empty.scopes) == frozenset()
