"""Under which name this server is spoken to, where an answer has to say it.

A client compares the names in an answer with the one that it used. A server that others reach
has the one name that its settings give. On one machine it has several, localhost is as good as
127.0.0.1, and one of them is repeated; no other is, whoever asks by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.requests import Request

    from mainspring.settings import Settings

# Where the server says what it is as a resource, and who gives tokens for it.
RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"
ISSUER_PATH: Final = "/.well-known/oauth-authorization-server"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


def own_name(request: Request, settings: Settings) -> str:
    """The beginning of every address of this server, as whoever asks knows it."""
    if settings.public_url is not None:
        # A proxy may ask by any name.
        return settings.address
    shown = request.headers.getlist("host")
    local, port = request.scope.get("server") or (None, None)
    host = shown[0].lower() if len(shown) == 1 else ""
    known = {f"{name}:{port}" for name in (*_LOOPBACK, *_bracketed(local))}
    if port == 80:
        known |= {*_LOOPBACK, *_bracketed(local)}
    return f"http://{host}" if host in known else settings.address


def resources(request: Request, settings: Settings) -> frozenset[str]:
    """What a client may call the resource that it wants a token for (RFC 8707)."""
    names = {own_name(request, settings), settings.address}
    return frozenset(f"{name}{path}" for name in names for path in ("", "/", "/mcp", "/mcp/"))


def _bracketed(local: str | None) -> tuple[str, ...]:
    if not local:
        return ()
    return (f"[{local}]" if ":" in local else local,)
