"""Sessions that `mainspring login` was given: one file for each server, for its owner's eyes.

A file is named by the address of its server and repeats that address, so that a session is
never shown to another server than the one that gave it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mainspring.contracts.errors import InternalError, Invalid, Unauthenticated
from mainspring.contracts.terminal_session import is_terminal_session
from mainspring.settings import config_folder
from mainspring.surfaces.cli.formatting import hint
from mainspring.workspace.private_file import InsecureFileError, read_private, write_private

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST: Final = 180


@dataclass(frozen=True, slots=True)
class SavedLogin:
    """A server, and the session that a person has there at this terminal."""

    address: str
    session: str


def read_address(text: str) -> str:
    """The address of a server in one spelling; over plain HTTP only this machine is reached."""
    try:
        split = urlsplit(text if "://" in text else f"https://{text}")
        host, port = (split.hostname or "").lower(), split.port
    except ValueError:
        host, port, split = "", None, urlsplit("")
    plain = split.scheme == "http"
    if split.scheme not in ("http", "https") or not host or len(text) > _LONGEST:
        raise _bad("The address of the server is not one.")
    if split.username is not None or split.path.strip("/") or split.query or split.fragment:
        raise _bad("The address of the server holds a user, a path or a query.")
    if plain and host not in _LOOPBACK:
        raise _bad("A session is sent to another machine over https only.")
    shown = f"[{host}]" if ":" in host else host
    usual = port is None or port == (80 if plain else 443)
    return f"{split.scheme}://{shown}" + ("" if usual else f":{port}")


def find_login(address: str) -> SavedLogin:
    """The session for a server; refuses when there is none."""
    try:
        content = read_private(_place(address))
    except InsecureFileError:
        raise _file_problem("may be read by others", "Set its mode to 0600.", address) from None
    except OSError as error:
        raise _file_problem("cannot be read", None, address) from error
    session, _, where = (content or b"").decode("utf-8", "replace").partition("\n")
    if not is_terminal_session(session) or where.strip() != address:
        raise Unauthenticated(
            f"You are not signed in to {address} here.",
            code="no_login",
            suggestion=f"{hint('login', address)} signs you in, by way of your browser.",
        )
    return SavedLogin(address, session)


def keep_login(login: SavedLogin) -> Path:
    """Writes a session down, with mode 0600."""
    path = _place(login.address)
    try:
        write_private(path, f"{login.session}\n{login.address}\n".encode())
    except OSError as error:
        raise _file_problem("cannot be written", None, login.address) from error
    return path


def forget_login(address: str) -> None:
    """Removes the file of a server."""
    _place(address).unlink(missing_ok=True)


def _place(address: str) -> Path:
    name = hashlib.sha256(address.encode()).hexdigest()[:32]
    return config_folder() / "logins" / name


def _bad(detail: str) -> Invalid:
    return Invalid(
        detail, code="bad_url", suggestion="Write it like https://host or http://127.0.0.1:8420."
    )


def _file_problem(what: str, suggestion: str | None, address: str) -> InternalError:
    detail = f"The file with the session for {address} {what}: {_place(address)}"
    return InternalError(detail, code="login_file", suggestion=suggestion, retryable=False)
