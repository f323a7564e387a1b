"""The body of an API process, made to be killed while it accepts webhooks."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mainspring.app import Application, application_services
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.serve import serve


async def answer_calls(house: Application, stop: asyncio.Event, port: int) -> None:
    """Serves on loopback until it is stopped or killed."""
    house = replace(house, settings=replace(house.settings, host="127.0.0.1", port=port))
    rooms = application_services(house)
    await serve(build_api(rooms), rooms.settings, ready=lambda _: None, stop=stop)
