"""The body of an API process, made to be killed while it accepts webhooks."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mainspring.app import Application, application_services
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.serve import serve


async def answer_calls(application: Application, stop: asyncio.Event, port: int) -> None:
    """Serves on loopback until it is stopped or killed."""
    application = replace(
        application, settings=replace(application.settings, host="127.0.0.1", port=port)
    )
    services = application_services(application)
    await serve(build_api(services), services.settings, ready=lambda _: None, stop=stop)
