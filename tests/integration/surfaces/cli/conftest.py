"""A command as a person gives it, on the house of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mainspring.surfaces.cli import Doors, build_app, run_cli
from mainspring.wiring import build_registry, open_house, rooms_of
from tests.kit.house import Bench

Command = Callable[..., Any]


@pytest.fixture
def command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """One command, run to its end in a thread: its code, and what it said."""
    settings = bench.house.settings
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", str(settings.database_url))
    monkeypatch.setenv("MAINSPRING_HOME", str(settings.home))

    @asynccontextmanager
    async def opened(found: Any) -> AsyncIterator[Any]:
        async with open_house(found) as house:
            yield rooms_of(house)

    app = build_app(Doors(opened, build_registry))

    async def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = await asyncio.to_thread(run_cli, app, list(words))
        said = capsys.readouterr()
        return code, said.out + said.err

    return run
