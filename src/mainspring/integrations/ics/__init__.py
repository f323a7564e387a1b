"""Calendar feeds: events of a published iCalendar URL, as board rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.ics.adapters import ADAPTER


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration; people supply the URLs it reads."""
    del addresses
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    return Integration(manifest=json.loads(manifest), adapters=(ADAPTER,))
