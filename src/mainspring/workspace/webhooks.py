"""Webhook tokens, and looking a webhook up for a request.

A token is shown once, when it is created; only its hash is stored on the trigger. It identifies one
trigger, so an automation may have several webhooks. Rotation takes effect at once, unless the
previous token is kept for an overlap: firing locks the trigger row, and rotation updates that row.
A token is suspended when its creator, who knows it, is removed or disabled: requests are recorded
as missed until another member takes it over. It is revoked when its creator loses the permission to
create tokens. Requests signed with a secret of the automation's owner start nothing while the owner
is not an active member.
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
        -- Only for the member who made it: a token ends with the membership of its maker.
        old_secret_hash = CASE WHEN $7::float8 > 0 AND t.secret_made_by = $6
            THEN t.secret_hash END,
        old_secret_until = CASE WHEN $7::float8 > 0 AND t.secret_made_by = $6
            THEN now() + make_interval(secs => $7::float8) END,
        suspended_at = CASE WHEN a.paused_reason = 'owner_left' THEN t.suspended_at END
    FROM automations a
    WHERE t.workspace_id = $1 AND t.automation_id = $2 AND t.slug = $3
        AND a.workspace_id = t.workspace_id AND a.id = t.automation_id
"""
_OLD_UNTIL = """
    SELECT old_secret_until FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3
"""
_MADE_BY = """
    SELECT workspace_id, id FROM triggers
    WHERE ($1::uuid IS NULL OR workspace_id = $1) AND secret_made_by = $2
    ORDER BY id FOR UPDATE
"""
_END = """
    UPDATE triggers
    SET secret_hash = NULL, secret_hint = NULL, secret_made_at = NULL, secret_made_by = NULL,
        old_secret_hash = NULL, old_secret_until = NULL
    WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
"""
# Resolution of a webhook's last fire time.
FIRED_SECONDS: Final = 1
# A short digest of the state that a request was prepared for; the trigger is t in the statement.
MARK: Final = """md5(concat_ws(' ', t.slug, encode(t.secret_hash, 'hex'),
    encode(t.old_secret_hash, 'hex'), t.config, t.inputs))"""
_COLUMNS = f"""t.workspace_id, t.id, t.automation_id, t.slug, t.type, t.secret_hash,
        t.old_secret_hash, t.old_secret_until, t.config, t.inputs,
        t.last_fired_at, a.created_by AS owner_id, t.suspended_at IS NOT NULL AS suspended,
        {MARK} AS mark, now() AS now"""
# Whether the owner of automation a is an active member.
OWNER_HERE: Final = """EXISTS (SELECT FROM members m
            JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
            WHERE m.workspace_id = a.workspace_id AND m.user_id = a.created_by)"""
_IN_USE = f"""
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
        AND a.state <> 'archived'
        AND (t.suspended_at IS NOT NULL OR NOT t.config ?| ARRAY['signature', 'auth']
            OR {OWNER_HERE})"""
# Across workspaces: the request's workspace is not known yet.
_BY_TOKEN = f"""
    SELECT {_COLUMNS} FROM triggers t {_IN_USE}
    WHERE (t.secret_hash = ANY($1::bytea[])
            OR (t.old_secret_hash = ANY($1::bytea[]) AND t.old_secret_until > now()))
        AND t.type IN ('webhook', 'form')
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
    JOIN triggers t ON t.workspace_id = k.workspace_id AND t.id = k.id
        AND t.type IN ('webhook', 'form') {_IN_USE}
    ORDER BY t.id FOR SHARE OF t
"""
# Updates last fire times, to the second, skipping locked rows; the caller's statement supplies the
# ids.
NOTE_FIRED: Final = f"""
    UPDATE triggers t SET last_fired_at = now() FROM (
        SELECT workspace_id, id FROM triggers WHERE (workspace_id, id) IN (SELECT {{names}})
            AND (last_fired_at IS NULL OR last_fired_at < now() - interval '{FIRED_SECONDS} s')
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) AS due{{more}}
    WHERE t.workspace_id = due.workspace_id AND t.id = due.id
    RETURNING t.id, t.last_fired_at
"""
# Losing it in a crash is harmless, so it does not wait for the disk.
_FIRED = NOTE_FIRED.format(
    names="* FROM unnest($1::uuid[], $2::uuid[])",
    more=", (SELECT set_config('synchronous_commit', 'off', true)) AS quickly",
)


