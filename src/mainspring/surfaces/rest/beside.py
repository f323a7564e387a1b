"""Other surfaces in the same process, each at one path, inside the same shell.

They open the door themselves, because who may come in and how a refusal is said is part
of what they speak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class SurfaceRoute:
    """The route label of requests that another interface answers."""

    path: str


class MountMiddleware:
    """Hands a request to the surface at its path, and all others on."""

    def __init__(self, app: ASGIApp, *, surfaces: Mapping[str, ASGIApp]) -> None:
        self._app = app
        self._surfaces = surfaces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        there = self._surfaces.get(scope["path"]) if scope["type"] == "http" else None
        if there is not None:
            # Requests are counted and traced by the route that they came to.
            scope["route"] = SurfaceRoute(scope["path"])
        await (there or self._app)(scope, receive, send)
