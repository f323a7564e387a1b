"""GitHub: issues, pull requests, releases and commits of repositories, over its REST API.

What it reads becomes pages or rows of boards. What it writes, an issue or a comment, a person sees
before it leaves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import moved
from mainspring.integrations.github.adapters import repository_rows
from mainspring.integrations.github.capabilities import comment, open_issue
from mainspring.integrations.github.client import GitHub
from mainspring.integrations.github.events import EVENTS
from mainspring.integrations.github.polls import watched_issues, watched_releases
from mainspring.integrations.github.sources import searched


def integration(addresses: Mapping[str, str]) -> Integration:
    """Everything this folder adds to an installation whose GitHub is at its address."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    github = GitHub(addresses)
    return Integration(
        manifest={**moved(json.loads(manifest), addresses), "hosts": sorted(github.hosts)},
        capabilities=(open_issue(github), comment(github)),
        events=EVENTS,
        sources=(searched(github),),
        polls=(watched_issues(github), watched_releases(github)),
        adapters=(repository_rows(github),),
        account=github.account,
    )
