"""Fixtures of the black-box tests: the command line on a fresh or a shared data folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.commands import Mainspring, open_folder, warm

Write = Callable[[Mapping[str, Any]], Path]


@pytest.fixture(scope="session", autouse=True)
def warm_ended() -> Iterator[None]:
    """Whatever process the commands came from ends with the tests."""
    yield
    if warm.cache_info().currsize:
        warm().close()


@pytest.fixture(scope="module")
def mainspring() -> Iterator[Mainspring]:
    """The command on a data folder that the tests of one module share."""
    with open_folder() as folder:
        yield Mainspring(folder / "home")


@pytest.fixture
def untouched() -> Iterator[Mainspring]:
    """The command on a data folder that does not exist."""
    with open_folder() as folder:
        yield Mainspring(folder / "home")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a definition to a file and answers its path."""

    def written(document: Mapping[str, Any]) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return written
