"""Removes the private folder of a launcher; called by the last process that uses it."""

from __future__ import annotations

import contextlib
import os
import shutil


def remove_private_folder(folder: str, above: int | None = None) -> None:
    """``above`` is the open parent folder, for a process whose root folder has changed."""
    with contextlib.suppress(OSError):
        for name in (folder, f"{folder}/cache"):
            os.chmod(name, 0o700, dir_fd=above)
    shutil.rmtree(folder, ignore_errors=True, dir_fd=above)
