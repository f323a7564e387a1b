"""A bench with other settings and every word that the product itself has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mainspring.app import build_application, build_registry
from tests.kit.bench import Bench


@asynccontextmanager
async def open_own_application(bench: Bench, **settings: Any) -> AsyncIterator[Bench]:
    """The same database, behind an application whose integrations use other addresses."""
    changed = replace(bench.application.settings, **settings)
    application = bench.application
    vocabulary = build_registry(
        application.limits,
        settings=changed,
        vault=application.vault,
        database=application.database,
        capabilities=bench.outside.capabilities(),
        script_runner=application.script_runner,
    )
    made = build_application(
        changed, application.limits, vocabulary, application.database, application.script_runner
    )
    try:
        yield Bench(made, bench.outside)
    finally:
        await made.gate.aclose()
        await made.hints.aclose()
        await made.wakeup_sender.aclose()
        await made.egress.aclose()
