"""News feeds: entries of a published RSS or Atom URL, as pages and board rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.rss.adapters import ADAPTER
from mainspring.integrations.rss.sources import SOURCE


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration; people supply the URLs it reads."""
    del addresses
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    return Integration(manifest=json.loads(manifest), sources=(SOURCE,), adapters=(ADAPTER,))
