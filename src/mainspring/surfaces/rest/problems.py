"""Problem documents (RFC 9457) for every error.

The text of an unexpected exception never reaches a response: it is logged with the request id, and
the caller gets that id.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from mainspring.contracts.errors import (
    KINDS,
    ConsentRequired,
    InternalError,
    Invalid,
    NotFound,
    PersonRequired,
    Problem,
    storage_full_error,
)
from mainspring.definition.strict_json import join_pointer
from mainspring.store.database_errors import UNAVAILABLE, is_storage_full
from mainspring.store.disk_space import is_disk_full
from mainspring.surfaces.rest.request_bodies import as_json
from mainspring.surfaces.rest.validation_messages import finding_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

MEDIA_TYPE: Final = "application/problem+json"
# The database was unavailable, or too slow to record a webhook request.
_AWAY: Final = frozenset({UNAVAILABLE, "not_recorded"})

_logger = logging.getLogger(__name__)
_TITLES: Final[Mapping[int, str]] = {
    405: "Method not allowed",
    408: "Request too slow",
    431: "Too large",
    **{made.status: made.title for made in reversed([*KINDS.values()])},
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route: each status as a problem document."""
    return {
        status: {
            "description": _TITLES[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


# Paths that continue with a token.
_TOKEN_PATHS: Final = ("/api/v1/hooks/", "/api/v1/forms/", "/forms/")


def problem_answer(problem: Problem, scope: Scope, status: int | None = None) -> Response:
    """The problem as a response to the request of this scope."""
    if problem.code in _AWAY and _is_out_of_space(scope):
        # Postgres stops when it cannot write its log, and restarts once it can.
        problem = storage_full_error()
    if isinstance(problem, (ConsentRequired, PersonRequired)):
        problem.locate(getattr(getattr(scope.get("app"), "state", None), "address", ""))
    shown = {**problem.as_dict(), "instance": mask_path(scope.get("path", ""))}
    headers = {}
    if status is not None:
        shown |= {"status": status, "title": _TITLES.get(status, problem.title)}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(problem.retry_after)))
    if shown["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(as_json(shown), shown["status"], headers, MEDIA_TYPE)


def mask_path(path: str) -> str:
    """The path without the token of a secret address: problems end up in logs."""
    return next((f"{one}…" for one in _TOKEN_PATHS if path.startswith(one)), path)


def _is_out_of_space(scope: Scope) -> bool:
    home = getattr(getattr(scope.get("app"), "state", None), "home", None)
    return home is not None and is_disk_full(home)


async def send_problem(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    await problem_answer(problem, scope)(scope, receive, send)


def handle_problems(app: FastAPI) -> None:
    """Registers the exception handlers: whatever a route raises becomes a problem."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_parameters)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)


async def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    if isinstance(error, InternalError):
        _logger.error("Request %s failed: %s", request_id(request.scope), error.detail)
    return problem_answer(error, request.scope)


async def _on_parameters(request: Request, error: Exception) -> Response:
    """The framework's validation errors of path, query and headers as findings."""
    assert isinstance(error, RequestValidationError)
    findings = [finding_of(one, join_pointer("", *one["loc"])) for one in error.errors()]
    return problem_answer(
        Invalid("The request does not match this operation.", findings=findings), request.scope
    )


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    made = problem_answer(_of_status(error.status_code), request.scope, error.status_code)
    for name, value in (error.headers or {}).items():
        made.headers[name] = value
    if error.status_code == 405:
        made.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return made


def _methods(request: Request) -> set[str]:
    """The allowed methods of a path; several routes may share it."""
    return {
        method
        for route in request.app.routes
        if isinstance(route, Route) and route.path_regex.match(request.scope["path"])
        for method in route.methods or ()
    }


async def _on_disconnect(request: Request, error: Exception) -> Response:
    """The client has disconnected; the returned response is discarded."""
    del request, error
    return Response(status_code=400)


def _of_status(status: int) -> Problem:
    if status == 404:
        return NotFound("There is nothing at this address.", code="no_route")
    if status == 405:
        return Invalid("This address does not support this HTTP method.", code="wrong_method")
    if status == 408:
        return Invalid("The body did not arrive in time.", code="slow_body")
    return Invalid("The request cannot be read.", code="bad_request")


def unexpected_problem(error: Exception, scope: Scope) -> Problem:
    """An unexpected error: its text stays in the log, together with the request id."""
    if is_storage_full(error):
        return storage_full_error()
    # The path may contain a token; the template of the route does not.
    route = getattr(scope.get("route"), "path", "no route")
    _logger.error(
        "Request %s failed: %s %s", request_id(scope), scope.get("method"), route, exc_info=error
    )
    return InternalError(
        "An error of our own ended this request.",
        suggestion=f"Look for {request_id(scope)} in the log of the server.",
    )


def request_id(scope: Scope) -> str:
    return str(scope.get("state", {}).get("request_id", "unknown"))


def document_statuses(statuses: Iterable[int], there: dict[str, Any]) -> dict[str, Any]:
    """The responses of an operation with these statuses added."""
    made = {str(status): entry for status, entry in problems(*statuses).items()}
    return dict(sorted((made | there).items()))
