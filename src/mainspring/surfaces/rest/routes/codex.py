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
    CapabilityRoute("GET", "/recipes", "list_starter_recipes", "List the recipes of the codex"),
    CapabilityRoute("POST", "/recipes", "publish_recipe", "Publish a version of a recipe"),
    CapabilityRoute("GET", _RECIPE, "get_starter_recipe", "Read a recipe"),
    CapabilityRoute("POST", f"{_RECIPE}/apply", "apply_starter_recipe", "Install a recipe"),
    CapabilityRoute(
        "GET",
        f"{_RECIPE}/dependencies",
        "check_recipe_dependencies",
        "See what a recipe needs and what of it is there",
    ),
    CapabilityRoute("GET", "/installs", "list_installs", "List what is installed"),
    CapabilityRoute(
        "GET", f"{_INSTALL}/upgrade", "check_recipe_upgrade", "See what an upgrade would change"
    ),
    CapabilityRoute("POST", f"{_INSTALL}/upgrade", "upgrade_recipe", "Upgrade an install"),
    CapabilityRoute(
        "DELETE", _INSTALL, "uninstall_recipe", "Uninstall; it can be recovered for seven days"
    ),
    CapabilityRoute("GET", "/uninstalled", "list_uninstalled", "List what can be recovered"),
    CapabilityRoute(
        "POST", "/uninstalled/{entity_id}/recover", "recover_recipe", "Recover an install"
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("codex")
    add_faces(made, services, FACES)
    return made
