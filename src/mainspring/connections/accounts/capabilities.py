"""Integrations as capabilities: what there is, and a member's own accounts there.

Everybody may ask what they are connected to. Connecting is for people and never for runs, and
each member connects for themselves alone. What lets somebody in goes in and never comes out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.accounts.member_access import describe_integration, state_of
from mainspring.connections.accounts.schemas import (
    BeginIntegrationSignInResult,
    ConnectIntegrationArguments,
    ConnectIntegrationResult,
    DisconnectIntegrationResult,
    IntegrationArguments,
    ListIntegrationsArguments,
    ListIntegrationsResult,
    ShareIntegrationResult,
    TestIntegrationConnectionResult,
)
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import Conflict, PermissionDenied
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission, check_may
from mainspring.contracts.toolset import Toolset

if TYPE_CHECKING:
    from mainspring.connections.accounts.service import AccountConnectionService
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.integration import Integration

_MAKER = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"
_OWN: Final = Annotations(
    toolset=Toolset.INTEGRATIONS,
    effect=Effect.KEEP,
    seconds=5.0,
    audience=Audience.PEOPLE,
    permission=Permission.SECRET,
    subject=lambda given, _: given.get("integration"),
)

_FIRST_SIGN_IN: Final = "Sign in first; say what to follow once it is connected."


def integration_capabilities(
    account_connections: AccountConnectionService,
) -> tuple[Capability, ...]:
    """All of them; before the reception is opened they can be described and not called."""
    counter = _IntegrationHandlers(account_connections)
    return (
        build_capability(
            "list_integrations",
            "List integrations",
            "Returns what is available to you and what is connected. Call it before you suggest a "
            "fetch or an action, so that you only propose connected sources.",
            ListIntegrationsArguments,
            ListIntegrationsResult,
            counter.list_all,
            Annotations(
                toolset=Toolset.INTEGRATIONS,
                transactional=True,
                seconds=0.1,
                permission=Permission.READ,
            ),
        ),
        build_capability(
            "connect_integration",
            "Connect an account",
            "Tests the given fields and stores the connection if they work. For providers with "
            "sign-in, returns the URL to open; give fields afterwards to choose what to follow. "
            "With share, an admin without a connection reconnects the workspace's shared one and "
            "becomes its holder.",
            ConnectIntegrationArguments,
            ConnectIntegrationResult,
            counter.connect,
            replace(
                _OWN,
                hidden_arguments=frozenset({"fields"}),
                hidden_results=frozenset({"sign_in_url"}),
            ),
        ),
        build_capability(
            "begin_integration_sign_in",
            "Start the sign-in to connect an account",
            "Returns a URL to open. Finish in the same browser within ten minutes.",
            IntegrationArguments,
            BeginIntegrationSignInResult,
            counter.sign_in,
            replace(_OWN, hidden_results=frozenset({"sign_in_url"})),
        ),
        build_capability(
            "test_integration_connection",
            "Test a connection",
            "Asks the provider who you are; a working connection becomes ready again. Without "
            "your own connection it tests the shared one, for admins.",
            IntegrationArguments,
            TestIntegrationConnectionResult,
            counter.test,
            _OWN,
        ),
        *_sharing(counter),
        build_capability(
            "disconnect_integration",
            "Disconnect an account",
            "Deletes its credentials and revokes them at the provider, unless another connection "
            "uses the same grant. Automations that use it are blocked until it is connected again.",
            IntegrationArguments,
            DisconnectIntegrationResult,
            counter.disconnect,
            _OWN,
        ),
    )


def _sharing(counter: _IntegrationHandlers) -> tuple[Capability, ...]:
    return (
        build_capability(
            "share_integration_connection",
            "Share your connection with the workspace",
            "Automations of members without their own connection can use the account within their "
            "grants. It stays when you leave. Only a person can share.",
            IntegrationArguments,
            ShareIntegrationResult,
            counter.share,
            replace(_OWN, permission=Permission.CONNECT),
        ),
        build_capability(
            "withdraw_integration_connection",
            "Stop sharing a connection",
            "Only the member who connected it can use it then. That member and admins can do this.",
            IntegrationArguments,
            ShareIntegrationResult,
            counter.withdraw,
            _OWN,
        ),
    )


@dataclass(frozen=True, slots=True)
class _IntegrationHandlers:
    """The handlers."""

    reception: AccountConnectionService

    async def list_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, owner = ctx.actor.workspace_id, await _owner(ctx)
        known = await self.reception.known_to_in(ctx.tx, space, owner)
        found = [describe_integration(one, known) for one in self.reception.shelf]
        if not arguments.get("include_unconnected", True):
            found = [one for one in found if one["connected"]]
        return {"integrations": sorted(found, key=lambda one: str(one["name"]))}

    async def connect(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        integration = self.reception.named(arguments["integration"])
        kind = integration.manifest["auth"]["kind"]
        share = arguments.get("share", False)
        if share:
            _check_may_share(ctx)
        if kind == "oauth":
            fields = arguments.get("fields")
            if fields and await self.reception.settle(ctx.actor, integration, fields):
                return await self._told(ctx, integration)
            link = await self.reception.begin_sign_in(ctx.actor, integration, share=share)
            if share:
                await self.reception.share(ctx.actor, integration)
            told = await self._told(ctx, integration, link)
            return {**told, "note": _FIRST_SIGN_IN if fields else None}
        if kind == "token":
            label = arguments.get("label") or integration.name
            check_plain_name(label, "/label")
            fields = arguments.get("fields", {})
            await self.reception.connect(ctx.actor, integration, fields, label, share=share)
            if share:
                await self.reception.share(ctx.actor, integration)
            return await self._told(ctx, integration)
        return Unchanged(await self._without_connection(ctx, integration))

    async def sign_in(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        integration = self.reception.named(arguments["integration"])
        link = await self.reception.begin_sign_in(ctx.actor, integration)
        back = self.reception.callback(integration.manifest["auth"]["provider"])
        return {"sign_in_url": link, "redirect_url": back}

    async def test(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        integration = self.reception.named(arguments["integration"])
        _, problem = await self.reception.test(ctx.actor, integration)
        wrong = None
        if problem is not None:
            told = problem.as_dict()
            wrong = {name: told.get(name) for name in ("code", "detail", "suggestion")}
        known = await self.reception.known_to(ctx.actor.workspace_id, ctx.actor.id)
        return {
            "works": problem is None,
            "problem": wrong,
            "integration": describe_integration(integration, known),
        }

    async def share(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        _check_may_share(ctx)
        integration = self.reception.named(arguments["integration"])
        done = await self.reception.share(ctx.actor, integration)
        answer = await self._describe_sharing(ctx, integration, shared=True)
        return answer if done else Unchanged(answer)

    async def withdraw(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        integration = self.reception.named(arguments["integration"])
        done = await self.reception.withdraw(ctx.actor, integration)
        answer = await self._describe_sharing(ctx, integration, shared=False)
        return answer if done else Unchanged(answer)

    async def _describe_sharing(
        self, ctx: CallContext, integration: Integration, *, shared: bool
    ) -> dict[str, Any]:
        known = await self.reception.known_to(ctx.actor.workspace_id, ctx.actor.id)
        return {"shared": shared, "integration": describe_integration(integration, known)}

    async def disconnect(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        integration = self.reception.named(arguments["integration"])
        gone, note = await self.reception.disconnect(ctx.actor, integration)
        if not gone:
            return Unchanged({"disconnected": False})
        return {"disconnected": True} if note is None else {"disconnected": True, "note": note}

    async def _told(
        self, ctx: CallContext, integration: Integration, link: str | None = None
    ) -> dict[str, Any]:
        known = await self.reception.known_to(ctx.actor.workspace_id, ctx.actor.id)
        return {
            "integration": describe_integration(integration, known),
            "sign_in_url": link,
            "note": None,
        }

    async def _without_connection(
        self, ctx: CallContext, integration: Integration
    ) -> dict[str, Any]:
        """What is set up in another way is said, and whether anything is left to do."""
        known = await self.reception.known_to(ctx.actor.workspace_id, ctx.actor.id)
        state = state_of(integration, known)
        if state in ("operator", "secret_missing"):
            raise Conflict(
                f"{integration.name} is not connected here: it is set up in another way.",
                code="set_up_elsewhere",
                suggestion=str(integration.manifest["auth"]["how"]),
            )
        told = await self._told(ctx, integration)
        return {**told, "note": f"{integration.name} needs no connection of your own."}


def _check_may_share(ctx: CallContext) -> None:
    """Only a person who may connect the workspace hands an account to all its automations."""
    if ctx.run is not None or not ctx.actor.is_person:
        raise PermissionDenied(
            "A person shares an account with the workspace, not a program.",
            code="person_needed",
            suggestion="Sign in and share it on its page under Integrations.",
        )
    check_may(ctx.actor.role, Permission.CONNECT)


async def _owner(ctx: CallContext) -> UUID:
    """Whose connections count: the caller's, or those of the automation's maker."""
    if ctx.run is None:
        return ctx.actor.id
    row = await ctx.tx.fetchrow(_MAKER, ctx.actor.workspace_id, ctx.run.automation_id)
    maker: UUID = ctx.actor.id if row is None else row["created_by"]
    return maker
