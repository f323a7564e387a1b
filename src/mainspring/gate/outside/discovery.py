"""Finding out where the tokens of a server come from, and becoming known there.

The server of tools names the server of tokens (RFC 9728), which says where it is asked for
what (RFC 8414). Neither is believed beyond its own part: the resource must be the server we
are connected to, the issuer must be the one that was named, whoever signs in is sent to its own
site, and a server without PKCE is not used. Whoever has no client id of their own gets one
there (RFC 7591).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    issuers_match,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import BaseModel, ValidationError

from mainspring.contracts.errors import Conflict, PermissionDenied, Problem, UpstreamError
from mainspring.gate.egress import UrlTarget, parse_url
from mainspring.gate.outside.authority import AuthorizationServerClient, TokenEndpointError

Document = TypeVar("Document", bound=BaseModel)

_GRANTS: Final = ["authorization_code", "refresh_token"]
_METHODS: Final = ("none", "client_secret_post", "client_secret_basic")
_KNOCK: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_NEARBY: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class AuthorizationServerMetadata:
    """Where tokens for one server come from."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None
    # The server that the tokens are for (RFC 8707).
    resource: str
    scope: str | None
    # How a client may prove itself; empty: the server does not say.
    methods: tuple[str, ...]
    # Whether whoever comes back is told by whom they were sent (RFC 9207).
    tells_issuer: bool


@dataclass(frozen=True, slots=True, repr=False)
class OAuthClientRegistration:
    """As whom we are known to a server of tokens."""

    id: str
    method: str
    secret: str | None = None
    # Given by a person, and not by the server of tokens.
    given: bool = False


async def discover_authorization_server(
    authority: AuthorizationServerClient, server_url: str
) -> AuthorizationServerMetadata:
    """Where the tokens of a server come from."""
    where, wanted = await _challenge(authority, server_url)
    urls = build_protected_resource_metadata_discovery_urls(where, server_url)
    resource = await _first(authority, urls, ProtectedResourceMetadata)
    own = resource_url_from_server_url(server_url)
    if resource is not None:
        if not check_resource_allowed(own, str(resource.resource)):
            raise PermissionDenied(
                "The server says that its tokens are for another server.", code="resource_mismatch"
            )
        own = str(resource.resource)
    named = str(resource.authorization_servers[0]) if resource is not None else _origin(server_url)
    urls = build_oauth_authorization_server_metadata_discovery_urls(named, server_url)
    known = await _first(authority, urls, OAuthMetadata)
    if known is None:
        raise UpstreamError(
            "The server does not say where one signs in to it.",
            code="no_sign_in",
            suggestion="Connect it with a token instead.",
            retryable=False,
        )
    return _validate_metadata(
        authority, known, named, own, get_client_metadata_scopes(wanted, resource, known, _GRANTS)
    )


def _validate_metadata(
    authority: AuthorizationServerClient,
    known: OAuthMetadata,
    named: str,
    resource: str,
    scope: str | None,
) -> AuthorizationServerMetadata:
    if not issuers_match(str(known.issuer), named):
        raise PermissionDenied(
            "The server of tokens says that it is another one than was named.",
            code="issuer_mismatch",
        )
    if "S256" not in (known.code_challenge_methods_supported or ()):
        raise UpstreamError(
            "The server of tokens cannot tell who began to sign in, so it is not used.",
            code="no_pkce",
            retryable=False,
        )
    place = AuthorizationServerMetadata(
        issuer=str(known.issuer),
        authorization_endpoint=str(known.authorization_endpoint),
        token_endpoint=str(known.token_endpoint),
        registration_endpoint=str(known.registration_endpoint or "") or None,
        resource=resource,
        scope=scope,
        methods=tuple(known.token_endpoint_auth_methods_supported or ()),
        tells_issuer=bool(known.authorization_response_iss_parameter_supported),
    )
    # Where a person is sent and where secrets go is judged before either happens.
    sent_to = authority.judged(place.authorization_endpoint)
    authority.judged(place.token_endpoint)
    # Elsewhere somebody else may hand out the code, and then it is that one's name that must not
    # come back: so the server has to tell its own.
    if not place.tells_issuer and not _same_site(parse_url(place.issuer), sent_to):
        raise PermissionDenied(
            "The server of tokens sends whoever signs in to the site of somebody else.",
            code="issuer_mismatch",
            suggestion="Connect it with a token instead.",
        )
    return place


