"""Linear: issues of a workspace's teams, over the GraphQL API.

Reads become pages. Creating an issue needs approval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses
from mainspring.integrations.linear.capabilities import create_issue
from mainspring.integrations.linear.client import Linear, is_token_refused
from mainspring.integrations.linear.events import EVENTS
from mainspring.integrations.linear.sources import build_issues_poll, build_search_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    linear = Linear(addresses)
    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(manifest), addresses),
            "hosts": sorted(linear.hosts),
        },
        capabilities=(create_issue(linear),),
        events=EVENTS,
        sources=(build_search_source(linear),),
        polls=(build_issues_poll(linear),),
        account=linear.account,
        refuses_token=is_token_refused,
    )
