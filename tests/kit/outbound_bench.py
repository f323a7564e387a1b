"""A bench on which outside writes may leave.

No write policy lets a mail or a message go without a person. So these tests mark the writes
as safe in a registry of their own and run under ``auto_confirm_safe``; the product's own
registry is never changed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mainspring.app import build_application, build_registry
from mainspring.contracts.capability import Capability
from mainspring.contracts.registry import Registry
from tests.kit.bench import Bench

SENDS = {"execution": {"write_policy": "auto_confirm_safe"}}


def _set_free(capability: Capability) -> Capability:
    if capability.write is None:
        return capability
    return replace(capability, write=replace(capability.write, safe=True))


@asynccontextmanager
async def outside_bench(bench: Bench, *, free: bool, **settings: Any) -> AsyncIterator[Bench]:
    """The bench with other settings; with ``free``, its outside writes are called safe."""
    changed = replace(bench.application.settings, **settings)
    vocabulary = build_registry(bench.application.limits, settings=changed)
    registry = Registry(
        actions=vocabulary.actions.values(),
        capabilities=map(_set_free, vocabulary.capabilities.values())
        if free
        else vocabulary.capabilities.values(),
        triggers=vocabulary.triggers.values(),
        events=vocabulary.events.values(),
    )
    application = build_application(
        changed, bench.application.limits, registry, bench.application.database
    )
    try:
        yield Bench(application, bench.outside)
    finally:
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


async def everything(bench: Bench) -> str:
    """Every row of every table, as text."""
    tables = await bench.application.database.fetch(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = "
        "'public'::regnamespace AND NOT relispartition"
    )
    found: list[str] = []
    for table in tables:
        rows = await bench.application.database.fetch(
            f"SELECT t::text AS row FROM {table['relname']} t"
        )
        found += [row["row"] for row in rows]
    return "\n".join(found)
