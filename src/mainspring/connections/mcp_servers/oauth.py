"""Signing in to a server of tools: OAuth 2.1, begun by a member and finished by the same one.

Nothing of a connection changes before the whole way has been gone: whoever begins and does not
come back leaves it as it was.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit
from uuid import UUID

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

from mainspring.connections.mcp_servers.tokens import CLIENT_SECRET, McpTokenManager
from mainspring.connections.oauth.authorization_server import (
    AuthorizationServerClient,
    TokenEndpointError,
    normalize_oauth_error,
)
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, PermissionDenied, Problem, UpstreamError
from mainspring.outbound.egress import UrlTarget, parse_url
from mainspring.store.database import Database
from mainspring.workspace.connections import rows, sign_ins
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.vault import Vault, connection_scope

# Finding out where the tokens of a server come from, and becoming known there.

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
                "The protected resource metadata names another server.", code="resource_mismatch"
            )
        own = str(resource.resource)
    named = str(resource.authorization_servers[0]) if resource is not None else _origin(server_url)
    urls = build_oauth_authorization_server_metadata_discovery_urls(named, server_url)
    known = await _first(authority, urls, OAuthMetadata)
    if known is None:
        raise UpstreamError(
            "The server does not name an authorization server.",
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
            "The authorization server has another issuer than the one that was named.",
            code="issuer_mismatch",
        )
    if "S256" not in (known.code_challenge_methods_supported or ()):
        raise UpstreamError(
            "The authorization server does not support PKCE with S256, so it is not used.",
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
            "The authorization server redirects the sign-in to another site.",
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
            "The authorization server supports only manually registered clients.",
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


def _client(answer: Any, asked: str) -> OAuthClientRegistration:
    if not isinstance(answer, Mapping) or not isinstance(answer.get("client_id"), str):
        raise _not_registered("")
    method = answer.get("token_endpoint_auth_method") or asked
    secret = answer.get("client_secret") or None
    if method not in _METHODS or not (secret is None or isinstance(secret, str)):
        raise _not_registered("")
    return OAuthClientRegistration(
        answer["client_id"], method, None if method == "none" else secret
    )


def _not_registered(word: str) -> UpstreamError:
    told = f": {word}." if word else "."
    return UpstreamError(
        f"The authorization server rejected the registration{told}",
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


_VERIFIER_BYTES: Final = 48
_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint")
# The server of tokens at which a client of a person's own was first used.
_CLIENT_ISSUER: Final = "client_issuer"


class McpOAuthFlow:
    """Sends members to sign in, and takes them back."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        authority: AuthorizationServerClient,
        keeper: McpTokenManager,
    ) -> None:
        self._database = database
        self._vault = vault
        self._authority = authority
        self._keeper = keeper

    async def begin(self, actor: Actor, connection_id: UUID, redirect_uri: str) -> str:
        """The address at which the member signs in."""
        async with self._database.acquire() as reading:
            connection = await rows.find(reading, actor.workspace_id, connection_id)
        if connection.auth != "oauth" or connection.server_url is None:
            raise Conflict(
                f"{connection.alias} has no sign-in: connect it in another way.",
                code="no_sign_in",
            )
        place = await discover_authorization_server(self._authority, connection.server_url)
        await self._check_others(connection, place)
        client = await self._client(connection, place, redirect_uri)
        verifier = secrets.token_urlsafe(_VERIFIER_BYTES)
        kept = {
            "place": asdict(place),
            "client": asdict(client),
            "verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        async with self._database.transaction() as tx:
            state = await sign_ins.begin_sign_in(
                tx, self._vault, actor.workspace_id, connection.id, actor.id, kept
            )
        return _address(place, client, state, verifier, redirect_uri)

    async def finish(
        self,
        actor: Actor,
        connection_id: UUID,
        state: str,
        code: str | None,
        *,
        iss: str | None,
        error: str | None,
    ) -> McpConnection:
        """Tokens for what the member came back with, and the connection with them."""
        # Used up whatever comes of it, so not undone by a problem.
        async with self._database.acquire() as tx:
            left = await sign_ins.redeem_sign_in(
                tx, self._vault, actor.workspace_id, actor.id, connection_id, state
            )
            connection = await rows.find(tx, actor.workspace_id, connection_id)
        place = AuthorizationServerMetadata(
            **{**left.kept["place"], "methods": tuple(left.kept["place"]["methods"])}
        )
        client = OAuthClientRegistration(**left.kept["client"])
        _check_answer(place, code, iss, error)
        form = {
            "grant_type": "authorization_code",
            "code": str(code),
            "redirect_uri": left.kept["redirect_uri"],
            "code_verifier": left.kept["verifier"],
            "resource": place.resource,
        }
        shown = {"id": client.id, "method": client.method}
        learnt = _learnt(place, client, left.kept["redirect_uri"])
        async with self._keeper.held(connection) as tx:
            if client.given:
                _check_given(await rows.find(tx, actor.workspace_id, connection_id), place)
                await self._bind(connection, place)
            try:
                tokens = await self._authority.tokens(
                    place.token_endpoint, form, shown, client.secret
                )
            except TokenEndpointError as refusal:
                raise _mcp_sign_in_failed_error(refusal.word) from None
            return await self._keeper.keep(
                connection, tokens, learnt, renewal=False, client_secret=client.secret
            )

    async def _bind(self, connection: McpConnection, place: AuthorizationServerMetadata) -> None:
        """Written before the secret leaves: whoever has seen it is the only one who ever will."""
        async with self._database.transaction() as tx:
            await rows.store_oauth_metadata(
                tx, connection.workspace_id, connection.id, {_CLIENT_ISSUER: place.issuer}
            )

    async def _check_others(
        self, connection: McpConnection, place: AuthorizationServerMetadata
    ) -> None:
        """One server of tokens has one name; under a second one, somebody poses as it."""
        async with self._database.acquire() as reading:
            there = await rows.list_connections(reading, connection.workspace_id)
        ours = {place.authorization_endpoint, place.token_endpoint}
        for other in there:
            theirs = {other.oauth.get(name) for name in _ENDPOINTS}
            known = other.oauth.get("issuer")
            if other.id == connection.id or known is None or not ours & theirs:
                continue
            if not issuers_match(str(known), place.issuer):
                raise PermissionDenied(
                    f"The server of {connection.alias} sends its members to the server of tokens "
                    f"of {other.alias}, and calls it by another name.",
                    code="issuer_mismatch",
                    suggestion="Sign in only if you trust both; remove the one you do not trust.",
                )

    async def _client(
        self, connection: McpConnection, place: AuthorizationServerMetadata, redirect_uri: str
    ) -> OAuthClientRegistration:
        """As whom we ask: as whom a person says, as before, or as somebody new."""
        known = connection.oauth
        secret = await self._secret(connection)
        if known.get("client_given") and known.get("client_id"):
            _check_given(connection, place)
            return build_given_client(place, str(known["client_id"]), secret)
        before = (known.get("issuer"), known.get("client_redirect"))
        if known.get("client_id") and before == (place.issuer, redirect_uri):
            return OAuthClientRegistration(
                str(known["client_id"]), str(known["client_method"]), secret
            )
        return await become_known(self._authority, place, redirect_uri)

    async def _secret(self, connection: McpConnection) -> str | None:
        scope = connection_scope(connection.workspace_id, connection.id)
        there = {secret.name for secret in await self._vault.names(scope)}
        if CLIENT_SECRET not in there:
            return None
        return (await self._vault.reveal(scope, [CLIENT_SECRET]))[CLIENT_SECRET]


def _address(
    place: AuthorizationServerMetadata,
    client: OAuthClientRegistration,
    state: str,
    verifier: str,
    redirect_uri: str,
) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": place.resource,
    }
    if place.scope:
        asked["scope"] = place.scope
        if "offline_access" in place.scope.split():
            asked["prompt"] = "consent"
    joint = "&" if "?" in place.authorization_endpoint else "?"
    return place.authorization_endpoint + joint + urlencode(asked)


