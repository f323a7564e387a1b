"""Cost forecasts of automations, before activation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from fastapi import APIRouter

from mainspring.authoring.forecast.schemas import FORECAST_SCHEMA
from mainspring.contracts.roles import Permission
from mainspring.surfaces.pricing import price_of
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automation_list import read_automation

_ANSWER: Final = {
    "description": "What it will cost, and what that rests on.",
    "content": {"application/json": {"schema": FORECAST_SCHEMA}},
}


def routes(services: ApplicationServices) -> APIRouter:
    made = router("automations")

    @made.get(
        "/automations/{automation_id}/forecast",
        summary="Foresee what an automation will cost in the next thirty days",
        description="Calculated from the current definition and the costs of its runs; no model "
        "is called.",
        responses={**problems(404), 200: _ANSWER},
    )
    @needs(Permission.READ)
    async def get_automation_forecast(automation_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_automation(connection, caller.workspace_id, automation_id)
        return JsonAnswer((await price_of(services, caller.database, found)).as_dict())

    return made
