"""Requests to begin with: ours for everybody, and those that a workspace keeps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mainspring.authoring.prompts import STARTERS
from mainspring.authoring.resources import Resources
from mainspring.authoring.shapes import Wish
from mainspring.authoring.sketch.sketching import sketch
from mainspring.contracts.errors import Denied, Invalid, Missing
from mainspring.contracts.ids import new_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.vocabulary import build_registry
from tests.kit.authoring import Desk
from tests.kit.house import Bench
from tests.kit.members import member


async def test_a_request_is_kept_under_a_name_and_forgotten_by_its_id(bench: Bench) -> None:
    desk = Desk(bench)
    first = await desk.call("save_prompt", {"name": "Digest", "text": "daily at 9"})
    again = await desk.call("save_prompt", {"name": "Digest", "text": "daily at 10"})
    assert (again["id"], again["text"]) == (first["id"], "daily at 10")
    listed = await desk.call("list_prompts", {})
    assert [(one["name"], one["text"]) for one in listed["prompts"]] == [("Digest", "daily at 10")]
    assert [one["name"] for one in listed["starters"]] == [name for name, _ in STARTERS]
    with pytest.raises(Missing) as told:
        await desk.call("forget_prompt", {"id": str(new_id())})
    assert told.value.code == "no_prompt"
    with pytest.raises(Invalid):
        await desk.call("save_prompt", {"name": "", "text": "daily"})
    viewer = await member(bench.house.database, bench.house.workspace_id, Role.VIEWER)
    with pytest.raises(Denied):
        await Desk(bench, viewer).call("forget_prompt", {"id": first["id"]})
    await desk.call("forget_prompt", {"id": first["id"]})
    assert (await desk.call("list_prompts", {}))["prompts"] == []


@pytest.mark.parametrize(("name", "text"), STARTERS, ids=[name for name, _ in STARTERS])
def test_what_everybody_may_begin_with_is_understood_by_rules(name: str, text: str) -> None:
    words = build_registry(Limits())
    made = sketch(Wish(text, datetime(2026, 11, 15, tzinfo=UTC), "UTC"), words, Resources())
    assert made.document.get("plan"), (name, made.questions)
    assert not [note for note in made.notes if "understand" in note], made.notes
