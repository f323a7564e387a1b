"""Questions of plans, and auto-approval rules that people have earned by repeated approvals."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("GET", "/approvals", "list_approvals"),
    CapabilityRoute("POST", "/approvals/{approval_id}/answer", "answer_approval"),
    CapabilityRoute("GET", "/standing-rules", "list_standing_rules"),
    CapabilityRoute(
        "POST",
        "/standing-rules/{rule_id}/decide",
        "decide_standing_rule",
    ),
    CapabilityRoute(
        "POST",
        "/standing-rules/{rule_id}/withdraw",
        "withdraw_standing_rule",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("inbox")
    add_faces(made, services, _FACES)
    return made
