"""The master key: a file of its own that opens the vault.

It is made at first use, readable by its owner only, and never written over: whoever loses
it loses every secret. It is kept out of the environment, which every child process
would inherit, and it is refused when others could have read it.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mainspring.contracts.errors import InternalError

KEY_BYTES = 32
NONCE_BYTES = 12
# More than a key file holds; the rest of a larger one need not be read to refuse it.
_MOST_FILE_BYTES = 256


@dataclass(frozen=True, slots=True, repr=False)
class MasterKey:
    """The key that opens the vault, and a fingerprint that tells keys apart."""

    material: bytes

    @property
    def id(self) -> str:
        return hashlib.sha256(b"mainspring key id\0" + self.material).hexdigest()[:16]

    def seal(self, text: str, place: bytes) -> tuple[bytes, bytes]:
        """A fresh nonce and the sealed text, bound to its place."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce, AESGCM(self.material).encrypt(nonce, text.encode(), place)

    def open(self, nonce: bytes, sealed: bytes, place: bytes) -> str:
        """The text again; InvalidTag unless nonce, text, place and key all belong together."""
        return self.unsealed(nonce, sealed, place).decode()

    def unsealed(self, nonce: bytes, sealed: bytes, place: bytes) -> bytes:
        return AESGCM(self.material).decrypt(nonce, sealed, place)

    def derived(self, purpose: bytes) -> bytes:
        """A key for one other purpose; it says nothing about this one or its siblings."""
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(self.material)


def read_key(path: Path) -> MasterKey | None:
    """The master key, or None when there is no file."""
    try:
        # Without blocking: a pipe in its place would hold the process for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise master_key_error("The master key file cannot be read.") from error
    try:
        _check_guarded(os.fstat(handle).st_mode)
        text = os.read(handle, _MOST_FILE_BYTES)
    except OSError as error:
        raise master_key_error("The master key file cannot be read.") from error
    finally:
        os.close(handle)
    return decode_key(text)


def create_key(path: Path) -> MasterKey:
    """Makes a new key file; whoever comes second uses the key of whoever came first."""
    return keep_key(path, MasterKey(secrets.token_bytes(KEY_BYTES)))


def keep_key(path: Path, made: MasterKey) -> MasterKey:
    """Writes a key file where there is none, and answers the key that is there afterwards."""
    text = base64.b64encode(made.material) + b"\n"
    passing = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write_new(passing, text)
            # A link appears whole or not at all, and never replaces an existing file.
            with contextlib.suppress(FileExistsError):
                os.link(passing, path)
        finally:
            passing.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise master_key_error("The master key file cannot be written.") from error
    key = read_key(path)
    if key is None:
        raise master_key_error("The master key file disappeared while it was made.")
    return key


def retire_key(path: Path, following: Path) -> Path:
    """Puts the next key in the place of the one before, which stays beside it under its id.

    At no moment is either of them missing, so a crash in between loses nothing.
    """
    before = read_key(path)
    if before is None:
        raise master_key_error("The master key file disappeared while it was rotated.")
    aside = path.with_name(f"{path.name}.{before.id}")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(path, aside)
        os.replace(following, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise master_key_error("The master key file cannot be replaced.") from error
    return aside


def forget_key(path: Path) -> None:
    """Removes a key file that nobody needs any more."""
    try:
        path.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise master_key_error(
            "A key file that is not needed any more cannot be removed."
        ) from error


def _check_guarded(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise master_key_error("The master key file is not a regular file.")
    if mode & 0o077:
        raise master_key_error(
            "The master key file may be read by others.", "Set its mode to 0600."
        )


def decode_key(
    text: bytes,
    refusal: str = f"The master key file does not hold {KEY_BYTES} bytes in base64.",
    suggestion: str = "Put the right file back; a lost key cannot be made again.",
) -> MasterKey:
    """A key from its text; a refusal never quotes the text."""
    try:
        material = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        material = b""
    if len(material) != KEY_BYTES:
        raise master_key_error(refusal, suggestion)
    return MasterKey(material)


def _write_new(path: Path, text: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def master_key_error(sentence: str, suggestion: str | None = None) -> InternalError:
    return InternalError(sentence, code="master_key", suggestion=suggestion, retryable=False)
