"""automation_kv: the few values an automation remembers from one run to the next.

Cursors, last-seen ids and sets of what was already handled live here. Every row belongs
to one automation of one workspace, and the caller never says which: the run does.
Writes happen in the transaction that also records the call, so each happens once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.context import CallContext, Transaction
from mainspring.contracts.errors import Finding, Invalid, LimitExceeded, PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.json_text import check_value

MAX_KEY = 256
MAX_LIST = 1_000
DEFAULT_LIST = 100

KvOwner = tuple[UUID, UUID]


def get_handler() -> CapabilityHandler:
    async def get(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        row = await ctx.tx.fetchrow(_GET, *_get_kv_owner(ctx), _validate_key(arguments["key"]))
        if row is None:
            return {"found": False, "value": arguments.get("default")}
        return {"found": True, "value": row["value"]}

    return get


def set_handler(limits: Limits) -> CapabilityHandler:
    async def put(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        owner, key = _get_kv_owner(ctx), _validate_key(arguments["key"])
        value = _encode_value(arguments["value"], limits)
        if arguments.get("if_absent", False):
            created = await _add(ctx.tx, owner, key, value, limits)
            told = {"key": key, "created": created, "set": created}
            return told if created else Unchanged(told)
        created = await _put(ctx.tx, owner, key, value, limits)
        return {"key": key, "created": created, "set": True}

    return put


def list_handler(limits: Limits) -> CapabilityHandler:
    async def entries(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        most = int(arguments.get("limit", DEFAULT_LIST))
        prefix, after = (
            _validate_key_part(arguments.get(name, ""), name) for name in ("prefix", "after")
        )
        # Half of what a step may put out: the names and times around the values count too.
        room = limits.step_output_bytes // 2
        rows = await ctx.tx.fetch(_ENTRIES, *_get_kv_owner(ctx), prefix, after, most + 1, room)
        shown = [row for row in rows[:most] if row["fits"]]
        more = len(rows) > len(shown)
        return {
            "entries": [
                {
                    "key": row["key"],
                    "value": row["value"],
                    "updated_at": row["updated_at"].isoformat(),
                }
                for row in shown
            ],
            "next": shown[-1]["key"] if more else None,
        }

    return entries


def delete_handler() -> CapabilityHandler:
    async def delete(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        gone = await ctx.tx.fetch(_DELETE, *_get_kv_owner(ctx), _validate_key(arguments["key"]))
        return {"deleted": len(gone)} if gone else Unchanged({"deleted": 0})

    return delete


# Values travel as text: a null must become the JSON null, not the absence of a value.
_GET = """
    SELECT value FROM automation_kv
    WHERE workspace_id = $1 AND automation_id = $2 AND key = $3
"""
_CHANGE = """
    UPDATE automation_kv SET value = $4::text::jsonb, updated_at = now()
    WHERE workspace_id = $1 AND automation_id = $2 AND key = $3
    RETURNING key
"""
_ADD = """
    INSERT INTO automation_kv (workspace_id, automation_id, key, value, updated_at)
    VALUES ($1, $2, $3, $4::text::jsonb, now())
    ON CONFLICT (workspace_id, automation_id, key) DO NOTHING
    RETURNING key
"""
_DELETE = """
    DELETE FROM automation_kv
    WHERE workspace_id = $1 AND automation_id = $2 AND key = $3
    RETURNING key
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))"
_COUNT = """
    SELECT count(*) AS keys, coalesce(bool_or(key = $3), false) AS taken FROM automation_kv
    WHERE workspace_id = $1 AND automation_id = $2
"""
# The first entry always fits, or a list could never get past it.
_ENTRIES = """
    SELECT key, updated_at, fits, CASE WHEN fits THEN value END AS value FROM (
        SELECT key, value, updated_at,
            row_number() OVER (ORDER BY key) = 1
            OR sum(octet_length(value::text) + octet_length(key)) OVER (ORDER BY key) <= $6
            AS fits
        FROM (
            SELECT key, value, updated_at FROM automation_kv
            WHERE workspace_id = $1 AND automation_id = $2
                AND starts_with(key, $3) AND key > $4
            ORDER BY key LIMIT $5
        ) AS page
    ) AS measured
    ORDER BY key
"""


async def _put(tx: Transaction, owner: KvOwner, key: str, value: str, limits: Limits) -> bool:
    """Sets a value whatever was there; True when there was nothing."""
    if await tx.fetchrow(_CHANGE, *owner, key, value) is not None:
        return False
    if await _add(tx, owner, key, value, limits):
        return True
    # Another run added the key in the meantime; it is committed, so it can be changed.
    await tx.fetchrow(_CHANGE, *owner, key, value)
    return False


async def _add(tx: Transaction, owner: KvOwner, key: str, value: str, limits: Limits) -> bool:
    """Adds a key that is not there yet; False when it is.

    Runs of one automation add one after the other, or two of them could both see room
    for the last key.
    """
    await tx.fetch(_LOCK, f"automation_kv/{owner[0]}/{owner[1]}")
    row = await tx.fetchrow(_COUNT, *owner, key)
    if row is not None and row["taken"]:
        return False
    if row is not None and row["keys"] >= limits.kv_keys:
        raise LimitExceeded(
            f"This automation already keeps {limits.kv_keys} keys.",
            code="kv_full",
            suggestion="Delete keys that are no longer needed.",
            retryable=False,
        )
    return await tx.fetchrow(_ADD, *owner, key, value) is not None


def _get_kv_owner(ctx: CallContext) -> KvOwner:
    if ctx.run is None:
        raise PermissionDenied(
            "Only a run of an automation has these values.", code="kv_outside_run"
        )
    return ctx.actor.workspace_id, ctx.run.automation_id


def _validate_key(key: str) -> str:
    """A key that the database keeps as it is and a person can read."""
    if not key:
        raise _invalid_kv_error("key", "A key has at least one character.", "kv_key")
    return _validate_key_part(key, "key")


def _validate_key_part(key: str, name: str) -> str:
    if len(key) > MAX_KEY or not key.isprintable():
        raise _invalid_kv_error(name, f"A key is at most {MAX_KEY} printable characters.", "kv_key")
    return key


def _invalid_kv_error(name: str, detail: str, code: str) -> Invalid:
    return Invalid(detail, code=code, findings=[Finding(f"/{name}", detail, code)])


def _encode_value(value: Any, limits: Limits) -> str:
    check_value(value, limits, "/value")
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        # It would come back rounded.
        raise _invalid_kv_error(
            "value", "The value holds a whole number beyond 64 bits.", "kv_value_number"
        ) from None
    if len(text) > limits.kv_value_bytes:
        detail = f"The value is larger than {limits.kv_value_bytes} bytes."
        raise _invalid_kv_error("value", detail, "kv_value_too_large")
    return text.decode()
