"""What a program asked before is recognized by its arguments, in whatever order it asks again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest

from mainspring.contracts.context import RunRef
from mainspring.contracts.errors import InternalError
from mainspring.gate.call_records import Journal, RecordedCall
from mainspring.runs.step import StepReplay, recall

AT = datetime(2026, 1, 1, tzinfo=UTC)
RUN = RunRef(uuid4(), uuid4(), "main", "", 1)


def _call(capability: str, digest: bytes, outcome: str = "sent") -> RecordedCall:
    return RecordedCall(capability, outcome, digest, {"ok": True}, None, Decimal(0), AT)


def test_equal_questions_have_names_of_their_own_and_the_same_ones_in_any_order() -> None:
    first, second = StepReplay(), StepReplay()
    asked = [("a", b"1"), ("b", b"1"), ("a", b"1"), ("a", b"2")]
    names = {first.name(*one) for one in asked}
    assert names == {second.name(*one) for one in reversed(asked)}
    assert len(names) == 4


async def test_a_change_waits_for_concurrent_calls() -> None:
    calls: Journal = {("main", "", 1, 2): _call("note", b"b")}
    made = recall(calls, RUN, 10_000)
    waiting = asyncio.create_task(made.check_same("note"))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert made.take("note", b"b") is not None
    await waiting


async def test_a_program_that_asks_something_else_may_change_nothing() -> None:
    made = recall({("main", "", 1, 1): _call("note", b"b")}, RUN, 10_000)
    made.patience = 0.01
    with pytest.raises(InternalError) as refused:
        await made.check_same("note")
    assert refused.value.code == "call_mismatch"


def test_what_failed_in_an_earlier_try_is_asked_again() -> None:
    failed = RecordedCall("note", "failed", b"a", None, {"code": "busy"}, Decimal(0), AT)
    made = recall({("main", "", 1, 1): failed}, RunRef(RUN.id, uuid4(), "main", "", 2), 10_000)
    assert made.take("note", b"a") is None
    assert made.number(1) == 1
