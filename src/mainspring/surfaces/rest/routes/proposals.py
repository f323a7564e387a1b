"""Proposals: automations generated from a description, which a person reviews."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute(
        "POST", "/proposals", "propose_automation", "Propose an automation from words", 201
    ),
    CapabilityRoute("GET", "/proposals", "list_proposals", "List the proposals that wait"),
    CapabilityRoute("GET", "/proposals/{proposal_id}", "get_proposal", "Show a proposal"),
    CapabilityRoute(
        "POST", "/proposals/{proposal_id}/refine", "refine_proposal", "Go on with a proposal"
    ),
    CapabilityRoute(
        "POST",
        "/proposals/{proposal_id}/save",
        "save_proposal",
        "Save a proposal as an automation",
        201,
    ),
    CapabilityRoute(
        "DELETE", "/proposals/{proposal_id}", "discard_proposal", "Throw a proposal away"
    ),
    CapabilityRoute(
        "POST", "/reviews", "review_automation", "Review an automation or a definition"
    ),
    CapabilityRoute("GET", "/prompts", "list_prompts", "List requests to begin with"),
    # One path for both: two templates that only differ in a parameter name would be the same route.
    CapabilityRoute(
        "PUT",
        "/prompts/{prompt:path}",
        "save_prompt",
        "Keep a request to use it again",
        named={"prompt": "name"},
    ),
    CapabilityRoute(
        "DELETE",
        "/prompts/{prompt:path}",
        "forget_prompt",
        "Forget a request that was kept",
        named={"prompt": "id"},
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("proposals")
    add_faces(made, services, _FACES)
    return made
