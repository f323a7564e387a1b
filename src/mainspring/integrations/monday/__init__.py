"""monday.com: board items as rows, and updates on items, over the GraphQL API.

Posting an update needs approval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses
from mainspring.integrations.monday.adapters import build_board_adapter
from mainspring.integrations.monday.capabilities import post_update
from mainspring.integrations.monday.client import Monday


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    monday = Monday(addresses)
    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(manifest), addresses),
            "hosts": sorted(monday.hosts),
        },
        capabilities=(post_update(monday),),
        adapters=(build_board_adapter(monday),),
        account=monday.account,
    )
