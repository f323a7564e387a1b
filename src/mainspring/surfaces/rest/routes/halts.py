"""Halts, and the workers of the installation: controls for operators."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("GET", "/halts", "list_halts"),
    CapabilityRoute("POST", "/halts", "halt_work"),
    CapabilityRoute("POST", "/halts/release", "release_work"),
    CapabilityRoute(
        "POST",
        "/admin/recipes/{recipe}/halt",
        "admin_halt_recipe",
    ),
    CapabilityRoute(
        "POST",
        "/admin/recipes/{recipe}/release",
        "admin_release_recipe",
    ),
    CapabilityRoute(
        "GET",
        "/admin/workers",
        "admin_list_workers",
    ),
    CapabilityRoute(
        "POST",
        "/admin/workers/drain",
        "admin_drain_workers",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("halts")
    add_faces(made, services, _FACES)
    return made
