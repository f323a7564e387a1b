"""Files in webhook requests: multipart forms, binary bodies, and bodies too large for a payload."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import pytest

from mainspring.surfaces.rest import multipart_bodies
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import Hook, hook, runs, webhook

SECRET = "sender's key"
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 100


async def _hook(bench: Bench, api: Api, auth: dict[str, Any], **config: Any) -> Hook:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    return await hook(bench, api, webhook(config={"auth": auth, **config}))


async def _by_header(bench: Bench, api: Api, **config: Any) -> Hook:
    auth = {"type": "header", "header": "X-Key", "secret": "sender_key"}
    return await _hook(bench, api, auth, **config)


async def _by_github(bench: Bench, api: Api, **config: Any) -> Hook:
    auth = {"type": "signature", "provider": "github", "secret": "sender_key"}
    return await _hook(bench, api, auth, **config)


def _signed(body: bytes, **headers: str) -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}", **headers}


async def _send(called: Hook, **request: Any) -> httpx2.Response:
    headers = {"X-Key": SECRET, **request.pop("headers", {})}
    return await called.api.anonymous.post(called.signed_path, headers=headers, **request)


async def _payload(bench: Bench, answer: httpx2.Response) -> Any:
    assert answer.status_code == 202, answer.text
    return (await bench.read(answer.json()["run_id"]))["payload"]


async def _content(api: Api, artifact_id: str) -> bytes:
    answer = await api.client.get(f"/api/v1/artifacts/{artifact_id}/content")
    assert answer.status_code == 200, answer.text
    return answer.content


async def _artifacts(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.client.get("/api/v1/artifacts")).json()["items"]
    return found


async def test_files_of_a_form_become_artifacts_of_the_run(bench: Bench, api: Api) -> None:
    called = await _by_header(bench, api)
    answer = await _send(
        called,
        data={"title": "Grüße", "tag": ["a", "b"]},
        files={"photo": ("../cat.png", PNG, "image/png")},
    )
    payload = await _payload(bench, answer)
    photo = payload["body"]["photo"]
    assert payload["body"]["title"] == "Grüße"
    assert payload["body"]["tag"] == ["a", "b"]
    assert (photo["name"], photo["media_type"]) == ("cat.png", "image/png")
    assert await _content(api, photo["artifact_id"]) == PNG
    (shown,) = await _artifacts(api)
    assert shown["run_id"] == answer.json()["run_id"]
    assert UUID(shown["automation_id"]) == called.automation_id


async def test_the_same_files_under_the_same_key_are_one_run(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api, {"type": "bearer"})
    files = {"photo": ("cat.png", PNG, "image/png")}
    first = await called.fire(key="k1", files=files)
    again = await called.fire(key="k1", files=files)
    assert first.json()["run_id"] == again.json()["run_id"]
    assert len(await _artifacts(api)) == 1
    other = await called.fire(key="k1", files={"photo": ("cat.png", PNG + b"!", "image/png")})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert len(await _artifacts(api)) == 1
    assert await runs(bench) == 1


async def test_a_binary_body_is_an_artifact(bench: Bench, api: Api) -> None:
    called = await _by_header(bench, api)
    answer = await _send(called, content=PNG, headers={"Content-Type": "image/png"})
    body = (await _payload(bench, answer))["body"]
    assert (body["media_type"], body["size"]) == ("image/png", len(PNG))
    assert await _content(api, body["artifact_id"]) == PNG


async def test_an_empty_body_of_any_type_is_an_empty_object(bench: Bench, api: Api) -> None:
    called = await _by_header(bench, api)
    answer = await _send(called, headers={"Content-Type": "application/octet-stream"})
    assert (await _payload(bench, answer))["body"] == {}
    assert await _artifacts(api) == []


async def test_a_signed_file_is_stored_after_its_signature_is_verified(
    bench: Bench, api: Api
) -> None:
    called = await _by_github(bench, api)
    headers = {"Content-Type": "application/zip"}
    refused = await _send(called, content=PNG, headers=_signed(b"other", **headers))
    assert refused.status_code == 401
    assert await _artifacts(api) == []
    taken = await _send(called, content=PNG, headers=_signed(PNG, **headers))
    body = (await _payload(bench, taken))["body"]
    assert await _content(api, body["artifact_id"]) == PNG


async def test_xml_is_text(bench: Bench, api: Api) -> None:
    called = await _by_header(bench, api, raw=True)
    xml = b'<?xml version="1.0"?><order id="7"/>'
    payload = await _payload(
        bench, await _send(called, content=xml, headers={"Content-Type": "application/soap+xml"})
    )
    assert payload["body"] == payload["raw"] == xml.decode()


async def test_raw_is_the_body_as_it_was_sent(bench: Bench, api: Api) -> None:
    called = await _by_header(bench, api, raw=True)
    sent = b'{"b": 1,   "a": 2, "a": 3}'
    payload = await _payload(
        bench, await _send(called, content=sent, headers={"Content-Type": "application/json"})
    )
    assert payload["raw"] == sent.decode()
    assert payload["body"] == {"b": 1, "a": 3}
    assert payload["notes"]
    latin = await _send(called, content=b"\xe9", headers={"Content-Type": "text/plain"})
    assert (await _payload(bench, latin))["raw_encoding"] == "base64"


async def test_headers_that_carry_credentials_are_removed(bench: Bench, api: Api) -> None:
    called = await _by_header(bench, api)
    secret = {"X-Api-Key": "k", "X-Auth-Token": "t", "Cookie": "c=1", "X-Other-Signature": "s"}
    answer = await _send(called, json={}, headers={**secret, "X-Trace": "kept"})
    shown = (await _payload(bench, answer))["headers"]
    assert shown["x-trace"] == "kept"
    assert not {"x-key", *(name.lower() for name in secret)} & set(shown)


async def test_a_body_of_github_larger_than_a_payload_starts_a_run(bench: Bench, api: Api) -> None:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    auth = {"type": "signature", "provider": "github", "secret": "sender_key"}
    config = {"auth": auth, "input_mapping": {"last": "$.body.commits[-1].id"}}
    schema = {"schema": {"type": "object", "properties": {"last": {"type": "integer"}}}}
    called = await hook(bench, api, webhook(config=config), inputs=schema)
    commits = [{"id": number, "message": "x" * 300} for number in range(10_000)]
    raw = json.dumps({"ref": "refs/heads/main", "commits": commits}).encode()
    headers = {"Content-Type": "application/json", "X-GitHub-Event": "push"}
    answer = await _send(called, content=raw, headers=_signed(raw, **headers))
    payload = await _payload(bench, answer)
    assert payload["body"]["ref"] == "refs/heads/main"
    assert payload["event"] == "push"
    assert 0 < len(payload["body"]["commits"]) < len(commits)
    assert "/commits" in payload["notes"][0]
    assert await _content(api, payload["raw"]["artifact_id"]) == raw
    # Inputs are mapped from the whole body.
    row = await bench.read(answer.json()["run_id"])
    assert row["inputs"]["last"] == 9_999


async def _begin(called: Hook, declared: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request with a multipart body, of which only the first bytes are sent."""
    url = urlsplit(called.api.address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    head = [
        f"POST {called.signed_path} HTTP/1.1",
        f"Host: {url.netloc}",
        f"X-Key: {SECRET}",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {declared}",
    ]
    writer.write("\r\n".join([*head, "", "--x"]).encode())
    return reader, writer


async def test_a_body_that_arrives_too_slowly_is_given_up_and_counted(
    bench: Bench, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart_bodies, "_START_SECONDS", 0.1)
    called = await _by_header(bench, api)
    reader, writer = await _begin(called, 1_000)
    assert b" 408 " in await reader.readline()
    writer.close()
    path = f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}/deliveries"
    (refused,) = (await api.client.get(path)).json()["refused"]
    assert (refused["reason"], refused["count"]) == ("too_slow", 1)
    assert await runs(bench) == 0


async def test_a_large_declared_length_and_many_parts_are_refused_and_leave_nothing(
    bench: Bench, api: Api
) -> None:
    called = await _by_header(bench, api)
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    reader, writer = await _begin(called, 1_073_741_824)
    # The answer is here before any more of the body is sent.
    assert b" 413 " in await reader.readline()
    writer.close()
    part = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nhi\r\n'
    many = await _send(called, content=part * 10_000 + b"--x--\r\n", headers=kind)
    assert (many.status_code, many.json()["code"]) == (413, "too_many_parts")
    broken = await _send(called, content=part, headers=kind)
    assert broken.status_code == 422
    assert await _artifacts(api) == []
    assert await runs(bench) == 0
