"""The application: every route of the REST interface behind the auth middleware.

A module of routes only declares its routes. Authentication, errors, headers and the OpenAPI
document are handled here for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.responses import Response
from starlette.types import ASGIApp

from mainspring import __version__
from mainspring.contracts.errors import InternalError
from mainspring.surfaces.rest.auth import AuthMiddleware, BrowserSessionPolicy
from mainspring.surfaces.rest.docs_pages import docs_pages
from mainspring.surfaces.rest.middleware import (
    ErrorBoundaryMiddleware,
    MountMiddleware,
    NotFoundPageMiddleware,
    RequestMetrics,
)
from mainspring.surfaces.rest.oauth import oauth
from mainspring.surfaces.rest.openapi import describe
from mainspring.surfaces.rest.problems import handle_problems
from mainspring.surfaces.rest.request_bodies import as_json
from mainspring.surfaces.rest.route_access import is_marked, is_public, public
from mainspring.surfaces.rest.router import PREFIX, router
from mainspring.surfaces.rest.routes import (
    account,
    administration,
    artifacts,
    asked_models,
    audit,
    automations,
    boards,
    capabilities,
    carrying,
    clients,
    codex,
    connections,
    consents,
    events,
    forecasts,
    forms,
    halts,
    health,
    inbox,
    integrations,
    interactions,
    members,
    proposals,
    public_address,
    push,
    push_channels,
    questions,
    rehearsals,
    runs,
    schemas,
    secrets,
    session,
    streams,
    terminals,
    tokens,
    triggers,
    usage,
    versions,
    webhooks,
    workflows,
    workspaces,
)
from mainspring.surfaces.rest.routes import pages as page_routes
from mainspring.surfaces.rest.sdks import sdks
from mainspring.surfaces.rest.tracing import TracingMiddleware
from mainspring.surfaces.rest.web_pages import pages
from mainspring.surfaces.services import ApplicationServices
from mainspring.surfaces.web.docs_site import BUILT_DOCS, DocsSite
from mainspring.surfaces.web.files import BUILT, read_page

# Routes are matched in this order, so the most frequent one comes first.
MODULES: Final = (
    webhooks,
    forms,
    automations,
    forecasts,
    versions,
    triggers,
    runs,
    streams,
    events,
    artifacts,
    inbox,
    questions,
    boards,
    page_routes,
    audit,
    usage,
    capabilities,
    connections,
    interactions,
    push_channels,
    integrations,
    codex,
    workflows,
    secrets,
    session,
    terminals,
    account,
    push,
    members,
    tokens,
    workspaces,
    carrying,
    administration,
    asked_models,
    proposals,
    consents,
    rehearsals,
    clients,
    schemas,
    halts,
    health,
    public_address,
)

if TYPE_CHECKING:
    from mainspring.surfaces.rest.certificates import CertificateManager

Closing = Callable[[], Awaitable[None]]


def build_api(
    services: ApplicationServices,
    *,
    on_close: Sequence[Closing] = (),
    more: Sequence[APIRouter] = (),
    beside: Mapping[str, ASGIApp] = MappingProxyType({}),
) -> FastAPI:
    """Builds the application over the open services.

    ``on_close`` is awaited after the last request. A stream must end by itself when
    ``app.state.closing`` is set, which happens before that. ``beside`` holds other interfaces by
    their path.
    """
    routers = [*(module.routes(services) for module in MODULES), *more]
    app = FastAPI(
        title="Mainspring",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Telemetry has no receiver here, and checking for one costs each request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        lifespan=_lifespan(routers, on_close),
    )
    app.state.limits = services.limits
    app.state.home = services.settings.home
    app.state.address = services.settings.address
    app.state.certificates = _open_certificates(services)
    app.state.closing = asyncio.Event()
    app.state.requests = RequestMetrics()
    for made in (*routers, _description(app)):
        _check(made)
        app.router.routes.extend(made.routes)
    page = read_page(services.settings.page or BUILT)
    app.router.routes.extend(health.probes(services).routes)
    app.router.routes.extend(pages(page).routes)
    site = DocsSite(services.settings.docs or BUILT_DOCS)
    app.router.routes.extend(docs_pages(site).routes)
    app.router.routes.extend(sdks(services).routes)
    app.router.routes.extend(oauth(services).routes)
    handle_problems(app)
    app.add_middleware(
        AuthMiddleware,
        database=services.database,
        browsers=BrowserSessionPolicy(services.settings.address),
        routes=list(iter_route_contexts(app.router.routes)),
    )
    app.add_middleware(MountMiddleware, surfaces=beside)
    app.add_middleware(NotFoundPageMiddleware, page=page)
    app.add_middleware(ErrorBoundaryMiddleware, tally=app.state.requests)
    tracer = None if services.telemetry is None else services.telemetry.opened()
    if tracer is not None:
        app.add_middleware(TracingMiddleware, telemetry=tracer)
    return app


def _open_certificates(services: ApplicationServices) -> CertificateManager | None:
    if not services.settings.acme_domains:
        return None
    # Imported only where it is used: a start need not spend the time for the ACME library.
    from mainspring.surfaces.rest.certificate_store import open_store
    from mainspring.surfaces.rest.certificates import CertificateManager

    store = open_store(services.settings, services.database, services.vault)
    return CertificateManager(services.settings, store, services.database)


def _check(made: APIRouter) -> None:
    """A route that is missing its access check is a bug."""
    for route in made.routes:
        path = getattr(route, "path", "")
        if not path.startswith(PREFIX + "/"):
            raise InternalError(f"The route {path!r} does not begin with {PREFIX}.")
        if not isinstance(route, APIRoute) and not is_public(getattr(route, "endpoint", None)):
            raise InternalError(f"The route {path!r} is neither public nor made by ground.router.")
        if not is_marked(getattr(route, "endpoint", None)):
            raise InternalError(f"The route {path!r} does not say who may use it.")


def _lifespan(
    routers: Sequence[APIRouter], on_close: Sequence[Closing]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for close in on_close:
                stack.push_async_callback(close)
            for made in routers:
                await stack.enter_async_context(made.lifespan_context(app))
            yield

    return lifespan


def _description(app: FastAPI) -> APIRouter:
    made = router("schemas")
    written: list[bytes] = []
    one_at_a_time = asyncio.Lock()

    @made.get("/openapi.json", summary="This description", include_in_schema=False)
    @public
    async def read_openapi() -> Response:
        async with one_at_a_time:
            if not written:
                written.append(await asyncio.to_thread(lambda: as_json(describe(app))))
        return Response(written[0], media_type="application/json")

    return made