def _check_given(connection: McpConnection, place: AuthorizationServerMetadata) -> None:
    """What a person was given at one server of tokens is shown to no other."""
    known = connection.oauth.get(_CLIENT_ISSUER) or connection.oauth.get("issuer")
    if known is not None and not issuers_match(str(known), place.issuer):
        raise PermissionDenied(
            f"The server of {connection.alias} now names another authorization server. The "
            f"client id and its secret are for the previous one, so they are not sent to it.",
            code="issuer_changed",
            suggestion="If this change is intended, disconnect it, and connect it again with a "
            "client id of the new one.",
        )


def _check_answer(
    place: AuthorizationServerMetadata, code: str | None, iss: str | None, error: str | None
) -> None:
    """Whoever came back must come from where they were sent, and bring what they went for."""
    if iss is None and place.tells_issuer:
        raise _other_issuer()
    if iss is not None and not issuers_match(iss, place.issuer):
        raise _other_issuer()
    if error or not code:
        raise _mcp_sign_in_failed_error(normalize_oauth_error(error))


def _other_issuer() -> PermissionDenied:
    return PermissionDenied(
        "The answer does not come from the server at which signing in was begun.",
        code="issuer_mismatch",
        suggestion="Begin to sign in again.",
    )


def _mcp_sign_in_failed_error(word: str) -> UpstreamError:
    if word == "access_denied":
        return UpstreamError(
            "Signing in was not agreed to there.",
            code="sign_in_failed",
            suggestion="Begin to sign in again, and agree.",
            retryable=False,
        )
    told = f": {word}." if word else "."
    return UpstreamError(
        f"The authorization server rejected the sign-in{told}",
        code="sign_in_failed",
        suggestion="Begin to sign in again.",
        retryable=False,
    )


def _learnt(
    place: AuthorizationServerMetadata, client: OAuthClientRegistration, redirect_uri: str
) -> Mapping[str, Any]:
    """What is known from now on about where the tokens come from; nothing of it is secret."""
    return {
        "issuer": place.issuer,
        "authorization_endpoint": place.authorization_endpoint,
        "token_endpoint": place.token_endpoint,
        "resource": place.resource,
        "scope": place.scope,
        "client_id": client.id,
        "client_method": client.method,
        "client_given": client.given,
        "client_redirect": redirect_uri,
    }
