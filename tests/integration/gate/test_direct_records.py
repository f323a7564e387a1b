"""The record of a person's change and its audit entry: one round trip, one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from mainspring.contracts.context import Actor, Transaction
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.call_records import CallRecord
from mainspring.gate.callers import DirectCall, write_audited_call
from mainspring.store.audit import AuditRecord, build_audit_record
from mainspring.store.database import Database, WorkspaceDatabase
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.bench import Bench

ACTOR = Actor(FIRST_WORKSPACE, "member", FIRST_MEMBER, role=Role.OWNER)


class Counted:
    """A transaction that counts the trips to the database."""

    def __init__(self, tx: Any) -> None:
        self._tx = tx
        self.trips = 0

    async def execute(self, query: str, *values: Any) -> Any:
        self.trips += 1
        return await self._tx.execute(query, *values)


@asynccontextmanager
async def _inside(database: Database) -> AsyncIterator[Counted]:
    async with WorkspaceDatabase(database, FIRST_WORKSPACE).transaction() as tx:
        yield Counted(tx)


def _call(**more: Any) -> DirectCall:
    stored = {"arguments": {"a": 1}, "result": {"b": [1.5]}, "ms": 3, "at": datetime.now(UTC)}
    record = CallRecord(None, 1, "test.note", "kept", arguments_hash=b"h", **{**stored, **more})
    return DirectCall(ACTOR, generate_id(), record)


async def _write(tx: Counted, call: DirectCall, *told: AuditRecord, most: int = 1_000) -> None:
    await write_audited_call(cast("Transaction", tx), call, told, most)


async def _kept(database: Database) -> tuple[list[Any], list[Any]]:
    calls = await database.fetch("SELECT * FROM direct_calls ORDER BY id")
    result = await database.fetch("SELECT * FROM audit_log WHERE action LIKE 'test.%' ORDER BY id")
    return calls, result


async def test_a_change_and_its_entry_are_one_trip(bench: Bench) -> None:
    database, call = bench.application.database, _call()
    async with _inside(database) as tx:
        await _write(
            tx, call, build_audit_record(ACTOR, "test.note", "a page", {"call": str(call.id)})
        )

    assert tx.trips == 1
    [row], [entry] = await _kept(database)
    assert (row["id"], row["arguments"], row["result"], row["error"]) == (
        call.id,
        {"a": 1},
        {"b": [1.5]},
        None,
    )
    assert (entry["actor_id"], entry["subject"]) == (FIRST_MEMBER, "a page")
    assert entry["detail"] == {"call": str(call.id)}


async def test_any_number_of_entries_is_kept_in_its_order(bench: Bench) -> None:
    database = bench.application.database
    for number in range(4):
        async with _inside(database) as tx:
            result = [build_audit_record(ACTOR, f"test.{number}", place) for place in range(number)]
            await _write(tx, _call(), *result)

    calls, entries = await _kept(database)
    assert len(calls) == 4
    assert [(entry["action"], entry["subject"]) for entry in entries] == [
        ("test.1", "0"),
        ("test.2", "0"),
        ("test.2", "1"),
        ("test.3", "0"),
        ("test.3", "1"),
        ("test.3", "2"),
    ]


async def test_neither_is_kept_without_the_other(bench: Bench) -> None:
    database = bench.application.database
    elsewhere = Actor(generate_id(), "member", FIRST_MEMBER, role=Role.OWNER)
    with pytest.raises(Exception, match="row-level security"):
        async with _inside(database) as tx:
            await _write(tx, _call(), build_audit_record(elsewhere, "test.note"))

    assert await _kept(database) == ([], [])


async def test_a_large_result_stored_outside_its_entry_is_only_measured(bench: Bench) -> None:
    async with _inside(bench.application.database) as tx:
        long = _call(result={"text": "x" * 2_000})
        await _write(tx, long, build_audit_record(ACTOR, "test.note"), most=100)

    [row], [_] = await _kept(bench.application.database)
    assert row["result"] == {"left_out": "2011 characters"}
