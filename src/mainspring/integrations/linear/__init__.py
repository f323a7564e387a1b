"""Linear: the issues of a workspace's teams, over its GraphQL API.

What it reads becomes pages. An issue that it makes is seen by a person before it leaves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import moved
from mainspring.integrations.linear.capabilities import create_issue
from mainspring.integrations.linear.client import Linear
from mainspring.integrations.linear.events import EVENTS
from mainspring.integrations.linear.refusals import refuses_token
from mainspring.integrations.linear.sources import changed_issues, searched


def integration(addresses: Mapping[str, str]) -> Integration:
    """Everything this folder adds to an installation whose Linear is at its address."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    linear = Linear(addresses)
    return Integration(
        manifest={**moved(json.loads(manifest), addresses), "hosts": sorted(linear.hosts)},
        capabilities=(create_issue(linear),),
        events=EVENTS,
        sources=(searched(linear),),
        polls=(changed_issues(linear),),
        account=linear.account,
        refuses_token=refuses_token,
    )
