"""Where things lie, who may enter, and who owns: decisions about the data folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mainspring.contracts.errors import Conflict
from mainspring.store.cluster import locate_cluster, make_folders
from mainspring.store.data_folder import FolderLock, is_in_use, read_owner
from mainspring.store.embedded import build_dsn
from mainspring.store.postgres_programs import (
    SystemUser,
    choose_server_user,
    find_inaccessible_path,
)

UID = 54321
STRANGER = SystemUser(UID, UID, "stranger", switched=True)
LONGEST = 103


def test_the_socket_lies_in_the_data_folder_when_its_path_is_short_enough() -> None:
    assert locate_cluster(Path("/var/lib/mainspring"), UID).socket == Path(
        "/var/lib/mainspring/run"
    )


@pytest.mark.parametrize("home", ["/" + "h" * 90, "/" + "ü" * 45, "/home/a,b"])
def test_a_path_that_a_socket_cannot_have_is_replaced_by_a_short_one(home: str) -> None:
    socket = locate_cluster(Path(home), UID).socket

    assert len(os.fsencode(socket / ".s.PGSQL.5432")) <= LONGEST
    assert "," not in str(socket)
    assert socket == locate_cluster(Path(home), UID).socket
    assert socket != locate_cluster(Path(home + "x"), UID).socket
    assert socket != locate_cluster(Path(home), UID + 1).socket


def test_every_path_up_to_the_limit_can_be_a_socket() -> None:
    for length in range(60, LONGEST + 1):
        socket = locate_cluster(Path("/" + "h" * length), UID).socket
        assert len(os.fsencode(socket / ".s.PGSQL.5432")) <= LONGEST


def test_a_short_place_that_somebody_else_has_made_is_refused(tmp_path: Path) -> None:
    me = SystemUser(os.geteuid(), os.getegid(), "me", switched=False)
    layout = locate_cluster(tmp_path / ("h" * 120), me.uid)
    layout.home.mkdir()
    layout.socket.symlink_to(tmp_path)
    try:
        with pytest.raises(Conflict) as caught:
            make_folders(layout, me)
    finally:
        layout.socket.unlink()

    assert caught.value.code == "socket_folder_taken"


def test_an_address_survives_any_folder_name() -> None:
    assert build_dsn(Path("/a b/ü?&#/run")).endswith(
        "?host=%2Fa%20b%2F%C3%BC%3F%26%23%2Frun&port=5432"
    )


def test_a_folder_is_open_when_every_folder_on_the_way_is(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        folder.chmod(0o711)
    owner = tmp_path.stat()
    insider = SystemUser(owner.st_uid, owner.st_gid, "me", switched=True)

    assert find_inaccessible_path(insider, inner) is None
    inner.parent.chmod(0o611)
    assert find_inaccessible_path(insider, inner) == inner.parent
    inner.parent.chmod(0o700)
    tmp_path.chmod(0o711)
    assert find_inaccessible_path(STRANGER, inner) in {inner.parent, *inner.parent.parents}


def test_only_root_hands_the_server_to_another_user(tmp_path: Path) -> None:
    account = choose_server_user(tmp_path / "not there yet")

    assert account.switched is (os.geteuid() == 0)
    assert account.uid != 0


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.take(tmp_path / "run")
    first.take(tmp_path / "run")

    with pytest.raises(Conflict) as caught:
        second.take(tmp_path / "run")
    assert is_in_use(caught.value)
    assert f"process {os.getpid()}" in caught.value.detail
    first.release()
    first.release()

    second.take(tmp_path / "elsewhere")
    owner = read_owner(tmp_path)
    assert owner is not None
    assert (owner.pid, owner.socket) == (os.getpid(), tmp_path / "elsewhere")
    second.release()


def test_the_dead_are_not_named_as_owners(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.take(tmp_path / "run")
    (tmp_path / "lock").write_text('{"pid": 4194305, "socket": "/x"}')
    try:
        with pytest.raises(Conflict, match=r"^Another Mainspring already uses"):
            FolderLock(tmp_path).take(tmp_path)
    finally:
        lock.release()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_lock_file_that_cannot_be_read_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock").write_text(text)

    assert read_owner(tmp_path) is None
