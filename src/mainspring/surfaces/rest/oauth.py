"""The authorisation server (OAuth 2.1): how a client that knows nothing but an address connects.

It finds out where to ask (RFC 8414, RFC 9728), registers (RFC 7591), sends a person here, and
exchanges what it is brought for tokens (RFC 6749, with PKCE and S256 only). These addresses are
open to everybody; nothing is given here that no person has agreed to. Errors have the form that
the standards give them, since clients of others read them.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, unquote_plus

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from mainspring.contracts.errors import Problem
from mainspring.definition.strict_json import read_json
from mainspring.store.rate_limit import LeakyBucket, fill_bucket
from mainspring.surfaces.rest.auth import check_admitted
from mainspring.surfaces.rest.oauth_return import page
from mainspring.surfaces.rest.request_bodies import (
    JsonAnswer,
    check_content_type,
    limits_of,
    read_bytes,
)
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.routes.session import caller_address
from mainspring.surfaces.rest.server_address import ISSUER_PATH, RESOURCE_PATH, own_name, resources
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.oauth.authorization import (
    check_resource,
    is_trusted,
    parse_parameters,
    store_request,
)
from mainspring.workspace.oauth.clients import (
    GRANT_TYPES,
    METHODS,
    RegisteredClient,
    add_query,
    as_registered,
    find_client,
    is_authentic,
    is_registered,
    read_description,
    register,
)
from mainspring.workspace.oauth.errors import OAuthError
from mainspring.workspace.oauth.scopes import ROLES, limit_to_registration
from mainspring.workspace.oauth.token_exchange import (
    AuthorizationCodeGrant,
    IssuedTokens,
    exchange_code,
    refresh_tokens,
    revoke_client_tokens,
)
from mainspring.workspace.people.sign_in import build_address_key

# Parsing of client requests: queries and forms, each name once.

_MOST_FIELDS: Final = 50
_LONGEST: Final = 4_096
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class OAuthForm:
    """The fields of a form; empty ones are omitted."""

    fields: Mapping[str, str]

    def get(self, name: str) -> str | None:
        return self.fields.get(name) or None

    def need(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise OAuthError("invalid_request", f"{name} is missing.")
        return found


@dataclass(frozen=True, slots=True)
class ClientAuthentication:
    """The client's credentials, and how they were sent."""

    client_id: str | None
    method: str
    secret: str | None


def read_query(request: Request) -> tuple[dict[str, str], bool]:
    """The parameters of a query, without ambiguous ones; and whether there were any of those."""
    pairs = request.query_params.multi_items()
    often = Counter(name for name, _ in pairs)
    good = {
        name: value
        for name, value in pairs
        if value and often[name] == 1 and len(value) <= _LONGEST
    }
    return good, any(name not in good for name, value in pairs if value)


