"""What an automation that is kept will cost, for every surface that shows it.

Rules work it out from its definition and its own history; no model is asked and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.authoring.forecast.forecaster import ForecastDependencies, forecast
from mainspring.workspace.automations import read_grants
from mainspring.workspace.workspace_validation import load_vocabulary

if TYPE_CHECKING:
    from mainspring.authoring.forecast.forecast import CostForecast
    from mainspring.store.database import WorkspaceDatabase
    from mainspring.surfaces.services import ApplicationServices


async def price_of(
    services: ApplicationServices, walled: WorkspaceDatabase, found: Mapping[str, Any]
) -> CostForecast:
    """The forecast of an automation as it was read."""
    space, document = walled.workspace_id, found["definition"]
    vocabulary = await load_vocabulary(services.registry, space, document)
    parts = ForecastDependencies(walled, services.gate.models, services.clock, services.limits)
    grants = read_grants(found["grants"])
    return await forecast(parts, space, document, grants, vocabulary, automation_id=found["id"])
