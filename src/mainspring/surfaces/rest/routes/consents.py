"""Consents: additional permissions of automations, and a person's answer."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("GET", "/consents", "list_consents"),
    CapabilityRoute("GET", "/consents/{consent_id}", "get_consent"),
    CapabilityRoute(
        "POST",
        "/consents/{consent_id}/answer",
        "answer_consent",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("consents")
    add_faces(made, services, _FACES)
    return made
