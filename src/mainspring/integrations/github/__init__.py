"""GitHub: issues, pull requests, releases and commits, over the REST API.

Reads become pages or board rows. Writes (issues and comments) need approval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses
from mainspring.integrations.github.adapters import build_repository_adapter
from mainspring.integrations.github.capabilities import build_comment_capability, open_issue
from mainspring.integrations.github.client import GitHub
from mainspring.integrations.github.events import EVENTS
from mainspring.integrations.github.polls import build_issues_poll, build_releases_poll
from mainspring.integrations.github.repository_webhooks import build_push_source
from mainspring.integrations.github.sources import build_search_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    github = GitHub(addresses)
    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(manifest), addresses),
            "hosts": sorted(github.hosts),
        },
        capabilities=(open_issue(github), build_comment_capability(github)),
        events=EVENTS,
        sources=(build_search_source(github),),
        polls=(build_issues_poll(github), build_releases_poll(github)),
        adapters=(build_repository_adapter(github),),
        push=build_push_source(github),
        account=github.account,
    )
