"""A form starts one run for each submission, for those who may fill it in."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import httpx2

from mainspring.workspace.artifacts.rows import read_artifact, read_content
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api
from tests.kit.bench import Bench, step
from tests.kit.forms import SavedForm, form, read_trigger, save_form
from tests.kit.webhooks import runs

GOOD = {"email": "ada@example.com", "days": 3}


def _findings(answer: httpx2.Response) -> dict[str, str]:
    return {one["pointer"]: one["detail"] for one in answer.json()["errors"]}


async def _last_run(bench: Bench) -> dict[str, Any]:
    row = await bench.application.database.fetchrow(
        "SELECT trigger_type, inputs, payload, status FROM runs ORDER BY id DESC LIMIT 1"
    )
    assert row is not None
    return dict(row)


async def test_a_public_form_shows_its_fields_and_nothing_else(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, form(title="Leave", text="Two weeks ahead."))
    shown = await saved.open()
    assert (shown["title"], shown["text"], shown["access"]) == (
        "Leave",
        "Two weeks ahead.",
        "public",
    )
    assert list(shown["schema"]["properties"]) == ["email", "days"]
    assert shown["pages"] == [{"title": None, "text": None, "fields": ["email", "days"]}]
    assert set(shown) == {
        *("access", "title", "text", "submit", "pages", "schema", "files", "open", "token"),
        "csrf",
    }
    assert shown["csrf"] is None


async def test_a_submission_starts_a_run_with_its_values(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, form(thank_you="We will answer."))
    answer = await saved.send(GOOD)
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "status": "received",
            "repeated": False,
            "thank_you": "We will answer.",
            "redirect": None,
            "answer": None,
        },
    )
    run = await _last_run(bench)
    assert (run["trigger_type"], run["inputs"], run["payload"]["values"]) == ("form", GOOD, GOOD)
    assert run["payload"]["submitted_at"]
    assert "member" not in run["payload"]


async def test_sending_twice_starts_one_run(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api)
    token = (await saved.open())["token"]
    answers = await asyncio.gather(*(saved.send(GOOD, token=token) for _ in range(5)))
    assert [one.status_code for one in answers] == [200] * 5
    assert sorted(one.json()["repeated"] for one in answers) == [False, True, True, True, True]
    assert await runs(bench) == 1
    changed = await saved.send({**GOOD, "days": 4}, token=token)
    assert (changed.status_code, changed.json()["code"]) == (409, "form_sent")
    assert await runs(bench) == 1
    again = await saved.send(GOOD)
    assert not again.json()["repeated"]
    assert await runs(bench) == 2


async def test_each_wrong_field_is_named_and_nothing_is_started(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api)
    answer = await saved.send({"days": 40})
    assert (answer.status_code, answer.json()["code"]) == (422, "form_invalid")
    assert set(_findings(answer)) == {"/email", "/days"}
    answer = await saved.send({**GOOD, "role": "admin"})
    assert set(_findings(answer)) == {"/role"}
    assert await runs(bench) == 0


async def test_an_empty_optional_field_is_left_out(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api)
    assert (await saved.send({"email": "a@b", "days": None})).status_code == 200
    assert (await _last_run(bench))["inputs"] == {"email": "a@b"}


async def test_inputs_of_the_trigger_are_neither_asked_for_nor_accepted(
    bench: Bench, api: Api
) -> None:
    entry = {**form(), "inputs": {"days": 2}}
    saved = await save_form(bench, api, entry)
    assert list((await saved.open())["schema"]["properties"]) == ["email"]
    assert set(_findings(await saved.send(GOOD))) == {"/days"}
    assert (await saved.send({"email": "a@b"})).status_code == 200
    assert (await _last_run(bench))["inputs"] == {"email": "a@b", "days": 2}


async def test_automated_submissions_are_refused(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, form(min_seconds=60))
    other = await save_form(bench, api, name="other")
    refused = {
        "form_too_fast": await saved.send(GOOD),
        "form_token": await saved.send(GOOD, token=(await other.open())["token"]),
        "form_spam": await other.send(GOOD, website="https://spam.example"),
    }
    assert {one.json()["code"] for one in refused.values()} == set(refused)
    for token in ("", "0.a.b", "9" * 190):
        assert (await other.send(GOOD, token=token)).json()["code"] == "form_token"
    assert await runs(bench) == 0


async def test_one_address_may_send_a_form_so_many_times(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, form(rate_limit={"per_address": 2}))
    # Refused values do not count.
    assert (await saved.send({})).status_code == 422
    answers = [await saved.send(GOOD) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert int(answers[2].headers["Retry-After"]) > 60
    assert await runs(bench) == 2


async def test_a_new_link_ends_the_one_before(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api)
    token = (await saved.open())["token"]
    path = f"/api/v1/automations/{saved.automation_id}/triggers/form/link"
    made = await api.client.post(path)
    assert made.status_code == 201
    gone = await api.anonymous.get(saved.path)
    assert (gone.status_code, gone.json()["code"]) == (404, "no_form")
    # Problems end up in logs, and a link does not.
    assert gone.json()["instance"] == "/api/v1/forms/…"
    assert (await saved.send(GOOD, token=token)).status_code == 404
    found = await read_trigger(api, saved.automation_id)
    assert found["form_url"] == made.json()["form_url"] != saved.url
    kept = await api.client.post(path, params={"overlap_seconds": 3600})
    before = f"/api/v1/forms/{found['form_url'].rpartition('/')[2]}"
    assert kept.json()["old_until"] is not None
    assert (await api.anonymous.get(before)).status_code == 200


async def test_saving_again_keeps_the_link(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api)
    path = f"/api/v1/automations/{saved.automation_id}"
    await api.client.patch(f"{path}/triggers/form", json={"enabled": False})
    assert (await read_trigger(api, saved.automation_id))["form_url"] == saved.url
    shown = await saved.open()
    assert shown["open"] is False


async def test_a_paused_automation_accepts_nothing(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, state="paused")
    shown = await saved.open()
    assert shown["open"] is False
    answer = await saved.send(GOOD)
    assert (answer.status_code, answer.json()["code"]) == (409, "form_closed")
    assert await runs(bench) == 0


async def test_a_form_for_members_needs_a_member(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, form(access="members", title="Secret plans"))
    refused = await api.anonymous.get(saved.path)
    assert (refused.status_code, refused.json()["code"]) == (401, "form_for_members")
    assert "Secret" not in refused.text
    assert (await saved.send(GOOD, token="x")).status_code == 401
    shown = await saved.open(api.client)
    assert shown["csrf"]
    answer = await saved.send(GOOD, token=shown["token"], client=api.client)
    assert answer.status_code == 200, answer.text
    member = (await _last_run(bench))["payload"]["member"]
    assert (UUID(member["id"]), set(member)) == (FIRST_MEMBER, {"id", "name", "email"})


async def test_other_pages_cannot_send_a_form_for_a_member(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api, form(access="members"))
    shown = await saved.open(api.client)
    headers = {"Form-Token": shown["token"], "X-CSRF-Token": "wrong"}
    answer = await api.client.post(saved.path, json={"values": GOOD}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    assert await runs(bench) == 0


async def test_people_see_the_result_of_the_run(bench: Bench, api: Api) -> None:
    done = await save_form(bench, api, form(respond="when_done", respond_within=60))
    steps = [step("answer", "respond", {"body": "Hello {{ inputs.email }}"})]
    said = await save_form(
        bench, api, form(respond="by_step", respond_within=60), plan=steps, name="says"
    )
    async with bench.worker():
        first, second = await done.send(GOOD), await said.send(GOOD)
    assert first.json()["status"] == "answered", first.text
    assert "ada@example.com" in first.json()["answer"]["body"]["got"]
    assert second.json()["answer"]["text"] == "Hello ada@example.com"


async def test_the_page_of_a_form_is_served_without_signing_in(bench: Bench, api: Api) -> None:
    saved = await save_form(bench, api)
    page = await api.anonymous.get(f"/forms/{saved.url.rpartition('/')[2]}")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]


# Files.

_PDF = b"%PDF-1.4 a small file"
_WITH_FILE: dict[str, Any] = {
    "type": "object",
    "required": ["email", "cv"],
    "properties": {
        "email": {"type": "string"},
        "cv": {"type": "object", "title": "Your CV"},
    },
}


async def _file_form(bench: Bench, api: Api, **rule: Any) -> SavedForm:
    entry = form(files={"cv": {"max_bytes": 1_000, "types": ["application/pdf"], **rule}})
    return await save_form(bench, api, entry, fields=_WITH_FILE)


async def _send_file(
    saved: SavedForm,
    content: bytes = _PDF,
    media_type: str = "application/pdf",
    *,
    field: str = "cv",
    token: str | None = None,
) -> httpx2.Response:
    shown = token or (await saved.open())["token"]
    return await saved.api.anonymous.post(
        saved.path,
        data={"submission": json.dumps({"values": {"email": "ada@example.com"}})},
        files={field: ("cv.pdf", content, media_type)},
        headers={"Form-Token": shown},
    )


async def test_a_file_becomes_an_artifact_of_the_run(bench: Bench, api: Api) -> None:
    saved = await _file_form(bench, api)
    answer = await _send_file(saved)
    assert answer.status_code == 200, answer.text
    run = await bench.application.database.fetchrow("SELECT id, inputs FROM runs")
    assert run is not None
    file = run["inputs"]["cv"]
    assert (file["name"], file["size"], file["media_type"]) == (
        "cv.pdf",
        len(_PDF),
        "application/pdf",
    )
    listed = await api.client.get("/api/v1/artifacts", params={"run_id": str(run["id"])})
    assert [one["id"] for one in listed.json()["items"]] == [file["artifact_id"]]
    application = bench.application
    async with application.database.acquire() as connection:
        kept = await read_artifact(connection, application.workspace_id, UUID(file["artifact_id"]))
    assert await read_content(application.blobs, kept) == _PDF


async def test_a_file_that_is_sent_twice_is_kept_once(bench: Bench, api: Api) -> None:
    saved = await _file_form(bench, api)
    token = (await saved.open())["token"]
    first, second = await _send_file(saved, token=token), await _send_file(saved, token=token)
    assert (first.status_code, second.status_code) == (200, 200), second.text
    assert (first.json()["repeated"], second.json()["repeated"]) == (False, True)
    assert await runs(bench) == 1
    count = await bench.application.database.fetchval("SELECT count(*) FROM artifacts")
    assert count == 1
    other = await _send_file(saved, _PDF + b".", token=token)
    assert (other.status_code, other.json()["code"]) == (409, "form_sent")
    assert await bench.application.database.fetchval("SELECT count(*) FROM artifacts") == 1


async def test_wrong_files_are_refused_and_nothing_is_kept(bench: Bench, api: Api) -> None:
    saved = await _file_form(bench, api)
    wrong = [
        await _send_file(saved, _PDF + b"x" * 1_000),
        await _send_file(saved, media_type="text/html"),
        await _send_file(saved, b"MZ is no PDF"),
        await _send_file(saved, field="other"),
        await saved.send({"email": "a@b"}),
        await saved.send({"email": "a@b", "cv": {"artifact_id": "made up"}}),
    ]
    assert [one.status_code for one in wrong] == [413, 422, 422, 422, 422, 422]
    assert [set(_findings(one)) for one in wrong[1:]] == [
        {"/cv"},
        {"/cv"},
        {"/other"},
        {"/cv"},
        {"/cv"},
    ]
    assert await runs(bench) == 0
    assert await bench.application.database.fetchval("SELECT count(*) FROM artifacts") == 0


async def _declare(saved: SavedForm, size: int, headers: dict[str, str]) -> int:
    """The status of a request that declares a body and sends none of it."""
    host, _, port = saved.api.address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"{name}: {value}" for name, value in headers.items()]
    head = [f"POST {saved.path} HTTP/1.1", f"Host: {host}", f"Content-Length: {size}", *lines]
    writer.write("\r\n".join([*head, "", ""]).encode())
    status = int((await reader.readline()).split()[1])
    writer.close()
    return status


async def test_many_parts_and_huge_bodies_are_refused_cheaply(bench: Bench, api: Api) -> None:
    saved = await _file_form(bench, api)
    token = (await saved.open())["token"]
    headers = {"Form-Token": token, "Content-Type": "multipart/form-data; boundary=b"}
    assert await _declare(saved, 10**9, headers) == 413
    part = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    many = await api.anonymous.post(saved.path, headers=headers, content=part * 1_000 + b"--b--")
    assert (many.status_code, many.json()["code"]) == (413, "too_many_parts")
    # Without a token the body is not looked at.
    bare = {"Content-Type": "multipart/form-data; boundary=b"}
    refused = await api.anonymous.post(saved.path, headers=bare, content=part * 10_000)
    assert refused.json()["code"] == "form_token"
    assert await runs(bench) == 0
