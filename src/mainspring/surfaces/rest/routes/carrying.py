"""Export and import of a workspace as files."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

FACES: Final = (
    CapabilityRoute("GET", "/workspace/files", "export_workspace"),
    CapabilityRoute("POST", "/workspace/files", "import_workspace"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("workspaces")
    add_faces(made, services, FACES)
    return made
