"""The base of every module of routes: prefix, authentication, and response class."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from mainspring.surfaces.rest.auth import check_admitted
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import check_known_query

PREFIX: Final = "/api/v1"


def router(tag: str) -> APIRouter:
    """An empty router: its paths begin after ``/api/v1``, and its callers are authenticated.

    Background work that must run while the server does is started and ended by the router's
    ``lifespan_context``.
    """
    return APIRouter(
        prefix=PREFIX,
        tags=[tag],
        dependencies=[Depends(check_admitted), Depends(check_known_query)],
        default_response_class=JsonAnswer,
        generate_unique_id_function=_operation_id,
    )


def _operation_id(route: APIRoute) -> str:
    return route.name
