"""How a script that came to no good end is told of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.actions.script.sandbox.caps import Caps
from mainspring.contracts.errors import Exhausted, Fault, Invalid, Problem, TimedOut

_LONGEST: Final = 600
_FRAME_MB: Final = Caps().frame_bytes >> 20
_LONGEST_NAME: Final = 100


def thrown(failed: Mapping[str, Any]) -> Problem:
    """The script threw, and nobody caught it: trying the same again ends the same way."""
    name, message = str(failed.get("name") or "Error"), str(failed.get("message") or "")
    name = name[:_LONGEST_NAME]
    return Invalid(
        f"The script stopped: {name}: {message[:_LONGEST]}{_place(failed)}",
        code="script_failed",
        suggestion="Its output tells how far it came: `mainspring runs output`.",
    )


def not_built(failed: Mapping[str, Any]) -> Problem:
    """The source is no TypeScript."""
    message = str(failed.get("message") or "it cannot be read")
    return Invalid(
        f"The script is not valid TypeScript: {message[:_LONGEST]}{_place(failed)}",
        code="script_syntax",
    )


def ended(reason: str | None, exit_code: int, wall_seconds: float) -> Problem:
    """The process is gone and has not said what became of the script."""
    match reason:
        case "wall":
            return TimedOut(
                f"The script ran for longer than its {wall_seconds:g} seconds and was killed.",
                code="script_wall",
                retryable=False,
                suggestion="Raise wall_seconds, or do less in one run.",
            )
        case "cpu":
            return Exhausted(
                "The script used more processor time than it may and was killed.",
                code="script_cpu",
                retryable=False,
                suggestion="Look for a loop that does not end.",
            )
        case "memory":
            return Exhausted(
                "The script used more memory than it may and was killed.",
                code="script_memory",
                retryable=False,
                suggestion="Work on a part at a time, and let go of what is done.",
            )
        case "output":
            return Exhausted(
                "The script wrote far more output than is kept and was killed.",
                code="script_output",
                retryable=False,
                suggestion="Log less, or save what is long as an artifact.",
            )
        case "answer":
            return Exhausted(
                f"The script answered or asked with more than {_FRAME_MB} MB at once and was "
                "killed.",
                code="script_answer",
                retryable=False,
                suggestion="Return less, or save what is long as an artifact.",
            )
        case _ if exit_code == 0:
            return Invalid(
                "The script ended its own process before it was done.",
                code="script_left",
                suggestion="Use return instead of Deno.exit().",
            )
        case _:
            return Fault(
                f"The script's process broke off with exit code {exit_code}.", code="script_crashed"
            )


def _place(failed: Mapping[str, Any]) -> str:
    line, column = failed.get("line"), failed.get("column")
    if not isinstance(line, int):
        return ""
    # What makes the file ready to run stands before its first line.
    known = isinstance(column, int) and line > 1
    return f" (main.ts, line {line}" + (f", column {column})" if known else ")")
