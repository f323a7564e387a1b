"""What the tests of boards may ask for besides an application."""

from __future__ import annotations

from tests.kit.api import api

__all__ = ["api"]