def _same_site(one: UrlTarget, other: UrlTarget) -> bool:
    """The same host, one inside the other, or two beside each other in one domain."""
    if (one.scheme, one.port) != (other.scheme, other.port):
        return False
    if one.host == other.host or one.address is not None or other.address is not None:
        return one.host == other.host
    shorter, longer = sorted((one.host, other.host), key=len)
    domain = shorter.partition(".")[2] if shorter.count(".") > 1 else shorter
    return "." in domain and longer.endswith(f".{domain}")


async def become_known(
    authority: AuthorizationServerClient, place: AuthorizationServerMetadata, redirect_uri: str
) -> OAuthClientRegistration:
    """A client id from the server of tokens."""
    if place.registration_endpoint is None:
        raise Conflict(
            "The server of tokens knows only those who were made known to it by hand.",
            code="client_id_needed",
            suggestion="Make an application there and connect with its client id.",
        )
    method = next((one for one in _METHODS if one in (place.methods or _METHODS)), "none")
    nearby = urlsplit(redirect_uri).hostname in _NEARBY
    document = {
        "client_name": "Mainspring",
        "redirect_uris": [redirect_uri],
        "grant_types": _GRANTS,
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native" if nearby else "web",
    }
    try:
        said = await authority.register(place.registration_endpoint, document)
    except TokenEndpointError as refusal:
        raise _not_registered(refusal.word) from None
    return _client(said, method)


def build_given_client(
    place: AuthorizationServerMetadata, client_id: str, secret: str | None
) -> OAuthClientRegistration:
    """A client that a person has made there."""
    if secret is None:
        return OAuthClientRegistration(client_id, "none", given=True)
    # Without a word of the server the standard says that it is the header.
    method = "client_secret_post" if "client_secret_post" in place.methods else _METHODS[2]
    return OAuthClientRegistration(client_id, method, secret, given=True)


def _client(said: Any, asked: str) -> OAuthClientRegistration:
    if not isinstance(said, Mapping) or not isinstance(said.get("client_id"), str):
        raise _not_registered("")
    method = said.get("token_endpoint_auth_method") or asked
    secret = said.get("client_secret") or None
    if method not in _METHODS or not (secret is None or isinstance(secret, str)):
        raise _not_registered("")
    return OAuthClientRegistration(said["client_id"], method, None if method == "none" else secret)


def _not_registered(word: str) -> UpstreamError:
    told = f": {word}." if word else "."
    return UpstreamError(
        f"The server of tokens did not take us in{told}",
        code="registration_failed",
        suggestion="Make an application there and connect with its client id.",
        retryable=False,
    )


async def _challenge(
    authority: AuthorizationServerClient, server_url: str
) -> tuple[str | None, str | None]:
    """What the server says to somebody it does not know: where to look, and for what."""
    answer = await authority.knock(server_url, _KNOCK)
    if answer.status not in {401, 403}:
        return None, None
    shown = httpx2.Response(
        answer.status, headers={"www-authenticate": answer.headers.get("www-authenticate", "")}
    )
    return extract_resource_metadata_from_www_auth(shown), extract_scope_from_www_auth(shown)


async def _first(
    authority: AuthorizationServerClient, urls: list[str], kind: type[Document]
) -> Document | None:
    """The first of several addresses that has a document of this kind."""
    failed: Problem | None = None
    for url in urls:
        try:
            said = await authority.get(url)
            if said is not None:
                return kind.model_validate(said)
        except ValidationError:
            continue
        except PermissionDenied:
            raise
        except UpstreamError as problem:
            failed = problem
    if failed is not None:
        raise failed
    return None


def _origin(url: str) -> str:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc}"
