"""artifacts.save: a run keeps a file once, whole, under its own id, wherever it is kept."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.clock import SystemClock
from mainspring.contracts.context import RunRef
from mainspring.contracts.errors import InternalError, Invalid, Problem, TooLarge, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.outbound.object_storage.blob_stores import FolderStore
from mainspring.outbound.object_storage.s3 import S3Store
from mainspring.workspace.artifacts.blobs import BlobKey, blob_key
from mainspring.workspace.artifacts.expiry import sweep_orphans
from mainspring.workspace.artifacts.rows import (
    delete_artifact,
    list_artifacts,
    read_artifact,
    read_content,
)
from mainspring.workspace.artifacts.save import artifacts_capability
from tests.kit.artifacts import Call, saving_bench
from tests.kit.bench import Bench, document, step
from tests.kit.s3 import BUCKET, KEY, KEY_ID, Bucket, s3_server

CSV = "a,b\n1,2\n"


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "artifacts")


@pytest_asyncio.fixture
async def saving(bench: Bench, folder: FolderStore) -> AsyncIterator[Bench]:
    async with saving_bench(bench, folder) as made:
        yield made


async def _saved(
    bench: Bench, blobs: FolderStore, **arguments: Any
) -> tuple[dict[str, Any], bytes]:
    """Runs one step that saves, and answers the row and the bytes."""
    run = await bench.run(
        document(step("keep", "artifacts.save", arguments), name=str(generate_id()))
    )
    assert run["status"] == "succeeded", run["error"]
    (output,) = [entry["output"] for entry in run["steps"]]
    async with bench.application.database.acquire() as connection:
        found = await read_artifact(
            connection, bench.application.workspace_id, UUID(output["artifact_id"])
        )
    content = await read_content(blobs, found)
    assert output["size"] == found.size == len(content)
    assert output["sha256"] == found.sha256.hex() == hashlib.sha256(content).hexdigest()
    assert (found.run_id, found.automation_id) == (run["id"], run["automation_id"])
    assert found.step == "keep"
    row = {name: getattr(found, name) for name in ("kind", "media_type", "name", "expires_at")}
    return {**row, **output}, content


async def test_text_is_kept_as_a_file_of_the_run(saving: Bench, folder: FolderStore) -> None:
    row, content = await _saved(saving, folder, name="report.csv", text=CSV)
    assert content == CSV.encode()
    assert (row["media_type"], row["kind"], row["name"]) == ("text/csv", "data", "report.csv")
    until = datetime.fromisoformat(row["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < until <= timedelta(days=30)
    assert "url" not in row


async def test_a_json_value_and_bytes_are_kept_too(saving: Bench, folder: FolderStore) -> None:
    value = {"total": 3, "names": ["ä", None], "exact": 0.1}
    row, content = await _saved(saving, folder, name="value", json=value, retention="transient")
    assert json.loads(content) == value
    assert (row["media_type"], row["kind"]) == ("application/json", "data")
    until = datetime.fromisoformat(row["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=23) < until <= timedelta(hours=24)
    raw = bytes(range(256))
    row, content = await _saved(
        saving, folder, name="dot.png", base64=base64.b64encode(raw).decode(), retention="permanent"
    )
    assert content == raw
    assert (row["media_type"], row["kind"], row["expires_at"]) == ("image/png", "image", None)


async def test_a_shared_artifact_comes_with_a_link(saving: Bench, folder: FolderStore) -> None:
    row, _ = await _saved(saving, folder, name="a.txt", text="x", visibility="shared")
    assert f"/api/v1/artifacts/{row['artifact_id']}/content?expires=" in row["url"]


async def test_a_retried_step_keeps_one_artifact_with_the_later_content(
    saving: Bench, folder: FolderStore
) -> None:
    run = RunRef(generate_id(), generate_id(), "keep")
    save = artifacts_capability(folder, saving.application.limits).handler
    for attempt, text in enumerate(("first", "second", "second"), start=1):
        async with saving.application.database.transaction() as tx:
            call = Call(saving, tx, replace(run, attempt=attempt))
            await save(call, {"name": "a.txt", "text": text})
    async with saving.application.database.acquire() as connection:
        (one,) = await list_artifacts(connection, saving.application.workspace_id, run_id=run.id)
    assert await read_content(folder, one) == b"second"


async def test_a_call_that_is_undone_leaves_the_earlier_artifact_whole(
    saving: Bench, folder: FolderStore
) -> None:
    database, space = saving.application.database, saving.application.workspace_id
    run = RunRef(generate_id(), generate_id(), "keep")
    save = artifacts_capability(folder, saving.application.limits).handler
    async with database.transaction() as tx:
        await save(Call(saving, tx, run), {"name": "a.txt", "text": "committed"})

    async def undone() -> None:
        async with database.transaction() as tx:
            await save(Call(saving, tx, run), {"name": "a.txt", "text": "never committed"})
            raise ConnectionAbortedError

    with pytest.raises(ConnectionAbortedError):
        await undone()
    async with database.acquire() as connection:
        (one,) = await list_artifacts(connection, space, run_id=run.id)
    assert await read_content(folder, one) == b"committed"
    later = datetime.now(UTC) + timedelta(days=2)
    swept = [await sweep_orphans(database, folder, later + timedelta(hours=h)) for h in range(23)]
    assert sum(swept) == 1, "the bytes of the undone call are swept up"
    assert await read_content(folder, one) == b"committed"


async def test_bytes_changed_on_disk_are_not_handed_out(
    saving: Bench, folder: FolderStore, tmp_path: Path
) -> None:
    row, _ = await _saved(saving, folder, name="a.txt", text="x")
    async with saving.application.database.acquire() as connection:
        found = await read_artifact(
            connection, saving.application.workspace_id, UUID(row["artifact_id"])
        )
    (tmp_path / "artifacts" / found.blob.path).write_bytes(b"forged")
    with pytest.raises(InternalError, match="changed outside"):
        await read_content(folder, found)


async def test_a_deleted_artifact_is_gone_with_its_bytes(
    saving: Bench, folder: FolderStore
) -> None:
    row, _ = await _saved(saving, folder, name="a.txt", text="x")
    artifact_id = UUID(row["artifact_id"])
    space = saving.application.workspace_id
    gone = await delete_artifact(saving.application.database, folder, space, artifact_id)
    assert await folder.get(gone.blob) is None
    async with saving.application.database.acquire() as connection:
        with pytest.raises(Problem, match="no such artifact"):
            await read_artifact(connection, space, artifact_id)
    with pytest.raises(Problem, match="no such artifact"):
        await delete_artifact(saving.application.database, folder, space, artifact_id)


async def test_nobody_else_s_workspace_sees_it(saving: Bench, folder: FolderStore) -> None:
    row, _ = await _saved(saving, folder, name="a.txt", text="x")
    async with saving.application.database.acquire() as connection:
        assert await list_artifacts(connection, generate_id()) == []
        with pytest.raises(Problem, match="no such artifact"):
            await read_artifact(connection, generate_id(), UUID(row["artifact_id"]))


@pytest.mark.parametrize(
    ("arguments", "pointer", "code"),
    [
        ({"name": "a.txt"}, "/text", "no_content"),
        ({"name": "a/b.txt", "text": "x"}, "/name", "artifact_name"),
        ({"name": "..", "text": "x"}, "/name", "artifact_name"),
        ({"name": "a\\b", "text": "x"}, "/name", "artifact_name"),
        ({"name": "a\x00b", "text": "x"}, "/name", "artifact_name"),
        ({"name": "a\u202eb", "text": "x"}, "/name", "artifact_name"),
        ({"name": "a\ud800", "text": "x"}, "/name", "artifact_name"),
        ({"name": "a" * 201, "text": "x"}, "/name", "artifact_name"),
        ({"name": "a", "base64": "not base64!"}, "/base64", "not_base64"),
        ({"name": "a", "base64": "QQ"}, "/base64", "not_base64"),
        ({"name": "a", "text": "\ud800"}, "/text", "not_unicode"),
        ({"name": "a", "json": 2**70}, "/json", "json_type"),
        ({"name": "a", "text": "x" * 101}, "/text", "artifact_too_large"),
        ({"name": "a", "json": ["x" * 100]}, "/json", "artifact_too_large"),
        ({"name": "a", "base64": "eHh4" * 34}, "/base64", "artifact_too_large"),
    ],
)
async def test_what_cannot_be_a_file_is_refused_at_its_position(
    saving: Bench,
    folder: FolderStore,
    tmp_path: Path,
    arguments: dict[str, Any],
    pointer: str,
    code: str,
) -> None:
    save = artifacts_capability(folder, replace(Limits(), artifact_bytes=100)).handler
    async with saving.application.database.transaction() as tx:
        call = Call(saving, tx, RunRef(generate_id(), generate_id(), "keep"))
        with pytest.raises(Invalid) as refused:
            await save(call, arguments)
    assert isinstance(refused.value, TooLarge) == (code == "artifact_too_large")
    assert [(f.pointer, f.code) for f in refused.value.findings] == [(pointer, code)]
    assert not (tmp_path / "artifacts").exists()
    assert await saving.application.database.fetchval("SELECT count(*) FROM artifacts") == 0


# --- in a store of the S3 kind


@pytest_asyncio.fixture
async def bucket() -> AsyncIterator[Bucket]:
    async with s3_server(Bucket()) as made:
        yield made


@pytest_asyncio.fixture
async def s3(bucket: Bucket) -> AsyncIterator[S3Store]:
    made = S3Store(bucket.url, KEY_ID, KEY, Limits(), SystemClock(), seconds=5.0)
    yield made
    await made.aclose()


def _key() -> BlobKey:
    return blob_key(generate_id(), generate_id(), hashlib.sha256(b"x").digest())


async def test_bytes_are_put_fetched_and_deleted_in_the_bucket(bucket: Bucket, s3: S3Store) -> None:
    key, content = _key(), bytes(range(256)) * 8_000
    assert await s3.get(key) is None
    await s3.put(key, content)
    assert list(bucket.objects) == [f"kept/here/{key.path}"]
    assert await s3.get(key) == content
    await s3.delete(key)
    await s3.delete(key)
    assert await s3.get(key) is None
    assert bucket.refusals == []


async def test_a_prefix_is_listed_page_by_page(bucket: Bucket, s3: S3Store) -> None:
    space, keys = generate_id(), []
    for number in range(5):
        artifact_id = UUID(int=(generate_id().int >> 8 << 8) | 0xAB)
        keys.append(blob_key(space, artifact_id, bytes([number]) * 32))
        await s3.put(keys[-1], b"x")
    young = keys.pop()
    for key in keys:
        bucket.written[f"kept/here/{key.path}"] -= timedelta(days=2)
    day_ago = datetime.now(UTC) - timedelta(days=1)
    found = [key async for page in s3.older(space, "ab", day_ago) for key in page]
    assert sorted(found, key=lambda k: k.path) == sorted(keys, key=lambda k: k.path)
    assert young not in found
    assert [page async for page in s3.older(space, "cd", day_ago)] == [[]]
    assert bucket.refusals == []


@pytest.mark.parametrize(
    ("key_id", "key", "region"),
    [
        (KEY_ID, "another key", "us-east-1"),
        ("ANOTHER", KEY, "us-east-1"),
        (KEY_ID, KEY, "eu-west-1"),
    ],
    ids=["wrong key", "unknown id", "wrong region"],
)
async def test_a_wrong_signature_is_refused_and_says_what_to_look_at(
    bucket: Bucket, key_id: str, key: str, region: str
) -> None:
    url = bucket.url.replace("us-east-1", region)
    store = S3Store(url, key_id, key, Limits(), SystemClock(), seconds=5.0)
    with pytest.raises(UpstreamError) as refused:
        await store.put(_key(), b"x")
    await store.aclose()
    assert not refused.value.retryable
    assert "MAINSPRING_ARTIFACTS_KEY_ID" in str(refused.value.suggestion)
    assert key not in refused.value.detail
    assert bucket.objects == {}
    assert len(bucket.refusals) == 1


@pytest.mark.parametrize(
    ("status", "again"), [(500, True), (503, True), (429, True), (400, False), (301, False)]
)
async def test_trouble_of_the_store_is_distinguished_by_whether_another_try_helps(
    bucket: Bucket, s3: S3Store, status: int, again: bool
) -> None:
    bucket.troubles = [status]
    with pytest.raises(UpstreamError) as failed:
        await s3.put(_key(), b"x")
    assert failed.value.retryable is again
    assert len(bucket.requests) == 1, "a redirect is not followed"


async def test_a_store_that_does_not_answer_is_given_up(bucket: Bucket) -> None:
    store = S3Store(bucket.url, KEY_ID, KEY, Limits(), SystemClock(), seconds=0.2)
    bucket.silent = True
    with pytest.raises(UpstreamError) as failed:
        await store.get(_key())
    await store.aclose()
    assert failed.value.retryable
    assert len(bucket.requests) == 1


async def test_a_bucket_that_is_not_there_is_no_missing_artifact(bucket: Bucket) -> None:
    url = bucket.url.replace(f"/{BUCKET}/", "/nowhere/")
    store = S3Store(url, KEY_ID, KEY, Limits(), SystemClock(), seconds=5.0)
    with pytest.raises(UpstreamError):
        await store.get(_key())
    await store.aclose()


async def test_a_run_saves_into_the_bucket_and_tries_again_after_trouble(
    bench: Bench, bucket: Bucket, s3: S3Store
) -> None:
    bucket.troubles = [503]
    async with saving_bench(bench, s3) as saving:
        plan = document(
            step("keep", "artifacts.save", {"name": "a.txt", "text": "x"}, retry_backoff="none")
        )
        run = await saving.run(plan)
        assert run["status"] == "succeeded", run["error"]
        assert [entry["status"] for entry in run["steps"]] == ["retrying", "succeeded"]
        async with saving.application.database.acquire() as connection:
            (one,) = await list_artifacts(connection, saving.application.workspace_id)
        assert await read_content(s3, one) == b"x"
    assert list(bucket.objects) == [f"kept/here/{one.blob.path}"]


async def test_orphans_in_the_bucket_are_swept_up(
    bench: Bench, bucket: Bucket, s3: S3Store
) -> None:
    key = blob_key(bench.application.workspace_id, generate_id(), bytes(32))
    await s3.put(key, b"nobody's")
    later = datetime.now(UTC) + timedelta(days=2)
    database = bench.application.database
    swept = [await sweep_orphans(database, s3, later + timedelta(hours=h)) for h in range(23)]
    assert sum(swept) == 1
    assert bucket.objects == {}
