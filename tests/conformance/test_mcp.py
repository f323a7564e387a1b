"""The protocol's own conformance suite against the MCP server, for each version it declares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from mainspring.app import Application, build_application, build_registry, prepare_database
from mainspring.contracts.limits import Limits
from mainspring.settings import Settings
from mainspring.store.database import Database
from scripts import mcp_conformance
from tests.kit.mcp_everything import CAPABILITIES, mounted


@pytest_asyncio.fixture
async def everything(
    database: Database, database_url: str, tmp_path: Path
) -> AsyncIterator[Application]:
    """An application with the tools that the suite knows."""
    settings = Settings(home=tmp_path, database_url=database_url)
    registry = build_registry(Limits(), capabilities=CAPABILITIES)
    application = build_application(settings, Limits(), registry, database)
    await prepare_database(application)
    try:
        yield application
    finally:
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


async def test_the_mcp_server_passes_the_conformance_suite_of_its_protocol(
    everything: Application,
) -> None:
    place = mcp_conformance.prepare()
    async with mounted(everything) as url:
        for version in mcp_conformance.VERSIONS:
            verdict = await mcp_conformance.judge(url, version, place)

            assert verdict.ok, verdict.text
            assert "✓ tools-list" in verdict.text
            assert "✓ tools-call-error" in verdict.text


async def test_the_suite_notices_a_server_that_does_not_look_at_the_host(
    everything: Application,
) -> None:
    settings = replace(everything.settings, public_url="http://always.test")
    blind = {"host": "always.test", "origin": "http://always.test"}
    place, only = mcp_conformance.prepare(), "dns-rebinding-protection"
    async with mounted(everything) as url:
        seeing = await mcp_conformance.judge(url, "2025-11-25", place, only)
    async with mounted(replace(everything, settings=settings), blind) as url:
        verdict = await mcp_conformance.judge(url, "2025-11-25", place, only)

    assert seeing.ok, seeing.text
    assert not verdict.ok, verdict.text
