"""Tokens of webhooks, and finding a webhook by what a caller shows.

A token is shown once, when it is made; only its hash is kept on the trigger. It names one
trigger by itself, so an automation may have several webhooks. A new one takes the place of
the old one at once: whoever fires holds the trigger's row, and whoever changes the token
changes that row. A token is suspended when the member who made it is removed or disabled, because
that member knows it: calls are recorded as missed until somebody takes the token over. It ends when
that member may make no tokens any more. Calls that are signed with a secret of the automation's
owner start nothing while the owner is no active member.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

PREFIX: Final = "mwh_"

_TYPE = """
    SELECT type FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3 FOR UPDATE
"""
_SET = """
    UPDATE triggers t
    SET secret_hash = $4::bytea, secret_hint = $5, secret_made_by = $6,
        secret_made_at = CASE WHEN $4::bytea IS NULL THEN NULL ELSE now() END,
        suspended_at = CASE WHEN a.paused_reason = 'owner_left' THEN t.suspended_at END
    FROM automations a
    WHERE t.workspace_id = $1 AND t.automation_id = $2 AND t.slug = $3
        AND a.workspace_id = t.workspace_id AND a.id = t.automation_id
"""
_MADE_BY = """
    SELECT workspace_id, id FROM triggers
    WHERE ($1::uuid IS NULL OR workspace_id = $1) AND secret_made_by = $2
    ORDER BY id FOR UPDATE
"""
_END = """
    UPDATE triggers
    SET secret_hash = NULL, secret_hint = NULL, secret_made_at = NULL, secret_made_by = NULL
    WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
"""
# How exact the moment of a webhook's last firing is.
FIRED_SECONDS: Final = 1
# What a call is prepared for, in few letters, in a statement where the trigger is called t.
MARK: Final = """md5(concat_ws(' ', t.slug, encode(t.secret_hash, 'hex'), t.config, t.inputs))"""
_COLUMNS = f"""t.workspace_id, t.id, t.automation_id, t.slug, t.secret_hash, t.config, t.inputs,
        t.last_fired_at, a.created_by AS owner_id, t.suspended_at IS NOT NULL AS suspended,
        {MARK} AS mark, now() AS now"""
# Whether the owner of an automation a is a member who was not disabled.
OWNER_HERE: Final = """EXISTS (SELECT FROM members m
            JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
            WHERE m.workspace_id = a.workspace_id AND m.user_id = a.created_by)"""
_IN_USE = f"""
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
        AND a.state <> 'archived'
        AND (t.suspended_at IS NOT NULL OR NOT t.config ? 'signature' OR {OWNER_HERE})"""
# Nobody has said yet which workspace a caller belongs to: these two look into all of them.
_BY_TOKEN = f"""
    SELECT {_COLUMNS} FROM triggers t {_IN_USE}
    WHERE t.secret_hash = ANY($1::bytea[]) AND t.type = 'webhook'
"""
_BY_NAME = f"""
    SELECT {_COLUMNS} FROM unnest($1::uuid[], $2::text[]) AS k(automation_id, slug)
    CROSS JOIN workspaces w
    JOIN triggers t ON t.workspace_id = w.workspace_id AND t.automation_id = k.automation_id
        AND t.slug = k.slug AND t.type = 'webhook' {_IN_USE}
"""
_HOLD = f"""
    SELECT t.id, t.last_fired_at, t.suspended_at IS NOT NULL AS suspended, {MARK} AS mark,
        now() AS now
    FROM unnest($1::uuid[], $2::uuid[]) AS k(workspace_id, id)
    JOIN triggers t ON t.workspace_id = k.workspace_id AND t.id = k.id AND t.type = 'webhook'
        {_IN_USE}
    ORDER BY t.id FOR SHARE OF t
"""
# Moves the moment at which triggers fired last, to the second, unless somebody else holds them;
# whose statement it is says from where their names come.
NOTE_FIRED: Final = f"""
    UPDATE triggers t SET last_fired_at = now() FROM (
        SELECT workspace_id, id FROM triggers WHERE (workspace_id, id) IN (SELECT {{names}})
            AND (last_fired_at IS NULL OR last_fired_at < now() - interval '{FIRED_SECONDS} s')
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) AS due{{more}}
    WHERE t.workspace_id = due.workspace_id AND t.id = due.id
    RETURNING t.id, t.last_fired_at
