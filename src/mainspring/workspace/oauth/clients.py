"""OAuth client registration (RFC 7591) and client authentication.

Anybody may register, so the metadata is limited in size, unused clients expire, and their number is
capped: the oldest unused ones are deleted first.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import SplitResult, urlencode, urlsplit
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.store.audit import INSTALLATION, AuditRecord, append_audit
from mainspring.workspace.oauth.errors import OAuthError
from mainspring.workspace.oauth.scopes import ROLES, format_scope, parse_registered_role

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Redirect URIs: exact matches with the registered ones only.

LONGEST: Final = 2_000
MOST: Final = 10

_SIGNS: Final = re.compile(r"[!-~]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,62}")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# Browsers parse a host that ends like this as an IPv4 number, in many spellings.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Known app schemes without a dot. Any other could be one that the browser or the operating system
# handles itself.
_APPS: Final = frozenset(
    {
        "chatgpt",
        "cherrystudio",
        "claude",
        "code-oss",
        "codex",
        "cursor",
        "goose",
        "jetbrains",
        "kiro",
        "lmstudio",
        "obsidian",
        "positron",
        "raycast",
        "trae",
        "vscode",
        "vscode-insiders",
        "vscodium",
        "warp",
        "windsurf",
        "windsurf-next",
        "zed",
    }
)

RedirectKind = Literal["web", "loopback", "app"]


@dataclass(frozen=True, slots=True)
class RedirectTarget:
    """Where a redirect URI leads, for a person to review."""

    kind: RedirectKind
    # The host of a page, this machine, or the scheme of an app.
    name: str


def find_redirect_fault(uri: object) -> str | None:
    """Explain why a redirect URI is rejected; None when it is valid."""
    if not isinstance(uri, str) or not 0 < len(uri) <= LONGEST or not _SIGNS.fullmatch(uri):
        return f"A redirect URI is a text of 1 to {LONGEST} printable signs without spaces."
    parts = _split(uri)
    if (
        parts is None
        or parts.netloc.endswith(":")
        or "#" in uri
        or "\\" in uri
        or "@" in parts.netloc
    ):
        return "A redirect URI is absolute, without a fragment and without a user."
    if parts.scheme == "https":
        return None if _has_host(parts) else "A redirect URI with https names a host."
    if parts.scheme == "http":
        return None if _get_host(parts) in _LOOPBACK else "Plain http is for this machine alone."
    return _find_app_redirect_fault(uri, parts.scheme)


def _find_app_redirect_fault(uri: str, scheme: str) -> str | None:
    if not _SCHEME.fullmatch(scheme) or ("." not in scheme and scheme not in _APPS):
        return (
            "A redirect URI uses https, http on this machine, or the scheme of an app, "
            "such as com.example.app."
        )
    if not uri[len(scheme) :].startswith(":/"):
        return "A redirect URI of an app goes on with a slash after its scheme."
    return None


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Report whether the client registered this redirect URI."""
    return find_redirect_fault(uri) is None and any(
        _is_same_redirect(uri, known) for known in registered
    )


def share_one_host(uris: Iterable[str]) -> bool:
    """Report whether all web redirect URIs share one host or are subdomains of one of them."""
    hosts = {_get_host(parts) for parts in map(urlsplit, uris) if parts.scheme == "https"}
    if len(hosts) < 2:
        return True
    first = min(hosts, key=len)
    return "." in first and all(host == first or host.endswith(f".{first}") for host in hosts)


def describe_redirect(uri: str) -> RedirectTarget:
    """Describe where a valid redirect URI leads."""
    parts = urlsplit(uri)
    if parts.scheme == "https":
        return RedirectTarget("loopback" if _is_here(_get_host(parts)) else "web", _get_host(parts))
    if parts.scheme == "http":
        return RedirectTarget("loopback", _get_host(parts))
    return RedirectTarget("app", parts.scheme)


