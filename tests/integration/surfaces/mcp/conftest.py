"""The fixtures of tests that speak to the MCP server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest_asyncio

from tests.kit.api import Api, api
from tests.kit.mcp import RawMcpClient

__all__ = ["api", "wire"]


@pytest_asyncio.fixture
async def wire(api: Api) -> AsyncIterator[RawMcpClient]:
    """The owner, who writes messages manually."""
    async with httpx2.AsyncClient(timeout=30) as http:
        yield RawMcpClient(http, api.address, api.token)
