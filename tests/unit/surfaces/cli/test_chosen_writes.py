"""``--automatic`` and ``--ask`` name the write of a step; what is unclear is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli.proposals import find_chosen_writes


def write(step: str, capability: str) -> dict[str, Any]:
    return {"step": step, "capability": capability}


POST, MAIL, PUSH = write("post", "slack_post"), write("tell", "send_email"), write("tell", "push")


def test_the_only_write_of_a_step_is_meant_by_its_name() -> None:
    assert find_chosen_writes([POST, MAIL, PUSH], "post") == [POST]
    assert find_chosen_writes([POST, MAIL, PUSH], "tell:send_email") == [MAIL]


@pytest.mark.parametrize(
    ("writes", "name", "code", "way"),
    [
        ([], "post", "no_write", None),
        ([POST], "other", "no_write", "There are: post."),
        ([MAIL, PUSH], "tell", "write_ambiguous", "There are: tell:send_email, tell:push."),
        (
            [MAIL, PUSH],
            "tell:slack_post",
            "write_ambiguous",
            "There are: tell:send_email, tell:push.",
        ),
    ],
)
def test_what_is_not_clear_is_refused_with_the_names(
    writes: list[Any], name: str, code: str, way: str | None
) -> None:
    with pytest.raises(Invalid) as refused:
        find_chosen_writes(writes, name)
    assert (refused.value.code, refused.value.suggestion) == (code, way)
