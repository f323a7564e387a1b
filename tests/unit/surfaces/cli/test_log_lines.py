"""What a line of the log says."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import copy_context
from uuid import UUID

from mainspring.contracts.log_context import HERE, STEP, LogContext, enter_run, enter_workspace
from mainspring.surfaces.cli.log_format import JsonLines, TextLines

SPACE, AUTOMATION, RUN = (UUID(int=number) for number in (1, 2, 3))


def _record(message: str, *, broken: bool = False) -> logging.LogRecord:
    found = None
    if broken:
        try:
            raise ValueError("the password is hunter2")
        except ValueError:
            found = sys.exc_info()
    return logging.LogRecord("a.room", logging.ERROR, "", 1, message, (), found)


def test_a_json_line_says_where_the_work_was() -> None:
    def work() -> str:
        enter_run(SPACE, AUTOMATION, RUN)
        STEP.set("fetch")
        return JsonLines("worker-1").format(_record('A "bad"\nline'))

    line = copy_context().run(work)

    assert "\n" not in line
    result = json.loads(line)
    assert result.pop("ts").endswith("Z")
    assert result == {
        "level": "error",
        "part": "worker-1",
        "logger": "a.room",
        "message": 'A "bad"\nline',
        "workspace_id": str(SPACE),
        "automation_id": str(AUTOMATION),
        "run_id": str(RUN),
        "step": "fetch",
    }
    # Nothing of it is left for others.
    assert "run_id" not in json.loads(JsonLines("api").format(_record("Later")))


def test_a_trace_shows_where_and_not_what_was_said() -> None:
    result = json.loads(JsonLines("api").format(_record("Broken", broken=True)))

    assert result["error"] == "ValueError"
    assert "test_log_lines.py" in result["trace"]
    assert "hunter2" not in json.dumps({**result, "trace": ""})
    assert "hunter2" not in result["trace"].replace(
        'raise ValueError("the password is hunter2")', ""
    )


def test_a_request_is_named_with_its_workspace_once_that_is_known() -> None:
    def work() -> str:
        HERE.set(LogContext("an-id-of-theirs"))
        enter_workspace(SPACE)
        return JsonLines("api").format(_record("Refused"))

    result = json.loads(copy_context().run(work))

    assert (result["request_id"], result["workspace_id"]) == ("an-id-of-theirs", str(SPACE))


def test_a_line_for_a_person_ends_with_the_run_unless_it_names_it() -> None:
    def work(message: str) -> str:
        enter_run(SPACE, AUTOMATION, RUN)
        STEP.set("fetch")
        return TextLines("worker").format(_record(message))

    assert copy_context().run(work, "Slow").endswith(f"Slow (run {RUN}, step fetch)")
    assert copy_context().run(work, f"Run {RUN} is slow").endswith(f"Run {RUN} is slow")
    assert TextLines("worker").format(_record("Slow")).endswith("worker     Slow")
