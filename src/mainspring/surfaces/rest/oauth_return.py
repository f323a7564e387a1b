"""The OAuth callback of external providers.

The provider's redirect is a cross-site request, so the browser does not send the session cookie
(SameSite). So the first response is a page that reloads the same URL: that request is same-site,
and the browser sends its session.
"""

from __future__ import annotations

import html
from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from mainspring.contracts.errors import Problem, Unauthenticated

_MOST: Final = 4_096
AGAIN: Final = "again"
_HTML: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">{head}'
    "<title>{title}</title></head><body>{body}</body></html>"
)
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def read_callback_params(request: Request, *names: str) -> dict[str, str | None]:
    """The parameters of the callback; duplicates are ignored."""
    found: dict[str, str | None] = {}
    for name in names:
        values = request.query_params.getlist(name)
        found[name] = values[0] if len(values) == 1 and len(values[0]) <= _MOST else None
    return found


def once_more(request: Request) -> Response:
    """A page that reloads the same URL from this site."""
    query = urlencode([*request.query_params.multi_items(), (AGAIN, "1")])
    link = html.escape(f"?{query}", quote=True)
    return HTMLResponse(
        _HTML.format(
            head=f'<meta http-equiv="refresh" content="0;url={link}">',
            title="One moment",
            body=f'<p><a href="{link}">Go on</a></p>',
        ),
        headers=_HEADERS,
    )


def page(
    title: str,
    detail: str,
    suggestion: str | None = None,
    status: int = 200,
    *,
    link: tuple[str, str] | None = None,
) -> Response:
    """The result page."""
    lines = "".join(f"<p>{html.escape(line)}</p>" for line in (detail, suggestion) if line)
    if link is not None:
        address, words = (html.escape(part, quote=True) for part in link)
        lines += f'<p><a href="{address}">{words}</a></p>'
    shown = html.escape(title)
    return HTMLResponse(
        _HTML.format(head="", title=shown, body=f"<h1>{shown}</h1>{lines}"), status, _HEADERS
    )


def problem_page(problem: Problem, link: tuple[str, str] | None = None) -> Response:
    """The error page with its remedy."""
    return page(problem.title, problem.detail, problem.suggestion, problem.status, link=link)


def not_signed_in() -> Unauthenticated:
    """No session in this browser."""
    return Unauthenticated(
        "This browser is not signed in to Mainspring.",
        code="unknown_session",
        suggestion="Sign in at /sign-in, and begin to sign in to the server again.",
    )
