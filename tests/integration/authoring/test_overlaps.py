"""Who else writes there: strict overlaps, advice, and what a playbook shows of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound, UpstreamError
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from tests.kit.authoring import CRON, CapabilityClient, draft
from tests.kit.bench import Bench, document, step
from tests.kit.members import member
from tests.kit.tenants import add_workspace

NOTE = "They divide the accounts between them."
FIELDS = {
    "automation_id",
    "owner_email",
    "is_self",
    "name",
    "description",
    "state",
    "last_run_at",
    "writes_to_boards",
    "dedupe_target_field",
    "dedupe_key_field",
    "trigger_kinds",
    "trigger_types",
    "strict_overlap",
}


def _matches(result: dict[str, Any]) -> dict[str, bool]:
    return {match["name"]: match["strict_overlap"] for match in result["matches"]}


async def test_a_question_about_boards_that_are_not_there_is_refused(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    unknown = "01900000-0000-7000-8000-0000000000ff"
    for wrong, pointer in (
        ({}, "/writes_to_boards"),
        ({"writes_to_boards": []}, "/writes_to_boards"),
        ({"writes_to_boards": ["CRM"]}, "/writes_to_boards/0"),
        ({"writes_to_boards": [board, unknown]}, "/writes_to_boards/1"),
        ({"writes_to_boards": [board], "trigger_kind": "hourly"}, "/trigger_kind"),
    ):
        with pytest.raises((Invalid, NotFound)) as refused:
            await client.call("find_overlapping_automations", wrong)
        assert pointer in {finding.pointer for finding in refused.value.findings}


async def test_another_workspaces_boards_and_automations_are_not_there(
    bench: Bench, database: Database
) -> None:
    elsewhere = UUID(int=0x01900000000070008000000000000EEE)
    await add_workspace(database, elsewhere, "Elsewhere")
    anonymous = CapabilityClient(bench, await member(database, elsewhere, Role.OWNER))
    anonymous.space = elsewhere
    theirs = await anonymous.board("Theirs")
    await anonymous.save(
        name="of a stranger",
        writes_to_boards=[theirs],
        intent="Count all rows.",
        idempotency_key="of a stranger",
    )
    client = CapabilityClient(bench)
    mine = await client.board("Mine")

    with pytest.raises(NotFound):
        await client.call("find_overlapping_automations", {"writes_to_boards": [theirs]})
    with pytest.raises(NotFound):
        await client.save(writes_to_boards=[theirs])
    result = await client.call(
        "find_overlapping_automations", {"writes_to_boards": [mine], "intent": "Count all rows."}
    )
    assert result["matches"] == []
    made = await client.call(
        "save_automation_draft", draft(name="of a stranger", idempotency_key="of a stranger")
    )
    assert made["version"] == 1, "a key is its sender's own"


async def test_strict_is_the_same_board_and_field_and_a_moment_that_wakes_both(
    bench: Bench, database: Database
) -> None:
    client = CapabilityClient(bench)
    board, other = await client.board("CRM"), await client.board("Other")
    colleague = CapabilityClient(bench, await member(database, client.space, Role.EDITOR))
    emails = {"kind": "page_ingested", "page_type": "email"}
    writes = {"writes_to_boards": [board]}
    await client.save(name="plain", **writes)
    await client.save(name="list", **writes, dedupe_target_field="updates", dedupe_key_field="id")
    await colleague.save(name="emails", **writes, triggers=[emails], description="Logs mail.")
    await client.save(name="elsewhere", writes_to_boards=[other])
    gone = await client.save(name="gone", writes_to_boards=[other], triggers=[emails])
    await client.call("delete_automation", {"automation_id": gone})
    await bench.save(
        document(
            step("add", "append_board_rows", {"board_id": board, "rows": [{"a": 1}]}),
            step("read", "get_board", {"board_id": other}),
            name="a plan",
        )
    )

    async def found(**narrow: Any) -> dict[str, bool]:
        result = await client.call("find_overlapping_automations", {**writes, **narrow})
        assert result["count"] == len(result["matches"])
        assert result["strict_count"] == sum(_matches(result).values())
        assert all(match.keys() == FIELDS for match in result["matches"])
        return _matches(result)

    assert await found() == {"plain": True, "emails": True, "list": False, "a plan": True}
    assert await found(trigger_kind="cron") == {"plain": True, "list": False}
    assert await found(dedupe_target_field="updates") == {"list": True}
    assert await found(dedupe_target_field="updates", trigger_kind="webhook") == {}
    result = await client.call("find_overlapping_automations", writes)
    [mail] = [match for match in result["matches"] if match["name"] == "emails"]
    assert (mail["is_self"], mail["description"], mail["state"]) == (False, "Logs mail.", "paused")
    assert mail["owner_email"] == f"{colleague.caller.actor.id}@example.test"
    assert (mail["trigger_kinds"], mail["trigger_types"]) == (["page_ingested"], ["email"])
    assert mail["last_run_at"] is None
    assert result["matches"][-1]["name"] == "list", "what is strict comes first"


async def test_an_overlap_says_when_the_other_automation_last_ran(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    made = await bench.dispatch(
        document(step("add", "append_board_rows", {"board_id": board, "rows": [{"a": 1}]}))
    )
    async with bench.worker():
        run = await bench.until(made.run_id)

    result = await client.call("find_overlapping_automations", {"writes_to_boards": [board]})

    [match] = result["matches"]
    assert datetime.fromisoformat(match["last_run_at"]) == run["started_at"]


async def test_a_save_with_a_strict_overlap_needs_a_note_which_is_stored(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    notes = {"kind": "page_ingested", "page_type": "note"}
    first = await client.save(name="first", writes_to_boards=[board])
    other = draft(name="second", writes_to_boards=[board])

    with pytest.raises(Conflict) as refused:
        await client.call("save_automation_draft", other)
    assert refused.value.code == "overlap"
    assert first in refused.value.findings[0].detail
    assert "acknowledged_overlap" in (refused.value.suggestion or "")
    made = await client.call(
        "save_automation_draft",
        {**other, "acknowledged_overlap": True, "coexistence_note": NOTE},
    )
    stored = await client.stored(made["automation_id"])
    assert stored["definition"]["writes"]["coexistence_note"] == NOTE
    await client.call("update_automation", {"automation_id": made["automation_id"], "model": "m"})

    third = await client.save(name="third", writes_to_boards=[board], triggers=[notes])
    with pytest.raises(Conflict):
        await client.call("update_automation", {"automation_id": third, "triggers": [CRON]})
    wider = {"kind": "page_ingested"}
    with pytest.raises(Conflict):
        await client.save(name="fourth", writes_to_boards=[board], triggers=[wider])
    emails = {"kind": "page_ingested", "page_type": "email"}
    await client.save(name="fifth", writes_to_boards=[board], triggers=[emails])


async def test_what_means_alike_is_advice_and_says_how_it_was_compared(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board, other = await client.board("CRM"), await client.board("Other")
    about = "Post the weekly revenue report to the finance board."
    await client.save(name="revenue", writes_to_boards=[other], intent=about)
    await client.save(
        name="pets",
        writes_to_boards=[other],
        triggers=[{"kind": "webhook"}],
        intent="Feed the office cat at noon.",
    )
    asked = {"writes_to_boards": [board], "intent": "A weekly report of revenue for finance."}

    by_words = await client.call("find_overlapping_automations", asked)
    assert _matches(by_words) == {"revenue": False}
    assert (by_words["similarity_by"], by_words["strict_count"]) == ("words", 0)
    plain = await client.call("find_overlapping_automations", {"writes_to_boards": [board]})
    assert (plain["count"], plain["similarity_by"]) == (0, None)

    class Model:
        name, dimensions, outward = "a test", 2, False

        async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
            return [[0.0, 1.0] if "cat" in text or "pets" in text else [1.0, 0.0] for text in texts]

    registry: Any = bench.application.registry
    registry.studio.likeness.embedder = Model()
    by_meaning = await client.call(
        "find_overlapping_automations", {"writes_to_boards": [board], "intent": "Look after pets."}
    )
    assert _matches(by_meaning) == {"pets": False}
    assert by_meaning["similarity_by"] == "meaning"

    class Silent(Model):
        name = "one that nobody reaches"

        async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
            raise UpstreamError("The model cannot be reached.")

    registry.studio.likeness.embedder = Silent()
    without = await client.call("find_overlapping_automations", asked)
    assert (_matches(without), without["similarity_by"]) == ({"revenue": False}, "words")


async def test_the_playbook_shows_what_is_similar_and_skips_its_first_question(
    bench: Bench, database: Database
) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    one = await client.save(
        name="revenue", writes_to_boards=[board], intent="Post a weekly revenue report on Mondays."
    )
    viewer = CapabilityClient(bench, await member(database, client.space, Role.VIEWER))

    result = await viewer.call(
        "create_automation_flow", {"purpose_hint": "A weekly revenue report, every Monday"}
    )
    assert result["purpose_hint"] == "A weekly revenue report, every Monday"
    assert result["playbook"]["steps"][0]["id"] == "trigger"
    similar = result["playbook"]["similar"]
    assert [entry["automation_id"] for entry in similar["automations"]] == [one]
    assert similar["similarity_by"] == "words"
    cold = await viewer.call("create_automation_flow", {})
    assert cold["purpose_hint"] is None
    assert cold["playbook"]["steps"][0]["id"] == "purpose"
    assert cold["playbook"]["similar"]["automations"] == []
    with pytest.raises(Invalid):
        await viewer.call("create_automation_flow", {"purpose": "x"})
