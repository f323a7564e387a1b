"""Workflows: refused with a place, bound to people, switched as one, ended without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Problem
from mainspring.contracts.ids import new_id
from mainspring.contracts.roles import Role
from mainspring.definition.authority import review
from mainspring.gate.direct import Visitor
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.consents import ask_consent
from mainspring.workspace.states import pause
from tests.kit.boards import Boards
from tests.kit.house import Bench, document, step
from tests.kit.members import member

ECHO = step("echo", "transform_data", {"output": 1})


@dataclass(frozen=True, slots=True)
class Desk:
    """Somebody who works with workflows, and what they are told."""

    bench: Bench
    visitor: Visitor

    async def call(self, capability: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.bench.house.gate.direct(self.visitor, capability, arguments)
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


def owner_at(bench: Bench) -> Desk:
    return Desk(bench, Boards(bench.house).visitor)


async def _automation(bench: Bench, name: str, *, active: bool = True) -> str:
    saved = await bench.save(document(ECHO, name=name))
    if active:
        async with bench.house.database.transaction() as tx:
            await set_state(tx, bench.house.workspace_id, saved.automation_id, "active")
    return str(saved.automation_id)


async def _count(bench: Bench, table: str) -> int:
    query = {
        "workflows": "SELECT count(*) AS n FROM workflows",
        "boards": "SELECT count(*) AS n FROM boards",
        "automations": "SELECT count(*) AS n FROM automations",
        "roles": "SELECT count(*) AS n FROM board_members",
    }[table]
    return int((await bench.house.database.fetch(query))[0]["n"])


STRANGER = str(new_id())
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


async def test_what_is_wrong_is_told_with_its_place_and_nothing_is_kept(bench: Bench) -> None:
    desk = owner_at(bench)
    for more, place, code in WRONG:
        found, places = await desk.refused("create_workflow", **{"title": "Launch", **more})
        assert place in places, (more, found, places)
        assert code in ("", found)
    code, _ = await desk.refused("create_workflow", title="x", board_id=STRANGER)
    assert code == "no_board"
    assert [await _count(bench, one) for one in ("workflows", "boards", "automations")] == [0, 0, 0]

    made = await desk.call(
        "create_workflow", title="Launch", kpis=[{"name": "Sales", "target": 10, "current": 4}]
    )
    known = {"workflow_id": made["id"]}
    before = await desk.call("get_workflow", **known)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"kpis": [{"name": "Sales", "target": "ten"}]}, "/kpis/0/target"),
        ({"roster": []}, "/roster"),
        ({"roster": [{"user_id": str(FIRST_MEMBER), "role": "observer"}]}, "/roster"),
        ({"title": "New", "automation_ids": [STRANGER]}, "/automation_ids/0"),
    ]
    for change, place in changes:
        _, places = await desk.refused("update_workflow", **known, **change)
        assert place in places
    assert await desk.refused("update_workflow", **known, title="x", expected_version=7) == (
        "version_changed", [],
    )  # fmt: skip
    assert await desk.refused("set_workflow_kpi", **known, name="Costs", current=1) == (
        "no_kpi", ["/name"],
    )  # fmt: skip
    assert (await desk.refused("set_workflow_kpi", **known, name="Sales", current="9"))[1] == [
        "/current"
    ]
    assert (await desk.refused("detach_automation", **known, automation_id=STRANGER))[0] == (
        "not_attached"
    )
    assert (await desk.refused("get_workflow", workflow_id=STRANGER))[0] == "no_workflow"
    assert await desk.call("get_workflow", **known) == before

    told = await desk.call("set_workflow_kpi", **known, name="Sales", current=9.5)
    assert (told["current"], told["target"]) == (9.5, 10)
    told = await desk.call(
        "update_workflow", **known, kpis=[{"name": "Sales", "target": 20}], charter="More."
    )
    assert told["kpis"] == [{"name": "Sales", "target": 20, "current": 9.5}]
    assert (told["charter"], told["version"]) == ("More.", 3)
    assert [one["id"] for one in (await desk.call("list_workflows"))["workflows"]] == [made["id"]]
    assert (await desk.call("list_workflows", status="active"))["workflows"] == []


async def test_roles_of_a_workflow_are_roles_on_its_board(bench: Bench) -> None:
    desk, space = owner_at(bench), bench.house.workspace_id
    database = bench.house.database
    watcher = Desk(bench, await member(database, space, Role.EDITOR))
    helper = Desk(bench, await member(database, space, Role.EDITOR))
    viewer = Desk(bench, await member(database, space, Role.VIEWER))
    made = await desk.call(
        "create_workflow",
        title="Launch",
        roster=[
            {"user_id": str(one.visitor.actor.id), "role": role}
            for one, role in ((watcher, "observer"), (helper, "contributor"), (viewer, "owner"))
        ],
    )
    board, known = made["board_id"], {"workflow_id": made["id"]}
    row = {"board_id": board, "dataset": "tasks", "rows": [{"title": "Ship"}]}
    # Whoever made it is no owner when the roster names one, and nothing binds them here.
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
    mine = [{"user_id": str(watcher.visitor.actor.id), "role": "owner"}]
    assert (await watcher.refused("update_workflow", **known, roster=mine))[0] == "observer"
    assert (await watcher.refused("set_workflow_status", **known, status="active"))[0] == "observer"
    assert (await helper.refused("update_workflow", **known, roster=mine))[0] == "not_an_owner"
    assert (await helper.refused("delete_workflow", **known))[0] == "not_an_owner"

    # An automation is bound by its grants: the watcher's may write where it was let.
    config = {"board_id": board, "dataset": "tasks", "rows": [{"title": "By a run"}]}
    run = await bench.run(document(step("add", "append_board_rows", config), name="adds"))
    assert run["status"] == "succeeded"

    # The widest role of several workflows counts, and one that is put aside binds nobody.
    other = await desk.call("create_workflow", title="Other", board_id=board, roster=[
        {"user_id": str(watcher.visitor.actor.id), "role": "contributor"}])  # fmt: skip
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
    desk, space = owner_at(bench), bench.house.workspace_id
    ids = {name: await _automation(bench, name) for name in ("a", "by hand", "asks")}
    ids["rests"] = await _automation(bench, "rests", active=False)
    made = await desk.call(
        "create_workflow", title="Launch", status="active", automation_ids=list(ids.values()),
        templates=["task_nudger"],
    )  # fmt: skip
    known = {"workflow_id": made["id"]}
    nudger = "Launch: task reminders"
    going = {"a": "active", "by hand": "active", "asks": "active", "rests": "paused"}
    assert await desk.states(made["id"]) == {**going, nudger: "active"}

    async with bench.house.database.transaction() as tx:
        await pause(tx, space, UUID(ids["by hand"]))
    told = await desk.call("set_workflow_status", **known, status="paused")
    assert len(told["paused"]) == 3
    assert set((await desk.states(made["id"])).values()) == {"paused"}

    async with bench.house.database.transaction() as tx:
        await ask_consent(
            tx, space, UUID(ids["asks"]), 1, "edit", [review("It is new.")], desk.visitor.actor
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

    other = await desk.call("create_workflow", title="Other", status="active", make_board=False,
                            automation_ids=[ids["a"]])  # fmt: skip
    gone = await desk.call("delete_workflow", **known)
    assert (gone["automations_kept"], gone["board_archived"]) == ([ids["a"]], False)
    rows = await bench.house.database.fetch("SELECT name, state FROM automations ORDER BY name")
    assert {row["name"]: row["state"] for row in rows} == {
        "a": "active", "asks": "archived", "by hand": "archived", "late": "active",
        "rests": "archived", nudger: "archived",
    }  # fmt: skip
    assert (await desk.call("get_board", board_id=made["board_id"]))["archived"] is False
    assert other["board_id"] is None
    events = await bench.house.database.fetch(
        "SELECT payload FROM events WHERE type = 'workflow.status_changed' ORDER BY id"
    )
    assert [(row["payload"]["before"], row["payload"]["after"]) for row in events] == [
        ("active", "paused"), ("paused", "active"), ("active", "archived"), ("archived", "active"),
    ]  # fmt: skip
