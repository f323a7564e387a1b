"""The keys that open the vault: one, and two while it is being rotated.

The key in use comes from its file or from a command. The next key stands in a file beside
it for as long as a rotation lasts. A process looks at the files before it seals, and again
when it meets a secret that no key it knows has sealed, so all processes go along with a
rotation and none is restarted for it.
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

# The master key: a file of its own that opens the vault.

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


# A master key that another program keeps: a key service, a hardware token, a password store.

SECONDS: Final = 10.0
_LOOK: Final = "Run the program of MAINSPRING_MASTER_KEY_COMMAND by hand and look at its answer."


def ask_command(command: str, *, seconds: float = SECONDS) -> MasterKey:
    """The key that the program prints."""
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
        # The cause would show the whole command line.
        raise master_key_error("The master key command cannot be started.", _LOOK) from None


def _end(started: subprocess.Popen[bytes]) -> None:
    """Nothing that it started outlives it, or could hold its answer open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGKILL)
    if started.stdout is not None:
        started.stdout.close()
    started.wait()


FileMarks = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The keys as they were found."""

    # What signs links, and what seals unless there is a next one.
    current: MasterKey | None
    following: MasterKey | None = None
    # One that only opens: a file from before there was a command.
    earlier: MasterKey | None = None
    marks: FileMarks = ()

    @property
    def sealing(self) -> MasterKey | None:
        return self.following or self.current

    def named(self, key_id: str) -> MasterKey | None:
        """The key with this id, if it is one of these."""
        there = (self.current, self.following, self.earlier)
        return next((key for key in there if key is not None and key.id == key_id), None)


@dataclass(slots=True)
class Keyring:
    """Where the keys are, and what was last found there."""

    file: Path
    command: str | None = None
    _found: MasterKeys | None = field(default=None, repr=False)

    @property
    def following_file(self) -> Path:
        """Where the next key stands while a rotation lasts."""
        return self.file.with_name(f"{self.file.name}.next")

    async def keys(self, *, anew: bool = False) -> MasterKeys:
        """What there is; read again when a file has changed, or when that is asked for."""
        found = self._found
        if found is None or anew or found.marks != self._marks():
            found = await asyncio.to_thread(self._read, found)
            # A key that is made later by somebody else must be noticed, command or not.
            self._found = found if found.current is not None else None
        return found

    async def create(self) -> MasterKey:
        """The first key there is; whoever comes second uses it too."""
        await asyncio.to_thread(create_key, self.file)
        made = (await self.keys(anew=True)).current
        assert made is not None
        return made

    def _read(self, before: MasterKeys | None) -> MasterKeys:
        marks = self._marks()
        in_file, following = read_key(self.file), read_key(self.following_file)
        if self.command is not None:
            return MasterKeys(ask_command(self.command), following, in_file, marks)
        # A file that was taken away under a running process is still known to it.
        kept = before.current if before is not None else None
        return MasterKeys(in_file or kept, following, None, marks)

    def _marks(self) -> FileMarks:
        return tuple(_mark(path) for path in (self.file, self.following_file))


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
