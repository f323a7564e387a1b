"""What the door knows of browsers: the cookie, and which page a request comes from.

A browser sends a cookie along whoever made it ask. So a request that shows one and would
change something must come from a page of ours and carry a token that only such a page can
know. The cookie itself is out of reach for every script, and is not sent at all when another
site leads here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mainspring.contracts.errors import PermissionDenied
from mainspring.workspace.people.sessions import LIFETIME, is_csrf_token

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response

CSRF_HEADER: Final = "X-CSRF-Token"
# A browser keeps this name to one host over https, so that no neighbour can plant it.
_GUARDED_NAME: Final = "__Host-mainspring"
_PLAIN_NAME: Final = "mainspring"
# What a browser says of a request that a page of ours made, or a person by hand.
_OWN: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class BrowserSessionPolicy:
    """Cookies and pages of a server that is reached at this address."""

    address: str

    @property
    def secure(self) -> bool:
        return urlsplit(self.address).scheme == "https"

    @property
    def name(self) -> str:
        return _GUARDED_NAME if self.secure else _PLAIN_NAME

    def shown(self, headers: Headers) -> str | None:
        """What the one cookie of ours holds; two of them are nobody's."""
        found = [
            value.strip()
            for header in headers.getlist("cookie")
            for name, given, value in (piece.partition("=") for piece in header.split(";"))
            if given and name.strip() == self.name
        ]
        return found[0] if len(found) == 1 else None

    def give(self, answer: Response, plain: str) -> None:
        """Hands a browser its session."""
        self._set(answer, plain, int(LIFETIME.total_seconds()))

    def take(self, answer: Response) -> None:
        """Makes a browser forget its session."""
        self._set(answer, "", 0)

    def check_page(self, headers: Headers) -> None:
        """Refuses what a page of another site asks for."""
        if headers.get("sec-fetch-site", "none") not in _OWN:
            raise foreign()
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or not self._is_ours(origins[0], headers)):
            raise foreign()

    def check_change(self, headers: Headers, plain: str) -> None:
        """Refuses a change that no page of ours asked for."""
        self.check_page(headers)
        if not is_csrf_token(plain, headers.get(CSRF_HEADER, "")):
            raise PermissionDenied(
                f"A change by a browser needs the header {CSRF_HEADER}.",
                code="csrf",
                suggestion="Its value is the csrf_token of GET /api/v1/session.",
            )

    def _is_ours(self, origin: str, headers: Headers) -> bool:
        ours, theirs = urlsplit(self.address), _split(origin)
        if theirs is None:
            return False
        if theirs == (ours.scheme, ours.netloc.lower()):
            return True
        # Reached by another name of this machine, such as localhost.
        return theirs == (ours.scheme, headers.get("host", "").lower())

    def _set(self, answer: Response, value: str, seconds: int) -> None:
        answer.set_cookie(
            self.name,
            value,
            max_age=seconds,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="strict",
        )


def foreign() -> PermissionDenied:
    return PermissionDenied(
        "A page of another site may not ask for this.",
        code="foreign_page",
        suggestion="If it is the server's own address, set MAINSPRING_PUBLIC_URL to it.",
    )


def _split(origin: str) -> tuple[str, str] | None:
    try:
        found = urlsplit(origin)
    except ValueError:
        return None
    return (found.scheme, found.netloc.lower()) if found.netloc else None
