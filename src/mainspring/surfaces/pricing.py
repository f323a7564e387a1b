"""What an automation that is kept will cost, for every surface that shows it.

Rules work it out from its definition and its own history; no model is asked and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.authoring.forecast.forecasting import Parts, forecast
from mainspring.workspace.automations import read_grants
from mainspring.workspace.judging_here import words_for

if TYPE_CHECKING:
    from mainspring.authoring.forecast.answer import Forecast
    from mainspring.store.walls import Walled
    from mainspring.surfaces.rooms import Rooms


async def price_of(rooms: Rooms, walled: Walled, found: Mapping[str, Any]) -> Forecast:
    """The forecast of an automation as it was read."""
    space, document = walled.workspace_id, found["definition"]
    words = await words_for(rooms.registry, space, document)
    parts = Parts(walled, rooms.gate.models, rooms.clock, rooms.limits)
    grants = read_grants(found["grants"])
    return await forecast(parts, space, document, grants, words, automation_id=found["id"])
