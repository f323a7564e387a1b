"""The audit log over REST: what is reported, found by what it was, whose it was and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.bench import document, step
from tests.kit.tenants import NEIGHBOUR, Person, add_person, add_workspace

ROOT = "/api/v1"
SECRET_GOAL = "A sentence that stands in the definition and nowhere else."
DOCUMENT = {
    **document(step("one", "transform_data", {"output": 1}), name="audited"),
    "goal": SECRET_GOAL,
}


async def _get(api: Api, person: Person | None = None, **query: Any) -> Any:
    headers = {} if person is None else {"Authorization": f"Bearer {person.token}"}
    answer = await api.client.get(f"{ROOT}/audit", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _lived(api: Api) -> str:
    made = await api.client.post(f"{ROOT}/automations", json=DOCUMENT)
    assert made.status_code == 201, made.text
    one = f"{ROOT}/automations/{made.json()['id']}"
    assert (await api.client.post(f"{one}/activate")).status_code == 200
    assert (await api.client.post(f"{one}/run")).status_code == 202
    return str(made.json()["id"])


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"actor": "somebody"}, "/query/actor"),
        ({"since": "yesterday"}, "/query/since"),
        ({"since": "2026-01-01T00:00:00"}, "/query/since"),
        ({"before": "2026-01-01T00:00:00"}, "/query/before"),
        ({"action": "x" * 201}, "/query/action"),
        ({"cursor": "nothing"}, "/query/cursor"),
        ({"limit": "0"}, "/query/limit"),
        ({"acton": "x"}, "/query/acton"),
    ],
)
async def test_a_bad_question_is_refused_by_its_place(
    api: Api, query: dict[str, str], pointer: str
) -> None:
    answer = await api.client.get(f"{ROOT}/audit", params=query)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_actions_are_recorded_with_their_actor(api: Api) -> None:
    automation_id = await _lived(api)

    entries = (await _get(api))["items"]

    result = [(entry["action"], entry["subject"]) for entry in entries]
    assert result == [
        ("run_automation", automation_id),
        ("activate_automation", automation_id),
        ("create_automation", automation_id),
    ]
    saved = entries[-1]
    assert saved["detail"]["automation_id"] == automation_id
    assert (saved["detail"]["name"], saved["detail"]["version"]) == ("audited", 1)
    assert saved["detail"]["widened"] == []
    assert {(entry["actor_kind"], entry["actor_name"]) for entry in entries} == {
        ("member", saved["actor_name"])
    }
    assert not any(entry["token_id"] for entry in entries)
    assert UUID(entries[0]["detail"]["run_id"]).version == 7
    assert SECRET_GOAL not in str(entries)


async def test_calls_without_changes_are_not_logged_and_changes_name_their_resource(
    api: Api,
) -> None:
    made = (await api.client.post(f"{ROOT}/automations", json=DOCUMENT)).json()
    same = await api.client.put(f"{ROOT}/automations/{made['id']}", json=DOCUMENT)
    assert same.json()["changed"] is False
    token = (await api.client.post(f"{ROOT}/tokens", json={"name": "one"})).json()["token"]
    for _ in range(2):
        assert (await api.client.delete(f"{ROOT}/tokens/{token['id']}")).status_code == 200
    asked = await api.client.post(f"{ROOT}/capabilities/create_board", json={"name": "CRM"})
    board = asked.json()

    entries = (await _get(api))["items"]

    assert [(entry["action"], entry["subject"]) for entry in reversed(entries)] == [
        ("create_automation", made["id"]),
        ("create_token", token["id"]),
        ("delete_token", token["id"]),
        ("create_board", board["id"]),
    ]
    call = await api.client.get(f"{ROOT}/calls/{entries[0]['detail']['call']}")
    assert (call.json()["capability"], call.json()["arguments"]) == (
        "create_board",
        {"name": "CRM"},
    )
    assert (await api.client.get(f"{ROOT}/calls/{board['id']}")).status_code == 404


async def test_reading_and_failing_leave_no_entry(api: Api) -> None:
    for path in ("automations", "runs", "events", "inbox", "audit"):
        assert (await api.client.get(f"{ROOT}/{path}")).status_code == 200
    nobody = f"{ROOT}/automations/01900000-0000-7000-8000-0000000000ff"
    assert (await api.client.post(f"{nobody}/pause")).status_code == 404
    assert (await api.client.post(f"{nobody}/run")).status_code == 404
    gone = f"{ROOT}/artifacts/01900000-0000-7000-8000-0000000000ff"
    assert (await api.client.delete(gone)).status_code == 404

    assert (await _get(api))["items"] == []


async def test_entries_are_found_by_action_actor_and_moment(api: Api) -> None:
    application = api.application
    begun = datetime.now(UTC) - timedelta(minutes=1)
    await _lived(api)
    viewer = await add_person(
        application.database, application.workspace_id, Role.VIEWER, name="Vera"
    )
    refused = await api.client.post(
        f"{ROOT}/events", json={}, headers={"Authorization": f"Bearer {viewer.token}"}
    )
    assert refused.status_code == 403

    by_action = (await _get(api, action="activate_automation"))["items"]
    by_actor = (await _get(api, actor=str(viewer.id)))["items"]

    assert [entry["action"] for entry in by_action] == ["activate_automation"]
    assert [(e["action"], e["subject"], e["actor_name"]) for e in by_actor] == [
        ("denied", "post_event", "Vera")
    ]
    assert len((await _get(api, since=begun.isoformat()))["items"]) == 4
    assert (await _get(api, before=begun.isoformat()))["items"] == []
    assert (await _get(api, since="9999-12-31T23:59:59+00:00"))["items"] == []


async def test_the_log_is_read_a_page_at_a_time(api: Api) -> None:
    await _lived(api)

    first = await _get(api, limit=2)
    second = await _get(api, limit=2, cursor=first["next"])

    whole = [entry["id"] for entry in (await _get(api))["items"]]
    assert [entry["id"] for entry in (*first["items"], *second["items"])] == whole
    assert (len(first["items"]), len(second["items"]), second["next"]) == (2, 1, None)


async def test_only_who_may_reads_it_and_only_of_their_own_workspace(api: Api) -> None:
    database = api.application.database
    await _lived(api)
    await add_workspace(database, NEIGHBOUR, "Next door")
    other_person = await add_person(database, NEIGHBOUR, Role.OWNER)
    editor = await add_person(database, api.application.workspace_id, Role.EDITOR)

    refused = await api.client.get(
        f"{ROOT}/audit", headers={"Authorization": f"Bearer {editor.token}"}
    )

    assert refused.status_code == 403
    assert (await _get(api, other_person))["items"] == []
    assert len((await _get(api, actor=str(editor.id)))["items"]) == 1
