"""Live output of steps: stored in chunks, read by observers.

An attempt that is taken over starts from its beginning and repeats its output, so its first chunk
replaces the earlier ones.

All chunks of a run are ordered by the time they were stored, and within that by their position. One
worker at a time writes for a run, so later chunks sort later, and the position of a chunk is a
sufficient cursor.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.context import OutputStream, RunRef
from mainspring.contracts.errors import NotFound

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The maximum length of a log returned as one text.
LOG_BYTES: Final = 4 * 1_048_576
_CUT: Final = "\n… truncated: a text keeps at most {most} bytes.\n"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LONGEST_NAME: Final = 200

_ADD = """
    INSERT INTO run_output (workspace_id, run_id, step, item, attempt, seq, stream, text)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int2[], $6::int4[],
        $7::text[], $8::text[])
    ON CONFLICT (workspace_id, run_id, step, item, attempt, seq) DO UPDATE
        SET stream = excluded.stream, text = excluded.text, at = now()
"""
_FORGET = """
    DELETE FROM run_output o
    USING unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int2[])
        AS n(workspace_id, run_id, step, item, attempt)
    WHERE o.workspace_id = n.workspace_id AND o.run_id = n.run_id AND o.step = n.step
      AND o.item = n.item AND o.attempt = n.attempt AND o.seq > 1
      AND o.run_id BETWEEN $6 AND $7
"""
# In code point order, which is the same in Postgres and in Python.
ORDER = 'at, step COLLATE "C", item COLLATE "C", attempt, seq'
# The first of these conditions matches the index.
AFTER = f"at >= $3 AND ({ORDER}) > ($3, $4, $5, $6::int2, $7::int4)"
_PAGE = f"""
    SELECT step, item, attempt, seq, stream, text, at FROM run_output
    WHERE workspace_id = $1 AND run_id = $2 AND {AFTER}
      AND ($8::text IS NULL OR step = $8) AND ($9::text IS NULL OR stream = $9)
    ORDER BY {ORDER} LIMIT $10
"""
_LOG = f"""
    SELECT text FROM (
        SELECT text, {ORDER.replace(' COLLATE "C"', "")},
            sum(octet_length(text)) OVER (ORDER BY {ORDER}) - octet_length(text) AS before
        FROM run_output o
        WHERE workspace_id = $1 AND run_id = $2 AND stream <> 'end'
          AND ($3::text IS NULL OR step = $3)
          -- What agents do is told piece by piece, and is no text that was printed.
          AND CASE WHEN $4::text IS NULL THEN stream <> 'agent' ELSE stream = $4 END
          AND attempt = (
              SELECT max(n.attempt) FROM run_output n
              WHERE n.workspace_id = $1 AND n.run_id = $2 AND n.step = o.step AND n.item = o.item
          )
    ) AS told
    WHERE before <= $5 ORDER BY {ORDER}
"""
_RUN = "SELECT 1 FROM runs WHERE workspace_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class StepOutputChunk:
    """A chunk of a step's output, with its position."""

    run: RunRef
    seq: int
    stream: OutputStream
    text: str


@dataclass(frozen=True, slots=True)
class OutputPosition:
    """The position of a chunk among all chunks of its run."""

    at: datetime = _EPOCH
    step: str = ""
    item: str = ""
    attempt: int = 0
    seq: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> OutputPosition:
        return cls(row["at"], row["step"], row["item"], row["attempt"], row["seq"])

    @property
    def values(self) -> tuple[datetime, str, str, int, int]:
        return self.at, self.step, self.item, self.attempt, self.seq


def format_output_position(place: OutputPosition) -> str:
    """The position as an opaque cursor."""
    micros = (place.at - _EPOCH) // _MICROSECOND
    told = [micros, place.step, place.item, place.attempt, place.seq]
    text = json.dumps(told, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def parse_output_position(text: str) -> OutputPosition | None:
    """Parse a cursor; None for any other text."""
    try:
        told = json.loads(base64.urlsafe_b64decode(text + "=="))
        micros, step, item, attempt, seq = told
        place = OutputPosition(_EPOCH + micros * _MICROSECOND, step, item, attempt, seq)
        same = format_output_position(place) == text
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        return None
    numbers = type(attempt) is int and type(seq) is int and type(micros) is int
    names = isinstance(step, str) and isinstance(item, str) and _is_name(step + item)
    fits = numbers and 0 <= attempt < 1 << 15 and 0 <= seq < 1 << 31 and 0 <= micros < 1 << 57
    return place if same and names and fits else None


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and text.isascii() and (text.isprintable() or not text)


async def write_output(tx: Transaction, pieces: Sequence[tuple[UUID, StepOutputChunk]]) -> None:
    """Store chunks inside the caller's transaction."""
    begun = [entry for entry in pieces if entry[1].seq == 1]
    if begun:
        ids = [piece.run.id for _, piece in begun]
        await tx.execute(_FORGET, *_tries(begun), min(ids), max(ids))
    await tx.execute(
        _ADD,
        *_tries(pieces),
        [piece.seq for _, piece in pieces],
        [piece.stream for _, piece in pieces],
        [piece.text for _, piece in pieces],
    )


def _tries(pieces: Sequence[tuple[UUID, StepOutputChunk]]) -> tuple[list[Any], ...]:
    return (
        [space for space, _ in pieces],
        [piece.run.id for _, piece in pieces],
        [piece.run.step for _, piece in pieces],
        [piece.run.item for _, piece in pieces],
        [piece.run.attempt for _, piece in pieces],
    )


async def read_output(
    tx: Transaction,
    workspace_id: UUID,
    run_id: UUID,
    *,
    after: OutputPosition | None = None,
    step: str | None = None,
    stream: OutputStream | None = None,
    most: int = 1_000,
) -> list[dict[str, Any]]:
    """The output of a run so far, oldest first; ``after`` continues after a page."""
    place = (after or OutputPosition()).values
    rows = await tx.fetch(_PAGE, workspace_id, run_id, *place, step, stream, most)
    return [dict(row) for row in rows]


async def read_log(
    tx: Transaction,
    workspace_id: UUID,
    run_id: UUID,
    *,
    step: str | None = None,
    stream: OutputStream | None = None,
    most_bytes: int = LOG_BYTES,
) -> str:
    """The output of the newest attempt of each step, as one text that marks truncation."""
    rows = await tx.fetch(_LOG, workspace_id, run_id, step, stream, most_bytes)
    text = "".join(row["text"] for row in rows)
    whole = text.encode()
    if len(whole) <= most_bytes:
        return text
    return whole[:most_bytes].decode(errors="ignore") + _CUT.format(most=most_bytes)


async def check_run(tx: Transaction, workspace_id: UUID, run_id: UUID) -> None:
    """Refuse the id of a run that does not exist in this workspace."""
    if await tx.fetchrow(_RUN, workspace_id, run_id) is None:
        raise NotFound("There is no such run.", code="no_run")


def read_end(text: str | None) -> dict[str, Any]:
    """How an attempt ended, from its last chunk; empty when it is not recorded."""
    try:
        told = json.loads(text or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
