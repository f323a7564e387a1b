"""Showing a run while it goes on: lines that stay, and below them what happens now.

On a terminal the lower part is drawn again ten times a second; in a pipe every line is
written once, as soon as it is known.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mainspring.surfaces.cli.formatting import duration
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.timeline import RunTimeline, TimelineEntry, format_step_name, paint

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINNER_PLAIN = "|/-\\"
_FRAMES_PER_SECOND = 10


class RunDisplay:
    """The stage for one run; to be used as a context."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.screen.is_lively:
            from rich.live import Live

            self._live = Live(console=self.screen.console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        live, self._live = self._live, None
        if live is not None:
            with self.screen.forgiving():
                live.stop()

    def line(self, line: TimelineEntry) -> None:
        """A line that stays. What only begins is shown below on a terminal."""
        if self._live is None or line.kind != "started":
            self.screen.say(paint(line, self.screen))

    def said(self, lines: Sequence[Text]) -> None:
        """Lines that a step wrote; they stay."""
        self.screen.say(*lines)

    def frame(self, timeline: RunTimeline, now: datetime) -> None:
        """What goes on at this moment."""
        if self._live is not None:
            with self.screen.forgiving():
                self._live.update(self._now(timeline, now), refresh=True)

    def _now(self, timeline: RunTimeline, now: datetime) -> Text:
        from rich.text import Text

        tick = time.monotonic()
        lines = [
            self._going(step, item, timeline, tick) for step, item in list(timeline.going)[-5:]
        ]
        if timeline.asleep_until is not None:
            left = max((timeline.asleep_until - now).total_seconds(), 0.0)
            text = Text("  ")
            text.append(self._spin(tick), style="yellow")
            text.append(f" {format_step_name(*timeline.sleeper)}", style="bold")
            text.append(f"  continues in {duration(left)}" if left else "  continues now")
            lines.append(text)
        # A line that folds would be one more than the terminal is told to draw again.
        return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)

    def _going(self, step: str, item: str, timeline: RunTimeline, tick: float) -> Text:
        from rich.text import Text

        going = timeline.going[step, item]
        text = Text("  " + "  " * (item.count(".") + 1 if item else 0))
        text.append(self._spin(tick), style="cyan")
        text.append(f" {format_step_name(step, item)}", style="bold")
        text.append(f"  {duration(tick - going.since)}", style="bright_black")
        if going.trouble is not None:
            text.append(f"  pauses after: {one_line(going.trouble, 60)}", style="yellow")
        elif going.attempt > 1:
            text.append(f"  attempt {going.attempt}", style="yellow")
        return text

    def _spin(self, tick: float) -> str:
        signs = _SPINNER if "utf" in self.screen.console.encoding else _SPINNER_PLAIN
        return signs[int(tick * _FRAMES_PER_SECOND) % len(signs)]
