"""Slack: messages in channels, read and posted over the Web API.

The API host is fixed when the integration is built; no step can change it, so a bot token is sent
to that host only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.context import CallContext
from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses
from mainspring.integrations.slack.capabilities import build_post_capability, post_offer
from mainspring.integrations.slack.client import Slack, is_token_refused
from mainspring.integrations.slack.events import EVENTS
from mainspring.integrations.slack.interactions import slack_interactions, slack_prompter
from mainspring.integrations.slack.polls import build_poll
from mainspring.integrations.slack.sources import build_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    slack = Slack(addresses.get("slack", "https://slack.com/api"))
    post = build_post_capability(slack)

    async def account(ctx: CallContext) -> str:
        return await slack.get_identity(ctx.http)

    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(manifest), addresses),
            "hosts": sorted(slack.hosts),
        },
        capabilities=(post,),
        events=EVENTS,
        offers=(post_offer(post),),
        sources=(build_source(slack),),
        polls=(build_poll(slack),),
        prompter=slack_prompter(slack),
        interactions=slack_interactions(slack),
        account=account,
        refuses_token=is_token_refused,
    )
