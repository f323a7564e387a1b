"""The keys of the vault: one, or two during a rotation.

The current key comes from its file or from a command. During a rotation the next key is in a file
next to it. A process checks the files before it encrypts, and again when a secret was encrypted
with a key it does not know, so all processes follow a rotation without a restart.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import os
import secrets
import shlex
import signal
import stat
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mainspring.contracts.errors import InternalError
from mainspring.settings import bare_environment

# The master key file.

KEY_BYTES = 32
NONCE_BYTES = 12
# Larger than any key file; a larger file is rejected without reading the rest.
_MOST_FILE_BYTES = 256


@dataclass(frozen=True, slots=True, repr=False)
class MasterKey:
    """The vault's key, and a fingerprint that identifies it."""

    material: bytes

    @property
    def id(self) -> str:
        return hashlib.sha256(b"mainspring key id\0" + self.material).hexdigest()[:16]

    def encrypt(self, text: str, place: bytes) -> tuple[bytes, bytes]:
        """Encrypt with a fresh nonce, bound to its row as associated data."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce, AESGCM(self.material).encrypt(nonce, text.encode(), place)

    def decrypt(self, nonce: bytes, sealed: bytes, place: bytes) -> str:
        """Decrypt; InvalidTag unless nonce, text, associated data and key all match."""
        return self.decrypt_bytes(nonce, sealed, place).decode()

    def decrypt_bytes(self, nonce: bytes, sealed: bytes, place: bytes) -> bytes:
        return AESGCM(self.material).decrypt(nonce, sealed, place)

    def derive(self, purpose: bytes) -> bytes:
        """Derive a key for another purpose; it reveals nothing about this key or other derived
        keys."""
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(self.material)


def read_key(path: Path) -> MasterKey | None:
    """Read the master key; None when there is no file."""
    try:
        # Non-blocking: opening a named pipe would block the process for ever.
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
    """Create a key file; a concurrent second creator uses the first one's key."""
    return write_key(path, MasterKey(secrets.token_bytes(KEY_BYTES)))


def write_key(path: Path, made: MasterKey) -> MasterKey:
    """Write a key file if there is none; return the key that is in it afterwards."""
    text = base64.b64encode(made.material) + b"\n"
    passing = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write_new(passing, text)
            # A hard link appears atomically and never replaces an existing file.
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
    """Replace the key by the next one; the old file stays next to it under its id.

    Neither is missing at any time, so a crash in between loses nothing.
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


def delete_key(path: Path) -> None:
    """Delete a key file that is no longer needed."""
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
    """Decode a key from text; errors never quote the text."""
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


# A master key from another program: a key service, a hardware token, a password store.

SECONDS: Final = 10.0
_LOOK: Final = "Run the program of MAINSPRING_MASTER_KEY_COMMAND yourself and check its output."


def ask_command(command: str, *, seconds: float = SECONDS) -> MasterKey:
    """Run the key command and return the key that it prints."""
    started = _start_command(_split_command(command))
    try:
        output, _ = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise master_key_error(
            f"The master key command gave no answer within {seconds:g} seconds.", _LOOK
        ) from None
    finally:
        _end(started)
    if started.returncode != 0:
        raise master_key_error(
            f"The master key command failed with code {started.returncode}.", _LOOK
        )
    return decode_key(
        output, "The master key command did not print 32 bytes in base64, and nothing else.", _LOOK
    )


def _split_command(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise master_key_error(
            "MAINSPRING_MASTER_KEY_COMMAND is not a program and its arguments.",
            "Write it as in a shell; an opening quote needs a closing one.",
        )
    return words


def _start_command(words: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environment(),
            start_new_session=True,
        )
    except (OSError, ValueError):
        # The cause would reveal the whole command line.
        raise master_key_error("The master key command cannot be started.", _LOOK) from None


def _end(started: subprocess.Popen[bytes]) -> None:
    """Kill its process group, so that no child outlives it or keeps its output open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGKILL)
    if started.stdout is not None:
        started.stdout.close()
    started.wait()


FileMarks = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The keys that were found."""

    # Signs links, and encrypts unless there is a next key.
    current: MasterKey | None
    following: MasterKey | None = None
    # A key that only decrypts: a file that predates the command.
    earlier: MasterKey | None = None
    marks: FileMarks = ()

    @property
    def sealing(self) -> MasterKey | None:
        return self.following or self.current

    def find(self, key_id: str) -> MasterKey | None:
        """Return the key with this id, if it is one of these."""
        there = (self.current, self.following, self.earlier)
        return next((key for key in there if key is not None and key.id == key_id), None)


@dataclass(slots=True)
class Keyring:
    """Locates the keys and caches what was found."""

    file: Path
    command: str | None = None
    _found: MasterKeys | None = field(default=None, repr=False)

    @property
    def next_key_file(self) -> Path:
        """The file of the next key during a rotation."""
        return self.file.with_name(f"{self.file.name}.next")

    async def keys(self, *, anew: bool = False) -> MasterKeys:
        """Return the keys, read again when a file changed or on request."""
        found = self._found
        if found is None or anew or found.marks != self._marks():
            found = await asyncio.to_thread(self._read, found)
            # A key that another process creates later must be found, with or without a command.
            self._found = found if found.current is not None else None
        return found

    async def create(self) -> MasterKey:
        """Create the first key; a concurrent second creator uses the same one."""
        await asyncio.to_thread(create_key, self.file)
        made = (await self.keys(anew=True)).current
        assert made is not None
        return made

    def _read(self, before: MasterKeys | None) -> MasterKeys:
        marks = self._marks()
        in_file, following = read_key(self.file), read_key(self.next_key_file)
        if self.command is not None:
            return MasterKeys(ask_command(self.command), following, in_file, marks)
        # A key file deleted under a running process stays cached.
        kept = before.current if before is not None else None
        return MasterKeys(in_file or kept, following, None, marks)

    def _marks(self) -> FileMarks:
        return tuple(_mark(path) for path in (self.file, self.next_key_file))


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
