"""Where results are kept: one file for all benchmarks, each under its own name.

A part that was run alone replaces its own figures and leaves those of the others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parent / "results.json"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Whether to keep what was found, and where."""
    parser.add_argument("--save", action="store_true", help="keep the figures")
    parser.add_argument("--into", type=Path, default=RESULTS, help="the file they are kept in")


def before(place: Path = RESULTS) -> dict[str, Any]:
    """What was kept last."""
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    return found


def keep(chosen: argparse.Namespace, found: Mapping[str, Any]) -> None:
    """Adds figures to the stored ones, when that was asked for."""
    if chosen.save:
        stored = before(chosen.into) | dict(found)
        chosen.into.write_text(json.dumps(stored, indent=2) + "\n")
