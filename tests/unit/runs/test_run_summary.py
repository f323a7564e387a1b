"""The story of a run: the same few sentences on every surface."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.runs.rows import FINAL
from mainspring.runs.story import list_next_actions, summarize_run


def run(status: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "reason": None, "outcome": None, "attempt": 1, "steps": [], **more}


def test_a_success_says_what_it_came_to() -> None:
    story = summarize_run(run("succeeded", outcome="drafts_waiting", drafts=2))
    assert story["headline"] == "Succeeded · 2 drafts wait for approval."
    assert "because" not in story


def test_a_success_with_items_that_failed_says_how_many_and_why() -> None:
    error = {"detail": "The server said no."}
    output = {"count": 3, "results": [1, None, 3], "failed": [{"index": 1, "error": error}]}
    rows = [
        {"step": "try", "item": "1", "status": "failed", "error": error, "run_attempt": 1},
        {
            "step": "each",
            "item": "",
            "status": "succeeded",
            "error": None,
            "run_attempt": 1,
            "output": output,
        },
    ]
    some = run("succeeded", outcome="effects", reason="items_failed", steps=rows)
    story = summarize_run(some)
    assert story["headline"] == "Succeeded with 1 of 3 items failed."
    assert story["because"] == "Item 2 of each: The server said no."
    # A list of runs has no steps to count.
    assert summarize_run({**some, "steps": []})["headline"].startswith(
        "Succeeded with some items failed"
    )


def call(capability: str, outcome: str) -> dict[str, Any]:
    return {"step": "a", "capability": capability, "outcome": outcome, "arguments": {}}


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([("slack_post", "sent")], "sent 1 message"),
        ([("slack_post", "sent"), ("telegram_push", "confirmed")], "sent 2 messages"),
        ([("gmail.send_email", "sent"), ("send_email", "sent")], "sent 2 emails"),
        ([("linear_create_issue", "sent")], "created 1 issue"),
        ([("publish_event", "kept"), ("read_board", "read")], "published 1 event"),
        ([("append_board_rows", "kept")] * 2, "2 workspace changes"),
        ([("http_fetch", "sent"), ("slack_post", "failed")], "1 outside write"),
    ],
)
def test_a_success_names_its_side_effects(calls: list[tuple[str, str]], said: str) -> None:
    made = [call(*one) for one in calls]
    effects = sum(one["outcome"] in ("sent", "kept", "confirmed") for one in made)
    some = run("succeeded", outcome="effects", effects=effects, calls=made)
    assert summarize_run(some)["headline"] == f"Succeeded · {said}."
    # A list of runs has no calls to name.
    listed = summarize_run(run("succeeded", outcome="effects", effects=effects))["headline"]
    assert listed == f"Succeeded · {effects} side effect{'' if effects == 1 else 's'}."


@pytest.mark.parametrize(
    ("outcome", "output", "said"),
    [
        ("answer_only", 1, "returned a result, no side effects"),
        ("answer_only", None, "no result, no side effects"),
        ("nothing_to_do", None, "nothing to do"),
    ],
)
def test_a_success_without_effects_says_so(outcome: str, output: Any, said: str) -> None:
    story = summarize_run(run("succeeded", outcome=outcome, output=output))
    assert story["headline"] == f"Succeeded · {said}."


def test_a_run_that_a_halt_holds_says_so_and_one_that_ended_does_not() -> None:
    story = summarize_run(run("pending", halted="The list is wrong."))
    assert story["headline"] == "Halted: the run resumes when the halt is released."
    assert story["because"] == "The list is wrong."
    assert "because" not in summarize_run(run("succeeded", halted="The list is wrong."))


def test_a_run_that_waits_for_a_person_says_for_what_and_where() -> None:
    draft = {"kind": "draft", "draft_id": "01a1", "preview": "Post to C1: Hi"}
    rows = [
        {"step": "old", "item": "", "status": "succeeded", "output": draft, "until": None},
        {"step": "tell", "item": "0", "status": "waiting", "output": draft, "until": None},
    ]
    story = summarize_run(run("waiting", steps=rows))
    assert story["headline"] == "Waiting for approval of a write."
    assert story["waits_for"] == [
        {
            "kind": "draft",
            "id": "01a1",
            "text": "Post to C1: Hi",
            "page": "/inbox?draft=01a1",
            "step": "tell",
            "item": "0",
            "until": None,
        }
    ]
    asked = {**rows[1], "output": {"approval_id": "01a2"}}
    story = summarize_run(run("waiting", steps=[asked]))
    assert story["headline"] == "Waiting for an answer to a question."
    assert story["waits_for"][0]["page"] == "/inbox?item=01a2"
    slept = {**rows[1], "output": {"waited_until": "2026-11-17T00:00:00Z"}}
    assert "waits_for" not in summarize_run(run("waiting", steps=[slept]))
    assert "waits_for" not in summarize_run(run("cancelled", steps=rows))


def test_a_run_behind_another_one_does_not_wait_for_a_worker() -> None:
    assert summarize_run(run("pending"))["headline"] == "Queued: waiting for a worker."
    due = datetime(2026, 11, 17, tzinfo=UTC)
    assert summarize_run(run("pending", due_at=due))["headline"] == (
        "Queued: waiting for a worker."
    )
    behind = summarize_run(run("pending", due_at=None))
    assert behind["headline"] == "Queued: waiting for an earlier run of this automation."


def test_a_failure_names_its_step_and_its_reason() -> None:
    error = {"detail": "The server said no."}
    rows: list[dict[str, Any]] = [
        {"step": "a", "item": "", "status": "succeeded", "error": None, "run_attempt": 1},
        {"step": "b", "item": "3", "status": "failed", "error": error, "run_attempt": 1},
    ]
    story = summarize_run(run("failed", outcome="failed", error=error, steps=rows))
    assert story["because"] == "The server said no."
    assert story["step"] == "b[3]"
    assert story["headline"] == "Failed at step b, item 4."
    rows[1]["item"] = "3.0"
    nested = summarize_run(run("failed", outcome="failed", error=error, steps=rows))
    assert nested["headline"] == "Failed at step b, item 4.1."
    assert story["next"] == ["retry", "replay"]


@pytest.mark.parametrize("reason", ["paused", "dropped"])
def test_a_run_that_did_not_start_says_why(reason: str) -> None:
    story = summarize_run(run("skipped", reason=reason, outcome="nothing_to_do"))
    assert story["headline"] == "Skipped."
    assert story["because"].endswith(".")
    assert story["next"] == ["replay"]


@pytest.mark.parametrize(
    ("status", "more"),
    [
        ("failed", {"reason": "invalid_inputs"}),
        ("failed", {"reason": "unreadable_version"}),
        ("failed", {"outcome": "over_budget"}),
    ],
)
def test_what_cannot_end_differently_is_not_offered_again(
    status: str, more: dict[str, str]
) -> None:
    assert list_next_actions(run(status, **more)) == ["replay"]


@pytest.mark.parametrize("status", ["pending", "running", "waiting", *sorted(FINAL)])
def test_every_status_has_a_headline_and_a_next_move(status: str) -> None:
    story = summarize_run(run(status))
    assert story["headline"].endswith(".")
    assert story["next"]
