"""Pages: create, read, list and search."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_ONE: Final = "/pages/{slug}"

FACES: Final = (
    CapabilityRoute("POST", "/pages", "create_page"),
    CapabilityRoute("GET", "/pages", "list_pages"),
    CapabilityRoute("GET", _ONE, "get_page"),
    CapabilityRoute("PATCH", _ONE, "update_page"),
    CapabilityRoute("DELETE", _ONE, "delete_page"),
    CapabilityRoute("POST", f"{_ONE}/restore", "restore_page"),
    CapabilityRoute("GET", f"{_ONE}/timeline", "list_page_timeline"),
    CapabilityRoute("GET", "/calendar-events", "list_calendar_events"),
    CapabilityRoute("GET", "/search", "search", name="search_pages"),
    CapabilityRoute("GET", "/query", "query", name="query_pages"),
    CapabilityRoute(
        "POST",
        "/query",
        "query",
        name="post_page_query",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("pages")
    add_faces(made, services, FACES)
    return made
