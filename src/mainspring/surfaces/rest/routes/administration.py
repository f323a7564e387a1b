"""Users and workspaces of the installation, for administrators."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

FACES: Final = (
    CapabilityRoute(
        "GET", "/admin/users", "admin_list_users", "List the people of the installation"
    ),
    CapabilityRoute("POST", "/admin/users", "admin_create_user", "Add a person", status_code=201),
    CapabilityRoute(
        "POST",
        "/admin/users/{user_id}/disable",
        "admin_disable_user",
        "Shut a person out",
    ),
    CapabilityRoute(
        "POST",
        "/admin/users/{user_id}/enable",
        "admin_enable_user",
        "Let a person in again",
    ),
    CapabilityRoute(
        "POST",
        "/admin/users/{user_id}/reset-password",
        "admin_reset_password",
        "Make a link for somebody who lost their password",
    ),
    CapabilityRoute("GET", "/admin/workspaces", "admin_list_workspaces", "List every workspace"),
    CapabilityRoute("GET", "/admin/size", "admin_show_size", "Show how large the installation is"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("administration")
    add_faces(made, services, FACES)
    return made
