"""Rehearsals: what a change would have done, before it is made."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute(
        "POST",
        "/automations/{automation_id}/rehearsals",
        "rehearse_automation",
        status_code=201,
    ),
    CapabilityRoute("GET", "/rehearsals/{rehearsal_id}", "get_rehearsal"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("rehearsals")
    add_faces(made, services, _FACES)
    return made
