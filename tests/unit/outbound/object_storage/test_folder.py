"""Artifacts in a folder: whole or not there, for the owner's eyes, and nowhere else."""

from __future__ import annotations

import os
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from mainspring.contracts.errors import InternalError
from mainspring.contracts.ids import generate_id
from mainspring.outbound.object_storage.blob_stores import FolderStore
from mainspring.workspace.artifacts.blobs import BlobKey, artifact_id_of, blob_key, read_path

SPACE = UUID("01900000-0000-7000-8000-000000000001")


def _key() -> BlobKey:
    return blob_key(SPACE, generate_id(), os.urandom(32))


async def test_what_is_put_is_there_and_what_is_deleted_is_not(tmp_path: Path) -> None:
    store, key = FolderStore(tmp_path / "a"), _key()
    assert await store.get(key) is None
    await store.put(key, b"one")
    await store.put(key, b"two")
    assert await store.get(key) == b"two"
    await store.delete(key)
    await store.delete(key)
    assert await store.get(key) is None


async def test_only_the_owner_may_look_into_the_folders(tmp_path: Path) -> None:
    store, key = FolderStore(tmp_path / "a"), _key()
    await store.put(key, b"x")
    made = [*(tmp_path / "a").rglob("*"), tmp_path / "a"]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in made}
    assert len(made) == 4
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


async def test_a_disk_that_refuses_leaves_nothing_half_written(tmp_path: Path) -> None:
    store, key = FolderStore(tmp_path / "a"), _key()
    await store.put(key, b"whole")
    (tmp_path / "a" / key.path).unlink()
    (tmp_path / "a" / key.path).mkdir()
    with pytest.raises(InternalError) as refused:
        await store.put(key, b"other")
    assert str(tmp_path) not in refused.value.detail
    catalog = (tmp_path / "a" / key.path).parent
    assert [path.name for path in catalog.iterdir()] == [key.name], "nothing passing is left"


async def test_only_what_is_old_and_ours_is_listed(tmp_path: Path) -> None:
    store, key = FolderStore(tmp_path / "a"), _key()
    await store.put(key, b"x")
    catalog = (tmp_path / "a" / key.path).parent
    (catalog / "a stranger").write_text("x")
    (catalog / ".passing.0123").write_text("x")
    day = timedelta(days=1)
    now = datetime.now(UTC)
    assert [page async for page in store.older(SPACE, key.shelf, now - day)] == []
    assert [page async for page in store.older(SPACE, key.shelf, now + day)] == [[key]]
    assert sorted(path.name for path in catalog.iterdir()) == sorted([key.name, "a stranger"])
    other = "00" if key.shelf != "00" else "01"
    assert [page async for page in store.older(SPACE, other, now + day)] == []


def test_an_id_follows_from_the_call_and_sorts_by_the_run() -> None:
    first = generate_id()
    time.sleep(0.002)
    second = generate_id()
    made = artifact_id_of(first, f"{first}/step/1")
    assert made == artifact_id_of(first, f"{first}/step/1")
    assert made != artifact_id_of(first, f"{first}/step/2")
    assert made < artifact_id_of(second, f"{second}/step/1")
    assert made.version == 7


@pytest.mark.parametrize(
    "path",
    ["", "..", "../../etc/passwd", f"{SPACE}/00/../x", "a/b/c", f"{SPACE}/zz/{SPACE}-00"],
)
def test_a_path_that_is_not_a_key_is_nobody_s(path: str) -> None:
    assert read_path(path) is None


def test_a_key_is_read_back_from_its_path_and_from_no_other_prefix() -> None:
    key = _key()
    assert read_path(key.path) == key
    wrong = "00" if key.shelf != "00" else "01"
    assert read_path(key.path.replace(f"/{key.shelf}/", f"/{wrong}/")) is None
