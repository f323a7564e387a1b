"""A pytest plug-in: which lines of the product each test executes.

    MAINSPRING_TRACE=lines.json python -m pytest -p scripts.requirement_trace tests/…::test_x …

Only a test itself is traced, without its fixtures and without what other processes do. The file has
an entry for each test: whether it passed, and a list of functions, each with its file, the lines
that were executed and the names it uses.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

PRODUCT: Final = str(Path(__file__).resolve().parents[1] / "src" / "mainspring") + os.sep
VARIABLE: Final = "MAINSPRING_TRACE"
# The lines of a function that is called again and again are known by then.
_MOST_CALLS: Final = 50
_Lines = dict[CodeType, set[int]]
_found: dict[str, _Lines] = {}
# Tests by what pytest calls them: their files, and what follows.
_names: dict[str, str] = {}
_failed: set[str] = set()
# Of the test that is running.
_lines: _Lines = {}
_calls: Counter[CodeType] = Counter()


def _on_call(frame: FrameType, event: str, argument: Any) -> Any:
    del event, argument
    code = frame.f_code
    if not code.co_filename.startswith(PRODUCT):
        return None
    _calls[code] += 1
    if _calls[code] > _MOST_CALLS:
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
    name = f"{item.path}::{item.nodeid.partition('::')[2]}"
    _names[item.nodeid] = name
    _lines.clear()
    _calls.clear()
    threading.settrace(_on_call)
    sys.settrace(_on_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        _found[name] = dict(_lines)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(_names.get(report.nodeid, report.nodeid))


def pytest_sessionfinish() -> None:
    stored = {
        name: {
            "passed": name not in _failed,
            "functions": [
                {"file": code.co_filename, "lines": sorted(lines), "names": sorted(code.co_names)}
                for code, lines in functions.items()
                if lines
            ],
        }
        for name, functions in _found.items()
    }
    Path(os.environ[VARIABLE]).write_text(json.dumps(stored), encoding="utf-8")
