"""Where the record of a call is kept, and when it is written.

What changes anything is recorded in its own transaction, before its answer. A person's or a
client's read is not worth a commit: its record is written a moment later, together with
those of others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mainspring.contracts.limits import Limits
from mainspring.gate.call_records import CallRecord, RecordedCall, read_call, write_calls
from mainspring.gate.callers import (
    DirectCall,
    read_direct_call,
    write_audited_call,
    write_direct_calls,
)
from mainspring.gate.capability_call import CapabilityCall
from mainspring.gate.fence import check_fence
from mainspring.store.audit import build_audit_record
from mainspring.store.database import WorkspaceDatabase
from mainspring.store.group_commit import ConnectionLossPolicy, GroupWriter

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Connection, Database

log = logging.getLogger(__name__)

# With so many records still to be written, whoever brings the next one waits for it.
_MOST_WAITING: Final = 2_000
# What came to this is in the record of the call and no news for the audit log.
_CHANGED_NOTHING: Final = frozenset({"read", "nothing", "unclear"})


class CallRecorder:
    """Writes the records of calls that no step writes with its own."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._most_bytes = limits.call_result_bytes
        self._reads: GroupWriter[DirectCall, None] = GroupWriter(
            database, self._flush, patience=ConnectionLossPolicy()
        )

    async def keep(self, ask: CapabilityCall, record: CallRecord) -> None:
        """Keeps a record that stands in no transaction yet."""
        if ask.run is None and record.outcome == "read" and not record.audit:
            await self._later(DirectCall(ask.actor, ask.id, record))
            return
        async with WorkspaceDatabase(self._database, ask.actor.workspace_id).transaction() as tx:
            await check_fence(tx, ask)
            await self.write(tx, ask, record)

    async def write(self, tx: Transaction, ask: CapabilityCall, record: CallRecord) -> None:
        """The record of a call inside a transaction, where calls of its kind are kept."""
        if ask.run is not None:
            await write_calls(tx, [(ask.actor.workspace_id, record)], self._most_bytes)
            return
        entries = list(record.audit)
        if record.outcome not in _CHANGED_NOTHING:
            detail = {"outcome": record.outcome, "call": str(ask.id)}
            if ask.agreed is not None:
                detail["draft"] = str(ask.agreed.draft_id)
                detail["hash"] = ask.agreed.hash
            entries.append(build_audit_record(ask.actor, record.capability, record.subject, detail))
        await write_audited_call(
            tx, DirectCall(ask.actor, ask.id, record), entries, self._most_bytes
        )

    async def before(self, tx: Transaction, ask: CapabilityCall) -> RecordedCall | None:
        """What this very call has on record, if it has anything."""
        if ask.run is None:
            return await read_direct_call(tx, ask.actor.workspace_id, ask.id)
        return await read_call(tx, ask.actor.workspace_id, ask.run, ask.number)

    async def aclose(self) -> None:
        """Writes what is still to be written."""
        await self._reads.aclose()

    async def _later(self, call: DirectCall) -> None:
        done = self._reads.submit(call)
        done.add_done_callback(_log_failed_write)
        if self._reads.waiting > _MOST_WAITING:
            await asyncio.wait({done})

    async def _flush(self, connection: Connection, calls: Sequence[DirectCall]) -> Sequence[None]:
        await write_direct_calls(connection, calls, self._most_bytes)
        return [None] * len(calls)


def _log_failed_write(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("The record of a read was not kept: %s", done.exception())
