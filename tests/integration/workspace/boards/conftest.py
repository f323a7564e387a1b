"""What the tests of boards may ask for besides a house."""

from __future__ import annotations

from tests.kit.api import api

__all__ = ["api"]
