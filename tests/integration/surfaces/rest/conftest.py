"""The fixtures of tests that call the server."""

from __future__ import annotations

from tests.kit.api import api

__all__ = ["api"]
