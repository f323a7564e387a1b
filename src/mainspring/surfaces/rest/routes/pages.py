"""Pages: create, read, list and search."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_ONE: Final = "/pages/{slug}"

FACES: Final = (
    CapabilityRoute("POST", "/pages", "create_page", "Write a page"),
    CapabilityRoute("GET", "/pages", "list_pages", "List pages, the last to come in first"),
    CapabilityRoute("GET", _ONE, "get_page", "Read a page"),
    CapabilityRoute("PATCH", _ONE, "update_page", "Change a page"),
    CapabilityRoute("DELETE", _ONE, "delete_page", "Delete a page; it can be restored"),
    CapabilityRoute("POST", f"{_ONE}/restore", "restore_page", "Restore a deleted page"),
    CapabilityRoute(
        "GET", f"{_ONE}/timeline", "list_page_timeline", "List what happened to a page"
    ),
    CapabilityRoute("GET", "/calendar-events", "list_calendar_events", "List events by their time"),
    CapabilityRoute("GET", "/search", "search", "Search pages by words", name="search_pages"),
    CapabilityRoute(
        "GET", "/query", "query", "Ask for pages by words and meaning", name="query_pages"
    ),
    CapabilityRoute(
        "POST",
        "/query",
        "query",
        "Ask for pages, with the question in the body",
        name="post_page_query",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("pages")
    add_faces(made, services, FACES)
    return made
