"""Workspace capabilities: an automation's key-value store and its messages.

The four key-value capabilities need no grant: they only reach the rows of the automation whose run
is calling.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import orjson

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    CapabilityHandler,
    Effect,
)
from mainspring.contracts.context import CallContext, Transaction
from mainspring.contracts.errors import Finding, Invalid, LimitExceeded, PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.toolset import Toolset
from mainspring.definition.strict_json import check_value
from mainspring.workspace.events import publish_event_capability

# automation_kv: values that an automation keeps between runs.

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
        # Half of a step output's limit: keys and timestamps count too.
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


# Values are passed as text: a null must become JSON null, not SQL NULL.
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
    """Set a value; True when the key is new."""
    if await tx.fetchrow(_CHANGE, *owner, key, value) is not None:
        return False
    if await _add(tx, owner, key, value, limits):
        return True
    # A concurrent run added the key and committed, so it can be updated.
    await tx.fetchrow(_CHANGE, *owner, key, value)
    return False


async def _add(tx: Transaction, owner: KvOwner, key: str, value: str, limits: Limits) -> bool:
    """Add a key; False when it exists.

    Runs of one automation add keys one at a time, or two could both take the last free key.
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
    """Reject a key that the database would change or a person cannot read."""
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
        # It would be read back rounded.
        raise _invalid_kv_error(
            "value", "The value holds a whole number beyond 64 bits.", "kv_value_number"
        ) from None
    if len(text) > limits.kv_value_bytes:
        detail = f"The value is larger than {limits.kv_value_bytes} bytes."
        raise _invalid_kv_error("value", detail, "kv_value_too_large")
    return text.decode()


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KEY = {"type": "string", "minLength": 1, "maxLength": MAX_KEY}
_RUNS = Audience.RUNS
_READS = Annotations(
    toolset=Toolset.RUNS, effect=Effect.READ, transactional=True, seconds=0.1, audience=_RUNS
)
_KEEPS = Annotations(
    toolset=Toolset.RUNS, effect=Effect.KEEP, transactional=True, seconds=0.1, audience=_RUNS
)


def capabilities(limits: Limits, built_in: Collection[str] = ()) -> tuple[Capability, ...]:
    """Build the workspace capabilities with the operator's limits.

    Only the application publishes events of the built-in types.
    """
    return (
        _get(),
        _set(limits),
        _list(limits),
        _delete(),
        publish_event_capability(limits, built_in),
    )


def _get() -> Capability:
    return Capability(
        id="automation_kv.get",
        description="Read a stored value of this automation\n\n"
        "Returns the value, or the default if the key is missing.",
        input_schema=_build_object_schema(
            {
                "key": _KEY,
                "default": {"description": "Returned if the key is missing."},
            },
            required=["key"],
            examples=[{"key": "cursor"}, {"key": "seen/42", "default": False}],
            anti_examples=[
                _build_anti_example({}, "which key?"),
                _build_anti_example({"key": ""}, "a key has at least one character"),
                _build_anti_example(
                    {"key": "cursor", "automation_id": "x"}, "the run says whose values"
                ),
            ],
        ),
        output_schema=_build_object_schema(
            {"found": {"type": "boolean"}, "value": {}},
            required=["found", "value"],
            examples=[{"found": True, "value": {"page": 3}}, {"found": False, "value": None}],
            anti_examples=[
                _build_anti_example(
                    {"value": 1}, "null may be a value, so found says whether it is"
                )
            ],
        ),
        handler=get_handler(),
        annotations=_READS,
    )


