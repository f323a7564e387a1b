"""Pages over REST: the same pages, the same rules, a problem for what is wrong."""

from __future__ import annotations

from tests.kit.api import Api

BASE = "/api/v1"


async def test_a_page_lives_its_whole_life_over_rest(api: Api) -> None:
    client = api.client
    made = await client.post(
        f"{BASE}/pages", json={"type": "note", "title": "Plan", "body": "Tea at nine."}
    )
    again = await client.post(
        f"{BASE}/pages", json={"type": "note", "title": "Plan", "body": "Tea at nine."}
    )
    read = await client.get(f"{BASE}/pages/plan")
    listed = await client.get(f"{BASE}/pages", params={"type": "note", "limit": 5})
    searched = await client.get(f"{BASE}/search", params={"q": "tea"})
    asked = await client.get(f"{BASE}/query", params={"q": "plam", "limit": 3})
    posted = await client.post(f"{BASE}/query", json={"text": "tea"})
    changed = await client.patch(f"{BASE}/pages/plan", json={"body": "Coffee at ten."})
    result = await client.get(f"{BASE}/pages/plan/timeline")
    gone = await client.delete(f"{BASE}/pages/plan")
    missing = await client.get(f"{BASE}/pages/plan")
    back = await client.post(f"{BASE}/pages/plan/restore", json={})
    events = await client.get(
        f"{BASE}/calendar-events", params={"start": "2026-01-01", "end": "2026-02-01"}
    )

    assert made.status_code == 200, made.text
    assert (made.json()["became"], again.json()["became"]) == ("created", "unchanged")
    assert read.json()["markdown"] == "---\ntitle: Plan\ntype: note\n---\n\nTea at nine."
    for found in (listed, searched, asked, posted):
        assert [page["slug"] for page in found.json()["pages"]] == ["plan"], found.text
    assert asked.json()["used"] == ["text", "trigram"]
    assert changed.json()["became"] == "updated"
    assert [entry["action"] for entry in result.json()["entries"]] == ["updated", "created"]
    assert gone.json()["changed"] is True
    assert (missing.status_code, missing.json()["code"]) == (404, "no_page")
    assert back.json()["changed"] is True
    assert events.json() == {"pages": [], "next": None}


async def test_what_is_wrong_is_a_problem_with_its_place(api: Api) -> None:
    client = api.client
    wrong = [
        (await client.get(f"{BASE}/search"), 422, None),
        (await client.get(f"{BASE}/search", params={"q": "a", "text": "b"}), 422, None),
        (await client.get(f"{BASE}/search", params={"q": "a", "kind": "x"}), 422, "/query/kind"),
        (await client.get(f"{BASE}/query", params={"q": "a", "limit": "many"}), 422, "/limit"),
        (await client.get(f"{BASE}/query", params={"q": "x" * 2_001}), 422, "/q"),
        (await client.get(f"{BASE}/pages/Not-A-Slug"), 422, "/slug"),
        (await client.post(f"{BASE}/pages", json=[]), 422, ""),
        (
            await client.post(f"{BASE}/pages", json={"type": "email", "title": "x", "body": "y"}),
            422,
            "/type",
        ),
        (await client.patch(f"{BASE}/pages/a", json={"slug": "b"}), 422, "/slug"),
        (await client.patch(f"{BASE}/pages/a", json={"body": "b"}), 404, None),
        (await api.anonymous.get(f"{BASE}/search", params={"q": "a"}), 401, None),
    ]
    for answer, status, pointer in wrong:
        assert answer.status_code == status, answer.text
        if pointer is not None:
            assert pointer in [entry["pointer"] for entry in answer.json()["errors"]], answer.text


async def test_a_body_of_a_megabyte_passes_whatever_its_signs(api: Api) -> None:
    body = 'line "quoted"\n' * 71_000
    made = await api.client.post(
        f"{BASE}/pages", json={"type": "note", "title": "Large", "body": body}
    )
    read = await api.client.get(f"{BASE}/pages/large")

    assert made.status_code == 200, made.text[:300]
    assert read.json()["body"] == body
