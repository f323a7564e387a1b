"""A command sets up the log of its process; the next test finds it as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager

import pytest
import typer

from mainspring.app import build_registry
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, build_app
from mainspring.surfaces.services import ApplicationServices


def _locked(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError("the house was opened")


@pytest.fixture(scope="session")
def locked_app() -> typer.Typer:
    """The command line over an application that must not be opened; built once, for all tests."""
    return build_app(ApplicationFactory(_locked, build_registry))


@pytest.fixture(autouse=True)
def logbook_put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
