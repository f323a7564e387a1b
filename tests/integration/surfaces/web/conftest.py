"""The fixtures of tests about the pages."""

from __future__ import annotations

from tests.kit.api import api

__all__ = ["api"]
