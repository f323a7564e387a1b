"""The place the server listens at, made sure of before anything else is begun.

The process that outlives the others holds on to the port without listening. So a port that
is taken is told at once, and one that the system chose stays ours while parts come and go.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mainspring.contracts.errors import Conflict, Finding, Invalid, Problem

if TYPE_CHECKING:
    from mainspring.settings import Settings

_ANOTHER = "Choose another with --port or MAINSPRING_PORT."


@contextlib.contextmanager
def reserve_port(settings: Settings) -> Iterator[Settings]:
    """Keeps the port for whoever of ours will listen there; port 0 becomes a free one."""
    with _bound(settings) as held:
        port = int(held.getsockname()[1])
        if sys.platform != "linux":
            # Elsewhere two sockets cannot share a port even while one does not listen.
            held.close()
        yield replace(settings, port=port)


def _bound(settings: Settings) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError, OverflowError):
        raise _not_here(settings.host) from None
    family, kind, protocol, _, place = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        # Ours may listen on it, as it says the same; a port where somebody listens is refused.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    except OSError as error:
        made.close()
        raise _problem(error, settings) from error
    return made


def _problem(error: OSError, settings: Settings) -> Problem:
    match error.errno:
        case errno.EADDRINUSE:
            return Conflict(
                f"The port {settings.port} of {settings.host} is in use by another program.",
                code="port_in_use",
                suggestion=_ANOTHER,
            )
        case errno.EACCES:
            return Conflict(
                f"This user may not listen on port {settings.port}.",
                code="port_not_allowed",
                suggestion=_ANOTHER,
            )
    return _not_here(settings.host)


def _not_here(host: str) -> Invalid:
    detail = f"{host!r} is no address of this machine to listen on."
    suggestion = "127.0.0.1 takes callers of this machine, 0.0.0.0 takes all."
    finding = Finding("/host", detail, "host_not_here", suggestion)
    return Invalid(detail, code="host_not_here", suggestion=suggestion, findings=[finding])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host.lower() == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
