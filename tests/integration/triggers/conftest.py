"""The fixtures of tests about triggers."""

from __future__ import annotations

from tests.kit.api import api

__all__ = ["api"]
