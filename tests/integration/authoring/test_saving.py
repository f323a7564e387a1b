"""Saving a draft: paused, judged whole, and never a second one by mistake."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied, Problem
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.versions import compute_version_id
from tests.kit.authoring import CRON, CapabilityClient, draft
from tests.kit.bench import Bench
from tests.kit.members import member

# What is wrong, and each place and code that tell it; BOARD represents a board that is there.
WRONG: list[tuple[dict[str, Any], set[tuple[str, str]]]] = [
    ({"tool_grants": [{"tool": "get_bord"}]}, {("/tool_grants/0/tool", "unknown_capability")}),
    (
        {"tool_grants": [{"tool": "get_board"}, {"tool": "admin_create_user"}]},
        {("/tool_grants/1/tool", "never_granted")},
    ),
    (
        {"tool_grants": [{"tool": "automation_secret_set"}]},
        {("/tool_grants/0/tool", "never_granted")},
    ),
    (
        {"tool_grants": [{"tool": "get_board", "params": {"bord_id": "x"}}]},
        {("/tool_grants/0/params/bord_id", "unknown_argument")},
    ),
    ({"tool_grants": [{"tool": "http_fetch"}]}, {("/tool_grants/0/params", "hosts_missing")}),
    (
        {"tool_grants": [{"tool": "http_fetch", "params": {"hosts": ["https://a.example"]}}]},
        {("/tool_grants/0/params/hosts", "bad_host")},
    ),
    (
        {"tool_grants": [{"tool": "http_fetch", "params": {"hosts": ["a.example"]}}]},
        {("/acknowledged_http_fetch_hosts", "hosts_not_acknowledged")},
    ),
    (
        {
            "tool_grants": [
                {"tool": "http_fetch", "params": {"hosts": ["a.example", "b.example"]}}
            ],
            "acknowledged_http_fetch_hosts": ["a.example"],
        },
        {("/acknowledged_http_fetch_hosts", "hosts_mismatch")},
    ),
    (
        {"acknowledged_http_fetch_hosts": ["a.example"]},
        {("/acknowledged_http_fetch_hosts", "hosts_without_http_fetch")},
    ),
    ({"triggers": [{"kind": "cron", "cron": "0 9 * * *"}]}, {("/triggers/0", "missing")}),
    (
        {"triggers": [CRON, {"kind": "cron", "cron": "61 * * * *", "tz": "UTC"}]},
        {("/triggers/1/cron", "cron_field")},
    ),
    (
        {"triggers": [{"kind": "cron", "cron": "0 9 * * *", "tz": "Mars/Base"}]},
        {("/triggers/0/tz", "format")},
    ),
    (
        {"triggers": [{"kind": "webhook", "cron": "0 9 * * *"}]},
        {("/triggers/0/cron", "unknown_key")},
    ),
    ({"triggers": [{"kind": "event"}]}, {("/triggers/0", "missing")}),
    ({"source": "import x from 'npm:left-pad';"}, {("/source", "script_import")}),
    ({"source": "const = ;"}, {("/source", "script_syntax")}),
    ({"source": "await brains.append_board_rows({})"}, {("/source", "not_granted")}),
    (
        {"source": 'const token = "{{stripe_key}}"; return token;'},
        {("/source", "template_secret")},
    ),
    (
        {"acknowledged_overlap": True, "writes_to_boards": ["BOARD"]},
        {("/coexistence_note", "note_missing")},
    ),
    (
        {"coexistence_note": "They divide the accounts between them."},
        {("/coexistence_note", "note_without_overlap")},
    ),
    (
        {
            "acknowledged_overlap": True,
            "coexistence_note": "They divide the accounts between them.",
            "writes_to_boards": ["BOARD"],
        },
        {("/acknowledged_overlap", "no_overlap")},
    ),
]


async def _refused(
    desk: CapabilityClient, given: Mapping[str, Any], kind: type[Problem] = Invalid
) -> Problem:
    with pytest.raises(kind) as refused:
        await desk.call("save_automation_draft", given)
    assert await desk.names() == [], "what is refused leaves nothing behind"
    return refused.value


def _places(problem: Problem) -> set[tuple[str, str]]:
    return {(finding.pointer, finding.code) for finding in problem.findings}


async def test_what_is_wrong_with_a_draft_is_reported_at_once_and_at_its_place(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    for result, places in WRONG:
        changes = json.loads(json.dumps(result).replace("BOARD", board))
        problem = await _refused(client, draft(**{"source": "return 1;", **changes}))
        assert _places(problem) >= places, (changes, problem.as_dict())
        assert len(_places(problem)) == len(places), (changes, problem.as_dict())

    unknown = await _refused(client, draft(writes_to_boards=[board, str(UUID(int=7))]), NotFound)
    assert _places(unknown) == {("/writes_to_boards/1", "no_board")}
    await client.call("archive_board", {"board_id": board})
    archived = await _refused(client, draft(writes_to_boards=[board]), Conflict)
    assert _places(archived) == {("/writes_to_boards/0", "board_archived")}
    several = draft(
        tool_grants=[{"tool": "nothing"}], triggers=[{"kind": "event"}], source="const = ;"
    )
    assert {pointer for pointer, _ in _places(await _refused(client, several))} == {
        "/tool_grants/0/tool",
        "/triggers/0",
        "/source",
    }


async def test_arguments_outside_their_bounds_are_refused_with_their_place(bench: Bench) -> None:
    client = CapabilityClient(bench)
    cases: dict[str, list[Any]] = {
        "/name": ["", "x" * 201, "   "],
        "/source": ["", "x" * 200_001],
        "/triggers": [[]],
        "/triggers/0/kind": [[{"kind": "hourly"}]],
        "/tool_grants": [[]],
        "/description": ["x" * 501],
        "/intent": ["x" * 2_001],
        "/cost_cap_daily_usd": [-1, 101, "1"],
        "/max_wall_seconds": [4, 301, 60.5],
        "/max_llm_tokens": [99, 2_000_001],
        "/writes_to_boards/0": [["CRM"]],
        "/coexistence_note": ["too short", "x" * 1_001],
        "/idempotency_key": [""],
    }
    for pointer, values in cases.items():
        for value in values:
            problem = await _refused(client, draft(**{pointer.split("/")[1]: value}))
            assert pointer in {finding.pointer for finding in problem.findings}, (pointer, value)


async def test_a_draft_is_one_script_step_that_is_paused_with_its_defaults(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await client.call("save_automation_draft", draft(intent="Count the rows."))

    assert made.keys() == {"automation_id", "version_id", "version", "state", "admin_url"}
    automation_id = UUID(made["automation_id"])
    assert made["state"] == "paused"
    assert made["version"] == 1
    assert made["version_id"] == str(compute_version_id(automation_id, 1))
    assert made["admin_url"] == f"{bench.application.settings.address}/automations/{automation_id}"
    stored = await client.stored(automation_id)
    document = stored["definition"]
    assert stored["state"] == "paused"
    assert [step["action"] for step in document["plan"]] == ["script"]
    assert document["plan"][0]["config"]["source"] == draft()["source"]
    assert document["plan"][0]["config"]["wall_seconds"] == 60
    assert document["intent"] == "Count the rows."
    execution = document["execution"]
    assert (execution["cost_cap_daily_usd"], execution["budget_cap_usd"]) == ("1", "1")
    assert execution["max_llm_tokens"] == 200_000
    assert execution["model"] == "claude-sonnet-4-6"
    assert execution["write_policy"] == "always_draft"
    [trigger] = stored["triggers"]
    assert (trigger["type"], trigger["armed_at"], trigger["next_due_at"]) == (
        "schedule",
        None,
        None,
    )
    assert trigger["config"]["timezone"] == "America/New_York"
    allowed = {grant["capability"] for grant in stored["grants"]}
    assert "get_board" in allowed
    assert "append_board_rows" not in allowed


async def test_every_kind_of_trigger_becomes_a_known_trigger(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    triggers = [
        CRON,
        {"kind": "board_change", "board_id": board, "change": ["rows_appended"]},
        {"kind": "page_ingested", "page_type": "email"},
        {"kind": "webhook", "input_mapping": {}},
        {"kind": "event", "event_type": "sales.deal_won"},
        {"kind": "webhook"},
    ]
    made = await client.call("save_automation_draft", draft(triggers=triggers))

    stored = await client.stored(UUID(made["automation_id"]))
    assert {one["slug"]: one["type"] for one in stored["triggers"]} == {
        "cron-1": "schedule",
        "board-change-1": "board_change",
        "page-ingested-1": "page_ingested",
        "webhook-1": "webhook",
        "event-1": "event",
        "webhook-2": "webhook",
    }


async def test_a_name_that_is_taken_names_the_automation_and_the_tool_for_edits(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    first = await client.call("save_automation_draft", draft())
    with pytest.raises(Conflict) as refused:
        await client.call("save_automation_draft", draft(source="return 2;"))

    assert refused.value.code == "name_taken"
    assert first["automation_id"] in refused.value.detail
    assert "update_automation" in (refused.value.suggestion or "")
    assert await client.names() == [draft()["name"]]


async def test_an_idempotency_key_finds_what_it_made_and_refuses_another_body(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    given = draft(idempotency_key="once")
    several = await asyncio.gather(*(client.call("save_automation_draft", given) for _ in range(5)))

    assert len({one["automation_id"] for one in several}) == 1
    assert await client.names() == [given["name"]]
    with pytest.raises(Invalid) as refused:
        await client.call("save_automation_draft", {**given, "name": "another"})
    assert _places(refused.value) == {("/idempotency_key", "idempotency_mismatch")}
    other = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.EDITOR)
    )
    made = await other.call("save_automation_draft", {**given, "name": "of somebody else"})
    assert made["automation_id"] != several[0]["automation_id"]
    await client.call("delete_automation", {"automation_id": several[0]["automation_id"]})
    with pytest.raises(Conflict) as gone:
        await client.call("save_automation_draft", given)
    assert gone.value.code == "archived"


async def test_a_missing_secret_is_reported_and_keeps_it_paused(bench: Bench) -> None:
    client = CapabilityClient(bench)
    source = (
        'const r = await brains.http_fetch({ url: "https://api.example.com/v1", '
        "headers: { Authorization: `Bearer {{stripe_key}}` } }); return r.status;"
    )
    made = await client.call(
        "save_automation_draft",
        draft(
            source=source,
            tool_grants=[{"tool": "http_fetch", "params": {"hosts": ["api.example.com"]}}],
            acknowledged_http_fetch_hosts=["API.example.com", "spare.example.com"],
        ),
    )

    [warning] = made["warnings"]
    assert (warning["pointer"], warning["code"]) == ("/source", "secret_missing")
    stored = await client.stored(UUID(made["automation_id"]))
    assert stored["definition"]["metadata"]["acknowledged_http_fetch_hosts"] == [
        "api.example.com",
        "spare.example.com",
    ]
    with pytest.raises(Conflict) as refused:
        await client.call(
            "update_automation", {"automation_id": made["automation_id"], "state": "active"}
        )
    assert refused.value.code == "secrets_missing"
    await client.call(
        "automation_secret_set", {"name": "stripe_key", "value": "sk-test-value-for-nobody"}
    )
    active = await client.call(
        "update_automation", {"automation_id": made["automation_id"], "state": "active"}
    )
    assert active["state"] == "active"


async def test_only_editors_may_save(bench: Bench) -> None:
    space = CapabilityClient(bench).space
    for role in Role:
        somebody: CapabilityCaller = await member(bench.application.database, space, role)
        client = CapabilityClient(bench, somebody)
        given = draft(name=f"of a {role.value}")
        if role in (Role.VIEWER, Role.OPERATOR):
            with pytest.raises(PermissionDenied):
                await client.call("save_automation_draft", given)
        else:
            assert (await client.call("save_automation_draft", given))["state"] == "paused"
