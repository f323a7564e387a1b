"""The REST application (FastAPI), built once and reused for many benches.

Building its routes takes more time than most tests that call it, and nothing in them belongs
to one bench but the services they call. So a FastAPI application is cached when its bench closes,
and the next bench that would have built the same one reuses it: the routes call its services then.
Everything that remembers callers (auth, the other surfaces, the middleware) is made anew.

What a route caches by itself for a while, such as the last health check, is
handed on. A test about that is marked with ``own_app`` and gets one that nobody had before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, cast

from fastapi import FastAPI
from starlette.middleware import Middleware

from mainspring.surfaces.mcp.mount import PATH, McpMount
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.auth import AuthMiddleware, BrowserSessionPolicy
from mainspring.surfaces.rest.middleware import MountMiddleware
from mainspring.surfaces.services import ApplicationServices

# What routes hold on to while they are built, and ask only when they are called.
_HELD = frozenset({"database", "wakeup_sender", "webhook_receiver"})
assert {field.name for field in fields(ApplicationServices)} >= _HELD


class _Tenant:
    """Proxies the services of the bench that uses the application now."""

    def __init__(self, first: ApplicationServices) -> None:
        self.first = first
        self.now: ApplicationServices | None = None

    def __getattr__(self, name: str) -> Any:
        if self.now is None and name in _HELD:
            return _Part(self, name)
        return getattr(self.now or self.first, name)


class _Part:
    """Proxies one of those services."""

    def __init__(self, tenant: _Tenant, name: str) -> None:
        self._tenant = tenant
        self._name = name

    def __getattr__(self, name: str) -> Any:
        assert self._tenant.now is not None, "Nobody lives here."
        return getattr(getattr(self._tenant.now, self._name), name)


@dataclass(slots=True)
class _CachedApp:
    """An application, what it was built from, and who lives in it."""

    app: FastAPI
    tenant: _Tenant
    made_from: Mapping[str, Any]

    def start_worker(self, services: ApplicationServices) -> None:
        self.tenant.now = services
        self.app.state.limits = services.limits
        self.app.state.address = services.settings.address
        self.app.state.closing = asyncio.Event()
        self.app.middleware_stack = None
        self.app.user_middleware = [_anew(one, services) for one in self.app.user_middleware]


@contextmanager
def kept_app(services: ApplicationServices) -> Iterator[FastAPI]:
    """An application over these services, for as long as the block lasts."""
    expected = _made_from(services)
    free = _free()
    found = next((one for one in free if one.made_from == expected), None)
    if found is None:
        found = _build(services, expected)
    else:
        free.remove(found)
    found.start_worker(services)
    yield found.app
    # Only what was left in order is handed on.
    found.tenant.now = None
    free.append(found)


@cache
def _free() -> list[_CachedApp]:
    """The applications of this process that nobody lives in."""
    return []


def _build(services: ApplicationServices, made_from: Mapping[str, Any]) -> _CachedApp:
    tenant = _Tenant(services)
    app = build_api(cast("ApplicationServices", tenant), beside={PATH: McpMount(services)})
    return _CachedApp(app, tenant, made_from)


def _anew(middleware: Middleware, services: ApplicationServices) -> Middleware:
    """The same middleware, to be made for these services."""
    arguments: dict[str, Any] = dict(middleware.kwargs)
    layer: Any = middleware.cls
    if layer is AuthMiddleware:
        arguments |= {
            "database": services.database,
            "browsers": BrowserSessionPolicy(services.settings.address),
        }
    elif layer is MountMiddleware:
        arguments |= {"surfaces": {PATH: McpMount(services)}}
    return Middleware(layer, *middleware.args, **arguments)


def _made_from(services: ApplicationServices) -> Mapping[str, Any]:
    """All that decides what the routes are; another answer needs another application."""
    return {
        "limits": services.limits,
        "address": services.settings.address,
        "capabilities": {
            one.id: (
                one.input_schema,
                one.output_schema,
                one.permission,
                one.annotations.audience,
                one.annotations.arguments_bytes,
            )
            for one in services.registry.capabilities.values()
        },
        "events": dict(services.registry.events),
    }
