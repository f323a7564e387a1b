"""Halts, and the workers of the installation: controls for operators."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("GET", "/halts", "list_halts", "List what is halted"),
    CapabilityRoute("POST", "/halts", "halt_work", "Halt a workspace, an automation or a recipe"),
    CapabilityRoute("POST", "/halts/release", "release_work", "Let go on what was halted"),
    CapabilityRoute(
        "POST",
        "/admin/recipes/{recipe}/halt",
        "admin_halt_recipe",
        "Halt a recipe in every workspace",
    ),
    CapabilityRoute(
        "POST",
        "/admin/recipes/{recipe}/release",
        "admin_release_recipe",
        "Let a recipe go on in every workspace",
    ),
    CapabilityRoute(
        "GET",
        "/admin/workers",
        "admin_list_workers",
        "List the workers, and what each queue asks of them",
    ),
    CapabilityRoute(
        "POST",
        "/admin/workers/drain",
        "admin_drain_workers",
        "Drain a worker, or all of a machine",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("halts")
    add_faces(made, services, _FACES)
    return made
