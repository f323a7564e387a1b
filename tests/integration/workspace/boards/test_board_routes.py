"""Boards over REST: every face answers, a batch fits, and a token may be for appending alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.kit.api import Api
from tests.kit.boards import values

BOARDS = "/api/v1/boards"
KEYED = [{"name": "default", "dedupe_key_field": "url"}]


async def test_every_face_of_a_board_does_what_it_says(api: Api) -> None:
    async def ask(method: str, path: str, status: int = 200, **more: Any) -> Any:
        answer = await api.client.request(method, f"{BOARDS}{path}", **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    made = await ask("POST", "", 201, json={"name": "CRM", "datasets": KEYED})
    one = f"/{made['id']}"
    rows = [{"url": "a", "n": 1}, {"url": "b", "n": 2}, {"url": "a"}]
    result = await ask("POST", f"{one}/rows", json={"rows": rows})
    assert (result["appended"], result["skipped"]) == (2, 1)
    a, b = result["row_ids"]
    await ask("PATCH", f"{one}/rows", json={"rows": [{"row_id": a, "n": 5}]})
    await ask("DELETE", f"{one}/rows", params={"row_ids": [b]})
    asked = {"dataset": "default", "offset": 0, "limit": 1, "include_deleted": "true"}
    page = (await ask("GET", f"{one}/rows", params=asked))["data"]["datasets"]["default"]
    assert (values(page["rows"], "n"), page["total"], page["next_offset"]) == ([5], 2, 1)
    await ask("POST", f"{one}/rows/restore", json={"row_ids": [b]})
    await ask("POST", f"{one}/rows/delete", json={"row_ids": [a]})
    shown = await ask("GET", one)
    assert values(shown["data"]["datasets"]["default"]["rows"], "url") == ["b"]

    await ask("PUT", f"{one}/skills/score", json={"prompt": "Score it."})
    await ask("PUT", f"{one}/forms/contact%20us", json={"fields": [{"key": "url"}]})
    await ask("PUT", f"{one}/dashboard", json={"html": "<p>1"})
    await ask("PUT", f"{one}/dashboard", json={"html": "<p>2"})
    assert values((await ask("GET", f"{one}/skills"))["skills"], "name") == ["score"]
    assert values((await ask("GET", f"{one}/forms"))["forms"], "name") == ["contact us"]
    await ask("POST", f"{one}/revert", json={"part": "dashboard", "version": 1})
    assert (await ask("GET", f"{one}/dashboard"))["html"] == "<p>1"
    versions = await ask("GET", f"{one}/versions", params={"part": "dashboard"})
    assert values(versions["versions"], "version") == [3, 2, 1]
    await ask("DELETE", f"{one}/skills/score")
    await ask("DELETE", f"{one}/forms/contact%20us")
    assert (await ask("PATCH", one, json={"name": "Customers"}))["name"] == "Customers"
    assert values((await ask("GET", ""))["boards"], "name") == ["Customers"]
    await ask("DELETE", one)
    assert (await ask("GET", ""))["boards"] == []
    refused = await ask("POST", f"{one}/rows", 409, json={"rows": rows})
    assert refused["code"] == "board_archived"
    assert (await ask("GET", "/01900000-0000-7000-8000-0000000000ff", 404))["code"] == "no_board"
    assert (await api.anonymous.get(f"{BOARDS}{one}")).status_code == 401


async def test_a_batch_of_five_thousand_ordinary_rows_is_one_call_and_more_is_refused(
    api: Api,
) -> None:
    made = await api.client.post(BOARDS, json={"name": "CRM", "datasets": KEYED})
    rows = f"{BOARDS}/{made.json()['id']}/rows"
    batch = [{"url": f"https://example.com/{n}", "notes": "word " * 60} for n in range(5_000)]
    answer = await api.client.post(rows, json={"rows": batch})
    assert (answer.status_code, answer.json()["appended"]) == (200, 5_000)
    again = await api.client.post(
        "/api/v1/capabilities/append_board_rows",
        json={"board_id": made.json()["id"], "rows": batch},
    )
    assert (again.status_code, again.json()["skipped"]) == (200, 5_000)
    heavy = [{"url": str(n), "notes": "x" * 60_000} for n in range(150)]
    refused = await api.client.post(rows, json={"rows": heavy})
    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
    other = await api.client.patch(f"{BOARDS}/{made.json()['id']}", json={"name": "x" * 2_000_000})
    assert other.status_code == 413, "only rows may be that many"


async def test_a_token_for_appending_alone_appends_and_does_nothing_else(api: Api) -> None:
    made = await api.client.post(BOARDS, json={"name": "CRM"})
    board = made.json()["id"]
    wish = {
        "name": "import",
        "role": "editor",
        "capabilities": ["append_board_rows"],
        "expires_at": (datetime.now(UTC) + timedelta(minutes=10)).isoformat(),
    }
    token = (await api.client.post("/api/v1/tokens", json=wish)).json()["text"]
    headers = {"Authorization": f"Bearer {token}"}
    added = await api.anonymous.post(
        f"{BOARDS}/{board}/rows", json={"rows": [{"a": 1}]}, headers=headers
    )
    assert added.status_code == 200, added.text
    for path in ("", f"/{board}"):
        assert (await api.anonymous.get(f"{BOARDS}{path}", headers=headers)).status_code in (
            403,
            404,
        )
    known = "/api/v1/capabilities"
    listed = await api.anonymous.get(known, params={"all": "true"}, headers=headers)
    assert values(listed.json()["capabilities"], "id") == ["append_board_rows"]
    hidden = await api.anonymous.get(f"{known}/http_fetch", headers=headers)
    assert hidden.status_code == 404
    shown = await api.client.get(f"{BOARDS}/{board}")
    (row,) = shown.json()["data"]["datasets"]["default"]["rows"]
    assert (row["a"], row["_src"].partition(":")[0]) == (1, "client")
