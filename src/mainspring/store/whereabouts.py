"""Where an outside database is, for whoever starts a command that cannot open it.

They have the settings before them, so they may be told the place; never the user or the
password. Callers over the network are told nothing of this: a house that is open is past it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from mainspring.store.embedded import build_dsn
from mainspring.store.outage import UNAVAILABLE
from mainspring.store.ownership import read_owner

if TYPE_CHECKING:
    from mainspring.contracts.errors import Problem
    from mainspring.settings import Settings

_POSTGRES: Final = 5432
_OF_A_PLACE: Final = (UNAVAILABLE, "database_sign_in", "database_missing")
_LOOK: Final = "Look at MAINSPRING_DATABASE_URL, and whether that server is running."


def add_database_location(problem: Problem, settings: Settings) -> Problem:
    """The same problem with the database's place in it, if somebody has named that place."""
    url = settings.database_url
    if url is None or problem.code not in _OF_A_PLACE or _is_own(url, settings):
        return problem
    where = describe_database_location(url)
    return type(problem)(
        problem.detail if where is None else f"{problem.detail} That is {where}.",
        code=problem.code,
        suggestion=_LOOK if problem.code == UNAVAILABLE else problem.suggestion,
        retry_after=problem.retry_after,
    )


def _is_own(url: str, settings: Settings) -> bool:
    """``up`` hands its parts the address of the embedded server, which is nobody's setting."""
    owner = read_owner(settings.home)
    return owner is not None and url == build_dsn(owner.socket)


def describe_database_location(url: str) -> str | None:
    """Name, host and port of a database; None where a password might be taken for one of them."""
    try:
        parts = urlsplit(url)
        host, port = _split_host_port(parts)
    except ValueError:
        return None
    # A / ? or # in a password that is not escaped ends the host too early: what is left of the
    # password then looks like a path, and the @ that follows it gives it away.
    if "@" in parts.path + parts.query + parts.fragment:
        return None
    name = unquote(parts.path.lstrip("/"))
    told = [repr(name)] if name else []
    if host:
        told.append(f"{host}:{port}")
    return " at ".join(told) or None


def _split_host_port(parts: SplitResult) -> tuple[str | None, str]:
    asked = parse_qs(parts.query)
    host = parts.hostname or asked.get("host", [None])[0]
    port = parts.port or asked.get("port", [_POSTGRES])[0]
    # An address of IPv6 has colons of its own.
    return f"[{host}]" if host and ":" in host else host, str(port)
