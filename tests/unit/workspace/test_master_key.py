"""The master key: made once, guarded by its mode, and bound to the place it encrypts."""

from __future__ import annotations

import base64
import os
import stat
import threading
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag

from mainspring.contracts.errors import InternalError
from mainspring.workspace.keyring import KEY_BYTES, MasterKey, create_key, read_key

GOOD = base64.b64encode(bytes(range(KEY_BYTES)))


def _file(folder: Path, text: bytes, mode: int = 0o600) -> Path:
    path = folder / "master.key"
    path.write_bytes(text)
    path.chmod(mode)
    return path


def test_a_file_that_is_not_there_is_no_key(tmp_path: Path) -> None:
    assert read_key(tmp_path / "master.key") is None
    assert read_key(tmp_path / "no" / "master.key") is None


def test_a_new_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "home" / "master.key"

    key = create_key(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(key.material) == KEY_BYTES
    assert read_key(path) == key
    assert [entry.name for entry in path.parent.iterdir()] == ["master.key"]


def test_an_existing_key_is_never_replaced(tmp_path: Path) -> None:
    path = _file(tmp_path, GOOD + b"\n")

    assert create_key(path).material == bytes(range(KEY_BYTES))
    assert path.read_bytes() == GOOD + b"\n"


def test_many_first_uses_at_once_agree_on_one_key(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    keys: list[MasterKey] = []
    start = threading.Barrier(16)

    def use() -> None:
        start.wait()
        keys.append(create_key(path))

    threads = [threading.Thread(target=use) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(keys) == 16
    assert len(set(keys)) == 1
    assert os.listdir(tmp_path) == ["master.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o666, 0o620, 0o610])
def test_a_key_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InternalError, match="may be read by others"):
        read_key(_file(tmp_path, GOOD, mode))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"short",
        base64.b64encode(b"x" * 31),
        base64.b64encode(b"x" * 33),
        base64.b64encode(b"x" * 64),
        b"x" * 32,
        GOOD + GOOD,
        GOOD[:-1],
        GOOD[:10] + b" " + GOOD[10:],
        b"\0" * 10_000,
        "ключ".encode(),
    ],
)
def test_a_key_of_the_wrong_size_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(InternalError) as caught:
        read_key(_file(tmp_path, text))

    assert caught.value.code == "master_key"
    assert not caught.value.retryable


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_something_else_in_its_place_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "master.key"
    if kind == "folder":
        path.mkdir(mode=0o700)
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.symlink_to(path)

    with pytest.raises(InternalError):
        read_key(path)


def test_a_key_that_cannot_be_written_is_a_clear_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(InternalError) as caught:
        create_key(tmp_path / "file" / "master.key")

    assert str(tmp_path) not in str(caught.value.as_dict())


def test_neither_a_key_nor_its_id_shows_its_material() -> None:
    key = MasterKey(bytes(range(KEY_BYTES)))

    for shown in (repr(key), str(key), f"{key}", key.id):
        assert key.material.hex()[:16] not in shown
        assert GOOD.decode()[:10] not in shown
    assert "material" not in repr(key)


def test_two_keys_have_two_ids() -> None:
    assert MasterKey(b"a" * KEY_BYTES).id != MasterKey(b"b" * KEY_BYTES).id


def test_ciphertext_decrypts_in_its_place_and_nowhere_else() -> None:
    key = MasterKey(b"k" * KEY_BYTES)
    nonce, sealed = key.encrypt("välue", b"here")

    assert key.decrypt(nonce, sealed, b"here") == "välue"
    assert "välue".encode() not in sealed
    other = MasterKey(b"j" * KEY_BYTES)
    for opener, used, data, place in (
        (key, nonce, sealed, b"there"),
        (key, nonce[::-1], sealed, b"here"),
        (key, nonce, sealed[:-1] + bytes([sealed[-1] ^ 1]), b"here"),
        (key, nonce, bytes([sealed[0] ^ 1]) + sealed[1:], b"here"),
        (other, nonce, sealed, b"here"),
    ):
        with pytest.raises(InvalidTag):
            opener.decrypt(used, data, place)


def test_no_nonce_is_used_twice() -> None:
    key = MasterKey(b"k" * KEY_BYTES)

    assert len({key.encrypt("x", b"")[0] for _ in range(20_000)}) == 20_000
