"""The one property test that needs a database finds it here."""

from __future__ import annotations

from tests.kit.postgres import migrated_template, postgres_server

__all__ = ["migrated_template", "postgres_server"]
