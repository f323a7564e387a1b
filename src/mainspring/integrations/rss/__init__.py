"""News feed: the entries of a published RSS or Atom address, as pages and as rows of a board."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.rss.adapters import ADAPTER
from mainspring.integrations.rss.sources import SOURCE


def integration(addresses: Mapping[str, str]) -> Integration:
    """Everything this folder adds; the addresses it reads are given by people."""
    del addresses
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    return Integration(manifest=json.loads(manifest), sources=(SOURCE,), adapters=(ADAPTER,))
