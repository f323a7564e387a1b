"""A bench with other settings and every word that the product itself has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mainspring.app import build_application, build_registry
from tests.kit.house import Bench


@asynccontextmanager
async def own_house(bench: Bench, **settings: Any) -> AsyncIterator[Bench]:
    """The same database, behind a house whose integrations are led elsewhere."""
    changed = replace(bench.house.settings, **settings)
    house = bench.house
    words = build_registry(
        house.limits,
        settings=changed,
        vault=house.vault,
        database=house.database,
        capabilities=bench.outside.capabilities(),
        workshop=house.workshop,
    )
    made = build_application(changed, house.limits, words, house.database, house.workshop)
    try:
        yield Bench(made, bench.outside)
    finally:
        await made.gate.aclose()
        await made.hints.aclose()
        await made.waker.aclose()
        await made.egress.aclose()
