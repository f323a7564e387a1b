"""Models: connections, available models, and prices."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("GET", "/models", "list_models"),
    CapabilityRoute("PUT", "/models/connections/{name}", "connect_model"),
    CapabilityRoute(
        "DELETE",
        "/models/connections/{name}",
        "disconnect_model",
    ),
    CapabilityRoute("POST", "/models/connections/{name}/test", "test_model"),
    CapabilityRoute(
        "PUT",
        "/admin/models/connections/{name}",
        "admin_connect_model",
    ),
    CapabilityRoute(
        "DELETE",
        "/admin/models/connections/{name}",
        "admin_disconnect_model",
    ),
    CapabilityRoute("GET", "/admin/models/prices", "admin_list_model_prices"),
    CapabilityRoute(
        "PUT",
        "/admin/models/prices/{model:path}",
        "admin_set_model_price",
    ),
    CapabilityRoute(
        "DELETE",
        "/admin/models/prices/{model:path}",
        "admin_delete_model_price",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("models")
    add_faces(made, services, _FACES)
    return made
