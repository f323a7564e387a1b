"""Models: connections, available models, and prices."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("GET", "/models", "list_models", "List the models that can be asked here"),
    CapabilityRoute(
        "PUT", "/models/connections/{name}", "connect_model", "Connect the workspace to models"
    ),
    CapabilityRoute(
        "DELETE",
        "/models/connections/{name}",
        "disconnect_model",
        "Disconnect the workspace from models",
    ),
    CapabilityRoute(
        "POST", "/models/connections/{name}/test", "test_model", "Try a connection to models"
    ),
    CapabilityRoute(
        "PUT",
        "/admin/models/connections/{name}",
        "admin_connect_model",
        "Connect every workspace to models",
    ),
    CapabilityRoute(
        "DELETE",
        "/admin/models/connections/{name}",
        "admin_disconnect_model",
        "Disconnect every workspace from models",
    ),
    CapabilityRoute(
        "GET", "/admin/models/prices", "admin_list_model_prices", "List the prices that were set"
    ),
    CapabilityRoute(
        "PUT",
        "/admin/models/prices/{model:path}",
        "admin_set_model_price",
        "Set the price of a model",
    ),
    CapabilityRoute(
        "DELETE",
        "/admin/models/prices/{model:path}",
        "admin_delete_model_price",
        "Forget the price that was set for a model",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("models")
    add_faces(made, services, _FACES)
    return made
