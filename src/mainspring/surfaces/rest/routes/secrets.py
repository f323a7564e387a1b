"""Secrets: names in and out, values in and never out."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.faces import Face, add_faces
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rooms import Rooms

_FACES: Final = (
    Face("POST", "/secrets", "automation_secret_set", "Keep a secret of your own", 201),
    Face("GET", "/secrets", "automation_secret_list", "List your secrets without their values"),
    Face("DELETE", "/secrets/{name}", "automation_secret_delete", "Forget a secret"),
    Face(
        "POST",
        "/publisher-secrets",
        "publisher_secret_set",
        "Keep a secret that the workspace publishes with",
        201,
    ),
    Face(
        "GET",
        "/publisher-secrets",
        "publisher_secret_list",
        "List what the workspace publishes with, without values",
    ),
    Face(
        "DELETE",
        "/publisher-secrets/{name}",
        "publisher_secret_delete",
        "Forget a publisher secret",
    ),
)


def routes(rooms: Rooms) -> APIRouter:
    made = router("secrets")
    add_faces(made, rooms, _FACES)
    return made
