"""Sealing: AES-256-GCM as it is published, bound to one place, with a nonce of its own.

``python -m tests.unit.workspace.test_encryption 1000000`` looks for a repeated nonce in as many
encrypts as requested; the test itself makes fewer.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.exceptions import InvalidTag

from mainspring.contracts.errors import Conflict, InternalError
from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.keyring import Keyring, MasterKey, MasterKeys, create_key, retire_key
from mainspring.workspace.sealing import (
    SecretScope,
    build_associated_data,
    decrypt_secret,
    publisher_scope,
)
from mainspring.workspace.vault import read

SEALS = 100_000
KEY = MasterKey(bytes(range(32)))

_LONG_KEY = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
_LONG_NONCE = "cafebabefacedbaddecaf888"
_LONG_TEXT = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
_LONG_SEALED = (
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
)
# Key, nonce, text, associated data, encrypted text and tag: cases 13 to 16 of the specification
# of Galois/Counter Mode by McGrew and Viega.
PUBLISHED = [
    ("00" * 32, "00" * 12, "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    (
        "00" * 32,
        "00" * 12,
        "00" * 16,
        "",
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ),
    (_LONG_KEY, _LONG_NONCE, _LONG_TEXT, "", _LONG_SEALED, "b094dac5d93471bdec1a502270e3cc6c"),
    (
        _LONG_KEY,
        _LONG_NONCE,
        _LONG_TEXT[:120],
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        _LONG_SEALED[:120],
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ),
]


@pytest.mark.parametrize(("key", "nonce", "text", "bound", "sealed", "tag"), PUBLISHED)
def test_the_master_key_speaks_aes_256_gcm_as_published(
    key: str, nonce: str, text: str, bound: str, sealed: str, tag: str
) -> None:
    master = MasterKey(bytes.fromhex(key))
    whole = bytes.fromhex(sealed + tag)

    found = master.decrypt_bytes(bytes.fromhex(nonce), whole, bytes.fromhex(bound))

    assert found == bytes.fromhex(text)
    for bit in (0, len(whole) * 8 - 1):
        broken = bytearray(whole)
        broken[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(InvalidTag):
            master.decrypt_bytes(bytes.fromhex(nonce), bytes(broken), bytes.fromhex(bound))


WORKSPACE, OTHER_WORKSPACE = generate_id(), generate_id()
OWNER, OTHER_OWNER = generate_id(), generate_id()
SECRET, OTHER_SECRET = generate_id(), generate_id()
HOME = SecretScope(WORKSPACE, OWNER)
# Every place that differs from the first in one thing, and some that differ in several.
PLACES: list[tuple[SecretScope, UUID, str]] = [
    (HOME, SECRET, "key"),
    (HOME, SECRET, "kez"),
    (HOME, SECRET, "keys"),
    (HOME, OTHER_SECRET, "key"),
    (replace(HOME, owner_id=OTHER_OWNER), SECRET, "key"),
    (replace(HOME, owner_id=FIRST_MEMBER), SECRET, "key"),
    (replace(HOME, workspace_id=OTHER_WORKSPACE), SECRET, "key"),
    (replace(HOME, kind="publisher"), SECRET, "key"),
    (SecretScope(OWNER, WORKSPACE), SECRET, "key"),
    (SecretScope(WORKSPACE, SECRET), OWNER, "key"),
    (publisher_scope(WORKSPACE), SECRET, "KEY"),
    (SecretScope(WORKSPACE, WORKSPACE), SECRET, "KEY"),
]


def test_a_seal_opens_in_its_own_place_and_in_no_other() -> None:
    for mine, theirs in combinations(PLACES, 2):
        for sealed_at, tried_at in ((mine, theirs), (theirs, mine)):
            nonce, sealed = KEY.encrypt("the value", build_associated_data(*sealed_at))
            assert decrypt_secret(KEY, *sealed_at, nonce, sealed) == "the value"
            with pytest.raises(InvalidTag):
                decrypt_secret(KEY, *tried_at, nonce, sealed)


def test_no_two_places_are_spelt_alike() -> None:
    assert len({build_associated_data(*one) for one in PLACES}) == len(PLACES)


def _sealed_as_before(scope: SecretScope, secret_id: UUID, name: str) -> tuple[bytes, bytes]:
    """As the release without owners did it."""
    bound = scope.workspace_id.bytes + secret_id.bytes + name.encode()
    return KEY.encrypt("an old value", b"mainspring secret v1\0" + bound)


def test_a_seal_from_before_there_were_owners_opens_for_the_first_member_alone() -> None:
    first = SecretScope(WORKSPACE, FIRST_MEMBER)
    nonce, sealed = _sealed_as_before(first, SECRET, "key")

    assert decrypt_secret(KEY, first, SECRET, "key", nonce, sealed) == "an old value"
    for secret_scope, secret_id, name in [
        (HOME, SECRET, "key"),
        (replace(first, kind="publisher"), SECRET, "key"),
        (replace(first, workspace_id=OTHER_WORKSPACE), SECRET, "key"),
        (first, OTHER_SECRET, "key"),
        (first, SECRET, "other"),
    ]:
        with pytest.raises(InvalidTag):
            decrypt_secret(KEY, secret_scope, secret_id, name, nonce, sealed)


def _row(key: MasterKey) -> dict[str, object]:
    nonce, sealed = key.encrypt("the value", build_associated_data(HOME, SECRET, "key"))
    return {"id": SECRET, "name": "key", "nonce": nonce, "ciphertext": sealed, "key_id": key.id}


def test_after_a_rotation_the_old_key_opens_nothing_and_says_so(tmp_path: Path) -> None:
    path, following = tmp_path / "master.key", tmp_path / "master.key.next"
    before, after = create_key(path), create_key(following)
    row = _row(after)

    aside = retire_key(path, following)

    assert aside.name == f"master.key.{before.id}"
    assert aside.stat().st_mode & 0o777 == 0o600
    assert not following.exists()
    assert read(MasterKeys(after), HOME, row) == "the value"
    with pytest.raises(Conflict) as caught:
        read(MasterKeys(before), HOME, row)
    assert caught.value.code == "secret_other_key"
    with pytest.raises(InternalError) as damaged:
        read(MasterKeys(before), HOME, {**row, "key_id": before.id})
    assert damaged.value.code == "secret_damaged"


def test_a_rotation_of_the_files_that_broke_off_can_be_done_again(tmp_path: Path) -> None:
    path, following = tmp_path / "master.key", tmp_path / "master.key.next"
    before, after = create_key(path), create_key(following)
    # The moment after the old file got its second name, and before the new one moved.
    (tmp_path / f"master.key.{before.id}").hardlink_to(path)

    retire_key(path, following)

    assert create_key(path).id == after.id


async def test_a_keyring_notices_that_the_files_have_changed(tmp_path: Path) -> None:
    ring = Keyring(tmp_path / "master.key")
    assert (await ring.keys()).sealing is None
    before = create_key(ring.file)
    assert (await ring.keys()).sealing == before

    after = create_key(ring.next_key_file)
    during = await ring.keys()
    assert (during.current, during.sealing) == (before, after)
    assert during.find(before.id) == before

    retire_key(ring.file, ring.next_key_file)
    ended = await ring.keys()
    assert (ended.current, ended.sealing, ended.find(before.id)) == (after, after, None)


def _check_nonces(count: int) -> None:
    seen = {KEY.encrypt("x", b"")[0] for _ in range(count)}
    assert len(seen) == count
    assert {len(nonce) for nonce in seen} == {12}


def test_no_nonce_comes_twice() -> None:
    _check_nonces(SEALS)


if __name__ == "__main__":
    _check_nonces(int(sys.argv[1]))
