"""Commands on the application of the test: as a person gives them, or as one function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer

from mainspring.app import application_services, build_registry, open_application
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, build_app, run_cli
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from tests.kit.bench import Bench
from tests.kit.terminals import Typed, answered

Command = Callable[..., Any]


@pytest.fixture
def services(bench: Bench) -> ApplicationServices:
    return application_services(bench.application)


@pytest.fixture
def command_context(
    services: ApplicationServices, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandContext:
    """A command line that uses the test's own application."""
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))

    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield services

    return CommandContext(ApplicationFactory(enter, build_registry))


@pytest.fixture
def screen() -> Screen:
    """A screen for programs."""
    return Screen(for_programs=True)


@pytest.fixture(scope="session")
def app() -> typer.Typer:
    """The command line over the application of its settings; built once, for all tests."""

    @asynccontextmanager
    async def opened(found: Any) -> AsyncIterator[Any]:
        async with open_application(found) as application:
            yield application_services(application)

    return build_app(ApplicationFactory(opened, build_registry))


@pytest.fixture
def command(
    bench: Bench,
    app: typer.Typer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """One command, run to its end in a thread: its code, and what it said."""
    settings = bench.application.settings
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", str(settings.database_url))
    monkeypatch.setenv("MAINSPRING_HOME", str(settings.home))

    async def run(*text: str, answers: Sequence[str | Typed] | None = None) -> tuple[int, str]:
        if answers is not None:
            work = partial(run_cli, app, list(text))
            return await asyncio.to_thread(answered, work, answers)
        capsys.readouterr()
        code = await asyncio.to_thread(run_cli, app, list(text))
        output = capsys.readouterr()
        return code, output.out + output.err

    return run
