"""The public address of this server, for responses that contain it.

A client compares the address in a response with the one that it used. A public server has the one
address of its settings. A local one has several (localhost, 127.0.0.1): the one of the request is
returned if it is local, and no other Host value is reflected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.requests import Request

    from mainspring.settings import Settings

# The paths of the protected resource metadata and of the authorization server metadata.
RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"
ISSUER_PATH: Final = "/.well-known/oauth-authorization-server"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


def own_name(request: Request, settings: Settings) -> str:
    """The origin of this server, as the client knows it."""
    if settings.public_url is not None:
        # A proxy may send any Host.
        return settings.address
    shown = request.headers.getlist("host")
    local, port = request.scope.get("server") or (None, None)
    host = shown[0].lower() if len(shown) == 1 else ""
    known = {f"{name}:{port}" for name in (*_LOOPBACK, *_bracketed(local))}
    if port == 80:
        known |= {*_LOOPBACK, *_bracketed(local)}
    return f"http://{host}" if host in known else settings.address


def resources(request: Request, settings: Settings) -> frozenset[str]:
    """The accepted resource indicators of a token request (RFC 8707)."""
    names = {own_name(request, settings), settings.address}
    return frozenset(f"{name}{path}" for name in names for path in ("", "/", "/mcp", "/mcp/"))


def _bracketed(local: str | None) -> tuple[str, ...]:
    if not local:
        return ()
    return (f"[{local}]" if ":" in local else local,)
