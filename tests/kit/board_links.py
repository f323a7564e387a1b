"""An application whose boards can be linked to doubles, and somebody who links them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from mainspring.app import Application, build_application
from mainspring.contracts.limits import Limits
from mainspring.registry import build_registry
from tests.kit.bench import Bench


@asynccontextmanager
async def linked_bench(
    bench: Bench, *pairs: str, urls: Mapping[str, str] | None = None
) -> AsyncIterator[Bench]:
    """The bench with a way to these doubles, and integrations led to these addresses."""
    settings = replace(
        bench.application.settings, egress_allow=frozenset(pairs), integration_urls=dict(urls or {})
    )
    database = bench.application.database
    registry = build_registry(
        Limits(), settings=settings, vault=bench.application.vault, database=database
    )
    application: Application = build_application(settings, Limits(), registry, database)
    try:
        yield Bench(application, bench.outside)
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
