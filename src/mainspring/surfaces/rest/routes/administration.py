"""Users and workspaces of the installation, for administrators."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

FACES: Final = (
    CapabilityRoute("GET", "/admin/users", "admin_list_users"),
    CapabilityRoute("POST", "/admin/users", "admin_create_user", status_code=201),
    CapabilityRoute(
        "POST",
        "/admin/users/{user_id}/disable",
        "admin_disable_user",
    ),
    CapabilityRoute(
        "POST",
        "/admin/users/{user_id}/enable",
        "admin_enable_user",
    ),
    CapabilityRoute(
        "POST",
        "/admin/users/{user_id}/reset-password",
        "admin_reset_password",
    ),
    CapabilityRoute("GET", "/admin/workspaces", "admin_list_workspaces"),
    CapabilityRoute("GET", "/admin/size", "admin_show_size"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("administration")
    add_faces(made, services, FACES)
    return made