@dataclass(frozen=True, slots=True)
class WebhookTrigger:
    """A webhook to be called, or a form to be sent."""

    workspace_id: UUID
    id: UUID
    automation_id: UUID
    slug: str
    # webhook or form
    type: str
    secret_hash: bytes | None
    # The token before a rotation, and until when it works.
    old_secret_hash: bytes | None
    old_secret_until: datetime | None
    config: dict[str, Any]
    inputs: dict[str, Any]
    last_fired_at: datetime | None
    # The automation's owner, whose secret signs its requests.
    owner_id: UUID
    # Requests are only recorded as missed until another member takes it over.
    suspended: bool
    # Changes when the prepared state is out of date.
    mark: str
    # The database's time of the lookup.
    now: datetime

    def has_token(self, digest: bytes) -> bool:
        """Compare hashes in constant time; the previous token works until its time is over."""
        if self.secret_hash is not None and hmac.compare_digest(self.secret_hash, digest):
            return True
        if self.old_secret_hash is None or self.old_secret_until is None:
            return False
        return self.now < self.old_secret_until and hmac.compare_digest(
            self.old_secret_hash, digest
        )


@dataclass(frozen=True, slots=True)
class HeldWebhook:
    """What firing depends on, of a webhook locked until the commit."""

    id: UUID
    last_fired_at: datetime | None
    suspended: bool
    mark: str
    now: datetime


def hash_webhook_token(plain: bytes) -> bytes:
    """Hash a token; its entropy makes an unsalted hash safe."""
    return hashlib.sha256(plain).digest()


async def rotate(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    slug: str,
    made_by: UUID,
    *,
    overlap_seconds: float = 0,
) -> tuple[str, str]:
    """Create a new token; return its last four characters and its text, which is not stored.

    The previous token ends at once, or after an overlap if the same member made it.
    """
    await _check_webhook(tx, workspace_id, automation_id, slug)
    plain = PREFIX + secrets.token_urlsafe(32)
    digest = hash_webhook_token(plain.encode())
    where = (workspace_id, automation_id, slug)
    await tx.execute(_SET, *where, digest, plain[-4:], made_by, float(overlap_seconds))
    return plain[-4:], plain


async def read_overlap(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> datetime | None:
    """Until when the previous token works; None: it has ended."""
    row = await tx.fetchrow(_OLD_UNTIL, workspace_id, automation_id, slug)
    found: datetime | None = None if row is None else row["old_secret_until"]
    return found


async def revoke(tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str) -> None:
    """Revoke the token; no effect when there is none."""
    await _check_webhook(tx, workspace_id, automation_id, slug)
    await tx.execute(_SET, workspace_id, automation_id, slug, None, None, None, 0.0)


async def end_tokens_of(tx: Transaction, member_id: UUID, workspace_id: UUID | None = None) -> None:
    """Revoke the tokens that a member created in a workspace, or in all of them."""
    rows = await tx.fetch(_MADE_BY, workspace_id, member_id)
    if rows:
        await tx.execute(_END, [row["workspace_id"] for row in rows], [row["id"] for row in rows])


async def find_by_token(tx: Transaction, digests: Iterable[bytes]) -> dict[bytes, WebhookTrigger]:
    """Find webhooks by token hash."""
    wanted = set(digests)
    found: dict[bytes, WebhookTrigger] = {}
    for row in await tx.fetch(_BY_TOKEN, list(wanted)):
        webhook = WebhookTrigger(**dict(row))
        for digest in (webhook.secret_hash, webhook.old_secret_hash):
            if digest is not None and digest in wanted:
                found[digest] = webhook
    return found


async def find_by_name(
    tx: Transaction, names: Iterable[tuple[UUID, str]]
) -> dict[tuple[UUID, str], WebhookTrigger]:
    """Find webhooks by automation and slug."""
    wanted = list(names)
    rows = await tx.fetch(
        _BY_NAME,
        [automation_id for automation_id, _ in wanted],
        [slug for _, slug in wanted],
    )
    return {(row["automation_id"], row["slug"]): WebhookTrigger(**dict(row)) for row in rows}


async def lock_webhooks(
    tx: Transaction, triggers: Iterable[tuple[UUID, UUID]]
) -> dict[UUID, HeldWebhook]:
    """Lock those of the webhooks, given by workspace and id, that are in use."""
    spaces, ids = zip(*triggers, strict=True)
    rows = await tx.fetch(_HOLD, list(spaces), list(ids))
    return {row["id"]: HeldWebhook(**dict(row)) for row in rows}


async def record_firings(
    tx: Transaction, triggers: Sequence[tuple[UUID, UUID]]
) -> dict[UUID, datetime]:
    """Update last fire times, at most once per second and without waiting for locks.

    Triggers are given by workspace and id; the updated ones are returned. Firing locks a webhook's
    row, and a write per request would serialize concurrent requests. The time can therefore be
    slightly too early, never too late.
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
