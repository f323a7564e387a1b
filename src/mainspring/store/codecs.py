"""Type codecs: JSON as Python values, in Postgres's binary format.

The binary format of ``jsonb`` is the text after a version byte; arrays of it are sent the same way,
which the text format would not allow. A value that is already JSON text is passed as
``orjson.Fragment`` and not parsed again. An integer beyond 64 bits is rejected instead of rounded.

In an array of ``jsonb`` the driver reads a list as a further dimension and None as NULL: elements
that may be either go through ``as_json``.
"""

from __future__ import annotations

from typing import Any

import asyncpg
import orjson

_JSONB_VERSION = b"\x01"


async def set_codecs(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Set the codecs of a new connection."""
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=_to_jsonb, decoder=_decode_jsonb
    )
    await connection.set_type_codec(
        "json", schema="pg_catalog", format="binary", encoder=orjson.dumps, decoder=orjson.loads
    )


def as_json(value: Any) -> orjson.Fragment:
    """One JSON value of any type as an element of an array."""
    return orjson.Fragment(orjson.dumps(value))


def _to_jsonb(value: Any) -> bytes:
    return _JSONB_VERSION + orjson.dumps(value)


def _decode_jsonb(value: bytes) -> Any:
    return orjson.loads(value[1:])
