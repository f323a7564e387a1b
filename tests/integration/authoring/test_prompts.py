"""Requests to begin with: ours for everybody, and those that a workspace keeps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mainspring.authoring.models import AutomationRequest
from mainspring.authoring.prompts import STARTERS
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.sketcher import sketch
from mainspring.contracts.errors import Invalid, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.registry import build_registry
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench
from tests.kit.members import member


async def test_a_request_is_kept_under_a_name_and_forgotten_by_its_id(bench: Bench) -> None:
    client = CapabilityClient(bench)
    first = await client.call("save_prompt", {"name": "Digest", "text": "daily at 9"})
    again = await client.call("save_prompt", {"name": "Digest", "text": "daily at 10"})
    assert (again["id"], again["text"]) == (first["id"], "daily at 10")
    listed = await client.call("list_prompts", {})
    assert [(one["name"], one["text"]) for one in listed["prompts"]] == [("Digest", "daily at 10")]
    assert [one["name"] for one in listed["starters"]] == [name for name, _ in STARTERS]
    with pytest.raises(NotFound) as result:
        await client.call("forget_prompt", {"id": str(generate_id())})
    assert result.value.code == "no_prompt"
    with pytest.raises(Invalid):
        await client.call("save_prompt", {"name": "", "text": "daily"})
    viewer = await member(bench.application.database, bench.application.workspace_id, Role.VIEWER)
    with pytest.raises(PermissionDenied):
        await CapabilityClient(bench, viewer).call("forget_prompt", {"id": first["id"]})
    await client.call("forget_prompt", {"id": first["id"]})
    assert (await client.call("list_prompts", {}))["prompts"] == []


@pytest.mark.parametrize(("name", "text"), STARTERS, ids=[name for name, _ in STARTERS])
def test_what_everybody_may_begin_with_is_understood_by_rules(name: str, text: str) -> None:
    vocabulary = build_registry(Limits())
    made = sketch(
        AutomationRequest(text, datetime(2026, 11, 15, tzinfo=UTC), "UTC"),
        vocabulary,
        WorkspaceResources(),
    )
    assert made.document.get("plan"), (name, made.questions)
    assert not [note for note in made.notes if "understand" in note], made.notes
