"""Proposals: automations generated from a description, which a person reviews."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("POST", "/proposals", "propose_automation", status_code=201),
    CapabilityRoute("GET", "/proposals", "list_proposals"),
    CapabilityRoute("GET", "/proposals/{proposal_id}", "get_proposal"),
    CapabilityRoute("POST", "/proposals/{proposal_id}/refine", "refine_proposal"),
    CapabilityRoute(
        "POST",
        "/proposals/{proposal_id}/save",
        "save_proposal",
        status_code=201,
    ),
    CapabilityRoute("DELETE", "/proposals/{proposal_id}", "discard_proposal"),
    CapabilityRoute("POST", "/reviews", "review_automation"),
    CapabilityRoute("GET", "/prompts", "list_prompts"),
    # One path for both: two templates that only differ in a parameter name would be the same route.
    CapabilityRoute(
        "PUT",
        "/prompts/{prompt:path}",
        "save_prompt",
        named={"prompt": "name"},
    ),
    CapabilityRoute(
        "DELETE",
        "/prompts/{prompt:path}",
        "forget_prompt",
        named={"prompt": "id"},
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("proposals")
    add_faces(made, services, _FACES)
    return made
