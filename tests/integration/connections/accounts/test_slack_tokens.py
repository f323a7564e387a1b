"""Slack's rotating tokens: an expired one is refused with status 200 and renewed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import ReconnectRequired
from mainspring.contracts.roles import Role
from mainspring.registry import ApplicationRegistry
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench
from tests.kit.boards import Boards
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.slack import SlackWorkspace, refusal, slack_workspace


@asynccontextmanager
async def connected(bench: Bench) -> AsyncIterator[tuple[Boards, SlackWorkspace]]:
    """An installation whose owner has signed in to Slack with rotating tokens."""
    async with slack_workspace() as slack:
        places = {
            "slack.authorize_url": f"{slack.url}/authorize",
            "slack.token_url": f"{slack.url}/oauth.v2.access",
        }
        async with open_own_application(
            bench,
            slack_url=slack.url,
            integration_urls=places,
            egress_allow=frozenset({slack.pair}),
        ) as here:
            member = Boards(here.application)
            await member.call(
                "set_oauth_client", provider="slack", client_id="1.2", client_secret="s3cret"
            )
            link = await member.call("begin_integration_sign_in", integration="slack")
            state = dict(parse_qsl(urlsplit(link["sign_in_url"]).query))["state"]
            words = here.application.registry
            assert isinstance(words, ApplicationRegistry)
            actor = Actor(here.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
            await words.account_connection_service.finish_sign_in(
                actor, "slack", state=state, code="a-code", error=None
            )
            slack.channels["C0123"] = "general"
            yield member, slack


async def _shown(member: Boards) -> dict[str, Any]:
    found = await member.call("list_integrations")
    return next(one for one in found["integrations"] if one["name"] == "slack")


async def _read(member: Boards) -> Any:
    return await member.call("fetch_from_integration", source="slack", input={"channel": "C0123"})


def _renewals(slack: SlackWorkspace) -> int:
    return sum(one["grant_type"] == "refresh_token" for one in slack.said_to("oauth.v2.access"))


async def test_an_expired_token_is_renewed_and_the_call_goes_on(bench: Bench) -> None:
    async with connected(bench) as (member, slack):
        slack.expire()
        await _read(member)

        assert _renewals(slack) == 1
        shown = await _shown(member)
        assert (shown["state"], shown["connection"]["health"]) == ("ready", "ok")


async def test_a_token_that_cannot_be_renewed_asks_for_a_new_connection(bench: Bench) -> None:
    async with connected(bench) as (member, slack):
        slack.expire()
        slack.refresh = "used by somebody else"
        with pytest.raises(ReconnectRequired):
            await _read(member)

        assert _renewals(slack) == 1
        shown = await _shown(member)
        assert shown["state"] == "reconnect"
        assert "Slack" in shown["connection"]["last_error"]["detail"]


@pytest.mark.parametrize("word", ["account_inactive", "missing_scope", "team_access_not_granted"])
async def test_other_refusals_of_the_token_ask_for_a_new_connection_at_once(
    bench: Bench, word: str
) -> None:
    async with connected(bench) as (member, slack):
        slack.script = [refusal(word)]
        with pytest.raises(ReconnectRequired):
            await _read(member)

        assert _renewals(slack) == 0
        assert (await _shown(member))["state"] == "reconnect"
