"""Linking a Slack account with a member: a code of the page that is confirmed in Slack.

The signed-in member gets a code, which works once and for ten minutes, and gives it to the app's
command in Slack. Slack signs that request, so it says which account the code came from. Only the
code's hash is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.gate.prompting.link_codes import hashed, new_code
from mainspring.store.audit import append_audit, build_audit_record
from mainspring.workspace.accounts.rows import find_usable_account
from mainspring.workspace.publisher_secrets import (
    SLACK_SIGNING_SECRET,
    format_set_hint,
    has_publisher_secret,
)
from mainspring.workspace.secret_capabilities import check_sets_address

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.context import CallContext, Transaction

SLACK: Final = "slack"
COMMAND: Final = "/mainspring"
_PATH: Final = "/api/v1/integrations/slack/interactions"

_ACCOUNT = """
    SELECT team_id, user_id, linked_at FROM slack_identities
    WHERE workspace_id = $1 AND member_id = $2 AND user_id IS NOT NULL
"""
_BEGIN = """
    INSERT INTO slack_identities (workspace_id, member_id, code_hash, code_until)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (workspace_id, member_id) DO UPDATE
        SET code_hash = excluded.code_hash, code_until = excluded.code_until
"""
_USE = """
    UPDATE slack_identities SET code_hash = NULL, code_until = NULL
    WHERE workspace_id = $1 AND code_hash = $2
    RETURNING member_id, (SELECT i.code_until > now() FROM slack_identities i
        WHERE i.workspace_id = $1 AND i.code_hash = $2) AS in_time
"""
# Two members may confirm their codes from the same account at once.
_LOCK_ACCOUNT = """
    SELECT pg_advisory_xact_lock(
        hashtextextended('slack account ' || $1 || ' ' || $2 || ' ' || $3, 0))
"""
_HOLDER = """
    SELECT member_id FROM slack_identities
    WHERE workspace_id = $1 AND team_id = $2 AND user_id = $3 FOR UPDATE
"""
_LINK = """
    UPDATE slack_identities SET team_id = $3, user_id = $4, linked_at = now()
    WHERE workspace_id = $1 AND member_id = $2
"""
_UNLINK = (
    "DELETE FROM slack_identities WHERE workspace_id = $1 AND member_id = $2 RETURNING user_id"
)


async def slack_account(tx: Transaction, workspace_id: UUID, member_id: UUID) -> str:
    """The Slack account that is linked with a member."""
    row = await tx.fetchrow(_ACCOUNT, workspace_id, member_id)
    if row is None:
        raise Conflict("No Slack account is linked to this member.", code="slack_not_linked")
    return str(row["user_id"])


async def is_linked(
    tx: Transaction, workspace_id: UUID, member_id: UUID, team: str, user: str
) -> bool:
    """Whether this Slack account answers for this member."""
    row = await tx.fetchrow(_ACCOUNT, workspace_id, member_id)
    return row is not None and (row["team_id"], row["user_id"]) == (team, user)


async def link_account(tx: Transaction, workspace_id: UUID, code: str, team: str, user: str) -> str:
    """Links the account that a code came from; answers what its person is shown."""
    row = await tx.fetchrow(_USE, workspace_id, hashed(code))
    if row is None or not row["in_time"]:
        return "This code is not valid or has expired. Get a new one in Mainspring."
    await tx.execute(_LOCK_ACCOUNT, str(workspace_id), team, user)
    holder = await tx.fetchrow(_HOLDER, workspace_id, team, user)
    if holder is not None and holder["member_id"] != row["member_id"]:
        return "This Slack account is already linked to another member."
    await tx.execute(_LINK, workspace_id, row["member_id"], team, user)
    actor = Actor(workspace_id, "member", row["member_id"])
    detail = {"team_id": team, "user_id": user}
    await append_audit(tx, [build_audit_record(actor, "slack.linked", row["member_id"], detail)])
    return "Your Slack account is linked. Approval requests for you appear here."


def slack_link_capabilities(address: str) -> tuple[Capability, ...]:
    """Seeing, beginning and ending the link; ``address`` is the server's own."""

    def request_url(workspace_id: UUID) -> str:
        return f"{address.rstrip('/')}{_PATH}/{workspace_id}"

    async def shown(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        return await _describe_setup(ctx, request_url(ctx.actor.workspace_id))

    async def begun(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        check_sets_address(ctx.actor, "Only a person can link their Slack account.")
        now = await _describe_setup(ctx, request_url(ctx.actor.workspace_id))
        _check_ready(now)
        code, until = new_code(ctx.clock.now())
        await ctx.tx.execute(_BEGIN, ctx.actor.workspace_id, ctx.actor.id, hashed(code), until)
        return {
            "command": f"{COMMAND} link {code}",
            "code": code,
            "expires_at": until.isoformat(),
            "linked": now["linked"],
        }

    async def ended(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        row = await ctx.tx.fetchrow(_UNLINK, ctx.actor.workspace_id, ctx.actor.id)
        return {"unlinked": row is not None and row["user_id"] is not None}

    return (
        build_capability(
            "get_slack_link",
            "Get your Slack link",
            "Returns whether your Slack account is linked and what is missing: the connection, "
            "the app's signing secret, or the request URL.",
            _NOTHING,
            _SHOWN,
            shown,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.READ,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
            ),
        ),
        build_capability(
            "link_slack",
            "Link your Slack account",
            "Returns a command to enter in Slack; it works once, within ten minutes. Then "
            "decisions that wait for you appear there with buttons.",
            _NOTHING,
            _CODE,
            begun,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
                permission=Permission.DECIDE,
                hidden_results=frozenset({"command", "code"}),
                subject=lambda given, _: SLACK,
            ),
        ),
        build_capability(
            "unlink_slack",
            "Unlink your Slack account",
            "Decisions no longer appear there, and buttons of earlier messages stop working.",
            _NOTHING,
            _ENDED,
            ended,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
                permission=Permission.DECIDE,
                subject=lambda given, _: SLACK,
            ),
        ),
    )


