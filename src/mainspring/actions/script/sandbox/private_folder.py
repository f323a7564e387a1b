"""Takes the private folder of a launcher away, whoever of the two is the last to leave."""

from __future__ import annotations

import contextlib
import os
import shutil


def remove_place(folder: str, above: int | None = None) -> None:
    """``above`` is the open folder that it stands in, where paths mean something else now."""
    with contextlib.suppress(OSError):
        for name in (folder, f"{folder}/cache"):
            os.chmod(name, 0o700, dir_fd=above)
    shutil.rmtree(folder, ignore_errors=True, dir_fd=above)
