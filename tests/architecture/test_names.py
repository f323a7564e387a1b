"""Names and texts: modules are named from the domain, and no file carries a loose end."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.tree import CODE_FOLDERS, ROOT, files_under, modules, shown

DRAWERS = {
    "base",
    "bases",
    "common",
    "helper",
    "helpers",
    "lib",
    "manager",
    "managers",
    "misc",
    "model_base",
    "models",
    "service",
    "services",
    "shared",
    "tools",
    "types",
    "util",
    "utils",
}

# Written in pieces, or this file would break its own law.
LOOSE_ENDS = {
    "an unfinished mark": r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b",
    "a path above the checkout": r"\.\./" + r"shared\b",
    "a path of one machine": r"(?<![\w.])/(?:work|root)/" + r"\w",
    "a package index": r"(?i)\bpypi\." + r"org|python" + r"hosted|npm" + r"js\.",
    "a condescending word": r"(?i)\bsimp" + r"ly\b",
}


@cache
def _texts() -> dict[Path, str]:
    """Every file of the project that holds text."""
    found: dict[Path, str] = {}
    for path in files_under(ROOT):
        if path.name != "LICENSE":
            with suppress(UnicodeDecodeError):
                found[path] = path.read_text(encoding="utf-8")
    return found


def test_no_module_is_a_drawer_for_everything() -> None:
    named = {path for path in modules(*CODE_FOLDERS) if path.stem in DRAWERS}
    kept_in = {path for path in modules(*CODE_FOLDERS) if DRAWERS & set(path.parent.parts)}

    assert sorted(map(shown, named | kept_in)) == []


@pytest.mark.parametrize("kind", LOOSE_ENDS)
def test_no_file_carries(kind: str) -> None:
    pattern = re.compile(LOOSE_ENDS[kind])
    found = [
        f"{shown(path)}:{number}: {line.strip()[:80]}"
        for path, text in _texts().items()
        # Most files have none, which one search tells.
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]

    assert found == []


def test_every_constraint_is_one_exact_version_and_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]

    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!]+", pin)] == []
    assert pins == sorted(pins, key=str.lower)
