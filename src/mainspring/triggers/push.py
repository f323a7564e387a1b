"""Push: providers report changes to the sources of poll triggers, which then look at once.

A loop keeps what is registered at providers in line with the triggers that are on: it registers
what is missing, renews what expires, and removes what nothing needs any more. A registration that
fails is reported once; the trigger polls meanwhile.

A report is only a hint to look. What a look has seen decides what fires, so an event that is both
reported and found by a poll starts one run.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.accounts.connection_test import (
    build_connection_context,
    ignore_values,
    reveal_no_secrets,
)
from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import (
    NotFound,
    Problem,
    ReconnectRequired,
    Unauthenticated,
    as_problem,
    describe_for_log,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.integration import PushSource, PushTarget
from mainspring.outbound.public_address import classify_address
from mainspring.store.database import is_lost_connection
from mainspring.store.database_errors import is_storage_full
from mainspring.workspace.alerts import Alert, post_alert
from mainspring.workspace.push_channels import (
    PushChannel,
    TriggerPush,
    add_channel,
    claim_channels,
    delete_channel,
    find_channel,
    list_held,
    list_wanted,
    record_notified,
    record_push_failure,
    record_registered,
    retire_channel,
)

if TYPE_CHECKING:
    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.connections.call_context import GateContext
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.integration import Integration
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

log = logging.getLogger(__name__)

PATH: Final = "/api/v1/push-channels"
# While every change is reported, polls only catch what got lost.
CATCH_UP: Final = timedelta(minutes=30)
# A look soon after a report, because lists of a provider may lag behind its reports.
_SECOND_LOOK: Final = timedelta(minutes=1)
_PAUSE_SECONDS: Final = 5.0
_MOST: Final = 10
_CALL_SECONDS: Final = 60.0
_LEASE: Final = timedelta(minutes=3)
_FIRST_RETRY: Final = timedelta(minutes=1)
_LONGEST_RETRY: Final = timedelta(hours=6)
# Refusals that only a person can change are tried again once a day.
_REFUSED_RETRY: Final = timedelta(days=1)
_REPORTED_FAILURES: Final = 3
# A registration that cannot be removed is left to the provider, whose reports are then refused.
_MOST_REMOVALS: Final = 8
# The old registration is removed when the new one works.
_OVERLAP: Final = timedelta(minutes=2)
_PURPOSE: Final = b"push channels"


def compute_next_look(
    due: datetime, every: timedelta, push: TriggerPush, *, now: datetime, began: datetime
) -> datetime:
    """When a trigger looks next after a look that began at a time and succeeded."""
    if push.healthy:
        due = max(due, now + max(every, CATCH_UP))
    reported = push.notified_at
    if reported is None:
        return due
    if reported > began:
        # The look may have read before the change.
        return now
    if now < reported + _SECOND_LOOK:
        return min(due, reported + _SECOND_LOOK)
    return due


class PushChannels:
    """The registrations at providers, and the notifications that they cause."""

    def __init__(
        self,
        database: Database,
        connections: AccountConnections,
        vault: Vault,
        clock: Clock,
        public_url: str | None,
    ) -> None:
        self._database = database
        self._connections = connections
        self._vault = vault
        self._clock = clock
        self._address = public_url.rstrip("/") if public_url else ""
        self._integrations: dict[str, tuple[Integration, PushSource]] = {
            one.push.trigger: (one, one.push)
            for one in connections.shelf.values()
            if one.push is not None
        }

    async def run(self, stop: asyncio.Event) -> None:
        """Keep registrations up to date until stopped; no error ends it."""
        ending = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                try:
                    while await self.once():
                        pass
                except Exception as error:
                    if not is_lost_connection(error) and not is_storage_full(error):
                        log.exception(
                            "Push registrations failed and continue: %s", describe_for_log(error)
                        )
                await asyncio.wait({ending}, timeout=_PAUSE_SECONDS)
        finally:
            ending.cancel()

    async def once(self) -> int:
        """Compare, then register and remove what is due; returns how many."""
        await self._compare()
        async with self._database.transaction() as tx:
            claimed = await claim_channels(tx, _MOST, _LEASE)
        await asyncio.gather(*(self._handle(channel) for channel in claimed))
        return len(claimed)

    async def _compare(self) -> None:
        """Add channels for triggers without one, and retire those that are out of date."""
        async with self._database.transaction() as tx:
            wanted = {}
            if classify_address(self._address) == "public":
                for row in await list_wanted(tx, list(self._integrations)):
                    if self._integrations[row["type"]][1].can_push(row["config"]):
                        wanted[row["workspace_id"], row["trigger_id"]] = row
            for held in await list_held(tx):
                key = held["workspace_id"], held["trigger_id"]
                row = wanted.get(key)
                if row is None or not self._is_current(held, row):
                    await retire_channel(tx, held["workspace_id"], held["id"])
                elif held["renew_at"] and held["renew_at"] <= datetime.now(UTC):
                    await retire_channel(tx, held["workspace_id"], held["id"], _OVERLAP)
                else:
                    del wanted[key]
            for row in wanted.values():
                integration, push = self._integrations[row["type"]]
                await add_channel(tx, row, integration.id, self._address, complete=push.is_complete)

    def _is_current(self, held: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
        names = ("config", "owner_id")
        return bool(held["address"] == self._address) and all(
            held[name] == row[name] for name in names
        )

    async def _handle(self, channel: PushChannel) -> None:
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                if channel.trigger_id is None:
                    await self._remove(channel)
                else:
                    await self._register(channel)
        except Exception as error:
            if is_lost_connection(error):
                raise
            await self._fail(channel, as_problem(error))

    async def _register(self, channel: PushChannel) -> None:
        push = self._find_source(channel.integration)
        target = await self._build_target(channel.workspace_id, channel.id, channel.address)
        context = await self._open(channel)
        made = await push.register(context, channel.config, target)
        async with self._database.transaction() as tx:
            await record_registered(tx, channel, made.remote, made.expires_at)

    async def _remove(self, channel: PushChannel) -> None:
        push = self._find_source(channel.integration)
        target = await self._build_target(channel.workspace_id, channel.id, channel.address)
        await push.remove(await self._open(channel), channel.config, channel.remote, target)
        async with self._database.transaction() as tx:
            await delete_channel(tx, channel)

    def _find_source(self, integration: str) -> PushSource:
        push = self._connections.named(integration).push
        if push is None:
            raise NotFound(f"{integration} reports no changes.", code="push_source")
        return push

    async def _open(self, channel: PushChannel) -> GateContext:
        """The connection of the automation's owner."""
        integration = self._connections.named(channel.integration)
        owner = channel.owner_id
        if owner is None:
            raise ReconnectRequired("The automation has no owner any more.", code="no_owner")
        route = ConnectionRoute(integration.id, frozenset(integration.manifest["hosts"]))
        way = await self._connections.open(
            channel.workspace_id,
            owner,
            route,
            own=reveal_no_secrets,
            learn=ignore_values,
            called_by_owner=False,
        )
        if way is None:
            raise ReconnectRequired(f"{integration.name} is not connected.", code="not_connected")
        actor = Actor(channel.workspace_id, "run", channel.automation_id)
        return build_connection_context(way, actor, self._clock)

    async def _fail(self, channel: PushChannel, problem: Problem) -> None:
        failures, removing = channel.failures + 1, channel.trigger_id is None
        log.warning("A push registration failed: %s", problem.detail)
        report = (
            not removing
            and channel.reported_at is None
            and (not problem.retryable or failures >= _REPORTED_FAILURES)
        )
        delay: timedelta = min(_FIRST_RETRY * 2 ** min(failures - 1, 12), _LONGEST_RETRY)
        if not removing and not problem.retryable:
            delay = _REFUSED_RETRY
        if problem.retry_after is not None:
            delay = max(delay, timedelta(seconds=problem.retry_after))
        async with self._database.transaction() as tx:
            if problem.code == "push_channel_exists":
                # The next comparison makes a channel with another id.
                await delete_channel(tx, channel)
                return
            if removing and (failures >= _MOST_REMOVALS or isinstance(problem, ReconnectRequired)):
                # Without the connection nothing can be removed; reports are refused from now on.
                await delete_channel(tx, channel)
                return
            await record_push_failure(tx, channel, delay, problem.as_dict(), reported=report)
            if report:
                await post_alert(tx, self._build_alert(channel, problem))

    def _build_alert(self, channel: PushChannel, problem: Problem) -> Alert:
        name = " ".join((channel.name or "An automation").split())
        provider = self._connections.named(channel.integration).name
        lines = [f"{provider} was not asked to report changes: {problem.detail}"]
        if problem.suggestion:
            lines.append(problem.suggestion)
        lines += ["", "It polls at its interval instead. You get no further message about this."]
        return Alert(
            generate_id(),
            channel.workspace_id,
            channel.automation_id,
            None,
            "warning",
            f"{name} polls instead of being notified",
            "\n".join(lines),
            mail=False,
        )

    async def _build_target(self, workspace_id: UUID, channel_id: UUID, address: str) -> PushTarget:
        """The address and the secret of a channel; the secret is derived and never stored."""
        key = await self._vault.derived_key(_PURPOSE)
        text = workspace_id.bytes + channel_id.bytes
        secret = hmac.new(key, text, hashlib.sha256).hexdigest()
        return PushTarget(str(channel_id), f"{address}{PATH}/{workspace_id}/{channel_id}", secret)

    async def find(self, workspace_id: UUID, channel_id: UUID) -> Mapping[str, Any]:
        """The channel that a notification is for; a provider may stop sending to any other."""
        async with self._database.acquire() as connection:
            row = await find_channel(connection, workspace_id, channel_id)
        if row is None:
            raise NotFound("There is no such channel.", code="push_channel")
        return dict(row)

    async def receive(
        self, row: Mapping[str, Any], headers: Mapping[str, str], body: bytes
    ) -> None:
        """A notification of a provider; a problem when it is forged."""
        workspace_id, channel_id = row["workspace_id"], row["id"]
        push = self._find_source(row["integration"])
        target = await self._build_target(workspace_id, channel_id, row["address"])
        if not push.is_genuine(headers, body, target):
            raise Unauthenticated("The notification is not authentic.", code="bad_signature")
        if push.is_change(headers):
            async with self._database.transaction() as tx:
                await record_notified(tx, workspace_id, channel_id)
