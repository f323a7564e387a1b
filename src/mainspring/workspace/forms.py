"""The links of forms.

A link contains a random token that identifies one trigger. It is created when the trigger is saved.
Members can always see it again, because everyone who fills in the form has it. Requests are found
by its hash, in the same columns as the token of a webhook. A new link ends the previous one, at
once or after an overlap. A link belongs to the automation: it stays when a member leaves.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.workspace.webhooks import hash_webhook_token

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

PREFIX: Final = "frm_"

_WITHOUT_LINK: Final = """
    SELECT slug FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 AND type = 'form' AND secret_hash IS NULL
"""
_SET_LINK: Final = """
    UPDATE triggers t
    SET secret_hash = $4, secret_hint = $5, link_token = $6, secret_made_at = now(),
        old_secret_hash = CASE WHEN $7::float8 > 0 THEN t.secret_hash END,
        old_secret_until = CASE WHEN $7::float8 > 0 AND t.secret_hash IS NOT NULL
            THEN now() + make_interval(secs => $7::float8) END
    WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3 AND type = 'form'
    RETURNING slug
"""
_TYPE: Final = (
    "SELECT type FROM triggers WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3"
)
# Across workspaces: the form's workspace is not known yet.
_BY_LINK: Final = """
    SELECT t.workspace_id, t.id, t.automation_id, t.config, t.inputs, a.name, a.version,
        a.state = 'active' AND t.armed_at IS NOT NULL AND t.suspended_at IS NULL
            AND a.agreed_version IS NOT DISTINCT FROM a.version AS open
    FROM triggers t
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
        AND a.state <> 'archived'
    WHERE t.type = 'form' AND (t.secret_hash = $1
        OR (t.old_secret_hash = $1 AND t.old_secret_until > now()))
"""
_MEMBER: Final = """
    SELECT u.id, u.name, u.email FROM members m
    JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
    WHERE m.workspace_id = $1 AND m.user_id = $2
"""


@dataclass(frozen=True, slots=True)
class FormTrigger:
    """A form at its link."""

    workspace_id: UUID
    id: UUID
    automation_id: UUID
    config: dict[str, Any]
    inputs: dict[str, Any]
    # Of the automation.
    name: str
    version: int
    # Whether a submission starts a run now.
    open: bool


@dataclass(frozen=True, slots=True)
class FormMember:
    """A member who fills in a form."""

    id: UUID
    name: str
    email: str

    def as_payload(self) -> dict[str, str]:
        return {"id": str(self.id), "name": self.name, "email": self.email}


async def create_links(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Give a link to each form of an automation that has none."""
    for row in await tx.fetch(_WITHOUT_LINK, workspace_id, automation_id):
        await _set_link(tx, workspace_id, automation_id, row["slug"], 0)


async def rotate_link(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    slug: str,
    *,
    overlap_seconds: float = 0,
) -> str:
    """Create a new link; return its token. The previous link ends at once, or after an overlap."""
    token = await _set_link(tx, workspace_id, automation_id, slug, overlap_seconds)
    if token is not None:
        return token
    if await tx.fetchrow(_TYPE, workspace_id, automation_id, slug) is None:
        raise NotFound("This automation has no such trigger.", code="no_trigger")
    raise Conflict("Only a form has a link; this trigger is none.", code="not_a_form")


async def _set_link(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str, overlap_seconds: float
) -> str | None:
    token = PREFIX + secrets.token_urlsafe(24)
    digest = hash_webhook_token(token.encode())
    where = (workspace_id, automation_id, slug)
    row = await tx.fetchrow(_SET_LINK, *where, digest, token[-4:], token, float(overlap_seconds))
    return None if row is None else token


async def find_form(tx: Transaction, token: str) -> FormTrigger | None:
    """The form at a link."""
    row = await tx.fetchrow(_BY_LINK, hash_webhook_token(token.encode("utf-8", "replace")))
    return None if row is None else FormTrigger(**dict(row))


async def find_form_member(tx: Transaction, workspace_id: UUID, user_id: UUID) -> FormMember | None:
    """The member of a workspace with this user id."""
    row = await tx.fetchrow(_MEMBER, workspace_id, user_id)
    return None if row is None else FormMember(**dict(row))
