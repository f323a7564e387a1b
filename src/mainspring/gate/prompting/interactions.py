"""Signed requests of a chat provider: buttons that were pressed there, and commands.

A request counts when it is signed with the workspace's secret for that provider, was signed at
most minutes ago, and was not received before. A button decides for the member whose prompt it
belongs to, and only if the provider says that the member's linked account pressed it. The provider
waits three seconds, so a button is acknowledged first and answered afterwards.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

from mainspring.contracts.errors import LimitExceeded, NotFound, Problem, Unauthenticated
from mainspring.gate.prompting import prompts
from mainspring.gate.prompting.buttons import read_press
from mainspring.gate.prompting.deciding import Decision, decide
from mainspring.gate.prompting.slack_identities import COMMAND, SLACK, is_linked, link_account
from mainspring.gate.rate_limit import RateLimiter
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.publisher_secrets import SLACK_SIGNING_SECRET
from mainspring.workspace.vault import publisher_scope

if TYPE_CHECKING:
    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.integration import Interaction, Interactions
    from mainspring.contracts.limits import Limits
    from mainspring.gate.call import Gate
    from mainspring.gate.prompting.prompt_delivery import MemberChats
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

log = logging.getLogger(__name__)

# The largest body that a provider sends; a message of ours and what it wraps it in is far below.
MOST_BYTES: Final = 262_144
_AT_ONCE: Final = 8
_MOST_WAITING: Final = 200
_CLOSING_SECONDS: Final = 10.0
_NOT_LINKED: Final = (
    "This Slack account is not linked to the member who received this question, so nothing was "
    "decided."
)
_OUT_OF_DATE: Final = "This message is out of date. Open the Mainspring inbox to decide."
_USAGE: Final = f"Get a code in Mainspring, under Settings, and enter `{COMMAND} link CODE` here."

# What is older than any signature that would be accepted says nothing.
_FORGET = """
    DELETE FROM interaction_deliveries
    WHERE workspace_id = $1 AND at < now() - interval '15 minutes'
"""
_DELIVERED = """
    INSERT INTO interaction_deliveries (workspace_id, digest) VALUES ($1, $2)
    ON CONFLICT DO NOTHING RETURNING digest
"""


class InteractionReceiver:
    """Verifies requests of a provider and decides what they ask for."""

    def __init__(
        self,
        database: Database,
        gate: Gate,
        vault: Vault,
        lines: AccountConnections | None,
        chats: MemberChats | None,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._database = database
        self._gate = gate
        self._vault = vault
        self._lines = lines
        self._chats = chats
        self._clock = clock
        # Spent by requests that are not accepted, and by no other.
        self._refusals = RateLimiter(limits.webhook_burst, limits.webhook_per_second)
        self._deciding: set[asyncio.Task[None]] = set()
        # Only while something of that workspace is being decided.
        self._slots: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

    async def receive(
        self, workspace_id: UUID, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, Any] | None:
        """Accepts one request; what it is answered with at once, None where that is nothing."""
        provider = self._provider()
        if not await self._is_genuine(provider, workspace_id, headers, body):
            raise self._refused(workspace_id)
        if not await self._is_new(workspace_id, body):
            return None
        found = provider.read(body)
        if found is None:
            return None
        if found.command is not None:
            return provider.note(await self._commanded(workspace_id, found))
        if found.data is not None:
            self._decide_later(provider, workspace_id, found)
        return None

    async def aclose(self) -> None:
        """Waits for what is being decided, but not for long."""
        if self._deciding:
            _, late = await asyncio.wait(self._deciding, timeout=_CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _provider(self) -> Interactions:
        found = None if self._lines is None else self._lines.named(SLACK).interactions
        if found is None:
            raise NotFound("No integration receives requests here.", code="no_interactions")
        return found

    async def _is_genuine(
        self, provider: Interactions, workspace_id: UUID, headers: Mapping[str, str], body: bytes
    ) -> bool:
        try:
            scope = publisher_scope(workspace_id)
            found = await self._vault.reveal(scope, [SLACK_SIGNING_SECRET])
        except NotFound:
            return False
        secret = found[SLACK_SIGNING_SECRET].strip()
        return provider.is_genuine(secret, headers, body, self._clock.now())

    def _refused(self, workspace_id: UUID) -> Problem:
        """One answer, whatever the reason is."""
        seconds = self._refusals.take(workspace_id)
        if seconds:
            return LimitExceeded(
                "Too many requests without a valid signature.", retry_after=seconds
            )
        return Unauthenticated(
            "This needs a request that Slack has just signed with the app's signing secret.",
            code="unknown_signature",
            suggestion="Check that the workspace has the signing secret of this Slack app.",
        )

    async def _is_new(self, workspace_id: UUID, body: bytes) -> bool:
        """Whether this was not delivered before; every press has an id of its own in the body."""
        digest = hashlib.sha256(body).digest()
        async with self._database.transaction() as tx:
            await tx.execute(_FORGET, workspace_id)
            return await tx.fetchrow(_DELIVERED, workspace_id, digest) is not None

    async def _commanded(self, workspace_id: UUID, found: Interaction) -> str:
        words = (found.command or "").split()
        if len(words) != 2 or words[0] != "link":
            return _USAGE
        async with self._database.transaction() as tx:
            return await link_account(tx, workspace_id, words[1], found.team, found.user)

    def _decide_later(self, provider: Interactions, workspace_id: UUID, found: Interaction) -> None:
        if len(self._deciding) >= _MOST_WAITING:
            raise LimitExceeded("Too many decisions are in progress.", retry_after=1.0)
        task = asyncio.create_task(self._answered(provider, workspace_id, found))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)

    async def _answered(
        self, provider: Interactions, workspace_id: UUID, found: Interaction
    ) -> None:
        slots = self._slots.setdefault(workspace_id, asyncio.Semaphore(_AT_ONCE))
        try:
            async with slots:
                await self._answer(provider, workspace_id, found)
        except Exception as error:
            log.warning(
                "Could not answer a button press in Slack: %s", log_and_convert_error(error).detail
            )

    async def _answer(self, provider: Interactions, workspace_id: UUID, found: Interaction) -> None:
        press = read_press(found.data or "")
        prompted, mine, role = None, False, None
        if press is not None:
            async with self._database.acquire() as connection:
                prompted = await prompts.find_pressed_prompt(
                    connection, workspace_id, press.prompt_id, press.secret, SLACK
                )
                if prompted is not None:
                    asked = (workspace_id, prompted[0].member_id)
                    mine = await is_linked(connection, *asked, found.team, found.user)
                    role = await prompts.load_role(connection, *asked)
        if press is None or prompted is None:
            await self._reply(provider, found, Decision(_OUT_OF_DATE, is_open=True))
            return
        if not mine or role is None:
            await self._reply(provider, found, Decision(_NOT_LINKED, is_open=True))
            return
        prompt, place = prompted
        decision = await decide(self._database, self._gate, prompt, place, role, press)
        try:
            await self._reply(provider, found, decision)
        except Problem:
            if decision.is_open or self._chats is None:
                raise
            # It takes few answers and not for long; the bot can change its own message any time.
            prompter, ctx = await self._chats.over(SLACK, workspace_id, prompt.member_id)
            await prompter.close(ctx, {**found.place, **place}, decision.text)

    async def _reply(self, provider: Interactions, found: Interaction, decision: Decision) -> None:
        assert self._lines is not None
        http = self._lines.egress.bound(provider.hosts, None)
        await provider.reply(http, found, decision.text, not decision.is_open)
