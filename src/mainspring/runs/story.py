"""Summarises a run in a few sentences: what happened, why, and what can be done now.

Every interface shows this summary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN
from mainspring.gate.draft_resolution import is_draft
from mainspring.runs.rows import FINAL, ITEMS_FAILED

_TITLES: Final[Mapping[str, str]] = {
    "pending": "Queued: waiting for a worker",
    "running": "Running",
    "waiting": "Waiting until its scheduled time",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "timed_out": "Timed out",
    "cancelled": "Cancelled",
    "skipped": "Skipped",
    "dead": "Gave up after losing its workers",
}
REASONS: Final[Mapping[str, str]] = {
    "dropped": "Another run of this automation is in progress, and its policy is drop_if_running.",
    "paused": "The automation is paused.",
    "cancelled": "Cancelled by a person.",
    "invalid_inputs": "The inputs do not match what the automation expects.",
    ITEMS_FAILED: "Some items of a list failed, and the step continues past failed items.",
    "unreadable_version": "This version of Mainspring cannot read the automation's definition.",
}
MODES: Final[Mapping[str, str]] = {"dry_run": "dry run", "verify": "verify mode"}
_TRIALS: Final[Mapping[str, str]] = {
    "dry_run": "Dry run: nothing was changed, here or outside.",
    "verify": "Verify mode: nothing was sent outside.",
}
MADE_UP: Final = "Their results are sample data, and so is everything computed from them."
# A trial calls models like any other run, unless there is none.
_ASKS_MODELS: Final = frozenset({AGENT_RUN, "automation_llm_complete"})
_UNASKED: Final = "Its model is unavailable: it is not connected or has no price."
# The outcomes of calls that changed something.
_EFFECTIVE: Final = frozenset({"kept", "sent", "confirmed"})
_MESSAGES: Final = frozenset({"post", "push", "message", "notification"})
_VERBS: Final[Mapping[str, str]] = {
    "create": "created",
    "open": "opened",
    "publish": "published",
    "update": "updated",
}
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
        sentence = f"{sentence} It was started by run {cause}, which was a trial as well."
    made = len(list_suppressed_calls(run))
    if not made:
        return f"{sentence} 0 calls were simulated."
    calls = "1 call was" if made == 1 else f"{made} calls were"
    unasked = any(one["capability"] in _ASKS_MODELS for one in list_suppressed_calls(run))
    return f"{sentence} {calls} simulated. {MADE_UP}" + (f" {_UNASKED}" if unasked else "")


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
    """One line, such as "Succeeded · sent 1 message." or "Failed at step post, item 2."."""
    if run.get("halted") is not None and run["status"] not in FINAL:
        return "Halted: the run resumes when the halt is released."
    title = _TITLES[run["status"]]
    if run["status"] == "waiting":
        title = _waiting_title(waits_for(run))
    # A run behind another one of its automation is not due before that one ends.
    if run["status"] == "pending" and run.get("due_at", run) is None:
        title = "Queued: waiting for an earlier run of this automation"
    broken = _find_broken_row(run)
    if broken is not None:
        title = f"{title} at step {broken['step']}{_describe_item(broken['item'])}"
    if run["reason"] == ITEMS_FAILED:
        title = f"{title} with {_describe_failed_items(run)} failed"
    result = describe_result(run) if run["status"] == "succeeded" else ""
    return f"{title} · {result}." if result else f"{title}."


def describe_result(run: Mapping[str, Any]) -> str:
    """What a finished run did: "sent 2 messages, 1 workspace change"."""
    outcome = run["outcome"] or ""
    if outcome == "answer_only":
        result = "no result" if run.get("output") is None else "returned a result"
        return f"{result}, no side effects"
    if outcome == "nothing_to_do":
        return "nothing to do"
    parts = _describe_effects(run)
    if outcome == "drafts_waiting":
        drafts = run.get("drafts", 0)
        waiting = "1 draft waits" if drafts == 1 else f"{drafts or 'some'} drafts wait"
        parts.append(f"{waiting} for approval")
    return ", ".join(parts)


def _describe_effects(run: Mapping[str, Any]) -> list[str]:
    """The side effects of a run by kind; only their number if the calls do not add up to it."""
    effects = run.get("effects", 0)
    kinds = Counter(
        _name_effect(call["capability"], call["outcome"])
        for call in run.get("calls", ())
        if call["outcome"] in _EFFECTIVE
    )
    if kinds.total() == effects:
        return [_count(number, *kind) for kind, number in kinds.items()]
    return [_count(effects, "", "side effect")]


def _name_effect(capability: str, outcome: str) -> tuple[str, str]:
    """The verb and the noun for an effect, from the capability's name where it says both."""
    words = re.split(r"[._]", capability.lower())
    if "email" in words or "mail" in words:
        return "sent", "email"
    if words[-1] in _MESSAGES:
        return "sent", "message"
    verb, noun = _VERBS.get(words[-2] if len(words) > 1 else ""), words[-1]
    if verb is not None and not noun.endswith("s"):
        return verb, noun
    return "", "workspace change" if outcome == "kept" else "outside write"


def _count(number: int, verb: str, noun: str) -> str:
    plural = noun if number == 1 else f"{noun}s"
    return f"{verb} {number} {plural}".lstrip()


def _waiting_title(waits: Sequence[Mapping[str, Any]]) -> str:
    drafts = sum(one["kind"] == "draft" for one in waits)
    if not waits:
        return _TITLES["waiting"]
    if not drafts:
        return "Waiting for an answer to a question"
    writes = "a write" if drafts == 1 else f"{drafts} writes"
    return f"Waiting for approval of {writes}"


def _describe_item(item: str) -> str:
    """The path of an item, counted from 1: ", item 2" or, in a loop in a loop, ", item 2.5"."""
    return f", item {'.'.join(str(int(one) + 1) for one in item.split('.'))}" if item else ""


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
    row = _find_broken_row(run)
    if row is None:
        return None
    return f"{row['step']}[{row['item']}]" if row["item"] else str(row["step"])


def _find_broken_row(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    detail = (run.get("error") or {}).get("detail")
    steps: Sequence[Mapping[str, Any]] = run.get("steps", ())
    for row in steps:
        same = detail is not None and (row["error"] or {}).get("detail") == detail
        if same and row["status"] == "failed" and row["run_attempt"] == run["attempt"]:
            return row
    return None