def add_query(uri: str, answer: Mapping[str, str | None]) -> str:
    """Add the response to a redirect URI's query, keeping existing parameters."""
    query = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def _is_same_redirect(given: str, known: str) -> bool:
    if given == known:
        return True
    one, other = urlsplit(given), urlsplit(known)
    return (
        one.scheme == other.scheme == "http"
        and _get_host(one) in _LOOPBACK
        and _get_host(one) == _get_host(other)
        and (one.path, one.query) == (other.path, other.query)
    )


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        _ = parts.port  # an invalid port raises only on access
    except ValueError:
        return None
    # urlsplit lowercases the scheme; the URI must match as written.
    return parts if parts.scheme and uri.startswith(parts.scheme + ":") else None


def _has_host(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    labels = host.split(".")
    if ":" in host or _NUMBER.fullmatch(labels[-1]):
        return _parse_ip(host) is not None
    return len(host) <= 253 and all(_LABEL.fullmatch(label) for label in labels)


def _is_here(host: str) -> bool:
    """Report whether a host is the loopback interface."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    found = _parse_ip(host.strip("[]"))
    return found is not None and (found.is_loopback or found.is_unspecified)


def _parse_ip(host: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(host)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _get_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


_COLUMNS = "id, name, redirect_uris, auth_method, secret_hash, renews, created_at, scope"
_ADD = f"""
    INSERT INTO mcp_clients (id, name, redirect_uris, auth_method, secret_hash, renews, scope)
    VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING {_COLUMNS}
"""
_FIND = f"SELECT {_COLUMNS} FROM mcp_clients WHERE id = $1"
_USED = "UPDATE mcp_clients SET used_at = now() WHERE id = $1"
# A client with a consent is in use, even before its first token request.
_FORGET = """
    DELETE FROM mcp_clients WHERE id IN (
        SELECT c.id FROM mcp_clients c WHERE c.used_at IS NULL
            AND (c.created_at < now() - $1::interval OR c.id IN (
                SELECT id FROM mcp_clients WHERE used_at IS NULL
                ORDER BY created_at DESC OFFSET $2))
            AND NOT EXISTS (SELECT FROM client_consents o WHERE o.client_id = c.id)
            AND NOT EXISTS (SELECT FROM client_codes o WHERE o.client_id = c.id)
        LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""

UNUSED_FOR: Final = timedelta(days=30)
MOST_UNUSED: Final = 2_000
LONGEST_NAME: Final = 100
METHODS: Final = ("none", "client_secret_post", "client_secret_basic")
GRANT_TYPES: Final = ("authorization_code", "refresh_token")
_SCOPES: Final = {role: word for word, role in ROLES.items()}
_METADATA: Final = "invalid_client_metadata"


@dataclass(frozen=True, slots=True)
class ClientMetadata:
    """Validated client metadata."""

    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    renews: bool
    # The largest role that it will request; None: not given.
    most: Role | None = None


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A registered client."""

    id: UUID
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    secret_hash: bytes | None
    renews: bool
    created_at: datetime
    # The largest role that it may request, from its registration; None: not given.
    most: Role | None = None


def read_description(value: Any) -> ClientMetadata:
    """Parse a registration; unknown fields are ignored."""
    if not isinstance(value, Mapping):
        raise OAuthError(_METADATA, "A registration is a JSON object.")
    uris = _validate_redirect_uris(value.get("redirect_uris"))
    method = value.get("token_endpoint_auth_method", "client_secret_basic")
    if method not in METHODS:
        raise OAuthError(_METADATA, f"token_endpoint_auth_method is one of {', '.join(METHODS)}.")
    types = value.get("grant_types", ["authorization_code"])
    if not isinstance(types, list) or "authorization_code" not in types:
        raise OAuthError(_METADATA, "grant_types holds authorization_code.")
    if value.get("response_types", ["code"]) != ["code"]:
        raise OAuthError(_METADATA, "The only response type is code.")
    return ClientMetadata(
        _name(value.get("client_name"), uris[0]),
        uris,
        method,
        "refresh_token" in types,
        parse_registered_role(value.get("scope")),
    )


def as_registered(client: RegisteredClient, secret: str | None) -> dict[str, Any]:
    """The registration response, which shows the secret once."""
    shown = {
        "client_id": str(client.id),
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": list(client.redirect_uris),
        "token_endpoint_auth_method": client.auth_method,
        "grant_types": list(GRANT_TYPES if client.renews else GRANT_TYPES[:1]),
        "response_types": ["code"],
    }
    if client.most is not None:
        shown["scope"] = format_scope(client.most)
    if secret is not None:
        shown |= {"client_secret": secret, "client_secret_expires_at": 0}
    return shown


async def register(
    tx: Transaction, described: ClientMetadata, *, told: bool = True
) -> tuple[RegisteredClient, str | None]:
    """Register a client; return it and its secret, if it has one, which is not stored.

    ``told`` says whether to write an audit entry: anybody may register, at any rate.
    """
    secret = None if described.auth_method == "none" else "mss_" + secrets.token_urlsafe(32)
    await tx.execute(_FORGET, UNUSED_FOR, MOST_UNUSED - 1)
    row = await tx.fetchrow(
        _ADD,
        generate_id(),
        described.name,
        list(described.redirect_uris),
        described.auth_method,
        None if secret is None else hash_of(secret),
        described.renews,
        None if described.most is None else _SCOPES[described.most],
    )
    client = _build_client(row)
    if told:
        detail = {"name": client.name, "redirect": describe_redirect(client.redirect_uris[0]).name}
        entry = AuditRecord(
            INSTALLATION, "stranger", None, "client_registered", str(client.id), detail
        )
        await append_audit(tx, [entry])
    return client, secret


async def find_client(tx: Transaction, client_id: str | None) -> RegisteredClient | None:
    """Find a client by its id."""
    try:
        named = UUID(client_id or "")
    except ValueError:
        return None
    # Only the canonical spelling of the id matches.
    row = await tx.fetchrow(_FIND, named) if str(named) == client_id else None
    return None if row is None else _build_client(row)


async def note_use(tx: Transaction, client_id: UUID) -> None:
    """Record that a client was issued something, so that it is kept."""
    await tx.execute(_USED, client_id)


def is_authentic(client: RegisteredClient, method: str, secret: str | None) -> bool:
    """Report whether a client authenticated with its registered method."""
    if method != client.auth_method:
        return False
    if client.secret_hash is None:
        return method == "none" and secret is None
    return hmac.compare_digest(client.secret_hash, hash_of(secret or ""))


def hash_of(plain: str) -> bytes:
    """Hash a random token; its entropy makes an unsalted hash safe."""
    return hashlib.sha256(plain.encode("utf-8", "replace")).digest()


def _validate_redirect_uris(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST:
        raise OAuthError(
            "invalid_redirect_uri", f"redirect_uris is a list of 1 to {MOST} addresses."
        )
    for place, uri in enumerate(value):
        fault = find_redirect_fault(uri)
        if fault is not None:
            raise OAuthError("invalid_redirect_uri", f"redirect_uris/{place}: {fault}")
    if not share_one_host(value):
        raise OAuthError("invalid_redirect_uri", "All redirect URIs with https are of one site.")
    return tuple(value)


def _name(value: Any, first: str) -> str:
    """The display name; without a valid one, the redirect host."""
    text = value if isinstance(value, str) else ""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return shown[:LONGEST_NAME] or describe_redirect(first).name


def _build_client(row: Any) -> RegisteredClient:
    found = dict(row)
    scope = found.pop("scope")
    found["redirect_uris"] = tuple(found["redirect_uris"])
    return RegisteredClient(**found, most=None if scope is None else ROLES[scope])