async def read_form(request: Request, most: int) -> OAuthForm:
    """The body of a request as a form; duplicate names are rejected."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _FORM or "content-encoding" in request.headers:
        raise OAuthError("invalid_request", f"The body is a form, said by 'Content-Type: {_FORM}'.")
    raw = await read_bytes(request, most)
    try:
        pairs = parse_qsl(
            raw.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise OAuthError("invalid_request", "The form cannot be read.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or any("\x00" in value for value in fields.values()):
        raise OAuthError("invalid_request", "A field is there twice, or holds a NUL character.")
    return OAuthForm(fields)


def showing(request: Request, form: OAuthForm) -> ClientAuthentication:
    """The client authentication of a form, by exactly one method (RFC 6749, 2.3)."""
    headers = request.headers.getlist("authorization")
    secret = form.get("client_secret")
    if not headers:
        method = "none" if secret is None else "client_secret_post"
        return ClientAuthentication(form.get("client_id"), method, secret)
    name, shown = _basic(headers[0]) if len(headers) == 1 else (None, None)
    if name is None or secret is not None or form.get("client_id") not in (None, name):
        raise OAuthError("invalid_client", "A client shows who it is in one way.")
    return ClientAuthentication(name, "client_secret_basic", shown)


def _basic(header: str) -> tuple[str | None, str | None]:
    scheme, _, given = header.partition(" ")
    try:
        text = base64.b64decode(given.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None, None
    name, parted, secret = text.partition(":")
    if scheme.lower() != "basic" or not parted:
        return None, None
    return unquote_plus(name), unquote_plus(secret)


# Per address: a burst of twenty registrations, and then one a minute.
REGISTRATIONS: Final = LeakyBucket(20, 1 / 60)
# The rate limit of authorization requests; people are only redirected this often by mistake.
REQUESTS: Final = LeakyBucket(120, 1)
REGISTRATION_BYTES: Final = 16_384
# The audit log records this many registrations in total, so that strangers cannot fill it.
TOLD_REGISTRATIONS: Final = LeakyBucket(100, 1 / 60)
CONSENT_PATH: Final = "/oauth/consent"
_ASK_MAKER: Final = "Begin again in the program that you want to connect, or ask its developers."
_MCP: Final = "/mcp"
_FORM_BYTES: Final = 16_384

Endpoint = Callable[[Request], Awaitable[Response]]


def oauth(services: ApplicationServices) -> APIRouter:
    """Public routes, without a session."""
    made = APIRouter(dependencies=[Depends(check_admitted)], include_in_schema=False)
    _add_metadata(made, services)
    _add_registering(made, services)
    _add_asking(made, services)
    _add_tokens(made, services)
    return made


def _add_metadata(made: APIRouter, services: ApplicationServices) -> None:
    @public
    async def read_issuer(request: Request) -> JsonAnswer:
        name = own_name(request, services.settings)
        return JsonAnswer(
            {
                "issuer": name,
                "authorization_endpoint": f"{name}/oauth/authorize",
                "token_endpoint": f"{name}/oauth/token",
                "registration_endpoint": f"{name}/oauth/register",
                "revocation_endpoint": f"{name}/oauth/revoke",
                "scopes_supported": list(ROLES),
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": list(GRANT_TYPES),
                "token_endpoint_auth_methods_supported": list(METHODS),
                "revocation_endpoint_auth_methods_supported": list(METHODS),
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    @public
    async def read_resource(request: Request) -> JsonAnswer:
        name = own_name(request, services.settings)
        return JsonAnswer(
            {
                "resource": f"{name}{_MCP}",
                "resource_name": "Mainspring",
                "authorization_servers": [name],
                "scopes_supported": list(ROLES),
                "bearer_methods_supported": ["header"],
            }
        )

    # Some clients append the path of the resource, some do not.
    for path in (ISSUER_PATH, ISSUER_PATH + _MCP):
        made.get(path)(read_issuer)
    for path in (RESOURCE_PATH, RESOURCE_PATH + _MCP):
        made.get(path)(read_resource)


def _add_registering(made: APIRouter, services: ApplicationServices) -> None:
    @made.post("/oauth/register")
    @public
    async def register_client(request: Request) -> Response:
        async def answer() -> Response:
            check_content_type(request)
            raw = await read_bytes(request, REGISTRATION_BYTES)
            described = read_description(read_json(raw, limits_of(request)))
            await _count(services, request, "register", REGISTRATIONS)
            async with services.database.transaction() as tx:
                room = await fill_bucket(tx, "oauth/registrations told", TOLD_REGISTRATIONS) is None
                client, secret = await register(tx, described, told=room)
            return JsonAnswer(as_registered(client, secret), status_code=201)

        return await _oauth_error_response(answer, "invalid_client_metadata")


def _add_asking(made: APIRouter, services: ApplicationServices) -> None:
    @made.get("/oauth/authorize")
    @public
    async def authorize(request: Request) -> Response:
        given, twice = read_query(request)
        client = await find_client(services.database, given.get("client_id"))
        if client is None:
            return _error_page(
                "No client is known by the name in this link.",
                "Remove the connection from the program that sent you here, and add it again.",
            )
        uri = given.get("redirect_uri") or ""
        if not is_registered(uri, client.redirect_uris):
            return _error_page(
                "The address to which you would be sent back is not one that this client named.",
                "Do not go on. Begin again in the program that you want to connect.",
            )
        issuer = own_name(request, services.settings)
        try:
            if twice:
                raise OAuthError("invalid_request", "A parameter is there twice, or is too long.")
            asked = parse_parameters(given, resources(request, services.settings))
            asked = replace(asked, role=limit_to_registration(asked.role, client.most))
            await _count(services, request, "authorize", REQUESTS)
        except OAuthError as refusal:
            # An unapproved client could make this an open redirect.
            if not await is_trusted(services.database, client.id):
                return _error_page(refusal.description, _ASK_MAKER, refusal.status)
            more = {"state": given.get("state"), "iss": issuer}
            return RedirectResponse(add_query(uri, {**refusal.as_dict(), **more}), 303)
        async with services.database.transaction() as tx:
            plain = await store_request(tx, client.id, uri, asked, issuer)
        return RedirectResponse(f"{CONSENT_PATH}/{plain}", 303)


def _add_tokens(made: APIRouter, services: ApplicationServices) -> None:
    @made.post("/oauth/token")
    @public
    async def give_token(request: Request) -> Response:
        async def answer() -> Response:
            form, client = await _from_client(services, request)
            check_resource(form.get("resource"), resources(request, services.settings))
            given = await _exchange_grant(services, client, form)
            if isinstance(given, OAuthError):
                raise OAuthError(given.error, given.description)
            return JsonAnswer(given.as_dict(), headers={"Pragma": "no-cache"})

        return await _oauth_error_response(answer)

    @made.post("/oauth/revoke")
    @public
    async def revoke(request: Request) -> Response:
        async def answer() -> Response:
            form, client = await _from_client(services, request)
            await revoke_client_tokens(services.database, client, form.need("token"))
            return Response(status_code=200)

        return await _oauth_error_response(answer)


async def _exchange_grant(
    services: ApplicationServices, client: RegisteredClient, form: OAuthForm
) -> IssuedTokens | OAuthError:
    kind, now = form.need("grant_type"), services.clock.now()
    if kind == "authorization_code":
        shown = AuthorizationCodeGrant(
            form.need("code"), form.get("redirect_uri"), form.need("code_verifier")
        )
        return await exchange_code(services.database, client, shown, now)
    if kind == "refresh_token":
        return await refresh_tokens(services.database, client, form.need("refresh_token"), now)
    return OAuthError("unsupported_grant_type", f"grant_type is one of {', '.join(GRANT_TYPES)}.")


async def _from_client(
    services: ApplicationServices, request: Request
) -> tuple[OAuthForm, RegisteredClient]:
    """The form of an authenticated client."""
    form = await read_form(request, _FORM_BYTES)
    shown = showing(request, form)
    client = await find_client(services.database, shown.client_id)
    if client is None or not is_authentic(client, shown.method, shown.secret):
        raise OAuthError("invalid_client", "This client is not known, or did not show who it is.")
    return form, client


async def _count(
    services: ApplicationServices, request: Request, what: str, bucket: LeakyBucket
) -> None:
    where = build_address_key(caller_address(request, services.settings.proxies or 0))
    if await fill_bucket(services.database, f"oauth/{what}/{where}", bucket) is not None:
        raise OAuthError("temporarily_unavailable", "Too many requests. Wait a few seconds.")


async def _oauth_error_response(
    answer: Callable[[], Awaitable[Response]], error: str = "invalid_request"
) -> Response:
    """The response, or the error in the format of RFC 6749, 5.2."""
    try:
        return await answer()
    except OAuthError as refusal:
        headers = {"WWW-Authenticate": 'Basic realm="Mainspring"'} if refusal.status == 401 else {}
        return JsonAnswer(refusal.as_dict(), status_code=refusal.status, headers=headers)
    except Problem as problem:
        if problem.status >= 500:
            raise
        status = problem.status if problem.status in (413, 415) else 400
        return JsonAnswer({"error": error, "error_description": problem.detail}, status_code=status)


def _error_page(detail: str, suggestion: str, status: int = 400) -> Response:
    """An error page: a person is not redirected to an unknown client or address."""
    return page("This client cannot connect", detail, suggestion, status)
