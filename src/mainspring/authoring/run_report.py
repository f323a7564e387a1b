"""The result of run_automation_once, derived from the run's record.

It has fewer statuses than the record: every external termination is ``killed``, and a success with
errors is partial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from mainspring.runs.rows import FINAL, ITEMS_FAILED
from mainspring.runs.story import REASONS, list_suppressed_calls

OUTPUT_BYTES: Final = 8_192
STATUSES: Final = ("queued", "running", "succeeded", "partial", "failed", "killed", "skipped")
TIMEOUT_REASONS: Final = ("runner_down", "runner_slow", "run_overran")
_MOST_SHOWN: Final = 50
_CUT: Final = "\n… cut here: the run's page has all of it."

_WORDS: Final[Mapping[str, str]] = {
    "pending": "queued",
    "running": "running",
    "waiting": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "timed_out": "killed",
    "cancelled": "killed",
    "dead": "killed",
    "skipped": "skipped",
}
_LATE: Final[Mapping[str, str]] = {
    "runner_down": "No worker is running. Start one (`mainspring up` does): the run is queued "
    "and starts when one is available.",
    "runner_slow": "Every worker is busy, or an earlier run of this automation is in progress: the "
    "run is queued and starts when one is free.",
    "run_overran": "The run is still in progress.",
}
_GO_ON: Final = (
    " To keep waiting, call run_automation_once with automation_id and run_id {run_id}; without "
    "run_id it starts another run. get_automation_run returns its status."
)


@dataclass(frozen=True, slots=True)
class RunWait:
    """How long the call waited, and the available workers."""

    # Zero for a caller that did not wait.
    seconds: int
    # The number of workers; only queried when the run has not ended.
    workers: int | None
    url: str


def describe_run(
    run: Mapping[str, Any], said: Sequence[Mapping[str, Any]], waited: RunWait
) -> dict[str, Any]:
    """Build the result with exactly the documented fields."""
    spoken = _last_try(said)
    end = _end_of(spoken)
    out, err = (_join_output(spoken, stream) for stream in ("out", "err"))
    status = _status(run, end, err)
    terminal = run["status"] in FINAL
    reason = None if terminal else _late(run, waited.workers)
    late = not terminal and waited.seconds > 0
    made_up = list_suppressed_calls(run)[:_MOST_SHOWN]
    return {
        "run_id": str(run["id"]),
        "status": status,
        "terminal": terminal,
        "timed_out": late,
        "timeout_reason": reason if late else None,
        "next_step": _go_on(run, reason) if reason else _next_step(run, status, len(made_up)),
        "exit_code": end.get("exit_code"),
        "duration_ms": _duration(run),
        "cost_usd": float(run["cost_usd"]),
        "stdout": truncate_bytes(out),
        "stderr": truncate_bytes(err),
        "error": _error(run),
        "admin_url": waited.url,
        "suppressed": made_up,
    }


def truncate_bytes(text: str, most: int = OUTPUT_BYTES) -> str:
    """Truncate a text to a number of bytes at a character boundary, with a mark."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    mark = _CUT.encode()
    return data[: most - len(mark)].decode("utf-8", "ignore") + _CUT


def _last_try(said: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The output of each step's last attempt; earlier attempts repeat much of it."""
    last: dict[tuple[str, str], int] = {}
    for piece in said:
        place = (piece["step"], piece["item"])
        last[place] = max(piece["attempt"], last.get(place, 0))
    return [one for one in said if one["attempt"] == last[one["step"], one["item"]]]


def _join_output(said: Sequence[Mapping[str, Any]], stream: str) -> str:
    return "".join(piece["text"] for piece in said if piece["stream"] == stream)


def _end_of(said: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    ends = [piece["text"] for piece in said if piece["stream"] == "end"]
    found = json.loads(ends[-1]) if ends else {}
    return found if isinstance(found, Mapping) else {}


def _status(run: Mapping[str, Any], end: Mapping[str, Any], err: str) -> str:
    word = _WORDS[run["status"]]
    if word == "failed" and (end.get("reason") or run["outcome"] == "over_budget"):
        return "killed"
    partly = err.strip() or run["reason"] == ITEMS_FAILED
    return "partial" if word == "succeeded" and partly else word


def _late(
    run: Mapping[str, Any], workers: int | None
) -> Literal["runner_down", "runner_slow", "run_overran"]:
    if run["status"] != "pending":
        return "run_overran"
    return "runner_slow" if workers else "runner_down"


def _go_on(run: Mapping[str, Any], reason: str) -> str:
    return _LATE[reason] + _GO_ON.format(run_id=run["id"])


def _duration(run: Mapping[str, Any]) -> int | None:
    if run["started_at"] is None or run["finished_at"] is None:
        return None
    took: timedelta = run["finished_at"] - run["started_at"]
    return round(took.total_seconds() * 1000)


def _error(run: Mapping[str, Any]) -> str | None:
    error = run.get("error")
    if error:
        return str(error.get("detail") or "")
    return REASONS.get(run["reason"] or "")


def _next_step(run: Mapping[str, Any], status: str, made_up: int) -> str:
    if status == "skipped":
        return "Nothing ran; error says why. Fix the cause and call again."
    if status in ("failed", "killed"):
        return (
            "Read error and stderr, fix the source with update_automation and run it again, at "
            "most three times; then let the person decide."
        )
    beginning = {
        "dry_run": f"This was a dry run: {_calls(made_up)} simulated, and nothing was changed. ",
        "verify": f"This ran in verify mode: {_calls(made_up)} simulated, and what it wrote "
        "to boards and pages is kept. ",
    }.get(run["mode"], "")
    if run["reason"] == ITEMS_FAILED:
        return beginning + "It continued past failed items: read error before you continue."
    if status == "partial":
        return beginning + "It finished and wrote to stderr: read that before you continue."
    if beginning:
        return (
            beginning + "Check stdout and suppressed; dry_run: false is exactly what a trigger "
            "would start."
        )
    return "Check stdout, cost_usd and the boards it wrote, then activate it at admin_url."


def _calls(number: int) -> str:
    return "1 call was" if number == 1 else f"{number} calls were"
