"""The keys that open the vault: one, and two while it is being rotated.

The key in use comes from its file or from a command. The next key stands in a file beside
it for as long as a rotation lasts. A process looks at the files before it seals, and again
when it meets a secret that no key it knows has sealed, so all processes go along with a
rotation and none is restarted for it.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from mainspring.workspace.key_command import ask_command
from mainspring.workspace.master_key import MasterKey, create_key, read_key

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
