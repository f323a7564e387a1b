"""A bench on which drafts are made and answered, with a Slack and a Telegram on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit import slack, telegram
from tests.kit.bench import Bench, document, step
from tests.kit.outbound_bench import outside_bench

POST = {
    "channel": "C0123",
    "text": "Hello {{ inputs.who }}",
    "token": "{{ secrets.slack_bot_token }}",
}
INPUTS = {"schema": {"type": "object", "properties": {"who": {"type": "string"}}}}


@dataclass(frozen=True, slots=True)
class Office:
    """Where drafts are answered, and where they go."""

    bench: Bench
    slack: slack.SlackDouble
    telegram: telegram.TelegramDouble

    @property
    def owner(self) -> CapabilityCaller:
        """The member who makes the automations here."""
        space = self.bench.application.workspace_id
        return CapabilityCaller(Actor(space, "member", FIRST_MEMBER, role=Role.OWNER))

    async def ask(
        self, capability: str, arguments: Any, visitor: CapabilityCaller | None = None
    ) -> Any:
        return await self.bench.application.gate.direct(
            visitor or self.owner, capability, arguments
        )

    async def confirm(self, draft_id: UUID | str, visitor: CapabilityCaller | None = None) -> Any:
        return await self.ask("confirm_action", {"draft_id": str(draft_id)}, visitor)

    async def nudge(self, text: str = "Hello") -> str:
        """A draft of the owner's own call."""
        return str((await self.ask("telegram_push", {"text": text}))["draft_id"])

    async def posts(self, *whom: str) -> list[str]:
        """Drafts of messages to Slack that runs have asked for, each with its own automation."""
        found: list[str] = []
        async with self.bench.worker():
            for number, who in enumerate(whom):
                plan = document(
                    step("tell", "slack_post", POST), inputs=INPUTS, name=f"post {number} {who}"
                )
                made = await self.bench.dispatch(plan, inputs={"who": who})
                run = await self.bench.until(made.run_id)
                assert run["outcome"] == "drafts_waiting", run["error"]
                found.append(str(run["output"]["draft_id"]))
        return found

    async def row(self, draft_id: str) -> Any:
        database = self.bench.application.database
        return await database.fetchrow("SELECT * FROM drafts WHERE id = $1", UUID(draft_id))

    async def change(self, draft_id: str, assignment: str, *values: Any) -> None:
        """Something in the table that no one has any business to write there."""
        await self.bench.application.database.execute(
            f"UPDATE drafts SET {assignment} WHERE id = $1", UUID(draft_id), *values
        )


@asynccontextmanager
async def office(bench: Bench) -> AsyncIterator[Office]:
    """The bench with an owner who has a bot in each place."""
    for name, value in (
        ("slack_bot_token", slack.TOKEN),
        ("telegram_bot_token", telegram.TOKEN),
        ("telegram_chat_id", telegram.CHAT),
    ):
        await bench.application.vault.set(bench.secret_scope, name, value)
    async with (
        slack.slack_double() as posts,
        telegram.telegram_double() as nudges,
        outside_bench(
            bench,
            free=False,
            slack_url=posts.url,
            telegram_url=nudges.url,
            egress_allow=frozenset({posts.pair, nudges.pair}),
        ) as open_one,
    ):
        yield Office(open_one, posts, nudges)
