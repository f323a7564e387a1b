"""Secrets: names can be listed, values are write-only."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("POST", "/secrets", "automation_secret_set", status_code=201),
    CapabilityRoute("GET", "/secrets", "automation_secret_list"),
    CapabilityRoute("DELETE", "/secrets/{name}", "automation_secret_delete"),
    CapabilityRoute(
        "POST",
        "/publisher-secrets",
        "publisher_secret_set",
        status_code=201,
    ),
    CapabilityRoute(
        "GET",
        "/publisher-secrets",
        "publisher_secret_list",
    ),
    CapabilityRoute(
        "DELETE",
        "/publisher-secrets/{name}",
        "publisher_secret_delete",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("secrets")
    add_faces(made, services, _FACES)
    return made
