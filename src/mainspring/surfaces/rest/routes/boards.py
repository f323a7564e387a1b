"""Boards: rows, columns, skills, forms, dashboard, versions and links.

A dashboard is a document supplied by people and programs. It is sent with a sandboxing policy: no
scripts, no requests, and no access to the reader's session.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from mainspring.contracts.roles import Permission
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_ONE: Final = "/boards/{board_id}"
_ONLY_SHOWN: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}

FACES: Final = (
    CapabilityRoute("POST", "/boards", "create_board", status_code=201),
    CapabilityRoute("GET", "/boards", "list_boards"),
    CapabilityRoute("GET", _ONE, "get_board"),
    CapabilityRoute("PATCH", _ONE, "update_board"),
    CapabilityRoute("DELETE", _ONE, "archive_board"),
    CapabilityRoute(
        "GET",
        f"{_ONE}/rows",
        "get_board",
        name="get_board_rows",
        summary="List rows of a board",
    ),
    CapabilityRoute("GET", f"{_ONE}/summary", "summarize_board_rows"),
    CapabilityRoute("POST", f"{_ONE}/rows", "append_board_rows"),
    CapabilityRoute("PATCH", f"{_ONE}/rows", "update_board_rows"),
    CapabilityRoute("DELETE", f"{_ONE}/rows", "delete_board_rows"),
    CapabilityRoute(
        "POST",
        f"{_ONE}/rows/delete",
        "delete_board_rows",
        name="delete_many_board_rows",
    ),
    CapabilityRoute("POST", f"{_ONE}/rows/restore", "restore_board_rows"),
    CapabilityRoute("GET", f"{_ONE}/skills", "list_board_skills"),
    CapabilityRoute("PUT", f"{_ONE}/skills/{{name}}", "set_board_skill"),
    CapabilityRoute("DELETE", f"{_ONE}/skills/{{name}}", "delete_board_skill"),
    CapabilityRoute("GET", f"{_ONE}/forms", "list_board_forms"),
    CapabilityRoute("PUT", f"{_ONE}/forms/{{name}}", "set_board_form"),
    CapabilityRoute("DELETE", f"{_ONE}/forms/{{name}}", "delete_board_form"),
    CapabilityRoute("GET", f"{_ONE}/dashboard", "get_board_dashboard"),
    CapabilityRoute("PUT", f"{_ONE}/dashboard", "set_board_dashboard"),
    CapabilityRoute("GET", f"{_ONE}/versions", "list_board_versions"),
    CapabilityRoute("POST", f"{_ONE}/revert", "revert_board_part"),
    CapabilityRoute("POST", f"{_ONE}/links", "create_board_link", status_code=201),
    CapabilityRoute("GET", f"{_ONE}/links", "list_board_links"),
    CapabilityRoute("DELETE", "/board-links/{link_id}", "delete_board_link"),
    CapabilityRoute(
        "POST",
        "/board-links/{link_id}/recipes",
        "create_dataset_recipe",
        status_code=201,
    ),
    CapabilityRoute(
        "POST",
        "/dataset-recipes/{recipe_id}/refresh",
        "refresh_dataset",
    ),
    CapabilityRoute(
        "DELETE",
        "/dataset-recipes/{recipe_id}",
        "delete_dataset_recipe",
    ),
    CapabilityRoute("POST", "/adapters/query", "adapter_query"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("boards")
    add_faces(made, services, FACES)
    _dashboard(made, services)
    return made


def _dashboard(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        f"{_ONE}/dashboard.html",
        summary="Show its dashboard, as a document that can do nothing",
        response_class=Response,
        responses={
            **problems(401, 404, 422),
            200: {"description": "The document.", "content": {"text/html": {}}},
        },
    )
    @needs(Permission.READ)
    async def show_board_dashboard(board_id: UUID, caller: SignedIn) -> Response:
        arguments = {"board_id": str(board_id)}
        found = await services.gate.direct(caller.gate_caller, "get_board_dashboard", arguments)
        return Response(found["html"], media_type="text/html", headers=_ONLY_SHOWN)