def _set(limits: Limits) -> Capability:
    return Capability(
        id="automation_kv.set",
        description="Store a value for later runs of this automation\n\n"
        "Use it to remember a value between runs.\n\n"
        f"Any JSON value of at most {limits.kv_value_bytes} bytes under a key. With "
        "if_absent, only if the key is missing: exactly one run succeeds.",
        input_schema=_build_object_schema(
            {
                "key": _KEY,
                "value": {},
                "if_absent": {"type": "boolean", "default": False},
            },
            required=["key", "value"],
            examples=[
                {"key": "cursor", "value": {"page": 3}},
                {"key": "seen/42", "value": None, "if_absent": True},
            ],
            anti_examples=[
                _build_anti_example({"key": "cursor"}, "nothing to keep; use delete to forget"),
                _build_anti_example(
                    {"key": "k" * (MAX_KEY + 1), "value": 1}, "the key is too long"
                ),
                _build_anti_example(
                    {"key": "cursor", "value": 1, "if_absent": "yes"}, "true or false"
                ),
            ],
        ),
        output_schema=_build_object_schema(
            {
                "key": _KEY,
                "created": {"type": "boolean", "description": "The key did not exist."},
                "set": {"type": "boolean", "description": "The key has the given value now."},
            },
            required=["key", "created", "set"],
            examples=[{"key": "cursor", "created": False, "set": True}],
            anti_examples=[
                _build_anti_example({"key": "cursor"}, "it must say whether the value was set")
            ],
        ),
        handler=set_handler(limits),
        annotations=_KEEPS,
    )


def _list(limits: Limits) -> Capability:
    entry = _build_object_schema(
        {"key": _KEY, "value": {}, "updated_at": {"type": "string", "format": "date-time"}},
        required=["key", "value", "updated_at"],
    )
    return Capability(
        id="automation_kv.list",
        description="List stored values of this automation\n\n"
        "Sorted by key, in pages; large values end a page early. Continue at next, "
        "which is null on the last page.",
        input_schema=_build_object_schema(
            {
                "prefix": {"type": "string", "maxLength": MAX_KEY},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_LIST,
                    "default": DEFAULT_LIST,
                },
                "after": {"type": "string", "maxLength": MAX_KEY},
            },
            examples=[{}, {"prefix": "seen/", "limit": 500, "after": "seen/42"}],
            anti_examples=[
                _build_anti_example({"limit": 0}, "at least one"),
                _build_anti_example({"limit": MAX_LIST + 1}, "more than one page holds"),
                _build_anti_example({"prefix": 7}, "keys are text"),
            ],
        ),
        output_schema=_build_object_schema(
            {
                "entries": {"type": "array", "items": entry, "maxItems": MAX_LIST},
                "next": {"type": ["string", "null"]},
            },
            required=["entries", "next"],
            examples=[
                {
                    "entries": [
                        {"key": "a", "value": 1, "updated_at": "2026-01-01T00:00:00+00:00"}
                    ],
                    "next": "a",
                }
            ],
            anti_examples=[
                _build_anti_example({"entries": []}, "the end is said by next being null")
            ],
        ),
        handler=list_handler(limits),
        annotations=_READS,
    )


def _delete() -> Capability:
    return Capability(
        id="automation_kv.delete",
        description="Delete a stored value of this automation\n\nA missing key is not an error.",
        input_schema=_build_object_schema(
            {"key": _KEY},
            required=["key"],
            examples=[{"key": "cursor"}],
            anti_examples=[_build_anti_example({"keys": ["a"]}, "one key at a time")],
        ),
        output_schema=_build_object_schema(
            {"deleted": {"enum": [0, 1]}},
            required=["deleted"],
            examples=[{"deleted": 1}],
            anti_examples=[_build_anti_example({"deleted": True}, "how many, not whether")],
        ),
        handler=delete_handler(),
        annotations=_KEEPS,
    )


def _build_object_schema(
    properties: dict[str, Any],
    *,
    required: list[str] | None = None,
    examples: list[Any] | None = None,
    anti_examples: list[Any] | None = None,
) -> dict[str, Any]:
    """An object schema with these properties and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": required or [],
        "properties": properties,
    }
    if examples is not None:
        schema = {"$schema": _DIALECT, **schema, "examples": examples}
        schema["x-mainspring-anti-examples"] = anti_examples or []
    return schema


def _build_anti_example(value: Any, reason: str) -> dict[str, Any]:
    return {"value": value, "reason": reason}
