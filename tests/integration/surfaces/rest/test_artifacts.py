"""Artifacts over REST: who may fetch one, for how long, and what a browser is shown."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID

import httpx2
import pytest
import pytest_asyncio

from mainspring.contracts.context import RunRef
from mainspring.contracts.errors import Expired, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.outbound.object_storage.blob_stores import FolderStore
from mainspring.surfaces.rest.openapi import describe
from mainspring.workspace.artifacts.links import LinkSigner
from mainspring.workspace.artifacts.rows import Artifact, insert_artifact
from mainspring.workspace.artifacts.save import artifacts_capability
from tests.kit.api import Api, served
from tests.kit.artifacts import Call
from tests.kit.bench import Bench

BASE = "/api/v1/artifacts"


class ArtifactServer:
    """A server with artifacts that the test puts there."""

    def __init__(self, bench: Bench, api: Api) -> None:
        self.bench, self.api = bench, api
        self.folder = bench.application.settings.home / "artifacts"
        self.blobs = FolderStore(self.folder)

    async def add(self, content: bytes = b"hello", **more: Any) -> Artifact:
        now = datetime.now(UTC)
        made = Artifact(
            workspace_id=self.bench.application.workspace_id,
            id=more.pop("id", None) or generate_id(),
            run_id=more.pop("run_id", None),
            automation_id=None,
            step="keep",
            name="a.txt",
            kind="document",
            retention="default",
            visibility="workspace",
            media_type="text/plain",
            size=len(content),
            sha256=hashlib.sha256(content).digest(),
            created_at=now,
            expires_at=now + timedelta(days=1),
        )
        made = replace(made, **more)
        await self.blobs.put(made.blob, content)
        async with self.bench.application.database.transaction() as tx:
            await insert_artifact(tx, made)
        return made

    async def link(self, artifact: Artifact, seconds: int = 60) -> str:
        answer = await self.api.client.post(f"{BASE}/{artifact.id}/link", json={"seconds": seconds})
        assert answer.status_code == 200, answer.text
        parts = urlsplit(answer.json()["url"])
        return f"{parts.path}?{parts.query}"


@pytest_asyncio.fixture
async def artifacts(bench: Bench) -> AsyncIterator[ArtifactServer]:
    async with served(bench.application) as api:
        yield ArtifactServer(bench, api)


def _code(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


async def test_artifacts_are_listed_a_page_at_a_time_and_by_what_they_are(
    artifacts: ArtifactServer,
) -> None:
    made = [await artifacts.add() for _ in range(3)]
    run_id = generate_id()
    image = await artifacts.add(kind="image", run_id=run_id)
    client = artifacts.api.client
    first = (await client.get(BASE, params={"limit": 3})).json()
    second = (await client.get(BASE, params={"limit": 3, "cursor": first["next"]})).json()
    listed = [entry["id"] for entry in first["items"] + second["items"]]
    assert listed == [str(one.id) for one in (image, *reversed(made))]
    assert second["next"] is None
    for params in ({"kind": "image"}, {"run_id": str(run_id)}):
        found = (await client.get(BASE, params=params)).json()["items"]
        assert [entry["id"] for entry in found] == [str(image.id)]
    of_run = await client.get(f"/api/v1/runs/{run_id}/artifacts")
    assert [entry["id"] for entry in of_run.json()["items"]] == [str(image.id)]
    unknown = await client.get(f"/api/v1/runs/{generate_id()}/artifacts")
    assert _code(unknown) == (404, "no_run")


async def test_an_artifact_tells_everything_but_its_bytes(artifacts: ArtifactServer) -> None:
    one = await artifacts.add()
    result = (await artifacts.api.client.get(f"{BASE}/{one.id}")).json()
    assert result["id"] == str(one.id)
    assert result["sha256"] == hashlib.sha256(b"hello").hexdigest()
    assert (result["size"], result["visibility"], result["run_id"]) == (5, "workspace", None)
    assert "workspace_id" not in result


async def test_nothing_is_revealed_without_a_token(artifacts: ArtifactServer) -> None:
    one = await artifacts.add()
    for path in (BASE, f"{BASE}/{one.id}", f"{BASE}/{one.id}/content"):
        assert (await artifacts.api.anonymous.get(path)).status_code == 401
    assert (await artifacts.api.anonymous.post(f"{BASE}/{one.id}/link", json={})).status_code == 401
    assert (await artifacts.api.anonymous.delete(f"{BASE}/{one.id}")).status_code == 401
    forged = {"Authorization": "Bearer msk_" + "0" * 43}
    refused = await artifacts.api.anonymous.get(f"{BASE}/{one.id}/content", headers=forged)
    assert refused.status_code == 401


async def test_content_comes_as_a_file_that_no_browser_runs(artifacts: ArtifactServer) -> None:
    name = 'Größe "100%" €.txt'
    one = await artifacts.add(name=name)
    answer = await artifacts.api.client.get(f"{BASE}/{one.id}/content")
    assert answer.content == b"hello"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    described = describe(artifacts.api.app)["paths"][f"{BASE}/{{artifact_id}}/content"]["get"]
    assert "403" in described["responses"], "for a token that works elsewhere alone"
    kinds = described["responses"]["200"]["content"].keys()
    assert {"text/plain", "application/octet-stream"} <= kinds
    assert answer.headers["content-disposition"] == (
        'attachment; filename="Gr__e _100__ _.txt"; '
        "filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%22100%25%22%20%E2%82%AC.txt"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox;")


@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "application/xhtml+xml"])
async def test_a_type_that_could_act_is_sent_as_plain_bytes(
    artifacts: ArtifactServer, media_type: str
) -> None:
    one = await artifacts.add(b"<script>", media_type=media_type)
    answer = await artifacts.api.client.get(f"{BASE}/{one.id}/content")
    assert answer.headers["content-type"] == "application/octet-stream"


async def test_a_link_needs_no_token_until_it_expires(artifacts: ArtifactServer) -> None:
    one = await artifacts.add()
    answer = await artifacts.api.anonymous.get(await artifacts.link(one, seconds=60))
    assert (answer.status_code, answer.content) == (200, b"hello")
    short = await artifacts.link(one, seconds=1)
    async with asyncio.timeout(60):
        while (answer := await artifacts.api.anonymous.get(short)).status_code == 200:
            await asyncio.sleep(0.1)
    assert _code(answer) == (410, "link_expired")


async def test_a_link_that_was_changed_is_answered_like_an_unknown_artifact(
    artifacts: ArtifactServer,
) -> None:
    one, other = await artifacts.add(), await artifacts.add(b"other")
    url = await artifacts.link(one)
    moment = url.partition("expires=")[2].partition("&")[0]
    signature = url.partition("signature=")[2]
    unknown = await artifacts.api.client.get(f"{BASE}/{generate_id()}/content")
    assert _code(unknown) == (404, "no_artifact")
    changed = [
        url.replace(str(one.id), str(other.id)),
        url.replace(moment, str(int(moment) + 1)),
        url.replace(moment, "9" * 300),
        url.replace(moment, ""),
        url.replace(moment, "-1"),
        url.replace(moment, "１２"),
        url.replace(signature, ""),
        url.replace(signature, signature[:-1]),
        url.replace(signature, ("B" if signature[0] == "A" else "A") + signature[1:]),
        url.replace(signature, quote("ä\ud83d".encode("utf-8", "surrogatepass"))),
        url.partition("&")[0],
    ]
    for wrong in changed:
        answer = await artifacts.api.anonymous.get(wrong)
        assert _code(answer) == (404, "no_artifact"), wrong
    assert (await artifacts.api.client.get(changed[0])).status_code == 404, "a token mends no link"


async def test_there_is_no_link_to_a_private_artifact(artifacts: ArtifactServer) -> None:
    one = await artifacts.add(visibility="private")
    refused = await artifacts.api.client.post(f"{BASE}/{one.id}/link", json={})
    assert _code(refused) == (403, "artifact_private")
    fetched = await artifacts.api.client.get(f"{BASE}/{one.id}/content")
    assert fetched.content == b"hello"


async def test_a_link_ends_when_its_artifact_becomes_private(artifacts: ArtifactServer) -> None:
    one = await artifacts.add(visibility="shared")
    url = await artifacts.link(one)
    await artifacts.add(id=one.id, visibility="private")
    assert (await artifacts.api.anonymous.get(url)).status_code == 404


async def test_a_link_does_not_outlive_its_artifact(artifacts: ArtifactServer) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    one = await artifacts.add(expires_at=soon)
    answer = await artifacts.api.client.post(f"{BASE}/{one.id}/link", json={"seconds": 604_800})
    result = datetime.fromisoformat(answer.json()["expires_at"])
    assert soon - timedelta(seconds=1) <= result <= soon


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"seconds": 0}, "/seconds"),
        ({"seconds": 604_801}, "/seconds"),
        ({"seconds": "60"}, "/seconds"),
        ({"seconds": 1.5}, "/seconds"),
        ({"minutes": 1}, "/minutes"),
    ],
)
async def test_a_wish_for_a_link_that_cannot_be_is_refused_at_its_position(
    artifacts: ArtifactServer, body: dict[str, Any], pointer: str
) -> None:
    one = await artifacts.add()
    refused = await artifacts.api.client.post(f"{BASE}/{one.id}/link", json=body)
    assert refused.status_code == 422
    assert [entry["pointer"] for entry in refused.json()["errors"]] == [pointer]


async def test_an_expired_artifact_is_gone_before_it_is_swept_up(artifacts: ArtifactServer) -> None:
    one = await artifacts.add(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert (await artifacts.api.client.get(f"{BASE}/{one.id}")).status_code == 404
    assert (await artifacts.api.client.get(f"{BASE}/{one.id}/content")).status_code == 404
    assert (await artifacts.api.client.get(BASE)).json()["items"] == []


async def test_a_deleted_artifact_is_gone(artifacts: ArtifactServer) -> None:
    one = await artifacts.add()
    answer = await artifacts.api.client.delete(f"{BASE}/{one.id}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await artifacts.api.client.delete(f"{BASE}/{one.id}")).status_code == 404
    assert await artifacts.blobs.get(one.blob) is None


async def test_a_link_of_another_installation_opens_nothing(
    artifacts: ArtifactServer, tmp_path: Path
) -> None:
    one = await artifacts.add()
    application = artifacts.bench.application
    now = datetime.now(UTC)
    ours, theirs = (
        LinkSigner(application.vault, ""),
        LinkSigner(
            type(application.vault)(
                application.database, tmp_path / "other.key", application.limits
            ),
            "",
        ),
    )
    link = await ours.make(one, now, 60)
    moment = int(link.url.partition("expires=")[2].partition("&")[0])
    signature = link.url.partition("signature=")[2]
    await ours.check(one.workspace_id, one.id, moment, signature, now)
    with pytest.raises(NotFound):
        await theirs.check(one.workspace_id, one.id, moment, signature, now)
    with pytest.raises(NotFound):
        await ours.check(generate_id(), one.id, moment, signature, now)
    with pytest.raises(Expired):
        await ours.check(one.workspace_id, one.id, moment, signature, now + timedelta(seconds=61))


# --- paths that lead elsewhere

_DOTS = ("..", "%2e%2e", "%252e%252e", "..%00", "....", "..;", "．．", "%c0%ae%c0%ae", ".%2e")
_SLASHES = ("/", "\\", "%2f", "%5c", "%252f", "／", "%c0%af")
_TARGETS = ("etc/passwd", "master.key")


def _traversals() -> list[str]:
    climbs = [
        (dots + slash) * depth + target
        for dots in _DOTS
        for slash in _SLASHES
        for depth in (1, 6)
        for target in _TARGETS
    ]
    return [*climbs, "/etc/passwd", "C:\\windows", "file:///etc/passwd", "~/.ssh/id", "\\\\host\\x"]


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_no_id_leads_out_of_the_folder(artifacts: ArtifactServer) -> None:
    one = await artifacts.add()
    home = artifacts.bench.application.settings.home
    before = _tree(home)
    written = _traversals()
    assert len(written) >= 100
    for text in written:
        for spelled in {text, quote(text, safe="")}:
            for path in (f"{BASE}/{spelled}/content", f"{BASE}/{spelled}"):
                url = httpx2.URL(artifacts.api.address).copy_with(
                    raw_path=path.encode("ascii", "ignore").replace(b" ", b"")
                )
                got = await artifacts.api.client.get(url)
                assert 400 <= got.status_code < 500, (path, got.status_code)
                assert b"root:" not in got.content
    gone = await artifacts.api.client.delete(f"{BASE}/{quote('../' * 6 + 'master.key', safe='')}")
    assert 400 <= gone.status_code < 500
    assert _tree(home) == before
    assert await artifacts.blobs.get(one.blob) == b"hello"


async def test_no_name_leads_out_of_the_folder(artifacts: ArtifactServer) -> None:
    """A name that is taken is only ever a name: the bytes lie under ids."""
    home = artifacts.bench.application.settings.home
    before = set(_tree(home))
    save = artifacts_capability(artifacts.blobs, artifacts.bench.application.limits).handler
    accepted: list[UUID] = []
    refusals: set[str] = set()
    for text in _traversals():
        try:
            async with artifacts.bench.application.database.transaction() as tx:
                run = RunRef(generate_id(), generate_id(), text)
                result = await save(Call(artifacts.bench, tx, run), {"name": text, "text": "x"})
            accepted.append(UUID(result["artifact_id"]))
        except Invalid as refused:
            refusals.add(refused.code)
    assert refusals == {"artifact_name"}
    new = set(_tree(home)) - before
    assert len(new) == len(accepted) > 0
    assert all(path.startswith("artifacts/") and ".." not in path for path in new)
    for artifact_id in accepted:
        got = await artifacts.api.client.get(f"{BASE}/{artifact_id}/content")
        assert got.status_code == 200
        assert "/" not in got.headers["content-disposition"].partition("filename*")[0]
