"""A draft at a terminal: all that would leave is shown before anybody confirms it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mainspring.surfaces.cli.drafts import _lines

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def test_arguments_are_shown_whole_and_with_what_is_not_seen() -> None:
    given = {f"n{place}": "x" * 2_000 for place in range(60)} | {"last": "the\u202e end"}
    draft: dict[str, Any] = {
        "id": "01900000-0000-7000-8000-0000000000c1",
        "status": "pending",
        "capability": "a.b",
        "preview": "Call a.b",
        "arguments": given,
        "run_id": None,
        "step": None,
        "actor_kind": "member",
        "actor_id": None,
        "created_at": WHEN,
        "expires_at": WHEN,
        "outcome": None,
    }

    output = "\n".join(line.plain for line in _lines(draft))

    assert output.count("x" * 2_000) == 60
    assert '"last": "the\\u202e end"' in output
