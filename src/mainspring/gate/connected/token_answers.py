"""What a provider answers when it is asked for tokens, in the ways that providers have.

Some say 200 and an error, some name scopes with commas, and some put the token of a person
below another name, which the manifest tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.gate.outside.authority import (
    TokenEndpointError,
    is_token,
    lasts_seconds,
    normalize_oauth_error,
)

_MOST_SCOPES: Final = 200
_MOST_TEXT: Final = 10_000
_TELLING: Final = 8
# Words of GitHub and Slack, and what the standard calls them; one that it has no word for stays.
_OWN_WORDS: Final[Mapping[str, str]] = {
    "bad_client_secret": "invalid_client",
    "bad_redirect_uri": "redirect_uri_mismatch",
    "bad_refresh_token": "invalid_grant",
    "bad_verification_code": "invalid_grant",
    "code_already_used": "invalid_grant",
    "incorrect_client_credentials": "invalid_client",
    "invalid_client_id": "invalid_client",
    "invalid_code": "invalid_grant",
    "invalid_refresh_token": "invalid_grant",
    "token_revoked": "invalid_grant",
    "unverified_user_email": "unverified_user_email",
}


@dataclass(frozen=True, slots=True, repr=False)
class ProviderTokenResponse:
    """What a provider has handed out."""

    access: str
    refresh: str | None
    # Seconds that the access token is good for, if that was said.
    lasts: int | None
    # What was agreed to; None: nothing was said of it.
    scopes: frozenset[str] | None


def parse_token_response(said: Any, auth: Mapping[str, Any]) -> ProviderTokenResponse:
    """Tokens from an answer; a Refusal where it says no, Upstream where it cannot be read."""
    if not isinstance(said, dict):
        raise _bad()
    if said.get("error") or said.get("ok") is False:
        raise TokenEndpointError(map_oauth_error(said.get("error")), 200)
    *above, name = str(auth.get("token_field", "access_token")).split(".")
    place: Any = said
    for step in above:
        place = place.get(step) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise _bad()
    refresh = place.get("refresh_token", said.get("refresh_token"))
    access, renewal = _token(place.get(name)), _token(refresh) if refresh else None
    scopes = _scopes(place.get("scope", said.get("scope")))
    return ProviderTokenResponse(
        access,
        renewal,
        lasts_seconds(place.get("expires_in", said.get("expires_in"))),
        scopes and frozenset(one for one in scopes if not _tells(one, access, renewal)),
    )


def _tells(scope: str, *tokens: str | None) -> bool:
    """Whether a token stands in a scope, which is shown; a very short one does so by chance."""
    return any(one in scope for one in tokens if one is not None and len(one) >= _TELLING)


def missing_scopes(asked: frozenset[str], granted: frozenset[str] | None) -> frozenset[str]:
    """What was asked for and not agreed to; a provider that says nothing gave what was asked.

    An empty scope says nothing either: GitHub gives it to the user tokens of its Apps, whose
    permissions are the App's own. Whether such a token works is tried before it is kept.
    """
    return asked - granted if granted else frozenset()


def map_oauth_error(error: object) -> str:
    """An error of a provider in the standard's words; empty for one that is not known."""
    own = _OWN_WORDS.get(error) if isinstance(error, str) else None
    return own or normalize_oauth_error(error)


def _scopes(said: object) -> frozenset[str] | None:
    if isinstance(said, list):
        said = " ".join(str(one) for one in said[:_MOST_SCOPES])
    if not isinstance(said, str):
        return None
    return frozenset(re.split(r"[\s,]+", said[:_MOST_TEXT].strip())[:_MOST_SCOPES]) - {""}


def _token(text: object) -> str:
    if not is_token(text):
        raise _bad()
    return text


def _bad() -> UpstreamError:
    return UpstreamError(
        "The provider answered with something that cannot be read instead of a token.",
        code="bad_response",
        retryable=False,
    )