async def _describe_setup(ctx: CallContext, request_url: str) -> dict[str, Any]:
    space, member = ctx.actor.workspace_id, ctx.actor.id
    row = await ctx.tx.fetchrow(_ACCOUNT, space, member)
    connection = await find_usable_account(ctx.tx, space, member, SLACK)
    return {
        "linked": row is not None,
        "team_id": None if row is None else row["team_id"],
        "user_id": None if row is None else row["user_id"],
        "linked_at": None if row is None else row["linked_at"].isoformat(),
        "connected": connection is not None and connection.state == "ready",
        "signing_secret": await has_publisher_secret(ctx.tx, space, SLACK_SIGNING_SECRET),
        "request_url": request_url,
    }


def _check_ready(now: Mapping[str, Any]) -> None:
    if not now["connected"]:
        raise Conflict(
            "Slack is not connected, so approval requests cannot be sent there.",
            code="not_connected",
            suggestion="Connect Slack first: `mainspring integrations connect slack`.",
        )
    if not now["signing_secret"]:
        raise Conflict(
            "The signing secret of the Slack app is not set, so its requests cannot be verified.",
            code="slack_signing_secret",
            suggestion=format_set_hint(SLACK_SIGNING_SECRET),
        )


_SOME_TIME: Final = "2026-12-01T10:00:00+00:00"
_SOME_URL: Final = f"https://mainspring.example.com{_PATH}/01900000-0000-7000-8000-000000000001"
_NOTHING: Final = build_object_schema(
    {}, [], [{}], [({"user_id": "U0ADA"}, "Slack says which account it is")]
)
_SHOWN: Final = build_object_schema(
    {
        "linked": {"type": "boolean"},
        "team_id": {"type": ["string", "null"]},
        "user_id": {"type": ["string", "null"]},
        "linked_at": {"type": ["string", "null"], "format": "date-time"},
        "connected": {"type": "boolean", "description": "Whether you can use a Slack connection."},
        "signing_secret": {
            "type": "boolean",
            "description": "Whether the workspace has the app's signing secret.",
        },
        "request_url": {
            "type": "string",
            "description": "Request URL for the Slack app's interactivity and command.",
        },
    },
    ["linked", "team_id", "user_id", "linked_at", "connected", "signing_secret", "request_url"],
    [
        {
            "linked": True,
            "team_id": "T0ACME",
            "user_id": "U0ADA",
            "linked_at": _SOME_TIME,
            "connected": True,
            "signing_secret": True,
            "request_url": _SOME_URL,
        }
    ],
    [({"linked": True}, "the account is always named")],
)
_CODE: Final = build_object_schema(
    {
        "command": {"type": "string", "description": "Enter it in Slack."},
        "code": {"type": "string"},
        "expires_at": {"type": "string", "format": "date-time"},
        "linked": {"type": "boolean", "description": "Whether an account is linked already."},
    },
    ["command", "code", "expires_at", "linked"],
    [
        {
            "command": f"{COMMAND} link abcdefghijklmnopqrstuvwx",
            "code": "abcdefghijklmnopqrstuvwx",
            "expires_at": _SOME_TIME,
            "linked": False,
        }
    ],
    [({"code": "abcdefghijklmnopqrstuvwx"}, "until when is always said")],
)
_ENDED: Final = build_object_schema(
    {"unlinked": {"type": "boolean"}},
    ["unlinked"],
    [{"unlinked": True}, {"unlinked": False}],
    [({}, "whether there was a link")],
)
