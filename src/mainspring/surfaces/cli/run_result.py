"""The last lines about a run: what became of it, and what to do now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.errors import problem_from_dict
from mainspring.surfaces.cli.formatting import count, duration, hint, usd
from mainspring.surfaces.cli.problems import problem_lines
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line, truncate_text
from mainspring.surfaces.cli.timeline import format_step_name

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.services import ApplicationServices

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
    return [head, *_waiting_lines(run)]


def _waiting_lines(run: Mapping[str, Any]) -> list[Text]:
    """What a run waits for, and where a person answers it."""
    from rich.text import Text

    from mainspring.runs.story import waits_for

    lines = []
    for one in waits_for(run):
        way = hint("drafts", "show", one["id"]) if one["kind"] == "draft" else hint("approvals")
        lines.append(Text(f"  {one['step']} waits for a person: {one['text'] or 'a question'}"))
        lines.append(Text(f"  {way}", style="bright_black"))
    return lines


def _sentence(run: Mapping[str, Any]) -> str:
    from mainspring.runs.rows import sentence
    from mainspring.runs.story import REASONS

    if run["reason"] in REASONS:
        return REASONS[run["reason"]]
    return sentence(run["outcome"], run["output"])


def _suppressed(run: Mapping[str, Any], saved: str) -> list[Text]:
    """What a run that only tried things out would have done; ``saved`` happened before it."""
    from rich.text import Text

    from mainspring.runs.story import list_suppressed_calls, trial_sentence

    sentence = trial_sentence(run)
    if sentence is None:
        return []
    lines = [Text(sentence)]
    if saved:
        lines.append(Text(f"Before it, the file was {saved}; that stays."))
    for call in list_suppressed_calls(run):
        text = one_line(as_json(call["arguments"], indent=None), 300)
        lines.append(Text(f"  {call['step']}: {call['capability']} {text}", "bright_black"))
    return lines


def closing_lines(
    run: Mapping[str, Any], screen: Screen, *, in_force: int, saved: str = ""
) -> list[Text]:
    """Everything about a run that has ended; ``in_force`` is its automation's version now, and
    ``saved`` says what was saved on the way to it.
    """
    from rich.text import Text

    from mainspring.runs.story import list_suppressed_calls

    lines = [Text(), *verdict(run, screen), *_suppressed(run, saved), *error_lines(run)]
    facts = [("effects", str(run["effects"]))]
    if run["drafts"]:
        facts.append(("drafts", f"{run['drafts']}: {hint('drafts')}"))
    facts.append(("cost", usd(run["cost_usd"])))
    lines += [_fact(name, text) for name, text in facts]
    if run["output"] is not None:
        lines += output_lines("output", run["output"])
        if list_suppressed_calls(run):
            lines.append(_fact("", "(of a trial: calls were only pretended, so it may be made up)"))
    lines.append(_fact("run", str(run["id"])))
    ways = [hint("logs", run["id"])]
    if _had_agent(run):
        ways.append(hint("runs", "transcript", run["id"]))
    more = [Text(f"  {way}", style="bright_black") for way in ways]
    return [*lines, Text(), *more, *move_lines(run, in_force=in_force)]


def _had_agent(run: Mapping[str, Any]) -> bool:
    """Whether an agent was at work, whose transcript says more; a pretended one keeps none."""
    return any(
        call["capability"] == AGENT_RUN and call["outcome"] != "pretended" for call in run["calls"]
    )


def move_lines(run: Mapping[str, Any], *, in_force: int) -> list[Text]:
    """What may help a run that came to no good end."""
    from rich.text import Text

    return [Text(f"  {call}", style="bright_black") for call in _moves(run, in_force)]


def _moves(run: Mapping[str, Any], in_force: int) -> list[str]:
    """A retry keeps the run's version, so a version that was mended since needs a replay."""
    from mainspring.runs.story import list_next_actions

    if run["status"] == "succeeded":
        return []
    moves = list_next_actions(run)
    mended = in_force > run["version"] or run["reason"] == "invalid_inputs"
    if mended and "replay" in moves:
        return [hint("replay", run["id"], "--version", "active")]
    return [hint(moves[0], run["id"])]


async def version_in_force(services: ApplicationServices, run: Mapping[str, Any]) -> int:
    """The version of the run's automation that is in force now."""
    from mainspring.surfaces.cli.local import local
    from mainspring.workspace.automation_list import read_automation

    async with local(services).acquire() as connection:
        now = await read_automation(connection, services.workspace_id, run["automation_id"])
    return int(now["version"])


def _fact(name: str, text: str) -> Text:
    from rich.text import Text

    return Text.assemble("  ", (name.ljust(9), "bright_black"), text)


def output_lines(name: str, value: Any) -> list[Text]:
    """A value, pretty, and cut where it gets long."""
    text = value if isinstance(value, str) else as_json(value)
    lines = clean(text).splitlines() or [""]
    shown = [truncate_text(line, OUTPUT_COLUMNS) for line in lines[:OUTPUT_LINES]]
    if len(lines) > OUTPUT_LINES:
        shown.append(f"… {count(len(lines) - OUTPUT_LINES, 'more line')} (--json shows all)")
    return [_fact(name, shown[0]), *(_fact("", line) for line in shown[1:])]


def error_lines(run: Mapping[str, Any]) -> list[Text]:
    """What went wrong, where, and a way out; also when on_failure failed as well."""
    error = run["error"]
    if not error:
        return []
    problem = problem_from_dict(error)
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
    return "" if row is None else format_step_name(row["step"], row["item"])


def failed_row(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The innermost step that failed with the error of the run, in its last round."""
    said = (run["error"] or {}).get("detail")
    for row in run["steps"]:
        same = said is not None and (row["error"] or {}).get("detail") == said
        if same and row["status"] == "failed" and row["run_attempt"] == run["attempt"]:
            found: Mapping[str, Any] = row
            return found
    return None
