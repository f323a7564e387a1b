"""A pytest plug-in: which lines of the product a test executes.

    MAINSPRING_TRACE=lines.json python -m pytest -p scripts.requirement_trace tests/…::test_x

Only the test itself is traced, without its fixtures and without what other processes do. The file
has a list of functions, each with its file, the lines that were executed and the names it uses.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

PRODUCT: Final = str(Path(__file__).resolve().parents[1] / "src" / "mainspring") + os.sep
VARIABLE: Final = "MAINSPRING_TRACE"
_lines: dict[CodeType, set[int]] = {}


def _on_call(frame: FrameType, event: str, argument: Any) -> Any:
    del event, argument
    code = frame.f_code
    if not code.co_filename.startswith(PRODUCT):
        return None
    add = _lines.setdefault(code, set()).add

    def on_line(inner: FrameType, event: str, argument: Any) -> Any:
        del argument
        if event == "line":
            add(inner.f_lineno)
        return on_line

    return on_line


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Traces the test, in all of its threads."""
    del item
    threading.settrace(_on_call)
    sys.settrace(_on_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)


def pytest_sessionfinish() -> None:
    found = [
        {"file": code.co_filename, "lines": sorted(lines), "names": sorted(code.co_names)}
        for code, lines in _lines.items()
        if lines
    ]
    Path(os.environ[VARIABLE]).write_text(json.dumps(found), encoding="utf-8")
