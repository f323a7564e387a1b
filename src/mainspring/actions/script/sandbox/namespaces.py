"""A world of its own: its own root folder, network, and messages between processes.

The launcher moves itself into it once, before it starts anything, so a child pays nothing
for it. The root folder is empty but for what Deno needs, and nobody can write in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mainspring.actions.script.sandbox.system import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    Kernel,
)

_KEPT_FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | 8 | 1024 | 2048
_RELATIVE_TIMES = 4096
_MS_RELATIME = 1 << 21


def leave_network(kernel: Kernel) -> None:
    """Into a network without a single address; not even the loopback is up."""
    _unshare(kernel, CLONE_NEWNET)


def leave_world(kernel: Kernel) -> None:
    _unshare(kernel, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC)


def move_into(kernel: Kernel, root: Path, program: str, kept: Iterable[str]) -> None:
    """Makes ``root`` the root folder, with the paths to keep under their own names."""
    kernel.mount(None, "/", None, MS_REC | MS_PRIVATE)
    kernel.mount("tmpfs", str(root), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")
    for path in kept:
        _bind(kernel, Path(path), root / path.lstrip("/"))
    # Deno asks for its own name there, and ends when nobody tells.
    myself = root / "proc/self"
    myself.mkdir(parents=True)
    (myself / "exe").symlink_to(program)
    os.chdir(root)
    kernel.pivot_root(".", ".")
    kernel.detach(".")
    os.chdir("/")
    kernel.mount(None, "/", None, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _unshare(kernel: Kernel, flags: int) -> None:
    """Root may do so at once; anybody else by way of a world of users."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        kernel.unshare(flags)
        return
    kernel.unshare(flags | CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def _bind(kernel: Kernel, source: Path, target: Path) -> None:
    if not source.exists():
        return
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    kernel.mount(str(source), str(target), None, MS_BIND)
    # What the mount below forbids may not be forgotten, or the kernel refuses.
    flags = os.statvfs(target).f_flag
    kept = flags & _KEPT_FLAGS | (_MS_RELATIME if flags & _RELATIVE_TIMES else 0)
    # A device stays one: the only ones that are bound are the harmless ones.
    kernel.mount(None, str(target), None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | kept)
