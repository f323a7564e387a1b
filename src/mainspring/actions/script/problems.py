"""How a script that came to no good end is told of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.contracts.errors import (
    DeadlineExceeded,
    InternalError,
    Invalid,
    LimitExceeded,
    Problem,
)

_LONGEST: Final = 600
_FRAME_MB: Final = ProcessLimits().frame_bytes >> 20
_LONGEST_NAME: Final = 100


def script_error(failed: Mapping[str, Any]) -> Problem:
    """The script threw, and nobody caught it: trying the same again ends the same way."""
    name, message = str(failed.get("name") or "Error"), str(failed.get("message") or "")
    name = name[:_LONGEST_NAME]
    return Invalid(
        f"The script stopped: {name}: {message[:_LONGEST]}{_format_script_location(failed)}",
        code="script_failed",
        suggestion="Its output tells how far it came: `mainspring runs output`.",
    )


def build_error(failed: Mapping[str, Any]) -> Problem:
    """The source is no TypeScript."""
    message = str(failed.get("message") or "it cannot be read")
    return Invalid(
        f"The script is not valid TypeScript: {message[:_LONGEST]}{_format_script_location(failed)}",  # noqa: E501
        code="script_syntax",
    )


def process_ended_error(reason: str | None, exit_code: int, wall_seconds: float) -> Problem:
    """The process is gone and has not said what became of the script."""
    match reason:
        case "wall":
            return DeadlineExceeded(
                f"The script ran for longer than its {wall_seconds:g} seconds and was killed.",
                code="script_wall",
                retryable=False,
                suggestion="Raise wall_seconds, or do less in one run.",
            )
        case "cpu":
            return LimitExceeded(
                "The script used more processor time than it may and was killed.",
                code="script_cpu",
                retryable=False,
                suggestion="Look for a loop that does not end.",
            )
        case "memory":
            return LimitExceeded(
                "The script used more memory than it may and was killed.",
                code="script_memory",
                retryable=False,
                suggestion="Work on a part at a time, and let go of what is done.",
            )
        case "output":
            return LimitExceeded(
                "The script wrote far more output than is kept and was killed.",
                code="script_output",
                retryable=False,
                suggestion="Log less, or save what is long as an artifact.",
            )
        case "answer":
            return LimitExceeded(
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
            return InternalError(
                f"The script's process broke off with exit code {exit_code}.", code="script_crashed"
            )


def _format_script_location(failed: Mapping[str, Any]) -> str:
    line, column = failed.get("line"), failed.get("column")
    if not isinstance(line, int):
        return ""
    # What makes the file ready to run stands before its first line.
    known = isinstance(column, int) and line > 1
    return f" (main.ts, line {line}" + (f", column {column})" if known else ")")
