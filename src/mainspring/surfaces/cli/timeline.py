"""The timeline of a run: moments become lines, and what goes on now is remembered.

The same moment may be seen twice, once by watching and once in the record; the second
time says nothing. Nothing here writes: a line is a value, and ``paint`` gives it its form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Problem
from mainspring.surfaces.cli.formatting import clock_time, duration, hint
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.runs.rows import RunEvent

_PREVIEW = 60
_STEP_COLUMN = 24


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Something to show: a sign, a step, and words about it."""

    kind: str
    step: str
    item: str = ""
    words: str = ""
    # What the step gave, for a short look at it.
    value: Any = None


@dataclass(slots=True)
class RunningStep:
    """A step that has begun and not ended."""

    attempt: int
    since: float
    # Why it is tried again, while it pauses between two attempts.
    trouble: str | None = None


@dataclass(slots=True)
class RunTimeline:
    """Everything that was seen of one run."""

    going: dict[tuple[str, str], RunningStep] = field(default_factory=dict)
    # The moment the run sleeps until, and the step that made it sleep.
    asleep_until: datetime | None = None
    sleeper: tuple[str, str] = ("", "")
    _known: set[tuple[str, str, int, str]] = field(default_factory=set)

    def see(self, event: RunEvent, now: float) -> TimelineEntry | None:
        """The line for a moment, if it has something new to say."""
        match event.kind:
            case "step_started":
                return self._started(event, now)
            case "step_retrying" | "step_finished":
                return self._recorded(event, now)
            case "run_resumed":
                self.asleep_until = None
            case "run_ended":
                return self._left(event)
        return None

    def remember(self, steps: Iterable[Mapping[str, Any]]) -> None:
        """Steps that were recorded before anybody looked: they are not told again."""
        for row in steps:
            self._known.add((row["step"], row["item"], row["attempt"], row["status"]))

    def _started(self, event: RunEvent, now: float) -> TimelineEntry:
        place = (event.step, event.item)
        before = self.going.get(place)
        self.going[place] = RunningStep(event.attempt, now)
        words = "" if event.attempt == 1 else f"attempt {event.attempt}"
        if before is not None and before.trouble is not None:
            words += f", after a pause of {duration(now - before.since)}"
        return TimelineEntry("started", *place, words)

    def _recorded(self, event: RunEvent, now: float) -> TimelineEntry | None:
        place = (event.step, event.item)
        known = (*place, event.attempt, event.status)
        if known in self._known:
            return None
        self._known.add(known)
        if event.status == "waiting":
            self.going.pop(place, None)
            self.sleeper = place
            words = _approval(event.detail)
            return TimelineEntry("waiting", *place, words) if words else None
        words = _attempt(event)
        if event.status == "retrying":
            reason = _reason(event.detail)
            self.sleeper = place
            self.going[place] = RunningStep(event.attempt, now, reason)
            return TimelineEntry("retrying", *place, f"{words}: {reason} Retrying.")
        self.going.pop(place, None)
        if event.status == "failed":
            return TimelineEntry("failed", *place, f"{words}: {_reason(event.detail)}")
        if event.status == "skipped":
            return TimelineEntry("skipped", *place, "skipped")
        return TimelineEntry("succeeded", *place, words, event.detail)

    def _left(self, event: RunEvent) -> TimelineEntry | None:
        self.going.clear()
        if event.status == "waiting":
            return self.sleep(event.detail.due_at)
        if event.status == "pending":
            return TimelineEntry("told", "", words="The run was returned to the queue.")
        if event.status == "lost":
            return TimelineEntry("told", "", words="Another worker continues the run.")
        return None

    def sleep(self, until: datetime) -> TimelineEntry | None:
        """The run waits for a moment; said once for each moment."""
        self.going.clear()
        if self.asleep_until == until:
            return None
        self.asleep_until = until
        return TimelineEntry("waiting", *self.sleeper, f"waiting until {clock_time(until)}")


def step_line(row: Mapping[str, Any]) -> TimelineEntry:
    """One recorded attempt at a step, with its time on the clock."""
    at = clock_time(row["finished_at"])
    match row["status"]:
        case "waiting":
            text = f"{at}  {_approval(row['output']) or 'waiting'} until {clock_time(row['until'])}"
        case "skipped":
            text = f"{at}  skipped"
        case "succeeded":
            text = f"{at}  {duration(row['ms'] / 1000)}"
            text += f", attempt {row['attempt']}" if row["attempt"] > 1 else ""
        case _:
            reason = (row["error"] or {}).get("detail", "")
            text = f"{at}  attempt {row['attempt']} failed after "
            text += f"{duration(row['ms'] / 1000)}: {reason}"
    return TimelineEntry(row["status"], row["step"], row["item"], text, row["output"])


def _approval(output: Any) -> str:
    """Whom a step with a held write waits for, and how they answer; empty for any other step."""
    if not isinstance(output, Mapping) or output.get("kind") != "draft":
        return ""
    return f"waiting for approval ({hint('drafts', 'show', output['draft_id'])})"


def _attempt(event: RunEvent) -> str:
    took = duration(event.ms / 1000)
    if event.status == "succeeded":
        return took if event.attempt == 1 else f"{took}, attempt {event.attempt}"
    return f"attempt {event.attempt} failed after {took}"


def _reason(detail: Any) -> str:
    if isinstance(detail, Problem):
        return detail.detail
    return str(detail.get("detail", "")) if isinstance(detail, Mapping) else ""


def paint(line: TimelineEntry, screen: Screen) -> Text:
    """A line as it stands on the screen."""
    from rich.text import Text

    sign, colour = screen.mark(line.kind)
    text = Text("  " + "  " * _depth(line.item))
    text.append(sign, style=colour)
    text.append(" ")
    if line.step:
        name = format_step_name(line.step, line.item)
        text.append(name if not line.words else name.ljust(_STEP_COLUMN), style="bold")
    quiet = line.kind in ("succeeded", "skipped", "started")
    if line.words:
        gap = " " if line.step else ""
        text.append(gap + one_line(line.words, 400), style="bright_black" if quiet else "")
    if line.value is not None and screen.is_lively:
        text.no_wrap, text.overflow = True, "ellipsis"
        text.append(f"  {preview(line.value)}", style="bright_black")
    return text


def format_step_name(step: str, item: str) -> str:
    """A step, with the number of its item when it stands inside a for_each."""
    return f"{step}[{item}]" if item else step


def _depth(item: str) -> int:
    return item.count(".") + 1 if item else 0


def preview(value: Any) -> str:
    """The first characters of a value."""
    return one_line(as_json(value, indent=None), _PREVIEW)
