"""Slack: messages in the channels of a workspace, over its Web API.

Where the API is reached is said once, when the integration is built; no step can change
it, so a bot token goes to that host and to no other.
"""

from __future__ import annotations

import json
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.slack.capabilities import slack_post
from mainspring.integrations.slack.client import Slack
from mainspring.integrations.slack.offers import post_offer


def integration(base_url: str) -> Integration:
    """Everything this folder adds to an installation whose Slack is at this address."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    slack = Slack(base_url)
    post = slack_post(slack)
    return Integration(
        manifest={**json.loads(manifest), "hosts": sorted(slack.hosts)},
        capabilities=(post,),
        offers=(post_offer(post),),
    )
