"""The answers of then: each once and in order, the last for good, and nothing outside unasked."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.errors import Conflict, UpstreamError
from mainspring.gate.agent_turns import RecordedTurn
from mainspring.gate.rehearsal_recording import (
    RECORDED,
    RehearsalRecording,
    group_answers,
    is_external_read,
    replay_answer,
)

HASH = b"h"


async def _nothing(ctx: Any, value: Any) -> None: ...


def _capability(name: str = "look", write: Write | None = None, **hints: Any) -> Capability:
    annotations = Annotations(**hints)
    return Capability(name, name, {}, {}, _nothing, write, annotations)


def _row(result: Any = None, *, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "step": "s",
        "item": "",
        "attempt": attempt,
        "capability": "look",
        "outcome": "read",
        "arguments_hash": HASH,
        "arguments": {"a": 1},
        "error": None,
        "cost_usd": Decimal(0),
        "at": None,
        "result": result,
        **more,
    }


def _memory(*rows: dict[str, Any], live: bool = True) -> RehearsalRecording:
    return RehearsalRecording(live=live, answers=group_answers(rows))


def test_answers_come_in_their_order_and_the_last_stays() -> None:
    memory = _memory(_row(1), _row(2))
    found = [replay_answer(memory, _capability(), HASH, "perform") for _ in range(3)]
    assert [one and (one.outcome, one.value) for one in found] == [
        (RECORDED, 1),
        (RECORDED, 2),
        (RECORDED, 2),
    ]
    assert replay_answer(memory, _capability("other"), HASH, "perform") is None
    assert replay_answer(memory, _capability(), b"else", "perform") is None
    assert replay_answer(None, _capability(), HASH, "perform") is None


def test_a_failure_that_was_made_good_is_not_reported_again() -> None:
    busy = UpstreamError("Not now.", code="busy").as_dict()
    both = _memory(_row(error=busy, outcome="failed"), _row(5, attempt=2))
    good = replay_answer(both, _capability(), HASH, "perform")
    assert good is not None
    assert good.value == 5
    last = replay_answer(
        _memory(_row(error=busy, outcome="failed")), _capability(), HASH, "perform"
    )
    assert last is not None
    assert last.problem is not None
    assert (last.problem.code, last.problem.retryable) == ("busy", False)


def test_a_write_is_pretended_with_the_answer_of_then() -> None:
    keeps = _capability(effect=Effect.KEEP)
    done = replay_answer(_memory(_row({"id": 1}, outcome="kept")), keeps, HASH, "pretend")
    assert done is not None
    assert (done.outcome, done.value, done.arguments) == ("pretended", {"id": 1}, None)
    idle = replay_answer(_memory(_row({"id": 1})), keeps, HASH, "pretend")
    assert idle is not None
    assert idle.outcome == RECORDED, "what changed nothing then is no deed now"
    failed = _row(error=UpstreamError("x").as_dict(), outcome="failed")
    assert replay_answer(_memory(failed), keeps, HASH, "pretend") is None

    async def resolve(ctx: Any, value: Any) -> Any:
        return value

    sends = _capability(write=Write(preview=str, resolve=resolve), effect=Effect.SEND)
    exact = replay_answer(_memory(_row({}, outcome="held")), sends, HASH, "pretend")
    assert exact is not None
    assert exact.arguments == {"a": 1}


def test_only_local_models_are_asked_where_nothing_else_may_be() -> None:
    shut = _memory(live=False)
    for outside in (
        _capability("http_fetch"),
        _capability(asks_models=True),
        _capability(pin="x"),
        _capability(opens=True),
        _capability(hosts=frozenset({"a.example"})),
        _capability(price=lambda given: Decimal(1)),
        _capability(connected={"source": "fetch"}),
    ):
        assert is_external_read(outside)
        with pytest.raises(Conflict) as refused:
            replay_answer(shut, outside, HASH, "perform")
        assert (refused.value.code, refused.value.retryable) == ("not_recorded", False)
        assert replay_answer(_memory(), outside, HASH, "perform") is None
        assert replay_answer(shut, outside, HASH, "pretend") is None, "a write is pretended anyway"
    assert replay_answer(shut, _capability("get_board"), HASH, "perform") is None


def test_an_agent_is_known_by_its_task_and_its_own_place_comes_first() -> None:
    def turn(material: bytes) -> dict[int, RecordedTurn]:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return {0: RecordedTurn(0, at, material, {}, 0, Decimal(0), 0)}

    one, two = turn(b"m"), turn(b"m")
    memory = RehearsalRecording(talks={("a", "", "1"): one, ("b", "", "1"): two})
    assert memory.talk(b"m", ("b", "", "1")) is two
    assert memory.talk(b"m", ("renamed", "", "1")) is one
    assert memory.talk(b"other", ("a", "", "1")) == {}
