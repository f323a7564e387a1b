"""The codex: available recipes, installed ones, and uninstalled ones."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_RECIPE: Final = "/recipes/{slug}"
_INSTALL: Final = "/installs/{entity_id}"

FACES: Final = (
    CapabilityRoute("GET", "/recipes", "list_starter_recipes"),
    CapabilityRoute("POST", "/recipes", "publish_recipe"),
    CapabilityRoute("GET", _RECIPE, "get_starter_recipe"),
    CapabilityRoute("POST", f"{_RECIPE}/apply", "apply_starter_recipe"),
    CapabilityRoute(
        "GET",
        f"{_RECIPE}/dependencies",
        "check_recipe_dependencies",
    ),
    CapabilityRoute("GET", "/installs", "list_installs"),
    CapabilityRoute("GET", f"{_INSTALL}/upgrade", "check_recipe_upgrade"),
    CapabilityRoute("POST", f"{_INSTALL}/upgrade", "upgrade_recipe"),
    CapabilityRoute("DELETE", _INSTALL, "uninstall_recipe"),
    CapabilityRoute("GET", "/uninstalled", "list_uninstalled"),
    CapabilityRoute("POST", "/uninstalled/{entity_id}/recover", "recover_recipe"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("codex")
    add_faces(made, services, FACES)
    return made
