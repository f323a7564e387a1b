"""As whom people sign in at providers: set by an admin for a workspace, or for everybody.

A secret of a client goes into the vault and never comes out. With it the address is answered
that has to be registered at the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.accounts.schemas import (
    ListOauthClientsArguments,
    ListOauthClientsResult,
    OauthClientArguments,
    RemoveOauthClientResult,
    SetOauthClientArguments,
    SetOauthClientResult,
)
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
    require_part,
)
from mainspring.contracts.errors import Finding, NotFound
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.definition.suggestions import suggest_nearest
from mainspring.store.audit import audit_installation
from mainspring.workspace.accounts import clients

if TYPE_CHECKING:
    from mainspring.connections.accounts.service import AccountConnectionService
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database
    from mainspring.workspace.accounts.clients import OAuthClient
    from mainspring.workspace.vault import Vault

_SETS: Final = Annotations(
    toolset=Toolset.INTEGRATIONS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.CONNECT,
    hidden_arguments=frozenset({"client_secret"}),
    subject=lambda given, _: given.get("provider"),
)
_REMOVES: Final = replace(_SETS, hidden_arguments=frozenset())
_FOR_ALL: Final = Annotations(
    toolset=Toolset.ADMIN,
    effect=Effect.KEEP,
    audience=Audience.ADMINISTRATORS,
    permission=Permission.ACCOUNT,
    hidden_arguments=frozenset({"client_secret"}),
    subject=lambda given, _: given.get("provider"),
)


def oauth_client_capabilities(
    account_connections: AccountConnectionService, database: Database | None, vault: Vault | None
) -> tuple[Capability, ...]:
    """All of them; without a house they can be described and not called."""
    office = _OAuthClientHandlers(account_connections, database, vault)
    return (
        build_capability(
            "list_oauth_clients",
            "List OAuth clients of providers",
            "Returns each provider with its client and the redirect URI to register there.",
            ListOauthClientsArguments,
            ListOauthClientsResult,
            office.list_all,
            Annotations(
                toolset=Toolset.INTEGRATIONS,
                seconds=0.1,
                audience=Audience.PEOPLE,
                permission=Permission.CONNECT,
            ),
        ),
        build_capability(
            "set_oauth_client",
            "Set the OAuth client of a provider",
            "Members sign in with it from now on. Stores the secret in the vault. A different "
            "client id ends connections made with the previous one.",
            SetOauthClientArguments,
            SetOauthClientResult,
            office.set,
            _SETS,
        ),
        build_capability(
            "remove_oauth_client",
            "Remove the OAuth client of a provider",
            "Deletes its secret. Accounts connected with it can no longer be refreshed.",
            OauthClientArguments,
            RemoveOauthClientResult,
            office.remove,
            _REMOVES,
        ),
        build_capability(
            "admin_set_oauth_client",
            "Set the OAuth client of a provider for all workspaces",
            "Workspaces without a client of their own use it to sign in.",
            SetOauthClientArguments,
            SetOauthClientResult,
            office.set_for_all,
            _FOR_ALL,
        ),
        build_capability(
            "admin_remove_oauth_client",
            "Remove the OAuth client of a provider for all workspaces",
            "Deletes its secret. Accounts connected with it can no longer be refreshed.",
            OauthClientArguments,
            RemoveOauthClientResult,
            office.remove_for_all,
            replace(_FOR_ALL, hidden_arguments=frozenset()),
        ),
    )


@dataclass(frozen=True, slots=True)
class _OAuthClientHandlers:
    """The handlers."""

    reception: AccountConnectionService
    database: Database | None
    vault: Vault | None

    async def list_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        found = await clients.list_reachable_clients(
            require_part(self.database), ctx.actor.workspace_id
        )
        known = {one.provider for one in found}
        return {
            "clients": [_describe_client(one) for one in found],
            "providers": [
                {
                    "provider": provider,
                    "integrations": sorted(users),
                    "redirect_url": self.reception.callback(provider),
                    "has_client": provider in known,
                }
                for provider, users in sorted(self.reception.providers().items())
            ],
        }

    async def set(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._check(arguments["provider"])
        made = await clients.put_client(
            ctx.tx,
            require_part(self.vault),
            ctx.actor.workspace_id,
            arguments["provider"],
            arguments["client_id"],
            arguments.get("client_secret"),
            ctx.actor.id,
        )
        return self._told(made)

    async def remove(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        gone = await clients.remove_client(ctx.tx, ctx.actor.workspace_id, arguments["provider"])
        return {"removed": True} if gone else Unchanged({"removed": False})

    async def set_for_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._check(arguments["provider"])
        async with require_part(self.database).transaction() as tx:
            made = await clients.put_client(
                tx,
                require_part(self.vault),
                None,
                arguments["provider"],
                arguments["client_id"],
                arguments.get("client_secret"),
                ctx.actor.id,
            )
            await audit_installation(
                tx,
                ctx.actor,
                "admin_set_oauth_client",
                made.provider,
                {"client_id": made.client_id},
            )
        return self._told(made)

    async def remove_for_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        async with require_part(self.database).transaction() as tx:
            gone = await clients.remove_client(tx, None, arguments["provider"])
            if gone:
                await audit_installation(
                    tx, ctx.actor, "admin_remove_oauth_client", arguments["provider"]
                )
        return {"removed": True} if gone else Unchanged({"removed": False})

    def _check(self, provider: str) -> None:
        known = sorted(self.reception.providers())
        if provider not in known:
            detail = f"{provider!r} has no sign-in here."
            way = suggest_nearest(provider, known) or f"There is {', '.join(known) or 'none'}."
            raise NotFound(
                detail,
                code="unknown_provider",
                findings=[Finding("/provider", detail, "unknown_provider", way)],
                suggestion=way,
            )

    def _told(self, made: OAuthClient) -> dict[str, Any]:
        return {
            "client": _describe_client(made),
            "redirect_url": self.reception.callback(made.provider),
        }


def _describe_client(client: OAuthClient) -> dict[str, Any]:
    return {
        "provider": client.provider,
        "scope": "installation" if client.workspace_id is None else "workspace",
        "client_id": client.client_id,
        "has_secret": client.has_secret,
        "created_at": client.created_at.isoformat(),
        "updated_at": client.updated_at.isoformat(),
    }
