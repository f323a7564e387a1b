"""Administrator capabilities: create, disable, enable and reset users.

None of them shows workspace data, and none can be granted to an automation. They cross tenant
isolation, so they get the unrestricted database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final
from uuid import UUID

from msgspec import Meta

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
    require_part,
)
from mainspring.contracts.errors import Finding, Invalid, PersonRequired
from mainspring.contracts.model_schema import SchemaModel
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.store.audit import audit_installation
from mainspring.workspace.people.sessions import end_sessions
from mainspring.workspace.people.sign_in_links import drop_links, link_address, make_link
from mainspring.workspace.people.users import (
    LONGEST_EMAIL,
    LONGEST_NAME,
    User,
    create_user,
    disable_user,
    enable_user,
    list_users,
    read_user,
)
from mainspring.workspace.people.workspaces import list_workspaces

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database


USUAL_PAGE: Final = 50

_LARGEST_PAGE: Final = 200

_AN_ID: Final = "01900000-0000-7000-8000-0000000000aa"

_ADA: Final = {
    "id": _AN_ID,
    "email": "ada@example.org",
    "name": "Ada",
    "administrator": False,
    "has_password": True,
    "created_at": "2026-11-15T09:00:00+00:00",
    "disabled_at": None,
}


class PageArguments(SchemaModel):
    limit: Annotated[int, Meta(ge=1, le=_LARGEST_PAGE)] = USUAL_PAGE
    after: (
        Annotated[str, Meta(min_length=36, max_length=36, description="next of the previous page.")]
        | None
    ) = None

    examples: ClassVar = [{}, {"limit": 10, "after": _AN_ID}]
    anti_examples: ClassVar = [({"limit": 0}, "at least one"), ({"after": 7}, "an id is text")]


class AdminCreateUserArguments(SchemaModel):
    email: Annotated[str, Meta(min_length=3, max_length=LONGEST_EMAIL)]
    name: Annotated[str, Meta(max_length=LONGEST_NAME)] = ""
    administrator: Annotated[
        bool, Meta(description="Whether they administer the installation.")
    ] = False

    examples: ClassVar = [{"email": "ada@example.org", "name": "Ada"}]
    anti_examples: ClassVar = [
        ({}, "whose?"),
        ({"email": "ada@example.org", "password": "x"}, "they choose it themselves"),
    ]


_Id = Annotated[str, Meta(min_length=36, max_length=36)]


class AdminUserArguments(SchemaModel):
    user_id: _Id

    examples: ClassVar = [{"user_id": _AN_ID}]
    anti_examples: ClassVar = [
        ({}, "whom?"),
        ({"user_id": "ada@example.org"}, "an id, not an email"),
    ]


class _UserEntry(SchemaModel):
    id: _Id
    email: str
    name: str
    administrator: bool
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None


class AdminUserResult(SchemaModel):
    user: _UserEntry

    examples: ClassVar = [{"user": _ADA}]


class AdminSignInLinkResult(SchemaModel):
    user: _UserEntry
    link: Annotated[str, Meta(description="Returned once; signs in once.")]

    examples: ClassVar = [{"user": _ADA, "link": "https://example.org/sign-in#msl_…"}]


_Next = Annotated[str | None, Meta(description="after of the next page.")]


class AdminListUsersResult(SchemaModel):
    users: list[_UserEntry]
    next: _Next

    examples: ClassVar = [{"users": [_ADA], "next": None}]


class _WorkspaceEntry(SchemaModel):
    id: _Id
    name: str
    members: Annotated[int, Meta(ge=0)]
    owners: list[_Id]
    created_at: datetime


class AdminListWorkspacesResult(SchemaModel):
    workspaces: list[_WorkspaceEntry]
    next: _Next

    examples: ClassVar = [{"workspaces": [], "next": None}]


_READS: Final = Annotations(
    toolset=Toolset.ADMIN, audience=Audience.ADMINISTRATORS, permission=Permission.ACCOUNT
)
_KEEPS: Final = Annotations(
    toolset=Toolset.ADMIN,
    effect=Effect.KEEP,
    audience=Audience.ADMINISTRATORS,
    permission=Permission.ACCOUNT,
    hidden_results=frozenset({"link"}),
)


def administration(database: Database | None, address: str) -> tuple[Capability, ...]:
    """Build the administrator capabilities. Without a database they can only be described."""
    office = _AdministrationHandlers(database, address)
    return (
        build_capability(
            "admin_list_users",
            "List the people of the installation",
            "Oldest first, in pages.",
            PageArguments,
            AdminListUsersResult,
            office.list_users,
            _READS,
        ),
        build_capability(
            "admin_create_user",
            "Add a person to the installation",
            "Creates a workspace for them and returns a sign-in link that works once, within 7 "
            "days.",
            AdminCreateUserArguments,
            AdminSignInLinkResult,
            office.create_user,
            _KEEPS,
        ),
        build_capability(
            "admin_disable_user",
            "Disable a person's account",
            "Ends their sessions and disables their tokens. Undo with admin_enable_user.",
            AdminUserArguments,
            AdminUserResult,
            office.disable_user,
            _KEEPS,
        ),
        build_capability(
            "admin_enable_user",
            "Enable a disabled account",
            "Sign-in and tokens work again.",
            AdminUserArguments,
            AdminUserResult,
            office.enable_user,
            _KEEPS,
        ),
        build_capability(
            "admin_reset_password",
            "Create a password reset link for a person",
            "The link works once, within an hour. Using it removes the old password and ends "
            "their sessions and tokens.",
            AdminUserArguments,
            AdminSignInLinkResult,
            office.reset_password,
            _KEEPS,
        ),
        build_capability(
            "admin_list_workspaces",
            "List the workspaces of the installation",
            "Returns owners and member counts, no content.",
            PageArguments,
            AdminListWorkspacesResult,
            office.list_workspaces,
            _READS,
        ),
    )


@dataclass(frozen=True, slots=True)
class _AdministrationHandlers:
    """The handlers, on the unrestricted database."""

    database: Database | None
    address: str

    async def list_users(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del ctx
        most = arguments.get("limit", USUAL_PAGE)
        found = await list_users(require_part(self.database), _parse_after(arguments), most + 1)
        rows = [_format_user(user) for user in found]
        return {"users": rows[:most], "next": _build_next_cursor(rows, most)}

    async def list_workspaces(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        del ctx
        most = arguments.get("limit", USUAL_PAGE)
        rows = [
            _format_workspace(row)
            for row in await list_workspaces(
                require_part(self.database), _parse_after(arguments), most + 1
            )
        ]
        return {"workspaces": rows[:most], "next": _build_next_cursor(rows, most)}

    async def create_user(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        _check_person(ctx)
        async with require_part(self.database).transaction() as tx:
            user = await create_user(
                tx,
                arguments["email"],
                arguments.get("name", ""),
                administrator=arguments.get("administrator", False),
            )
            plain = await make_link(tx, user.id, "invite", ctx.actor.id)
            await audit_installation(tx, ctx.actor, "admin_create_user", user.id)
        return {"user": _format_user(user), "link": link_address(self.address, plain)}

    async def disable_user(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        async with require_part(self.database).transaction() as tx:
            user = await disable_user(tx, _parse_id(arguments, "user_id"))
            await end_sessions(tx, user.id)
            await drop_links(tx, user.id)
            await audit_installation(tx, ctx.actor, "admin_disable_user", user.id)
        return {"user": _format_user(user)}

    async def enable_user(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        # Enabling a member restores the role in which they consent.
        _check_person(ctx, "A person enables users", "Sign in at the page and do it there.")
        async with require_part(self.database).transaction() as tx:
            user = await enable_user(tx, _parse_id(arguments, "user_id"))
            await audit_installation(tx, ctx.actor, "admin_enable_user", user.id)
        return {"user": _format_user(user)}

    async def reset_password(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        _check_person(ctx)
        async with require_part(self.database).transaction() as tx:
            user = await read_user(tx, _parse_id(arguments, "user_id"))
            plain = await make_link(tx, user.id, "reset", ctx.actor.id)
            await audit_installation(tx, ctx.actor, "admin_reset_password", user.id)
        return {"user": _format_user(user), "link": link_address(self.address, plain)}


def _check_person(
    ctx: CallContext,
    detail: str = "A person makes links that sign people in",
    way: str = "Sign in at the page and do it there, or use `mainspring sign-in` on the machine of "
    "the server.",
) -> None:
    """Reject programs: the returned link would sign them in as a person."""
    if not ctx.actor.is_person:
        raise PersonRequired(f"{detail}; a program cannot.", suggestion=way)


def _format_user(user: User) -> dict[str, Any]:
    return {
        "id": str(user.id),
        "email": user.email,
        "name": user.name,
        "administrator": user.administrator,
        "has_password": user.has_password,
        "created_at": user.created_at.isoformat(),
        "disabled_at": None if user.disabled_at is None else user.disabled_at.isoformat(),
    }


def _format_workspace(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "name": row["name"],
        "members": row["members"],
        "owners": [str(owner) for owner in row["owners"]],
        "created_at": row["created_at"].isoformat(),
    }


def _build_next_cursor(rows: list[dict[str, Any]], most: int) -> str | None:
    return str(rows[most - 1]["id"]) if len(rows) > most else None


def _parse_after(arguments: Mapping[str, Any]) -> UUID | None:
    return _parse_id(arguments, "after") if "after" in arguments else None


def _parse_id(arguments: Mapping[str, Any], name: str) -> UUID:
    try:
        return UUID(arguments[name])
    except ValueError:
        detail = f"{name} is not an id."
        raise Invalid(detail, findings=[Finding(f"/{name}", detail, "format")]) from None