"""
# By itself it may be lost with the machine, so nobody need wait for the disk.
_FIRED = NOTE_FIRED.format(
    names="* FROM unnest($1::uuid[], $2::uuid[])",
    more=", (SELECT set_config('synchronous_commit', 'off', true)) AS quickly",
)


@dataclass(frozen=True, slots=True)
class WebhookTrigger:
    """A webhook that somebody may call."""

    workspace_id: UUID
    id: UUID
    automation_id: UUID
    slug: str
    secret_hash: bytes | None
    config: dict[str, Any]
    inputs: dict[str, Any]
    last_fired_at: datetime | None
    # Who made the automation; its calls are signed with a secret of theirs.
    owner_id: UUID
    # Calls are only recorded as missed, until somebody takes it over.
    suspended: bool
    # Another one once it is not what calls were prepared for.
    mark: str
    # The database's time when it was looked up.
    now: datetime

    def has_token(self, digest: bytes) -> bool:
        """Compared in a time that does not depend on where two hashes differ."""
        return self.secret_hash is not None and hmac.compare_digest(self.secret_hash, digest)

    @property
    def signing_secret(self) -> str | None:
        """The name of the secret that calls must be signed with."""
        signature = self.config.get("signature")
        return None if signature is None else str(signature["secret"])


@dataclass(frozen=True, slots=True)
class HeldWebhook:
    """What a firing depends on, of a webhook that is locked until the commit."""

    id: UUID
    last_fired_at: datetime | None
    suspended: bool
    mark: str
    now: datetime


def hash_webhook_token(plain: bytes) -> bytes:
    """A token is random enough that a plain hash gives nothing away."""
    return hashlib.sha256(plain).digest()


async def rotate(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str, made_by: UUID
) -> tuple[str, str]:
    """A new token: its last four characters, and its text, which cannot be had again."""
    await _check_webhook(tx, workspace_id, automation_id, slug)
    plain = PREFIX + secrets.token_urlsafe(32)
    digest = hash_webhook_token(plain.encode())
    await tx.execute(_SET, workspace_id, automation_id, slug, digest, plain[-4:], made_by)
    return plain[-4:], plain


async def revoke(tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str) -> None:
    """Ends the token; where there is none, nothing changes."""
    await _check_webhook(tx, workspace_id, automation_id, slug)
    await tx.execute(_SET, workspace_id, automation_id, slug, None, None, None)


async def end_tokens_of(tx: Transaction, member_id: UUID, workspace_id: UUID | None = None) -> None:
    """Ends the tokens that a member has made in a workspace, or in all of them."""
    rows = await tx.fetch(_MADE_BY, workspace_id, member_id)
    if rows:
        await tx.execute(_END, [row["workspace_id"] for row in rows], [row["id"] for row in rows])


async def find_by_token(tx: Transaction, digests: Iterable[bytes]) -> dict[bytes, WebhookTrigger]:
    """Webhooks by the hash of their token."""
    rows = await tx.fetch(_BY_TOKEN, list(digests))
    return {row["secret_hash"]: WebhookTrigger(**dict(row)) for row in rows}


async def find_by_name(
    tx: Transaction, names: Iterable[tuple[UUID, str]]
) -> dict[tuple[UUID, str], WebhookTrigger]:
    """Webhooks by automation and slug."""
    wanted = list(names)
    rows = await tx.fetch(
        _BY_NAME,
        [automation_id for automation_id, _ in wanted],
        [slug for _, slug in wanted],
    )
    return {(row["automation_id"], row["slug"]): WebhookTrigger(**dict(row)) for row in rows}


async def hold_webhooks(
    tx: Transaction, triggers: Iterable[tuple[UUID, UUID]]
) -> dict[UUID, HeldWebhook]:
    """Those of the webhooks, named by workspace and id, that are in use; none changes now."""
    spaces, ids = zip(*triggers, strict=True)
    rows = await tx.fetch(_HOLD, list(spaces), list(ids))
    return {row["id"]: HeldWebhook(**dict(row)) for row in rows}


async def note_fired(
    tx: Transaction, triggers: Sequence[tuple[UUID, UUID]]
) -> dict[UUID, datetime]:
    """Moves the moment of the last firing, once in a second and without ever waiting.

    Triggers are named by workspace and id; those that were moved are answered. A webhook's
    row is held by everybody who fires it; a write for each call would make them wait for each
    other. The moment can so be a little too early, never too late.
    """
    spaces, ids = [space for space, _ in triggers], [id_ for _, id_ in triggers]
    rows = await tx.fetch(_FIRED, spaces, ids)
    return {row["id"]: row["last_fired_at"] for row in rows}


async def _check_webhook(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> None:
    row = await tx.fetchrow(_TYPE, workspace_id, automation_id, slug)
    if row is None:
        raise NotFound("This automation has no such trigger.", code="no_trigger")
    if row["type"] != "webhook":
        raise Conflict("Only a webhook has a token; this trigger is none.", code="not_a_webhook")
