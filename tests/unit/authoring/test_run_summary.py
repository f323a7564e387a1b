"""A run in the words of the tools: one status, one reason, and what to do next."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.authoring.run_report import OUTPUT_BYTES, RunWait, describe_run, truncate_bytes
from mainspring.authoring.running import usual_wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URL = "http://127.0.0.1:8080/automations/x"


def _run(status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": UUID(int=7),
        "status": status,
        "reason": None,
        "outcome": None,
        "mode": "live",
        "started_at": NOW,
        "finished_at": NOW + timedelta(seconds=2),
        "cost_usd": Decimal("0.25"),
        "error": None,
        "calls": [],
        **more,
    }


def _piece(stream: str, text: str, attempt: int = 1) -> dict[str, Any]:
    return {"step": "script", "item": "", "attempt": attempt, "stream": stream, "text": text}


def _end(code: int, reason: str | None = None) -> dict[str, Any]:
    return _piece("end", json.dumps({"exit_code": code, "reason": reason}))


@pytest.mark.parametrize(
    ("run", "said", "word"),
    [
        (_run("pending"), [], "queued"),
        (_run("running"), [], "running"),
        (_run("waiting"), [], "running"),
        (_run("succeeded"), [_end(0)], "succeeded"),
        (_run("succeeded"), [_piece("err", "odd\n"), _end(0)], "partial"),
        (_run("succeeded"), [_piece("err", "  \n"), _end(0)], "succeeded"),
        (_run("failed"), [_end(1)], "failed"),
        (_run("failed"), [_end(137, "memory")], "killed"),
        (_run("failed", outcome="over_budget"), [_end(1)], "killed"),
        (_run("timed_out"), [_end(137, "wall")], "killed"),
        (_run("cancelled"), [], "killed"),
        (_run("dead"), [], "killed"),
        (_run("skipped", reason="paused"), [], "skipped"),
    ],
)
def test_every_end_has_one_of_seven_words(
    run: dict[str, Any], said: list[dict[str, Any]], word: str
) -> None:
    result = describe_run(run, said, RunWait(150, 1, URL))
    assert result["status"] == word
    assert result["next_step"].endswith(".")
    assert result["terminal"] is not result["timed_out"]
    assert (result["timeout_reason"] is None) is result["terminal"]


@pytest.mark.parametrize(
    ("status", "workers", "reason"),
    [
        ("pending", 0, "runner_down"),
        ("pending", 2, "runner_slow"),
        ("running", 2, "run_overran"),
        ("waiting", 0, "run_overran"),
    ],
)
def test_a_wait_that_is_over_says_who_was_missing(status: str, workers: int, reason: str) -> None:
    result = describe_run(_run(status, finished_at=None), [], RunWait(10, workers, URL))
    assert (result["timed_out"], result["timeout_reason"]) == (True, reason)
    assert result["duration_ms"] is None
    assert f"run_id {UUID(int=7)}" in result["next_step"]
    looked = describe_run(_run(status, finished_at=None), [], RunWait(0, workers, URL))
    assert (looked["timed_out"], looked["timeout_reason"]) == (False, None)
    assert looked["next_step"] == result["next_step"]


def test_the_last_try_of_a_step_is_what_is_shown() -> None:
    said = [_piece("out", "one\n"), _piece("out", "one\n", 2), _piece("out", "two\n", 2)]
    result = describe_run(_run("succeeded"), said, RunWait(150, None, URL))
    assert result["stdout"] == "one\ntwo\n"
    assert (result["duration_ms"], result["cost_usd"], result["exit_code"]) == (2_000, 0.25, None)


def test_what_was_only_pretended_is_listed_and_said() -> None:
    call = {"step": "script", "capability": "send_email", "arguments": {}, "outcome": "pretended"}
    real = {**call, "capability": "get_board", "outcome": "read"}
    run = _run("succeeded", mode="dry_run", calls=[call, real])
    result = describe_run(run, [], RunWait(150, None, URL))
    assert [one["capability"] for one in result["suppressed"]] == ["send_email"]
    assert "1 call was simulated" in result["next_step"]
    assert "dry_run: false" in result["next_step"]


def test_an_error_is_reported_as_a_sentence() -> None:
    failed = _run("failed", error={"detail": "The script stopped: Error: no", "code": "x"})
    assert (
        describe_run(failed, [], RunWait(1, None, URL))["error"] == "The script stopped: Error: no"
    )
    skipped = _run("skipped", reason="dropped")
    assert "drop_if_running" in describe_run(skipped, [], RunWait(1, None, URL))["error"]


@given(st.text(max_size=12_000))
def test_a_cut_text_has_whole_characters_and_no_more_bytes_than_promised(text: str) -> None:
    shown = truncate_bytes(text)
    size = len(shown.encode())
    assert size <= OUTPUT_BYTES
    if len(text.encode("utf-8", "replace")) <= OUTPUT_BYTES:
        assert shown == text.encode("utf-8", "replace").decode()
    else:
        assert size > OUTPUT_BYTES - 4
        assert "cut here" in shown


@pytest.mark.parametrize(("wall", "wait"), [(5, 95), (60, 150), (300, 360)])
def test_the_usual_wait_is_what_a_run_may_take_and_ninety_seconds(wall: int, wait: int) -> None:
    script = {"plan": [{"action": "script", "config": {"source": "x", "wall_seconds": wall}}]}
    assert usual_wait(script) == wait
    assert usual_wait({"plan": [{"action": "a"}, {"action": "b"}]}) == 360
