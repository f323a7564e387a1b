"""Workflows: refused with a place, bound to people, switched as one, ended without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.definition.authority import build_review_addition
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automation_states import activate, pause
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.consents import ask_consent
from mainspring.workspace.people.members import remove_member
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards
from tests.kit.members import member

ECHO = step("echo", "transform_data", {"output": 1})


@dataclass(frozen=True, slots=True)
class WorkflowClient:
    """Somebody who works with workflows, and what they are shown."""

    bench: Bench
    caller: CapabilityCaller

    async def call(self, capability: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.bench.application.gate.direct(self.caller, capability, arguments)
        assert isinstance(answer, dict)
        return answer

    async def refused(self, capability: str, **arguments: Any) -> tuple[str, list[str]]:
        """The code of the refusal, and the places that it names."""
        with pytest.raises(Problem) as caught:
            await self.call(capability, **arguments)
        return caught.value.code, [one.pointer for one in caught.value.findings]

    async def states(self, workflow_id: str) -> dict[str, str]:
        told = await self.call("get_workflow", workflow_id=workflow_id)
        return {one["name"]: one["state"] for one in told["automations"]}


def owner_at(bench: Bench) -> WorkflowClient:
    return WorkflowClient(bench, Boards(bench.application).caller)


async def _automation(bench: Bench, name: str, *, active: bool = True) -> str:
    saved = await bench.save(document(ECHO, name=name))
    if active:
        async with bench.application.database.transaction() as tx:
            await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    return str(saved.automation_id)


async def _count(bench: Bench, table: str) -> int:
    query = {
        "workflows": "SELECT count(*) AS n FROM workflows",
        "boards": "SELECT count(*) AS n FROM boards",
        "automations": "SELECT count(*) AS n FROM automations",
        "roles": "SELECT count(*) AS n FROM board_members",
    }[table]
    return int((await bench.application.database.fetch(query))[0]["n"])


STRANGER = str(generate_id())
WRONG: list[tuple[Mapping[str, Any], str, str]] = [
    ({"kpis": [{"name": "n", "target": "100"}]}, "/kpis/0/target", ""),
    ({"kpis": [{"name": "n", "target": 1, "current": "1"}]}, "/kpis/0/current", ""),
    ({"kpis": [{"name": "n", "target": 1}] * 2}, "/kpis/1/name", "workflow_invalid"),
    ({"deadlines": [{"label": "b", "date": "31.12.2026"}]}, "/deadlines/0/date", ""),
    ({"deadlines": [{"label": "b", "date": "2026-02-30"}]}, "/deadlines/0/date", ""),
    ({"roster": [{"user_id": STRANGER, "role": "owner"}]}, "/roster/0/user_id", "not_a_member"),
    ({"roster": [{"user_id": str(FIRST_MEMBER), "role": "king"}]}, "/roster/0/role", ""),
    ({"automation_ids": [STRANGER]}, "/automation_ids/0", "no_automation"),
    ({"templates": ["task_nudger"], "make_board": False}, "/templates", "workflow_invalid"),
    ({"templates": ["task_nudger"], "timezone": "Mars/Base"}, "/timezone", "bad_schedule"),
    ({"title": " "}, "/title", ""),
]


async def test_what_is_wrong_is_reported_with_its_place_and_nothing_is_kept(bench: Bench) -> None:
    workflows = owner_at(bench)
    for more, place, code in WRONG:
        found, places = await workflows.refused("create_workflow", **{"title": "Launch", **more})
        assert place in places, (more, found, places)
        assert code in ("", found)
    code, _ = await workflows.refused("create_workflow", title="x", board_id=STRANGER)
    assert code == "no_board"
    assert [await _count(bench, one) for one in ("workflows", "boards", "automations")] == [0, 0, 0]

    made = await workflows.call(
        "create_workflow", title="Launch", kpis=[{"name": "Sales", "target": 10, "current": 4}]
    )
    known = {"workflow_id": made["id"]}
    before = await workflows.call("get_workflow", **known)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"kpis": [{"name": "Sales", "target": "ten"}]}, "/kpis/0/target"),
        ({"roster": []}, "/roster"),
        ({"roster": [{"user_id": str(FIRST_MEMBER), "role": "observer"}]}, "/roster"),
        ({"title": "New", "automation_ids": [STRANGER]}, "/automation_ids/0"),
    ]
    for change, place in changes:
        _, places = await workflows.refused("update_workflow", **known, **change)
        assert place in places
    assert await workflows.refused("update_workflow", **known, title="x", expected_version=7) == (
        "version_changed",
        [],
    )
    assert await workflows.refused("set_workflow_kpi", **known, name="Costs", current=1) == (
        "no_kpi",
        ["/name"],
    )
    assert (await workflows.refused("set_workflow_kpi", **known, name="Sales", current="9"))[1] == [
        "/current"
    ]
    assert (await workflows.refused("detach_automation", **known, automation_id=STRANGER))[0] == (
        "not_attached"
    )
    assert (await workflows.refused("get_workflow", workflow_id=STRANGER))[0] == "no_workflow"
    assert await workflows.call("get_workflow", **known) == before

    told = await workflows.call("set_workflow_kpi", **known, name="Sales", current=9.5)
    assert (told["current"], told["target"]) == (9.5, 10)
    told = await workflows.call(
        "update_workflow", **known, kpis=[{"name": "Sales", "target": 20}], charter="More."
    )
    assert told["kpis"] == [{"name": "Sales", "target": 20, "current": 9.5}]
    assert (told["charter"], told["version"]) == ("More.", 3)
    assert [one["id"] for one in (await workflows.call("list_workflows"))["workflows"]] == [
        made["id"]
    ]
    assert (await workflows.call("list_workflows", status="active"))["workflows"] == []


async def test_roles_of_a_workflow_are_roles_on_its_board(bench: Bench) -> None:
    desk, space = owner_at(bench), bench.application.workspace_id
    database = bench.application.database
    watcher = WorkflowClient(bench, await member(database, space, Role.EDITOR))
    helper = WorkflowClient(bench, await member(database, space, Role.EDITOR))
    viewer = WorkflowClient(bench, await member(database, space, Role.VIEWER))
    made = await desk.call(
        "create_workflow",
        title="Launch",
        roster=[
            {"user_id": str(one.caller.actor.id), "role": role}
            for one, role in ((watcher, "observer"), (helper, "contributor"), (viewer, "owner"))
        ],
    )
    board, known = made["board_id"], {"workflow_id": made["id"]}
    row = {"board_id": board, "dataset": "tasks", "rows": [{"title": "Ship"}]}
    # The author is no owner when the roster names one, and nothing binds them here.
    assert (await desk.call("append_board_rows", **row))["appended"] == 1
    assert (await helper.call("append_board_rows", **row))["appended"] == 1
    # A role on a board never gives more than the workspace does.
    assert (await viewer.refused("append_board_rows", **row))[0] == "role_too_small"

    assert (await watcher.call("get_board", board_id=board))["id"] == board
    for capability, arguments in [
        ("append_board_rows", row),
        ("update_board", {"board_id": board, "name": "Mine"}),
        ("archive_board", {"board_id": board}),
        ("update_board", {"board_id": board, "archived": False}),
        ("set_board_dashboard", {"board_id": board, "html": "<p>"}),
        ("create_workflow", {"title": "Around it", "board_id": board}),
    ]:
        with pytest.raises(Problem) as caught:
            await watcher.call(capability, **arguments)
        assert caught.value.code == "board_role_too_small", capability
        assert "'Launch'" in caught.value.detail
    # Nor can they make themselves more than that, or end it.
    mine = [{"user_id": str(watcher.caller.actor.id), "role": "owner"}]
    assert (await watcher.refused("update_workflow", **known, roster=mine))[0] == "observer"
    assert (await watcher.refused("set_workflow_status", **known, status="active"))[0] == "observer"
    assert (await helper.refused("update_workflow", **known, roster=mine))[0] == "not_an_owner"
    assert (await helper.refused("delete_workflow", **known))[0] == "not_an_owner"

    # An automation is bound by its grants: the watcher's may write where it was let.
    config = {"board_id": board, "dataset": "tasks", "rows": [{"title": "By a run"}]}
    run = await bench.run(document(step("add", "append_board_rows", config), name="adds"))
    assert run["status"] == "succeeded"

    # The widest role of several workflows counts, and one that is put aside binds nobody.
    other = await desk.call(
        "create_workflow",
        title="Other",
        board_id=board,
        roster=[{"user_id": str(watcher.caller.actor.id), "role": "contributor"}],
    )
    assert (await watcher.call("append_board_rows", **row))["appended"] == 1
    assert (await desk.refused("delete_workflow", **known, delete_board=True))[0] == "board_shared"
    await desk.call("delete_workflow", workflow_id=other["id"])
    assert (await watcher.refused("append_board_rows", **row))[0] == "board_role_too_small"
    await desk.call("set_workflow_status", **known, status="archived")
    assert (await watcher.call("append_board_rows", **row))["appended"] == 1
    gone = await desk.call("delete_workflow", **known, delete_board=True)
    assert gone["board_archived"] is True
    assert (await desk.refused("append_board_rows", **row))[0] == "board_archived"
    assert [await _count(bench, one) for one in ("workflows", "roles")] == [0, 0]


async def test_one_change_of_status_is_a_change_of_all_its_automations(bench: Bench) -> None:
    desk, space = owner_at(bench), bench.application.workspace_id
    ids = {name: await _automation(bench, name) for name in ("a", "by hand", "asks")}
    ids["rests"] = await _automation(bench, "rests", active=False)
    made = await desk.call(
        "create_workflow",
        title="Launch",
        status="active",
        automation_ids=list(ids.values()),
        templates=["task_nudger"],
    )
    known = {"workflow_id": made["id"]}
    nudger = "Launch: task reminders"
    going = {"a": "active", "by hand": "active", "asks": "active", "rests": "paused"}
    assert await desk.states(made["id"]) == {**going, nudger: "active"}

    async with bench.application.database.transaction() as tx:
        await pause(tx, space, UUID(ids["by hand"]))
    told = await desk.call("set_workflow_status", **known, status="paused")
    assert len(told["paused"]) == 3
    assert set((await desk.states(made["id"])).values()) == {"paused"}

    async with bench.application.database.transaction() as tx:
        await ask_consent(
            tx,
            space,
            UUID(ids["asks"]),
            1,
            "edit",
            [build_review_addition("It is new.")],
            desk.caller.actor,
        )
    told = await desk.call("set_workflow_status", **known, status="active")
    assert (told["before"], len(told["activated"])) == ("paused", 2)
    assert [(one["name"], one["code"]) for one in told["waiting"]] == [("asks", "consent_needed")]
    now = {"a": "active", "by hand": "paused", "asks": "paused", "rests": "paused"}
    assert await desk.states(made["id"]) == {**now, nudger: "active"}

    # What is attached to a workflow that rests, rests with it; what is detached stays as it is.
    await desk.call("set_workflow_status", **known, status="archived")
    late = await _automation(bench, "late")
    await desk.call("attach_automation", **known, automation_id=late)
    assert (await desk.states(made["id"]))["late"] == "paused"
    await desk.call("set_workflow_status", **known, status="active")
    assert (await desk.states(made["id"]))["late"] == "active"
    await desk.call("detach_automation", **known, automation_id=late)

    other = await desk.call(
        "create_workflow",
        title="Other",
        status="active",
        make_board=False,
        automation_ids=[ids["a"]],
    )
    gone = await desk.call("delete_workflow", **known)
    assert (gone["automations_kept"], gone["board_archived"]) == ([ids["a"]], False)
    rows = await bench.application.database.fetch(
        "SELECT name, state FROM automations ORDER BY name"
    )
    assert {row["name"]: row["state"] for row in rows} == {
        "a": "active",
        "asks": "archived",
        "by hand": "archived",
        "late": "active",
        "rests": "archived",
        nudger: "archived",
    }
    assert (await desk.call("get_board", board_id=made["board_id"]))["archived"] is False
    assert other["board_id"] is None
    events = await bench.application.database.fetch(
        "SELECT payload FROM events WHERE type = 'workflow.status_changed' ORDER BY id"
    )
    assert [(row["payload"]["before"], row["payload"]["after"]) for row in events] == [
        ("active", "paused"),
        ("paused", "active"),
        ("active", "archived"),
        ("archived", "active"),
    ]


async def test_no_role_on_a_board_locks_out_whose_board_it_is(bench: Bench) -> None:
    desk, space, database = (
        owner_at(bench),
        bench.application.workspace_id,
        bench.application.database,
    )
    mate = WorkflowClient(bench, await member(database, space, Role.EDITOR))
    maker = WorkflowClient(bench, await member(database, space, Role.EDITOR))
    own_id = str(mate.caller.actor.id)
    trap = [
        {"user_id": str(one), "role": "observer"} for one in (FIRST_MEMBER, maker.caller.actor.id)
    ] + [{"user_id": own_id, "role": "owner"}]
    board = (await maker.call("create_board", name="Shared"))["id"]
    refused = ("not_board_owner", ["/board_id"])
    assert await mate.refused("create_workflow", title="x", board_id=board, roster=trap) == refused
    own = await mate.call("create_workflow", title="Own", make_board=False, roster=trap)
    known = {"workflow_id": own["id"]}
    assert await mate.refused("update_workflow", **known, board_id=board) == refused
    assert (await desk.call("get_workflow", **known))["board_id"] is None

    # Its author and an admin may; a role that manages members is bound by no roster.
    for one in (maker, desk):
        await one.call("create_workflow", title="Ours", board_id=board, roster=trap)
    row = {"board_id": board, "rows": [{"a": 1}]}
    assert (await maker.refused("append_board_rows", **row))[0] == "board_role_too_small"
    assert (await desk.call("append_board_rows", **row))["appended"] == 1
    assert (await desk.call("update_board", board_id=board, name="Open"))["name"] == "Open"
    # An owner of the board by its workflow puts it under another of theirs.
    assert (await mate.call("create_workflow", title="Mine", board_id=board))["board_id"] == board


async def test_a_member_who_leaves_is_on_no_roster_and_on_no_board(bench: Bench) -> None:
    desk, space, database = (
        owner_at(bench),
        bench.application.workspace_id,
        bench.application.database,
    )
    caller = await member(database, space, Role.EDITOR)
    mate, gone = WorkflowClient(bench, caller), caller.actor.id
    made = await mate.call(
        "create_workflow",
        title="Launch",
        roster=[
            {"user_id": str(gone), "role": "owner"},
            {"user_id": str(FIRST_MEMBER), "role": "observer"},
        ],
    )
    known = {"workflow_id": made["id"]}
    async with database.transaction() as tx:
        await remove_member(tx, desk.caller.actor, gone)
    roster = (await desk.call("get_workflow", **known))["roster"]
    assert roster == [{"user_id": str(FIRST_MEMBER), "role": "observer"}]
    assert await _count(bench, "roles") == 1
    # What was read is written back as it is, and an admin gives it another owner.
    assert (await desk.call("update_workflow", **known, charter="x", roster=roster))["version"] == 2
    mine = [{"user_id": str(FIRST_MEMBER), "role": "owner"}]
    assert (await desk.call("update_workflow", **known, roster=mine))["roster"] == mine
    # Back in the workspace they have no role that they had before.
    await database.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'editor')", space, gone
    )
    assert (await mate.refused("delete_workflow", **known))[0] == "not_an_owner"


async def test_a_manual_switch_is_not_undone_and_one_automation_stops_no_other(
    bench: Bench,
) -> None:
    desk, space, database = (
        owner_at(bench),
        bench.application.workspace_id,
        bench.application.database,
    )
    names = ("a", "by hand", "told twice", "stopped")
    ids = {name: await _automation(bench, name) for name in names}
    headers = {"X-Key": "{{ secrets.key }}"}
    secret = step("ask", "http_fetch", {"url": "https://example.test/", "headers": headers})
    saved = await bench.save(document(secret, name="left"))
    ids["left"] = str(saved.automation_id)
    async with database.transaction() as tx:
        await set_state(tx, space, saved.automation_id, "active")
    made = await desk.call(
        "create_workflow",
        title="Launch",
        status="active",
        automation_ids=list(ids.values()),
        templates=["task_nudger"],
    )
    known = {"workflow_id": made["id"]}
    await desk.call("set_workflow_status", **known, status="paused")
    words = await bench.application.registry.of(space)
    async with database.transaction() as tx:
        for name in ("by hand", "stopped"):
            await activate(tx, space, UUID(ids[name]), words, bench.application.limits)
    async with database.transaction() as tx:
        await pause(tx, space, UUID(ids["by hand"]))
        # It rests already, and a person says that it is to stay so.
        await pause(tx, space, UUID(ids["told twice"]))
        # Going manually it failed too often.
        await set_state(tx, space, UUID(ids["stopped"]), "paused", "failures")
    await database.execute(
        "UPDATE automations SET created_by = $1 WHERE id = $2", generate_id(), saved.automation_id
    )
    told = await desk.call("set_workflow_status", **known, status="active")
    assert [(one["name"], one["code"]) for one in told["waiting"]] == [("left", "owner_left")]
    nudger = "Launch: task reminders"
    rests = dict.fromkeys(("by hand", "told twice", "stopped", "left"), "paused")
    assert await desk.states(made["id"]) == {**rests, "a": "active", nudger: "active"}

    # Of two workflows each holds it while it rests, whichever remembers it.
    await desk.call("set_workflow_status", **known, status="paused")
    other = await desk.call(
        "create_workflow", title="Other", make_board=False, automation_ids=[ids["a"]]
    )
    told = await desk.call("set_workflow_status", workflow_id=other["id"], status="active")
    assert (told["activated"], [one["code"] for one in told["waiting"]]) == (
        [],
        ["held_by_workflow"],
    )
    assert "'Launch'" in told["waiting"][0]["detail"]
    await desk.call("set_workflow_status", workflow_id=other["id"], status="paused")
    told = await desk.call("set_workflow_status", **known, status="active")
    assert [(one["name"], one["code"]) for one in told["waiting"]] == [
        ("a", "held_by_workflow"),
        ("left", "owner_left"),
    ]
    assert (await desk.states(made["id"]))["a"] == "paused"
    told = await desk.call("set_workflow_status", workflow_id=other["id"], status="active")
    assert (told["activated"], told["waiting"]) == ([ids["a"]], [])


async def test_an_automation_that_cannot_run_waits_until_its_part_is_there(bench: Bench) -> None:
    workflows = owner_at(bench)
    post = step("post", "slack_post", {"channel": "#a", "text": "hello"})
    saved = await bench.save(document(post, name="digest"))
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    made = await workflows.call(
        "create_workflow",
        title="Launch",
        status="active",
        make_board=False,
        automation_ids=[str(saved.automation_id)],
    )
    known = {"workflow_id": made["id"]}
    await workflows.call("set_workflow_status", **known, status="paused")
    told = await workflows.call("set_workflow_status", **known, status="active")
    assert [(one["name"], one["code"]) for one in told["waiting"]] == [("digest", "parts_missing")]
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", "xoxb-1")
    told = await workflows.call("set_workflow_status", **known, status="active")
    assert (told["activated"], told["waiting"]) == ([str(saved.automation_id)], [])
