"""The last lines about a run: what became of it, and what to do now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import from_dict
from mainspring.surfaces.cli.problems import problem_lines
from mainspring.surfaces.cli.screen import Screen, as_json, clean
from mainspring.surfaces.cli.timeline import named
from mainspring.surfaces.cli.words import count, duration, hint, usd

if TYPE_CHECKING:
    from rich.text import Text

OUTPUT_LINES = 24
OUTPUT_COLUMNS = 160

_TITLES = {
    "succeeded": ("succeeded", "Succeeded"),
    "failed": ("failed", "Failed"),
    "timed_out": ("failed", "Ran out of time"),
    "cancelled": ("failed", "Cancelled"),
    "skipped": ("skipped", "Skipped"),
    "dead": ("failed", "Given up"),
    "waiting": ("waiting", "Waiting"),
    "running": ("started", "Running"),
    "pending": ("waiting", "Not started yet"),
}


def verdict(run: Mapping[str, Any], screen: Screen) -> list[Text]:
    """The status, how long it took, and the outcome in a sentence."""
    from rich.text import Text

    kind, title = _TITLES[run["status"]]
    sign, colour = screen.mark(kind)
    if run["outcome"] == "nothing_to_do" and run["status"] == "succeeded":
        sign, colour = screen.mark("skipped")
        title = "Nothing to do"
    head = Text.assemble((f"{sign} {title}", f"bold {colour}"))
    if run["started_at"] is not None and run["finished_at"] is not None:
        took = (run["finished_at"] - run["started_at"]).total_seconds()
        head.append(f" in {duration(took)}")
    head.append(f". {_sentence(run)}")
    return [head]


def _sentence(run: Mapping[str, Any]) -> str:
    from mainspring.runs.outcome import SENTENCES
    from mainspring.runs.story import REASONS

    if run["reason"] in REASONS:
        return REASONS[run["reason"]]
    for word, sentence in SENTENCES.items():
        if word == run["outcome"]:
            return sentence
    return ""


def closing_lines(run: Mapping[str, Any], screen: Screen) -> list[Text]:
    """Everything about a run that has ended."""
    from rich.text import Text

    from mainspring.runs.story import next_moves

    lines = [Text(), *verdict(run, screen), *error_lines(run)]
    facts = [("effects", str(run["effects"]))]
    if run["drafts"]:
        facts.append(("drafts", f"{count(run['drafts'], 'draft')} in the inbox"))
    facts.append(("cost", usd(run["cost_usd"])))
    lines += [_fact(name, text) for name, text in facts]
    if run["output"] is not None:
        lines += output_lines("output", run["output"])
    lines.append(_fact("run", str(run["id"])))
    moves = ["logs"] if run["status"] == "succeeded" else ["logs", *next_moves(run)]
    calls = [hint(move, run["id"]) for move in moves]
    return [*lines, Text(), *(Text(f"  {call}", style="bright_black") for call in calls)]


def _fact(name: str, text: str) -> Text:
    from rich.text import Text

    return Text.assemble("  ", (name.ljust(9), "bright_black"), text)


def output_lines(name: str, value: Any) -> list[Text]:
    """A value, pretty, and cut where it gets long."""
    text = value if isinstance(value, str) else as_json(value)
    lines = clean(text).splitlines() or [""]
    shown = [
        line if len(line) <= OUTPUT_COLUMNS else line[: OUTPUT_COLUMNS - 1] + "…"
        for line in lines[:OUTPUT_LINES]
    ]
    if len(lines) > OUTPUT_LINES:
        shown.append(f"… {count(len(lines) - OUTPUT_LINES, 'more line')} (--json shows all)")
    return [_fact(name, shown[0]), *(_fact("", line) for line in shown[1:])]


def error_lines(run: Mapping[str, Any]) -> list[Text]:
    """What went wrong, where, and a way out; also when on_failure failed as well."""
    error = run["error"]
    if not error:
        return []
    problem = from_dict(error)
    where = _failed_step(run)
    detail = f"{where}: {problem.detail}" if where else problem.detail
    lines = problem_lines(detail, problem.findings, problem.suggestion)
    second = error.get("on_failure")
    if isinstance(second, Mapping):
        lines += problem_lines(
            f"on_failure failed too, at {second.get('step')}: {second.get('detail')}", (), None
        )
    for line in lines:
        line.pad_left(2)
    return lines


def _failed_step(run: Mapping[str, Any]) -> str:
    row = failed_row(run)
    return "" if row is None else named(row["step"], row["item"])


def failed_row(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The innermost step that failed with the error of the run, in its last round."""
    said = (run["error"] or {}).get("detail")
    for row in run["steps"]:
        same = said is not None and (row["error"] or {}).get("detail") == said
        if same and row["status"] == "failed" and row["run_attempt"] == run["attempt"]:
            found: Mapping[str, Any] = row
            return found
    return None
