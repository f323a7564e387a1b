"""Pages: written, read, listed and found."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.faces import Face, add_faces
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rooms import Rooms

_ONE: Final = "/pages/{slug}"

FACES: Final = (
    Face("POST", "/pages", "create_page", "Write a page"),
    Face("GET", "/pages", "list_pages", "List pages, the last to come in first"),
    Face("GET", _ONE, "get_page", "Read a page"),
    Face("PATCH", _ONE, "update_page", "Change a page"),
    Face("DELETE", _ONE, "delete_page", "Delete a page; it can be restored"),
    Face("POST", f"{_ONE}/restore", "restore_page", "Restore a deleted page"),
    Face("GET", f"{_ONE}/timeline", "list_page_timeline", "List what happened to a page"),
    Face("GET", "/calendar-events", "list_calendar_events", "List events by their time"),
    Face("GET", "/search", "search", "Search pages by words", name="search_pages"),
    Face("GET", "/query", "query", "Ask for pages by words and meaning", name="query_pages"),
    Face(
        "POST",
        "/query",
        "query",
        "Ask for pages, with the question in the body",
        name="post_page_query",
    ),
)


def routes(rooms: Rooms) -> APIRouter:
    made = router("pages")
    add_faces(made, rooms, FACES)
    return made
