"""The codex: recipes on the shelf, what is installed from them, and what was taken away."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.faces import Face, add_faces
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rooms import Rooms

_RECIPE: Final = "/recipes/{slug}"
_INSTALL: Final = "/installs/{entity_id}"

FACES: Final = (
    Face("GET", "/recipes", "list_starter_recipes", "List the recipes of the codex"),
    Face("POST", "/recipes", "publish_recipe", "Publish a version of a recipe"),
    Face("GET", _RECIPE, "get_starter_recipe", "Read a recipe"),
    Face("POST", f"{_RECIPE}/apply", "apply_starter_recipe", "Install a recipe"),
    Face(
        "GET",
        f"{_RECIPE}/dependencies",
        "check_recipe_dependencies",
        "See what a recipe needs and what of it is there",
    ),
    Face("GET", "/installs", "list_installs", "List what is installed"),
    Face("GET", f"{_INSTALL}/upgrade", "check_recipe_upgrade", "See what an upgrade would change"),
    Face("POST", f"{_INSTALL}/upgrade", "upgrade_recipe", "Upgrade an install"),
    Face("DELETE", _INSTALL, "uninstall_recipe", "Uninstall; it can be recovered for seven days"),
    Face("GET", "/uninstalled", "list_uninstalled", "List what can be recovered"),
    Face("POST", "/uninstalled/{entity_id}/recover", "recover_recipe", "Recover an install"),
)


def routes(rooms: Rooms) -> APIRouter:
    made = router("codex")
    add_faces(made, rooms, FACES)
    return made
