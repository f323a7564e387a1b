"""Summarises a run in a few sentences: what happened, why, and what can be done now.

Every interface shows this summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN
from mainspring.gate.draft_resolution import is_draft
from mainspring.runs.rows import FINAL, ITEMS_FAILED, sentence

_TITLES: Final[Mapping[str, str]] = {
    "pending": "It waits for a worker",
    "running": "It is under way",
    "waiting": "It waits until its time has come",
    "succeeded": "It reached the end of its plan",
    "failed": "It failed",
    "timed_out": "It ran out of time",
    "cancelled": "It was cancelled",
    "skipped": "It did not start",
    "dead": "It was given up",
}
REASONS: Final[Mapping[str, str]] = {
    "dropped": "Another run of this automation is under way, and its policy is drop_if_running.",
    "paused": "The automation is paused.",
    "cancelled": "Cancelled by a person.",
    "invalid_inputs": "What it was given does not fit what the automation expects.",
    ITEMS_FAILED: "Some items of a list failed, and its plan goes on past them.",
    "unreadable_version": "Its version cannot be read by this program.",
}
MODES: Final[Mapping[str, str]] = {"dry_run": "dry run", "verify": "verify mode"}
_TRIALS: Final[Mapping[str, str]] = {
    "dry_run": "It was a dry run: nothing was changed, here or outside.",
    "verify": "It ran in verify mode: nothing left the house.",
}
MADE_UP: Final = "What such a call answered is made up, and so is what the run made of it."
# A trial calls models like any other run, unless there is none.
_ASKS_MODELS: Final = frozenset({AGENT_RUN, "automation_llm_complete"})
_UNASKED: Final = "Its model cannot be asked now: it is not connected, or has no price."
_AGAIN: Final = frozenset({"failed", "timed_out", "cancelled", "dead"})
# A retry cannot succeed.
_NOT_AGAIN: Final = frozenset({"invalid_inputs", "unreadable_version"})


def summarize_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A headline, the reason, the failed step, and the possible next actions."""
    because, trial = _because(run), trial_sentence(run)
    story: dict[str, Any] = {"headline": _headline(run), "next": list_next_actions(run)}
    if trial is not None:
        story["trial"] = trial
        story["suppressed"] = list_suppressed_calls(run)
    if because:
        story["because"] = because
    step = broken_step(run)
    if step is not None:
        story["step"] = step
    waits = waits_for(run)
    if waits:
        story["waits_for"] = waits
    return story


def waits_for(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The drafts and questions that a run waits for, each with the page where it is answered."""
    if run["status"] in FINAL:
        return []
    latest = {(row["step"], row["item"]): row for row in run.get("steps", ())}
    found = []
    for row in latest.values():
        output = row["output"] if isinstance(row["output"], Mapping) else {}
        at = {"step": row["step"], "item": row["item"], "until": row["until"]}
        if row["status"] != "waiting":
            continue
        if is_draft(output):
            seen = {"text": output.get("preview", ""), "page": f"/inbox?draft={output['draft_id']}"}
            found.append({"kind": "draft", "id": output["draft_id"], **seen, **at})
        elif "approval_id" in output:
            seen = {"text": "", "page": f"/inbox?item={output['approval_id']}"}
            found.append({"kind": "approval", "id": output["approval_id"], **seen, **at})
    return found


def trial_sentence(run: Mapping[str, Any]) -> str | None:
    """What a trial did not do; None for a normal run."""
    sentence = _TRIALS.get(run.get("mode", "live"))
    if sentence is None:
        return None
    cause = run.get("parent_id")
    if cause is not None:
        sentence = f"{sentence} It was started by run {cause}, which only tried things out."
    made = len(list_suppressed_calls(run))
    if not made:
        return f"{sentence} 0 calls were only pretended."
    calls = "1 call was" if made == 1 else f"{made} calls were"
    unasked = any(one["capability"] in _ASKS_MODELS for one in list_suppressed_calls(run))
    return f"{sentence} {calls} only pretended. {MADE_UP}" + (f" {_UNASKED}" if unasked else "")


def list_suppressed_calls(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The simulated calls, with their arguments."""
    return [
        {"step": call["step"], "capability": call["capability"], "arguments": call["arguments"]}
        for call in run.get("calls", ())
        if call["outcome"] == "pretended"
    ]


def list_next_actions(run: Mapping[str, Any]) -> list[str]:
    """The names of the operations that are possible on this run now."""
    if run["status"] not in FINAL:
        return ["cancel"]
    again = run["status"] in _AGAIN and run["reason"] not in _NOT_AGAIN
    if again and run["outcome"] != "over_budget":
        return ["retry", "replay"]
    return ["replay"]


def _headline(run: Mapping[str, Any]) -> str:
    if run.get("halted") is not None and run["status"] not in FINAL:
        return "It is held, and goes on when the halt is released."
    title = _TITLES[run["status"]]
    if run["status"] == "waiting":
        title = _waiting_title(waits_for(run))
    # A run behind another one of its automation is not due before that one ends.
    if run["status"] == "pending" and run.get("due_at", run) is None:
        title = "It waits until an earlier run of this automation is over"
    if run["reason"] == ITEMS_FAILED:
        title = f"{title}, but {_describe_failed_items(run)} failed"
    came_to = sentence(run["outcome"], run.get("output"))
    return f"{title}. {came_to}" if run["status"] == "succeeded" and came_to else f"{title}."


def _waiting_title(waits: Sequence[Mapping[str, Any]]) -> str:
    drafts = sum(one["kind"] == "draft" for one in waits)
    if not waits:
        return _TITLES["waiting"]
    if not drafts:
        return "It waits for a person to answer a question"
    writes = "a write" if drafts == 1 else f"{drafts} writes"
    return f"It waits for a person to approve {writes}"


def _describe_failed_items(run: Mapping[str, Any]) -> str:
    """How many items of how many failed: "1 of 3 items"."""
    walked = [output for _, output in _partly_failed(run)]
    failed, count = (
        sum(parts)
        for parts in ([len(one["failed"]) for one in walked], [one["count"] for one in walked])
    )
    return f"{failed} of {count} items" if failed else "some items"


def _partly_failed(run: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The steps that continued past failed items, with their outputs."""
    for row in run.get("steps", ()):
        output = row.get("output")
        walked = isinstance(output, Mapping) and output.keys() == {"count", "results", "failed"}
        if walked and row["status"] == "succeeded" and output["failed"]:
            yield f"{row['step']}[{row['item']}]" if row["item"] else row["step"], output


def _because(run: Mapping[str, Any]) -> str | None:
    error = run.get("error")
    if error:
        return str(error.get("detail", ""))
    if run.get("halted") is not None and run["status"] not in FINAL:
        return str(run["halted"])
    if run["reason"] == ITEMS_FAILED:
        for step, walked in _partly_failed(run):
            first = walked["failed"][0]
            return f"Item {first['index'] + 1} of {step}: {first['error'].get('detail', '')}"
    return REASONS.get(run["reason"] or "")


def broken_step(run: Mapping[str, Any]) -> str | None:
    """The innermost step that failed with the error of the run, in its last round."""
    said = (run.get("error") or {}).get("detail")
    for row in run.get("steps", ()):
        same = said is not None and (row["error"] or {}).get("detail") == said
        if same and row["status"] == "failed" and row["run_attempt"] == run["attempt"]:
            return f"{row['step']}[{row['item']}]" if row["item"] else str(row["step"])
    return None
