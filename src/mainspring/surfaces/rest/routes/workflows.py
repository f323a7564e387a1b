"""Workflows: goals of a team, and the automations that serve them."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_ONE: Final = "/workflows/{workflow_id}"

FACES: Final = (
    CapabilityRoute("GET", "/workflows", "list_workflows"),
    CapabilityRoute("POST", "/workflows", "create_workflow", status_code=201),
    CapabilityRoute("GET", _ONE, "get_workflow"),
    CapabilityRoute("PATCH", _ONE, "update_workflow"),
    CapabilityRoute("DELETE", _ONE, "delete_workflow"),
    CapabilityRoute("POST", f"{_ONE}/status", "set_workflow_status"),
    CapabilityRoute("POST", f"{_ONE}/kpi", "set_workflow_kpi"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("workflows")
    add_faces(made, services, FACES)
    return made
