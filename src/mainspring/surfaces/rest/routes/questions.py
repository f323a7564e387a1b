"""Questions of plans, and the rules that people have earned by agreeing often."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from mainspring.surfaces.rest.faces import Face, add_faces
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rooms import Rooms

_FACES: Final = (
    Face("GET", "/approvals", "list_approvals", "List the questions of plans"),
    Face(
        "POST", "/approvals/{approval_id}/answer", "answer_approval", "Answer a question of a plan"
    ),
    Face("GET", "/standing-rules", "list_standing_rules", "List standing rules"),
    Face(
        "POST",
        "/standing-rules/{rule_id}/decide",
        "decide_standing_rule",
        "Accept or decline a standing rule",
    ),
    Face(
        "POST",
        "/standing-rules/{rule_id}/withdraw",
        "withdraw_standing_rule",
        "Withdraw a standing rule",
    ),
)


def routes(rooms: Rooms) -> APIRouter:
    made = router("inbox")
    add_faces(made, rooms, _FACES)
    return made
