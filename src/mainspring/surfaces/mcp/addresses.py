"""Which Host and Origin a request to the MCP server may name.

A page of the web can point a name of its own at this machine and then speak to the server
as if it were of the same origin. It cannot choose what the browser writes into Host and
Origin, so a request is only taken under a name that is known to be this server's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mainspring.contracts.errors import PermissionDenied

if TYPE_CHECKING:
    from collections.abc import Mapping

# Where the MCP server is spoken to.
PATH: Final = "/mcp"

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


@lru_cache(maxsize=64)
def names(local: str | None, port: int | None, public_url: str | None) -> frozenset[str]:
    """The values of Host that mean this server; ``local`` is where the connection came in."""
    found: set[str] = set()
    if port is not None:
        for host in (*_LOOPBACK, *([_bracketed(local)] if local else [])):
            found |= _spellings(host, port, "http")
    if public_url is not None:
        scheme, host, public_port = _parts(public_url)
        found |= _spellings(host, public_port, scheme)
    return frozenset(found)


@lru_cache(maxsize=64)
def origins(local: str | None, port: int | None, public_url: str | None) -> frozenset[str]:
    """The values of Origin that mean a page of this server."""
    found = {f"http://{name}" for name in names(local, port, None)}
    if public_url is not None:
        scheme, host, public_port = _parts(public_url)
        found |= {f"{scheme}://{name}" for name in _spellings(host, public_port, scheme)}
    return frozenset(found)


def check_address(scope: Mapping[str, Any], public_url: str | None) -> None:
    """Refuses a request that names another server, or that another page has sent."""
    local, port = scope.get("server") or (None, None)
    if not _all_known(_values(scope, b"host"), names(local, port, public_url), least=1):
        raise PermissionDenied(
            "This request names another host than this server's.",
            code="foreign_host",
            suggestion="Use the address it listens on, or set MAINSPRING_PUBLIC_URL to that name.",
        )
    if not _all_known(_values(scope, b"origin"), origins(local, port, public_url), least=0):
        raise PermissionDenied(
            "This request was sent by a page of another origin.",
            code="foreign_origin",
            suggestion="Call it from a program, or from a page of this server.",
        )


def _all_known(shown: list[str], known: frozenset[str], *, least: int) -> bool:
    return least <= len(shown) <= 1 and all(value.lower() in known for value in shown)


def _values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _spellings(host: str, port: int, scheme: str) -> set[str]:
    """With its port, and without it where the scheme implies it."""
    return {f"{host}:{port}"} | ({host} if _PORTS.get(scheme) == port else set())


def _parts(url: str) -> tuple[str, str, int]:
    split = urlsplit(url.lower())
    port = split.port or _PORTS.get(split.scheme, 80)
    return split.scheme, _bracketed(split.hostname or ""), port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
